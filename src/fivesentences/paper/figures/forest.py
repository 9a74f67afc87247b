"""Differences of runs that are paired by seed: a line per contrast, with an interval over seeds and test images."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, GRID, SOFT, WIDTH, panel_at, rule_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.numbers.contrasts import Difference, Measured, measured_contrasts
from fivesentences.paper.text.captions import wrapped
from fivesentences.paper.text.contrast_notes import (
    METRICS,
    contrast_in_words,
    groups_of,
    notes_on_contrasts,
    notes_on_contrasts_left_out,
)
from fivesentences.paper.text.names import listed
from fivesentences.paper.text.numbers import MINUS, number, signed
from fivesentences.paper.text.run_notes import notes_on_missing
from fivesentences.study.exhibits import ForestFigure, Summed
from fivesentences.study.expand import contrasts_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["setting", "contrast", "metric", "seed", "value", "low", "high"]
MEAN = "mean"  # stands for the seed of the mean over seeds
# Sizes in inches and points, and characters that fit into an inch of labels.
LABELS, GAP, NUMBERS = 1.95, 0.12, 1.22
HEADING, GROUP, LINE, EXTRA, AXIS, BELOW = 0.3, 0.27, 0.26, 0.12, 0.32, 0.065
SIZE, CHARACTERS = 7.2, 18.5


def forest_figure(spec: ForestFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the differences of its runs."""
    study, scale = context.study, context.scale
    contrasts = contrasts_of(spec.contrasts, study, scale)
    found = measured_contrasts(contrasts, numbers, context.where(spec))
    groups = {
        title: [(contrast_in_words(one.contrast, study), one) for one in measured]
        for title, measured in groups_of(found.of, study).items()
    }
    notes = [
        *notes_on_contrasts(found, spec.measures, study),
        *_how_to_read(spec, found.of),
        *notes_on_contrasts_left_out(contrasts, scale.scale, study),
        *notes_on_missing(study, scale, context.rows(spec)),
        *spec.notes,
    ]
    data = _tidy(groups, spec.measures)
    draw = functools.partial(_draw, groups=groups, measures=spec.measures, bands=spec.equivalent_within)
    return Drawing(data, notes, None if data.empty else draw)


def _how_to_read(spec: ForestFigure, measured: Sequence[Measured]) -> list[str]:
    if not measured:
        return []
    several = any(len(one.contrast.seeds) > 1 for one in measured)
    alone = any(len(one.contrast.seeds) == 1 for one in measured)
    notes = ["Dots: mean difference; lines: 95% interval; small dots below: single seeds."] if several else []
    notes += ["Open dots: the difference of the only seed."] if alone else []
    bands = [f"{value:g} {METRICS[name]}" for name, value in spec.equivalent_within.items() if name in spec.measures]
    return [*notes, f"Grey: within ± {listed(bands)} of no difference."] if bands else notes


Groups = Mapping[str, Sequence[tuple[str, Measured]]]


def _tidy(groups: Groups, measures: Sequence[Summed]) -> pd.DataFrame:
    """One line per contrast and metric for the mean, and one for each seed."""
    lines: list[tuple[Any, ...]] = []
    for setting, contrasts in groups.items():
        for label, measured in contrasts:
            for metric in measures:
                found, start = measured.metrics[metric], (setting, label, metric)
                lines.append((*start, MEAN, found.mean, found.low, found.high))
                of_seeds = zip(measured.contrast.seeds, found.differences, strict=True)
                lines += [(*start, str(seed), value, None, None) for seed, value in of_seeds]
    return pd.DataFrame(lines, columns=COLUMNS).astype({"low": float, "high": float})


def _draw(canvas: Canvas, groups: Groups, measures: Sequence[Summed], bands: Mapping[Summed, float]) -> None:
    """Labels at the left, and for each metric a panel with its numbers in words beside it."""
    places, titles, spans, down = _places(groups)
    canvas.set_size_inches(WIDTH, HEADING + down + AXIS)
    each = (WIDTH - LABELS) / len(measures)
    for top, title in titles:
        if top:
            rule_at(canvas, HEADING + top)
        text_at(canvas, 0, HEADING + top + 0.06, title, fontsize=SIZE, weight="bold")
    for label, top, height, _ in places:
        for line, words in enumerate(label):
            middle = HEADING + top + height / 2 + (line - (len(label) - 1) / 2) * EXTRA
            text_at(canvas, 0.08, middle, words, fontsize=SIZE, va="center")
    text_at(canvas, 0, 0.06, f"A {MINUS} B", fontsize=8, weight="bold")
    for index, metric in enumerate(measures):
        left, width = LABELS + GAP + index * each, each - NUMBERS - GAP
        text_at(canvas, left, 0.06, METRICS[metric], fontsize=8, weight="bold")
        panel = panel_at(canvas, left, HEADING, width, down)
        panel.set_ylim(down, 0)
        lines = [(top + height / 2, measured.metrics[metric]) for _, top, height, measured in places]
        _draw_panel(panel, lines, spans, bands.get(metric))
        for middle, found in lines:
            text_at(canvas, left + width + 0.1, HEADING + middle, _in_words(found), fontsize=SIZE - 0.4, va="center")


def _places(
    groups: Groups,
) -> tuple[list[tuple[list[str], float, float, Measured]], list[tuple[float, str]], list[tuple[float, float]], float]:
    """What stands where, in inches from the top.

    Returns:
        Each contrast: its label in lines, top, height and what was measured. Each title: its top and text. The top and
        bottom of the contrasts of each group. How far down all go.
    """
    places, titles, spans, down = [], [], [], 0.0
    for title, contrasts in groups.items():
        titles.append((down, title))
        down += GROUP
        start = down
        for label, measured in contrasts:
            lines = _label(label)
            height = LINE + EXTRA * (len(lines) - 1)
            places.append((lines, down, height, measured))
            down += height
        spans.append((start, down))
        down += 0.06
    return places, titles, spans, down


def _label(label: str) -> list[str]:
    """A label in lines; one that is too long is broken before the minus sign first."""
    characters = int((LABELS - 0.08) * CHARACTERS)
    if len(label) <= characters:
        return [label]
    first, _, second = label.partition(f" {MINUS} ")
    return [line for side in (first, f"{MINUS} {second}") for line in wrapped(side, characters, 3, "  ").split("\n")]


def _draw_panel(
    panel: Any,
    lines: Sequence[tuple[float, Difference]],
    spans: Sequence[tuple[float, float]],
    band: float | None,
) -> None:
    from matplotlib.patches import Rectangle

    for top, bottom in spans:
        if band is not None:
            panel.add_patch(Rectangle((-band, top), 2 * band, bottom - top, color=GRID, linewidth=0, zorder=0))
        panel.plot([0, 0], [top, bottom], color=SOFT, linewidth=0.7, zorder=1)
    dot: Any = {"marker": "o", "color": COLOURS[0], "markeredgewidth": 0}
    for middle, found in lines:
        if found.low is None:
            panel.plot(found.mean, middle, **dot | {"markeredgewidth": 1}, markersize=4.2, markerfacecolor="white")
            continue
        for place in found.differences:
            panel.plot(place, middle + BELOW, **dot, alpha=0.35, markersize=2.6, zorder=2)
        panel.plot([found.low, found.high], [middle, middle], color=COLOURS[0], linewidth=1.3, zorder=3)
        panel.plot(found.mean, middle, **dot, markersize=4.6, zorder=4)
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    panel.margins(x=0.08)
    panel.tick_params(axis="x", labelsize=SIZE - 0.4, length=2.5)
    panel.locator_params(axis="x", nbins=5)


def _in_words(found: Difference) -> str:
    mean = signed(found.mean, 1)
    return mean if found.low is None else f"{mean} [{number(found.low, 1)}, {number(found.high, 1)}]"
