"""Metrics of runs as lines: over epochs or the fraction of the training data, and over the number of relevant items."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from fivesentences.errors import InputError
from fivesentences.metrics.seed_intervals import paired_interval, t_interval
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import blocks, columns_in, draw_labels, draw_lines, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing, notes_of_runs
from fivesentences.reproduction.paper.figures.style import COLOURS, DARK, DASHES, MARKERS, RULE, cycled
from fivesentences.reproduction.paper.numbers.results import Measure, Results, evaluated_columns
from fivesentences.reproduction.paper.tables.columns import column_label
from fivesentences.reproduction.paper.text.labels import label_of, line_labels, loss_in_words
from fivesentences.reproduction.paper.text.names import DIRECTIONS, phi_in_words, unique
from fivesentences.reproduction.study.exhibits import OF_LINE, CurvesFigure, SemanticRecallFigure
from fivesentences.reproduction.study.expand import Row
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import members_of

IN_WORDS = {
    "epochs": "epochs of training",
    "fraction": "share of the training captions",
    "noise": "share of wrong training pairs",
}
POINT = ["label", "role", "dataset", "model", "loss", "inference", "fraction", "epochs", "metric"]
VALUES, DIFFERENCES = ["mean", "low", "high"], ["difference", "difference_low", "difference_high"]
COLUMNS = [*POINT, *VALUES, "seeds", "kept_epoch", *DIFFERENCES, "paired_seeds"]
DODGE = 0.038  # inches between the bars at one place, so that they can be told apart
ORDER = ("t2i", "i2t")  # the paper draws text to image, so this comes first
STYLES = {"vse_recall": "Recall@{k}: any relevant item found", "recall": "Semantic recall@{k}: share found"}
SEMANTIC_COLUMNS = ["label", "role", "dataset", "model", "loss", "fraction", "direction", "style", "k", "m"]
SEMANTIC_COLUMNS += ["mean", "spread", "seeds"]


def curves_figure(spec: CurvesFigure, context: Context, frame: pd.DataFrame) -> Drawing:
    """Draw metrics over epochs, fractions or noise, one line per loss, and differences paired by seed.

    Raises:
        InputError: If a run or a value is missing (named).
    """
    rows = [row for row in context.rows(spec) if row.left_out is None]
    results = Results(frame)
    data = _tidy(spec, rows, results, context)
    how_to_read = _how_to_read(spec, data, context.study)
    notes = notes_of_runs(spec, context, results, how_to_read, spec.columns, "Mean and its 95% t interval")
    return Drawing(data, notes, lambda canvas: _draw(spec, canvas, context.study, data))


def _tidy(spec: CurvesFigure, rows: Sequence[Row], results: Results, context: Context) -> pd.DataFrame:
    """Make one row per point of a line.

    ``low`` and ``high`` are the ends of the 95% t interval over seeds, NaN with fewer than two of them;
    ``difference`` (to ``relative_to``) and its interval are over the seeds that both have.
    """
    study, scale = context.study, context.scale
    beside = attrgetter(*(axis for axis in ("role", *OF_LINE[spec.over], spec.over) if axis != "loss"))
    lines: list[tuple[Any, ...]] = []
    for column in evaluated_columns(spec.columns, scale):
        measure, baselines, values = Measure.of_column(column, scale.evaluation_phi), {}, []
        for row in rows:
            values.append({run.seed: results.value(run.name, measure, row.reading) for run in row.runs})
            if row.loss == spec.relative_to:
                baselines[beside(row)] = values[-1]
        for row, label, found in zip(rows, _labels(spec, rows, study), values, strict=True):
            # A row that leaves its epochs to the scale has runs that know them.
            epochs = members_of(row.runs[0])[0].training.epochs
            kept = [epoch for run in row.runs if (epoch := results.kept_epoch(run.name)) is not None]
            difference = paired_interval(found, baselines.get(beside(row), {}))
            point = (label, row.role, row.dataset, row.model, row.loss, row.inference, row.fraction, epochs)
            noise = (row.noise,) if spec.over == "noise" else ()
            mean_kept = statistics.fmean(kept) if kept else math.nan
            mean = t_interval(list(found.values()))
            lines.append((*point, column_label(measure, study), *mean, mean_kept, *difference, *noise))
    return pd.DataFrame(lines, columns=[*COLUMNS, "noise"] if spec.over == "noise" else COLUMNS)


def _labels(spec: CurvesFigure, rows: Sequence[Row], study: Study) -> list[str]:
    """Name lines by what tells them apart, or by the loss; a model has panels of its own."""
    named = []
    for row in rows:
        count = row.captions_per_image
        words = [study.label_of(row.loss), label_of(study, "fraction", row.fraction) if spec.over == "epochs" else ""]
        words.append("" if row.features is None else study.label_of(row.features))
        words.append("" if count is None else f"{count} caption{'s' if count > 1 else ''} per image")
        named.append([*words, label_of(study, "inference", row.inference)])
    telling = [part for part, words in enumerate(zip(*named, strict=True)) if len(set(words)) > 1] or [0]
    return [", ".join(words[part] for part in telling if words[part]).replace(", + ", " + ") for words in named]


def _how_to_read(spec: CurvesFigure, data: pd.DataFrame, study: Study) -> list[str]:
    """Say which epochs' weights were kept, if lines go over epochs, and what the second panel of a metric shows."""
    notes = []
    known = data.dropna(subset="kept_epoch").drop_duplicates(["label", "role", "model", "epochs"])
    if spec.over == "epochs" and not known.empty:
        means = known.groupby("epochs")["kept_epoch"].mean()
        listed = ", ".join(f"{epoch:.0f} of {epochs}" for epochs, epoch in means.items())
        notes.append(
            f"The weights of the best dev score are kept, on average those of epoch {listed}: a number of epochs is an "
            "upper limit."
        )
    if data["difference"].notna().any():
        single = " Where both have only one seed in common, no interval is known."
        notes.append(
            f"Differences to {loss_in_words(study, str(spec.relative_to))}: paired by seed, over the seeds that both "
            "have, with the 95% t interval of the mean difference. Where a bar includes zero, these seeds do not tell "
            "the two losses apart." + single * bool(data["paired_seeds"].eq(1).any())
        )
    return notes


def _draw(spec: CurvesFigure, canvas: Figure, study: Study, data: pd.DataFrame) -> None:
    """Draw a row of panels per model and metric: its values, and beside them the differences.

    Without differences two metrics of a model stand beside each other.
    """
    paired, looks = bool(data["difference"].notna().any()), looks_of_losses(spec, data)
    shown: list[tuple[pd.DataFrame, list[str]]] = []
    for _, block in data.groupby(["role", "model", "metric"], sort=False):
        shown += [(block, names) for names in ([VALUES, DIFFERENCES] if paired else [VALUES])]
    across = min(2, len(shown))
    height = max(2.67, 0.2 * max(block["label"].nunique() for block, _ in shown) + 0.82)
    telling = [name for name in ("dataset", "model") if data[name].nunique() > 1]
    found = panels(canvas, len(shown), across, height)
    for panel, (block, names) in zip(found, shown, strict=True):
        if names == DIFFERENCES:
            panel.axhline(0, color=RULE, linewidth=0.8, zorder=1)
        places = sorted(block[spec.over].unique())
        if spec.over == "noise":  # from none
            beside = 0.08 * (places[-1] - places[0] or 1)
            panel.set(xlim=(places[0] - beside, places[-1] + beside))
        else:
            panel.set(xscale="log", xlim=(places[0] / 1.25, places[-1] * 1.25))
        ends = draw_lines(panel, block, spec.over, names, looks, DODGE)
        panel.set_xticks(places, _ticks(spec, block, places))
        panel.xaxis.set_minor_locator(NullLocator())
        title = ", ".join([*(study.label_of(block[name].iloc[0]) for name in telling), block["metric"].iloc[0]])
        if names == DIFFERENCES:
            title = f"difference to {loss_in_words(study, str(spec.relative_to))}"
        panel.set(title=title, xlabel=IN_WORDS[spec.over])
        if panel in (*found[across - 1 :: across], found[-1]) and ends:
            draw_labels(panel, ends)


def _ticks(spec: CurvesFigure, data: pd.DataFrame, places: Sequence[float]) -> list[str]:
    """Label the places: epochs, or percent with the epochs that runs of this fraction had."""
    if spec.over == "epochs":
        return [f"{place:g}" for place in places]
    epochs = data.groupby(spec.over)["epochs"].unique()
    agree = bool(epochs.map(len).eq(1).all()) and data["epochs"].nunique() > 1
    return [f"{100 * place:g}%" + f"\n{epochs[place][0]:g} ep." * agree for place in places]


def looks_of_losses(spec: CurvesFigure, data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Choose colour, marker and dashes of each line; the line that differences are taken to is dark."""
    losses = dict(data[["label", "loss"]].itertuples(index=False, name=None))
    free = [colour for colour in COLOURS if colour != DARK or spec.relative_to is None]
    looks = cycled([label for label, loss in losses.items() if loss != spec.relative_to], free)
    return {label: looks.get(label, cycled([label], [DARK])[label]) for label in losses}


def semantic_recall_figure(spec: SemanticRecallFigure, context: Context, frame: pd.DataFrame) -> Drawing:
    """Draw recall and semantic recall over the number of relevant items, own items removed: Figure 3.

    Raises:
        InputError: If a run or a value is missing (named), or runs were evaluated at different m.
    """
    study, scale, rows = context.study, context.scale, context.rows(spec)
    roles = unique(row.role for row in rows)
    made = sorted((row for row in rows if row.left_out is None), key=lambda row: roles.index(row.role))
    results = Results(frame)
    labels = [label for role in roles for label in line_labels([row for row in made if row.role == role], study)]
    data = _semantic_tidy(spec, made, labels, results, scale.evaluation_phi)
    how_to_read = (
        f"Closeness in meaning: {phi_in_words(scale.evaluation_phi)}, released formula, the query's own items removed."
    )
    notes = notes_of_runs(spec, context, results, [how_to_read, *_on_looks(data)])
    return Drawing(data, notes, lambda canvas: draw_semantic_recall(canvas, data, study))


def _on_looks(data: pd.DataFrame) -> list[str]:
    """Say what colours and dashes tell apart, see ``looks_of_models``; nothing if each line has its own colour."""
    several = data["model"].nunique() > 1 and data.groupby("model")["label"].nunique().max() > 1
    return ["A colour is a model; its dashed lines are its other losses."] if several else []


def _semantic_tidy(
    spec: SemanticRecallFigure, rows: Sequence[Row], labels: Sequence[str], results: Results, phi: str
) -> pd.DataFrame:
    """Make one row per point; ``spread`` is the sample standard deviation over seeds, NaN with fewer than two."""
    measures = [
        Measure(f"SR@{spec.k}", direction, "released", "removed", 0, style, phi)
        for direction in ("i2t", "t2i")
        for style in STYLES
    ]
    counts: list[int] = []
    for run, measure in itertools.product((run.name for row in rows for run in row.runs), measures):
        found = results.relevant_counts(run, measure)
        counts = counts or found
        if found != counts:
            raise InputError(f"the run '{run}' was evaluated at m = {found}, others at {counts}; evaluate it again.")
    lines: list[tuple[Any, ...]] = []
    for row, label in zip(rows, labels, strict=True):
        start = (label, row.role, row.dataset, row.model, row.loss, row.fraction)
        for measure, m in itertools.product(measures, counts):
            values = pd.Series([results.value(run.name, replace(measure, m=m), row.reading) for run in row.runs])
            numbers = (float(values.mean()), float(values.std(ddof=1)), len(values))
            lines.append((*start, measure.direction, measure.style, spec.k, m, *numbers))
    return pd.DataFrame(lines, columns=SEMANTIC_COLUMNS)


def draw_semantic_recall(canvas: Figure, data: pd.DataFrame, study: Study) -> None:
    """Draw two rows per dataset (text to image first) and two columns (recall, semantic recall)."""
    datasets = [part for _, part in data.groupby("role", sort=False)]
    # Labels stand below each other beside a panel, so many of them need a higher one.
    height = max(4.9, 0.42 * max(part["label"].nunique() for part in datasets) + 0.96)
    names = [study.label_of(part["dataset"].iloc[0]) if len(datasets) > 1 else "" for part in datasets]
    columns = columns_in(canvas, 2)
    heights = [height * 2 / columns] * len(datasets)
    for block, part in zip(blocks(canvas, names, heights), datasets, strict=True):
        for place, panel in enumerate(panels(block, 4, columns, sharex=True)):
            direction, (style, title) = ORDER[place // 2], list(STYLES.items())[place % 2]
            shown = part[(part["direction"] == direction) & (part["style"] == style)]
            shown = shown.assign(low=shown["mean"] - shown["spread"], high=shown["mean"] + shown["spread"])
            ends = draw_lines(panel, shown, "m", VALUES, looks_of_models(part))
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
            panel.margins(x=0.04)
            if place % 2 or columns == 1:
                draw_labels(panel, ends, 60)
            panel.set_title(title.format(k=part["k"].iloc[0]) if place < 2 or columns == 1 else "")
            panel.set_xlabel("relevant images m" if place >= 4 - columns else "")
            panel.set_ylabel("" if place % 2 and columns == 2 else f"{DIRECTIONS[direction]} (%)")


def looks_of_models(data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Choose colour, marker and dashes of each line in its order; no two lines look alike.

    With several models, each has its colour and marker, and dashes tell its lines apart. With one model, each line has
    its own colour, and dashes once these are used up.
    """
    models = dict(data[["label", "model"]].itertuples(index=False, name=None))
    several = unique(models.values())
    if len(several) == 1:
        return cycled(list(models))
    lines = {model: [label for label, one in models.items() if one == model] for model in several}
    most = max(map(len, lines.values()))
    looks = {}
    for label, model in models.items():
        # An eighth model has the colour of the first one, and dashes after those that the models of that colour need.
        turn, number = divmod(several.index(model), len(COLOURS))
        dashes = DASHES[(lines[model].index(label) + most * turn) % len(DASHES)]
        looks[label] = {"color": COLOURS[number], "marker": MARKERS[number], "linestyle": dashes}
    return looks
