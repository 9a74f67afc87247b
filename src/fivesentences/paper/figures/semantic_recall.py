"""Figure 3 of five_sentences: recall and semantic recall over the number of relevant items, own items removed."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.errors import InputError
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, WIDTH, draw_grid
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, MARKERS, LineEnd, draw_labels, widest_label
from fivesentences.paper.numbers.results import Measure, Results
from fivesentences.paper.text.labels import line_labels
from fivesentences.paper.text.metric_notes import notes_on_inference
from fivesentences.paper.text.names import DIRECTIONS, phi_in_words, unique
from fivesentences.paper.text.run_notes import notes_on_data, notes_on_missing
from fivesentences.study.exhibits import SemanticRecallFigure
from fivesentences.study.expand import Row
from fivesentences.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

HEIGHT, PANEL, APART = 4.9, 1.97, 0.21  # inches: of the canvas, a panel, between labels
ORDER = ("t2i", "i2t")  # the paper draws text to image, so this comes first
STYLES = {"vse_recall": "Recall@{k}: any relevant item found", "recall": "Semantic recall@{k}: share found"}
COLUMNS = ["label", "role", "dataset", "model", "loss", "fraction", "direction", "style", "k", "m"]
COLUMNS += ["mean", "spread", "seeds"]


def semantic_recall_figure(spec: SemanticRecallFigure, context: Context, frame: pd.DataFrame) -> Drawing:
    """Draw semantic recall over the number of relevant items.

    Raises:
        InputError: If a run or a value is missing (named), or runs were evaluated at different m.
    """
    study, scale, rows = context.study, context.scale, context.rows(spec)
    roles = unique(row.role for row in rows)
    made = sorted((row for row in rows if row.left_out is None), key=lambda row: roles.index(row.role))
    results = Results(frame)
    labels = [label for role in roles for label in line_labels([row for row in made if row.role == role], study)]
    data = _tidy(spec, made, labels, results, scale.evaluation_phi)
    notes = [
        *notes_on_data(study, rows, results),
        f"Closeness in meaning: {phi_in_words(scale.evaluation_phi)}, {spec.formula} formula, the query's own "
        "items removed.",
        *notes_on_inference(unique(row.inference for row in made)),
        *notes_on_missing(study, scale, rows),
        *spec.notes,
    ]
    return Drawing(data, notes, None if data.empty else functools.partial(_draw, data=data, study=study))


def _tidy(
    spec: SemanticRecallFigure, rows: Sequence[Row], labels: Sequence[str], results: Results, phi: str
) -> pd.DataFrame:
    """One line per point; ``spread`` is the sample standard deviation over seeds, NaN with fewer than two."""
    measures = [
        Measure(f"SR@{spec.k}", direction, spec.formula, "removed", 0, style, phi)
        for direction in ("i2t", "t2i")
        for style in STYLES
    ]
    counts = _relevant_counts(rows, measures, results)
    lines: list[tuple[Any, ...]] = []
    for row, label in zip(rows, labels, strict=True):
        start = (label, row.role, row.dataset, row.model, row.loss, row.fraction)
        for measure, m in itertools.product(measures, counts):
            at_m = replace(measure, m=m)
            values = pd.Series([results.value(run.name, at_m, row.reading) for run in row.runs])
            spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
            point = (measure.direction, measure.style, spec.k, m, float(values.mean()), spread, len(values))
            lines.append((*start, *point))
    return pd.DataFrame(lines, columns=COLUMNS)


def _relevant_counts(rows: Sequence[Row], measures: Sequence[Measure], results: Results) -> list[int]:
    """The values of m at which all runs were evaluated."""
    counts: list[int] = []
    for run, measure in itertools.product((run.name for row in rows for run in row.runs), measures):
        found = results.relevant_counts(run, measure)
        counts = counts or found
        if found != counts:
            raise InputError(f"the run '{run}' was evaluated at m = {found}, others at {counts}; evaluate it again.")
    return counts


def _draw(canvas: Canvas, data: pd.DataFrame, study: Study) -> None:
    """By dataset two rows (text to image as in the paper, and image to text), and two columns (recall, semantic)."""
    datasets = [part for _, part in data.groupby("role", sort=False)]
    # Labels stand below each other beside a panel, so many of them need a higher one.
    labels = max(part["label"].nunique() for part in datasets)
    height = max(HEIGHT, 2 * APART * labels + HEIGHT - 2 * PANEL)
    canvas.set_size_inches(WIDTH, len(datasets) * height)
    # Room for the longest label beside the right-hand panels.
    right = 1 - (widest_label(data["label"].unique()) + 0.22) / WIDTH
    for place, of_dataset in enumerate(datasets):
        named = "" if len(datasets) == 1 else f"{study.label_of(of_dataset['dataset'].iloc[0])}. "
        axes = canvas.add_gridspec(
            2,
            2,
            left=0.07,
            right=right,
            top=1 - (place + 0.07) / len(datasets),
            bottom=1 - (place + 0.915) / len(datasets),
            wspace=0.18,
            hspace=0.16,
        ).subplots(sharex=True)
        _draw_dataset(axes, of_dataset, named)


def _draw_dataset(axes: Any, data: pd.DataFrame, named: str) -> None:
    k = int(data["k"].iloc[0])
    for row, direction in enumerate(ORDER):
        for column, (style, title) in enumerate(STYLES.items()):
            panel = axes[row, column]
            part = data[(data["direction"] == direction) & (data["style"] == style)]
            ends = _draw_lines(panel, part)
            if row == 0:
                panel.set_title(named + title.format(k=k), loc="left", pad=8)
            if row == 1:
                panel.set_xlabel("relevant images m")
            if column == 0:
                panel.set_ylabel(f"{DIRECTIONS[direction]} (%)")
            if column == 1:
                draw_labels(panel, ends, 0.105)


def _draw_lines(panel: Any, data: pd.DataFrame) -> list[LineEnd]:
    """Draw one line per row with its band; return the end of each."""
    from matplotlib.ticker import MaxNLocator

    ends = []
    for (label, line), (look, dashes) in zip(data.groupby("label", sort=False), looks_of_lines(data), strict=True):
        colour = COLOURS[look % len(COLOURS)]
        m, mean, spread = (line[name].to_numpy(dtype=float) for name in ("m", "mean", "spread"))
        how = {"marker": MARKERS[look % len(MARKERS)], "linestyle": DASHES[dashes % len(DASHES)]}
        panel.plot(m, mean, color=colour, linewidth=1.3, markersize=3.6, zorder=3, **how)
        if np.isfinite(spread).all():
            panel.fill_between(m, mean - spread, mean + spread, color=colour, alpha=0.14, linewidth=0)
        ends.append(LineEnd(str(label), colour, float(m[-1]), float(mean[-1])))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.yaxis.set_major_locator(MaxNLocator(5))
    draw_grid(panel)
    panel.margins(x=0.04)
    return ends


def looks_of_lines(data: pd.DataFrame) -> list[tuple[int, int]]:
    """Index of colour and marker, and index of dashes, of each line in its order; no two lines look alike.

    With several models, each has its colour and marker, and dashes tell its lines apart. With one model, each line has
    its own colour, and dashes once these are used up.
    """
    models = data.drop_duplicates("label")["model"].tolist()
    several = list(dict.fromkeys(models))
    if len(several) == 1:
        return [(line, line // len(COLOURS)) for line in range(len(models))]
    looks = [(several.index(model), models[:line].count(model)) for line, model in enumerate(models)]
    # An eighth model has the colour of the first one, and dashes after those that the models of that colour need.
    most = max(dashes for _, dashes in looks) + 1
    return [(look, dashes + most * (look // len(COLOURS))) for look, dashes in looks]
