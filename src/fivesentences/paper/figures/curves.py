"""Metrics over the epochs or the fraction of the training data, one line per loss, and differences paired by seed."""

from __future__ import annotations

import functools
import itertools
import math
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from fivesentences.metrics.over_seeds import paired_interval, t_interval
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, RULE, WIDTH, draw_grid, panel_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, MARKERS, LineEnd, draw_labels, widest_label
from fivesentences.paper.numbers.results import Measure, Results, evaluated_columns
from fivesentences.paper.tables.columns import column_label
from fivesentences.paper.text.labels import label_of, loss_in_words
from fivesentences.paper.text.metric_notes import notes_on_inference, notes_on_metrics
from fivesentences.paper.text.names import unique
from fivesentences.paper.text.run_notes import notes_on_data, notes_on_missing, training_in_words
from fivesentences.study.exhibits import AXES, CurvesFigure
from fivesentences.study.expand import Row
from fivesentences.study.runs import members_of
from fivesentences.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Over = Literal["epochs", "fraction"]
IN_WORDS: dict[Over, str] = {"epochs": "epochs of training", "fraction": "share of the training captions"}
# What makes a line; over fractions, epochs go along with the fraction.
OF_LINE: dict[Over, tuple[str, ...]] = {
    "epochs": tuple(axis for axis in AXES if axis != "epochs"),
    "fraction": tuple(axis for axis in AXES if axis not in ("epochs", "fraction")),
}
POINT = ["label", "role", "dataset", "model", "loss", "inference", "fraction", "epochs", "metric"]
MEAN = ["mean", "low", "high", "seeds", "kept_epoch"]
DIFFERENCE = ["difference", "difference_low", "difference_high", "paired_seeds"]
COLUMNS = [*POINT, *MEAN, *DIFFERENCE]
VALUES, DIFFERENCES = tuple(MEAN[:3]), tuple(DIFFERENCE[:3])
# Inches: left of, between, above and below panels, and their least height; of a line of a label, and between labels.
LEFT, BETWEEN, ABOVE, BELOW, HEIGHT, TEXT_LINE, APART = 0.42, 0.5, 0.3, 0.52, 1.85, 0.125, 0.07
BESIDE = 0.17  # inches from a panel to its labels
DODGE = 0.038  # inches between the bars at one place, so that they can be told apart
WRAPPED = 25  # characters of a line of a label
BASELINE = 5  # its colour, which no other line has


def curves_figure(spec: CurvesFigure, context: Context, frame: pd.DataFrame) -> Drawing:
    """Draw metrics over epochs or fractions.

    Raises:
        InputError: If a run or a value is missing (named).
    """
    study, scale, rows = context.study, context.scale, context.rows(spec)
    made = [row for row in rows if row.left_out is None]
    results = Results(frame)
    data = _tidy(spec, made, _labels(made, spec.over, study), results, context)
    notes = [
        *notes_on_data(study, rows, results, "Mean and its 95% t interval"),
        *_on_kept_epochs(spec, data),
        *_on_differences(spec, data, study),
        *(notes_on_metrics(spec.columns, None, study, scale, made, results) if made else []),
        *notes_on_inference(unique(row.inference for row in made)),
        *notes_on_missing(study, scale, rows),
        *spec.notes,
    ]
    return Drawing(data, notes, None if data.empty else functools.partial(_draw, spec, study=study, data=data))


def _tidy(
    spec: CurvesFigure, rows: Sequence[Row], labels: Sequence[str], results: Results, context: Context
) -> pd.DataFrame:
    """One line per point of a line.

    ``low`` and ``high`` are the ends of the 95% t interval over seeds, NaN with fewer than two of them;
    ``difference`` (to ``relative_to``) and its interval are over the seeds that both have.
    """
    study, scale = context.study, context.scale
    lines: list[tuple[Any, ...]] = []
    for column in evaluated_columns(spec.columns, scale):
        measure = Measure.of_column(column, scale.evaluation_phi)
        of_rows = [{run.seed: results.value(run.name, measure, row.reading) for run in row.runs} for row in rows]
        baselines = {
            _beside(spec, row): values for row, values in zip(rows, of_rows, strict=True) if _is_baseline(spec, row)
        }
        for row, label, values in zip(rows, labels, of_rows, strict=True):
            # A row that leaves its epochs to the scale has runs that know them.
            epochs = members_of(row.runs[0])[0].training.epochs
            point = (label, row.role, row.dataset, row.model, row.loss, row.inference, row.fraction, epochs)
            difference = paired_interval(values, baselines.get(_beside(spec, row), {}))
            kept = [results.kept_epoch(run.name) for run in row.runs]
            epoch = statistics.fmean(known) if (known := [one for one in kept if one is not None]) else math.nan
            numbers = (*t_interval(list(values.values())), epoch, *difference)
            lines.append((*point, column_label(measure, study), *numbers))
    return pd.DataFrame(lines, columns=COLUMNS)


def _is_baseline(spec: CurvesFigure, row: Row) -> bool:
    return row.loss == spec.relative_to


def _beside(spec: CurvesFigure, row: Row) -> tuple[Any, ...]:
    """What a row has in common with the row that its difference is taken to."""
    of_line = (getattr(row, axis) for axis in OF_LINE[spec.over] if axis != "loss")
    return (row.role, *of_line, getattr(row, spec.over))


def _on_kept_epochs(spec: CurvesFigure, data: pd.DataFrame) -> list[str]:
    """Which epochs' weights were kept, where lines go over epochs."""
    known = data.dropna(subset="kept_epoch").drop_duplicates(["label", "role", "model", "epochs"])
    if spec.over != "epochs" or known.empty:
        return []
    means = known.groupby("epochs")["kept_epoch"].mean()
    listed = ", ".join(f"{epoch:.0f} of {epochs}" for epochs, epoch in means.items())
    return [
        f"The weights of the best dev score are kept, on average those of epoch {listed}: a number of epochs is an "
        "upper limit."
    ]


def _on_differences(spec: CurvesFigure, data: pd.DataFrame, study: Study) -> list[str]:
    """What the second panel of a metric shows."""
    if not data["difference"].notna().any():
        return []
    note = (
        f"Differences to {loss_in_words(study, str(spec.relative_to))}: paired by seed, over the seeds that both "
        "have, with the 95% t interval of the mean difference. Where a bar includes zero, these seeds do not tell "
        "the two losses apart."
    )
    single = data["paired_seeds"].eq(1).any()
    return [note + (" Where both have only one seed in common, no interval is known." if single else "")]


def _draw(spec: CurvesFigure, canvas: Canvas, study: Study, data: pd.DataFrame) -> None:
    """A row of panels per model and metric: its values, and beside them the differences.

    Without differences two metrics of a model stand beside each other.
    """
    panels, across = [], 2
    for _, of_model in data.groupby(["role", "model"], sort=False):
        blocks = [block for _, block in of_model.groupby("metric", sort=False)]
        if data["difference"].notna().any():
            panels += [[(block, VALUES), (block, DIFFERENCES)] for block in blocks]
        else:
            across = min(2, len(blocks))
            panels += [
                [(block, VALUES) for block in pair]
                for pair in (blocks[first : first + 2] for first in range(0, len(blocks), 2))
            ]
    looks, labels = _looks(spec, data), {label: textwrap.fill(label, WRAPPED) for label in unique(data["label"])}
    apart = TEXT_LINE * max(len(label.splitlines()) for label in labels.values()) + APART
    height = max(HEIGHT, apart * max(block["label"].nunique() for row in panels for block, _ in row))
    beside = widest_label(labels.values()) + BESIDE + 0.12
    width = (WIDTH - LEFT - BETWEEN * (across - 1) - beside) / across
    canvas.set_size_inches(WIDTH, len(panels) * (ABOVE + height + BELOW))
    telling = [name for name in ("dataset", "model") if data[name].nunique() > 1]
    for number, row in enumerate(panels):
        for column, (block, names) in enumerate(row):
            place = (LEFT + column * (width + BETWEEN), ABOVE + number * (ABOVE + height + BELOW))
            panel = panel_at(canvas, *place, width, height)
            ends = _draw_lines(spec, panel, block, names, looks, labels)
            title = ", ".join([*(study.label_of(block[name].iloc[0]) for name in telling), block["metric"].iloc[0]])
            if names == DIFFERENCES:
                title = f"difference to {loss_in_words(study, str(spec.relative_to))}"
            panel.set_title(title, loc="left", pad=6)
            if column == len(row) - 1 and ends:
                draw_labels(panel, ends, apart / height, 1 + BESIDE / width)


def _draw_lines(
    spec: CurvesFigure,
    panel: Any,
    data: pd.DataFrame,
    names: tuple[str, ...],
    looks: Mapping[str, Mapping[str, Any]],
    labels: Mapping[str, str],
) -> list[LineEnd]:
    """Draw one line per label with its intervals; return the ends of the lines."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    places = data.drop_duplicates(spec.over).sort_values(spec.over)[spec.over].tolist()
    panel.set_xscale("log")
    panel.set_xlim(places[0] / 1.25, places[-1] * 1.25)
    inches = panel.get_position().width * panel.figure.get_figwidth()
    step = DODGE * math.log(places[-1] / places[0] * 1.25**2) / inches
    ends, middle = [], (data["label"].nunique() - 1) / 2
    if names == DIFFERENCES:
        panel.axhline(0, color=RULE, linewidth=0.8, zorder=1)
    for index, (label, line) in enumerate(data.groupby("label", sort=False)):
        line, look = line.dropna(subset=names[0]).sort_values(spec.over), looks[str(label)]
        if line.empty:
            continue
        x = line[spec.over].to_numpy(dtype=float)
        beside = x * math.exp(step * (index - middle))
        # Of values only the bars: lines that rise steeply would seem to be apart.
        x = beside if names == DIFFERENCES else x
        mean, low, high = (line[name].to_numpy(dtype=float) for name in names)
        panel.plot(x, mean, linewidth=1.2, markersize=3.2, zorder=3, **look)
        known = np.isfinite(low)
        bars: dict[str, Any] = {"color": look["color"], "linewidth": 0.8, "zorder": 2}
        panel.vlines(beside[known], low[known], high[known], **bars)
        ends.append(LineEnd(labels[str(label)], look["color"], float(x[-1]), float(mean[-1])))
    panel.set_xticks(places, _ticks(spec, data, places))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel(IN_WORDS[spec.over], labelpad=2)
    panel.yaxis.set_major_locator(MaxNLocator(5))
    draw_grid(panel)
    return ends


def _ticks(spec: CurvesFigure, data: pd.DataFrame, places: Sequence[float]) -> list[str]:
    """What stands below the places: epochs, or percent with the epochs that runs of this fraction had."""
    if spec.over == "epochs":
        return [f"{place:g}" for place in places]
    epochs = {place: data.loc[data["fraction"] == place, "epochs"].unique() for place in places}
    agree = all(len(found) == 1 for found in epochs.values()) and data["epochs"].nunique() > 1
    return [f"{100 * place:g}%" + (f"\n{epochs[place][0]:g} ep." if agree else "") for place in places]


def _looks(spec: CurvesFigure, data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of each line; the line that differences are taken to is dark."""
    others = [index for index in range(len(COLOURS)) if index != BASELINE or spec.relative_to is None]
    looks, place = {}, itertools.count()
    for label, losses in data.groupby("label", sort=False)["loss"]:
        number = BASELINE if losses.iloc[0] == spec.relative_to else None
        if number is None:
            dashes, among = divmod(next(place), len(others))
            number = others[among]
        else:
            dashes = 0
        how = {"marker": MARKERS[number % len(MARKERS)], "linestyle": DASHES[dashes % len(DASHES)]}
        looks[str(label)] = {"color": COLOURS[number], **how}
    return looks


def _labels(rows: Sequence[Row], over: Over, study: Study) -> list[str]:
    """What lines are called, beside the model, which has panels of its own: by what tells them apart, or the loss."""
    named = [_words(row, over, study) for row in rows]
    telling = [part for part in range(len(named[0])) if len({words[part] for words in named}) > 1] if named else []
    labels = (", ".join(words[part] for part in telling or [0] if words[part]) for words in named)
    return [label.replace(", + ", " + ") for label in labels]


def _words(row: Row, over: Over, study: Study) -> list[str]:
    """Everything that may tell a line from others, the loss first."""
    count = row.captions_per_image
    return [
        study.label_of(row.loss),
        label_of(study, "fraction", row.fraction) if over == "epochs" else "",
        "" if row.features is None else study.label_of(row.features),
        "" if count is None else f"{count} caption{'s' if count > 1 else ''} per image",
        *(training_in_words(None, row.one_caption_per_image) or [""]),
        label_of(study, "inference", row.inference),
    ]
