"""Figure 7 of sched_sam: a metric over the start of the schedule, one curve per share of the distance of features."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.config.documents import Selection
from fivesentences.errors import InputError
from fivesentences.metrics.over_seeds import paired_interval
from fivesentences.models.subspaces.specs import TripletNetwork
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, SOFT, WIDTH, draw_grid, panel_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, MARKERS, LineEnd, draw_labels, widest_label
from fivesentences.paper.numbers.subspaces import SubspaceResults
from fivesentences.paper.text.names import DIRECTIONS, listed, unique
from fivesentences.paper.text.subspace_notes import EPOCHS, note_on_seeds, notes_on_left_out, place_of
from fivesentences.study.exhibits import StartAndShareFigure
from fivesentences.study.expand import SubspaceRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

POINT = ["setting", "selection", "line", "label", "start", "feature_share", "metric", "direction"]
CURVE, FIXED = "curve", "fixed margin"
MEAN = ["mean", "low", "high", "seeds"]
DIFFERENCE = ["difference", "difference_low", "difference_high", "paired_seeds"]
COLUMNS = [*POINT, *MEAN, *DIFFERENCE]
VALUES, DIFFERENCES = tuple(MEAN[:3]), tuple(DIFFERENCE[:3])
# Inches; a bar's distance to its neighbour's.
LEFT, BETWEEN, ABOVE, BELOW, HEIGHT, APART, BESIDE, DODGE = 0.5, 0.55, 0.5, 0.5, 2.2, 0.2, 0.17, 0.04
WRAPPED = 22  # characters of a line of a label
BASELINE = 5  # its colour, which no curve has


def start_and_share_figure(spec: StartAndShareFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the metric of its runs.

    Raises:
        InputError: If a row is no method with triplets, two rows have one place, or a value is missing (named).
    """
    rows = context.subspace_rows(spec)
    made = [row for row in rows if row.runs]
    data = _tidy(spec, made, context, numbers)
    if not (data["line"] == CURVE).any():  # fixed margins alone are no figure
        data = data.iloc[:0]
        made = []
    notes = [
        *(_notes(spec, made, data) if made else []),
        *notes_on_left_out(rows, context.scale.scale, context.study),
        *spec.notes,
    ]
    return Drawing(data, notes, functools.partial(_draw, spec, data=data) if made else None)


def _tidy(
    spec: StartAndShareFigure, made: Sequence[SubspaceRow], context: Context, numbers: Sequence[Path]
) -> pd.DataFrame:
    """One line per row: over seeds the mean, the lowest and the highest value, and the paired difference."""
    results, measure = SubspaceResults(numbers), (spec.metric, spec.direction)
    blocks: dict[tuple[str, str, Selection], list[SubspaceRow]] = {}
    for row in made:
        blocks.setdefault((row.role, row.division, row.selection), []).append(row)
    lines: list[tuple[Any, ...]] = []
    for block in blocks.values():
        places = [_place(row, context.where(spec)) for row in block]
        _check_places(places, context.where(spec))
        values = [{run.seed: results.value(run.name, row.selection, measure) for run in row.runs} for row in block]
        fixed = next((found for place, found in zip(places, values, strict=True) if place[0] == FIXED), {})
        for place, found in zip(places, values, strict=True):
            seeds = list(found.values())
            mean = (float(np.mean(seeds)), min(seeds), max(seeds), len(seeds))
            difference = paired_interval(found, {} if found is fixed else fixed)
            point = (place_of(block[0], context.study), block[0].selection, *place, spec.metric, spec.direction)
            lines.append((*point, *mean, *difference))
    return pd.DataFrame(lines, columns=COLUMNS)


def _notes(spec: StartAndShareFigure, made: Sequence[SubspaceRow], data: pd.DataFrame) -> list[str]:
    notes = [
        "fₐ: the share of the epochs at which the schedule is half active. λ: the weight of the distance of "
        "features in the adaptive margin.",
        note_on_seeds(
            made, "Points: mean; bars (grey: of a fixed margin): lowest to highest value", "One run of each method"
        ),
    ]
    chosen = listed(unique(EPOCHS[selection] for selection in data["selection"]))
    notes.append(f"Epoch whose weights are read: {chosen}.")
    if data["difference"].notna().any():
        fixed = data[data["line"] == FIXED]["label"].iloc[0]
        notes.append(
            f"Right: differences to {fixed}, paired by seed, with the 95% t interval of the mean difference. Where "
            "a bar includes zero, these seeds do not tell the two apart; test documents do not count as a sample "
            "here." + (" With one seed in common, no interval is known." if data["paired_seeds"].eq(1).any() else "")
        )
    return notes


def _draw(spec: StartAndShareFigure, canvas: Canvas, data: pd.DataFrame) -> None:
    """A row of panels per setting and selection: values, and beside them the differences to the fixed margin."""
    blocks = [block for _, block in data.groupby(["setting", "selection"], sort=False)]
    paired = bool(data["difference"].notna().any())
    labels = [text for block in blocks for text in _labels(block).values()]
    height = max(HEIGHT, APART * max(len(_labels(block)) for block in blocks))
    beside = widest_label(labels) + BESIDE + 0.12
    across = 2 if paired else 1
    width = (WIDTH - LEFT - BETWEEN * (across - 1) - beside) / across
    canvas.set_size_inches(WIDTH, len(blocks) * (ABOVE + height + BELOW))
    shares = sorted(data["feature_share"].dropna().unique())
    for number, block in enumerate(blocks):
        top = number * (ABOVE + height + BELOW)
        heading = f"{block['setting'].iloc[0]}, {EPOCHS[block['selection'].iloc[0]]}"
        text_at(canvas, LEFT, top + 0.04, heading, fontsize=9, weight="bold")
        panels = (VALUES, DIFFERENCES) if block["difference"].notna().any() else (VALUES,)
        for column, names in enumerate(panels):
            place = (LEFT + column * (width + BETWEEN), top + ABOVE)
            panel = panel_at(canvas, *place, width, height)
            ends = _draw_lines(panel, block, names, shares)
            words = _metric_in_words(spec.metric, spec.direction)
            panel.set_title(words if names == VALUES else f"difference to {_fixed(block)}", loc="left", pad=6)
            if column == len(panels) - 1 and ends:
                draw_labels(panel, ends, APART / height, 1 + BESIDE / width)


def _place(row: SubspaceRow, where: str) -> tuple[str, str, float, float]:
    """What line a row belongs to: ``curve`` or ``fixed margin``, its label, its start and its share of features."""
    spec = row.spec
    if not isinstance(spec, TripletNetwork) or spec.loss.toward == "constant" or spec.loss.always:
        raise InputError(
            f"{where}: the method '{row.method}' has no place in it; name triplets whose margin is fixed, or moves to "
            "the adaptive one by a schedule."
        )
    if spec.loss.toward == "nothing":
        return FIXED, row.label, math.nan, math.nan
    return CURVE, f"λ = {spec.loss.feature_share:g}", spec.loss.start, spec.loss.feature_share


def _check_places(places: Sequence[tuple[str, str, float, float]], where: str) -> None:
    """Refuse two rows at one place of a curve."""
    curves = [place[2:] for place in places if place[0] == CURVE]
    for start, share in curves:
        if curves.count((start, share)) > 1:
            raise InputError(f"{where}: two rows have fₐ = {start:g} and λ = {share:g}; leave out one of them.")


def _metric_in_words(metric: str, direction: str) -> str:
    return f"{metric}, {DIRECTIONS.get(direction, 'mean of both directions')}"


def _fixed(data: pd.DataFrame) -> str:
    """What the line is called that differences are taken to."""
    return str(data[data["line"] == FIXED]["label"].iloc[0])


def _labels(data: pd.DataFrame) -> dict[str, str]:
    """Each label in lines that are not too long."""
    return {label: textwrap.fill(label, WRAPPED) for label in unique(data["label"])}


def _draw_lines(panel: Any, data: pd.DataFrame, names: tuple[str, ...], shares: Sequence[float]) -> list[LineEnd]:
    """Draw one curve per share, and fixed margins as horizontal lines; return where lines end."""
    from matplotlib.ticker import MaxNLocator

    labels, (mean, low, high) = _labels(data), names
    curves, fixed = (data[data["line"] == line] for line in (CURVE, FIXED))
    starts = sorted(curves["start"].unique())
    span = (starts[-1] - starts[0]) or 1.0
    limits = (starts[0] - 0.06 * span, starts[-1] + 0.06 * span)
    panel.set_xlim(*limits)
    step = DODGE * (limits[1] - limits[0]) / (panel.get_position().width * panel.figure.get_figwidth())
    others = [index for index in range(len(COLOURS)) if index != BASELINE]
    ends, middle = [], (len(shares) - 1) / 2
    for number, (label, line) in enumerate(fixed.groupby("label", sort=False)):
        value = float(line[mean].iloc[0])
        if number == 0 and names == DIFFERENCES:  # the one that they are taken to
            value = 0.0
        if not math.isfinite(value):
            continue
        colour, dashes = (COLOURS[BASELINE], SOFT)[number % 2], DASHES[1 + number % 3]
        panel.axhline(value, color=colour, linewidth=1.1, linestyle=dashes, zorder=2)
        if names == VALUES:
            panel.axhspan(line[low].iloc[0], line[high].iloc[0], color=colour, alpha=0.07, linewidth=0, zorder=0)
        ends.append(LineEnd(labels[str(label)], colour, limits[1], value))
    for label, line in curves.groupby("label", sort=False):
        index = shares.index(line["feature_share"].iloc[0])
        number = others[index % len(others)]
        line = line.dropna(subset=mean).sort_values("start")
        if line.empty:
            continue
        colour, dodge = COLOURS[number], step * (index - middle)
        x, y = (line[name].to_numpy(dtype=float) for name in ("start", mean))
        marker, dashes = MARKERS[number % len(MARKERS)], DASHES[index // len(others)]
        panel.plot(x + dodge, y, color=colour, marker=marker, linestyle=dashes, linewidth=1.2, markersize=3.4, zorder=3)
        known = np.isfinite(line[low].to_numpy(dtype=float))
        bars = (line[name].to_numpy(dtype=float)[known] for name in (low, high))
        panel.vlines((x + dodge)[known], *bars, color=colour, linewidth=0.8, alpha=0.7, zorder=2)
        ends.append(LineEnd(labels[str(label)], colour, float((x + dodge)[-1]), float(y[-1])))
    panel.set_xticks(starts, [f"{start:g}" for start in starts])
    panel.set_xlabel("start of the schedule, fₐ", labelpad=2)
    panel.yaxis.set_major_locator(MaxNLocator(5))
    draw_grid(panel)
    return ends
