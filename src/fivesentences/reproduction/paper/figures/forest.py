"""Differences of runs that are paired by seed: a line per contrast, with an interval over seeds and test images."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fivesentences.reproduction.categories.paper.notes import notes_on_left_out, notes_on_measures
from fivesentences.reproduction.categories.paper.table import DECIMALS as SUBSPACE_DECIMALS
from fivesentences.reproduction.categories.paper.table import SIDES
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import is_narrow, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.style import COLOURS, SOFT, breadth
from fivesentences.reproduction.paper.numbers.contrasts import (
    AnyContrast,
    Contrasts,
    Difference,
    Measured,
    measured_contrasts,
)
from fivesentences.reproduction.paper.text.contrast_notes import (
    METRICS,
    contrast_in_words,
    groups_of,
    note_on_many,
    notes_on_contrasts,
    notes_on_contrasts_left_out,
    notes_on_pairs,
    sides_in_words,
)  # fmt: skip
from fivesentences.reproduction.paper.text.metric_notes import notes_on_inference
from fivesentences.reproduction.paper.text.names import MINUS, number, signed, unique, wrapped
from fivesentences.reproduction.paper.text.run_notes import notes_on_missing
from fivesentences.reproduction.study.exhibits import ForestFigure, SubspaceForestFigure
from fivesentences.reproduction.study.expand import Contrast, SubspaceContrast, contrasts_of, subspace_contrasts
from fivesentences.reproduction.study.study import Study

COLUMNS = ["setting", "contrast", "metric", "seed", "value", "low", "high"]
MEAN = "mean"  # stands for the seed of the mean over seeds
LINE, SIZE, CHARACTERS = 0.13, 7.8, 36  # inches of a line of text, its points, and characters of a label
LETTERS, OF_LABELS = 17, 20.5  # in an inch of a bold title, and of a label
LEAST, NUMBERS, FEWEST, LINES = 0.7, 18, 12, 6  # inches of an axis; letters of numbers, of a line; lines of a label
DECIMALS = 1
BELOW = 0.6  # lines from a mean to its seeds
BESIDE: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False, "va": "center"}
Groups = Mapping[str, Sequence[tuple[str, Measured]]]


def forest_figure(spec: ForestFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the differences of its runs: one line per contrast and metric for the mean, and one for each seed."""
    study, scale = context.study, context.scale
    contrasts = contrasts_of(spec.contrasts, study, scale)
    found = measured_contrasts(contrasts, numbers, context.where(spec))
    notes = [
        *notes_on_contrasts(found, spec.measures, study),
        *_how_to_read(found.of),
        *notes_on_inference(unique(row.inference for one in found.of for row in (one.contrast.a, one.contrast.b))),
        *notes_on_contrasts_left_out(contrasts, scale.scale, study),
        *notes_on_missing(study, scale, context.rows(spec)),
        *spec.notes,
    ]
    panels_of = {metric: (metric, METRICS[metric], DECIMALS) for metric in spec.measures}
    return _forest(found, panels_of, notes, study)


def subspace_forest_figure(spec: SubspaceForestFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the differences of methods of category retrieval, as ``forest_figure``."""
    study, scale = context.study, context.scale
    contrasts = subspace_contrasts(spec.contrasts, study, scale)
    found = measured_contrasts(contrasts, numbers, context.where(spec))
    both = [row for contrast in contrasts for row in (contrast.a, contrast.b)]
    notes = [
        *notes_on_pairs(found, study),
        *_how_to_read(found.of),
        *(notes_on_measures(spec.measures) if found.of else []),
        *notes_on_contrasts_left_out(contrasts, scale.scale, study),
        *notes_on_left_out(both, scale, study),
        *spec.notes,
    ]
    panels_of = {
        one.key: (
            " ".join(one.key),
            one.metric if one.direction == "mean" else f"{one.metric}, {SIDES[one.direction]}",
            SUBSPACE_DECIMALS,
        )
        for one in spec.measures
    }
    return _forest(found, panels_of, notes, study)


def _forest(
    found: Contrasts[AnyContrast], panels_of: Mapping[Any, tuple[str, str, int]], notes: Sequence[str], study: Study
) -> Drawing:
    """Lay out measured contrasts.

    Args:
        found: The contrasts.
        panels_of: For each panel, by the key of its measure: its name in the data, its title, and its decimals.
        notes: Sentences below the figure.
        study: The study.
    """
    notes = [*notes, *note_on_many([one.metrics[key] for one in found.of for key in panels_of], "figure")]
    baselines = {sides_in_words(one.contrast, study)[1] for one in found.of}
    groups: dict[str, list[tuple[str, Measured[Any]]]] = {
        title: [(_line_of(one.contrast, baselines, study), one) for one in measured]
        for title, measured in groups_of(found.of, study).items()
    }
    lines: list[tuple[Any, ...]] = []
    for setting, some in groups.items():
        for label, measured in some:
            for metric, (name, _, _) in panels_of.items():
                one = measured.metrics[metric]
                start: tuple[str, str, str] = (setting, label, name)
                lines.append((*start, MEAN, one.mean, one.low, one.high))
                of_seeds = zip(measured.contrast.seeds, one.differences, strict=True)
                lines += [(*start, str(seed), value, None, None) for seed, value in of_seeds]
    data = pd.DataFrame(lines, columns=COLUMNS).astype({"low": float, "high": float})
    zero = f"0 = {baselines.pop()}" if len(baselines) == 1 else "0 = no difference"
    return Drawing(data, notes, lambda canvas: _draw(canvas, panels_of, groups, zero))


def _line_of(contrast: Contrast | SubspaceContrast, baselines: Collection[str], study: Study) -> str:
    """Name a contrast: what it asks, or its first side if all have the same second one, or both sides."""
    alone = sides_in_words(contrast, study)[0] if len(baselines) == 1 else ""
    return contrast.question or alone or contrast_in_words(contrast, study)


def _how_to_read(measured: Sequence[Measured]) -> list[str]:
    notes, seeds = [], [len(one.contrast.seeds) for one in measured]
    if any(count > 1 for count in seeds):
        notes.append("Dots: mean difference; lines: 95% interval; small dots below: single seeds.")
    if 1 in seeds:
        notes.append("Open dots: the difference of the only seed.")
    return notes


def _draw(canvas: Figure, panels_of: Mapping[Any, tuple[str, str, int]], groups: Groups, zero: str) -> None:
    """Labels at the left, and for each metric a panel with its numbers in words beside it."""
    # Places are in lines of text from the top.
    labels, middles, titles, spans, down = [], [], [], [], 0.0
    characters = _characters(canvas)
    for title, contrasts in groups.items():
        titles.append((down + 1, title))
        start = down = down + 2
        for label, _ in contrasts:
            labels.append(_label(label, characters))
            height = 2 + labels[-1].count("\n")
            middles.append(down + height / 2)
            down += height
        spans.append((start, down))
    measured = [one for contrasts in groups.values() for _, one in contrasts]
    found = panels(canvas, len(panels_of), len(panels_of), LINE * down + 0.6, sharey=True)
    for panel, (metric, (_, shown, decimals)) in zip(found, panels_of.items(), strict=True):
        lines = [(middle, one.metrics[metric]) for middle, one in zip(middles, measured, strict=True)]
        _draw_panel(panel, lines, spans, decimals)
        panel.set_title(f"Difference in {shown}", fontsize=8.5, weight="bold")
        panel.set_xlabel(zero, loc="left")
    found[0].set_yticks(middles, labels, fontsize=SIZE)
    found[0].set_ylim(down, 0)
    width = int(canvas.get_figwidth() * LETTERS / breadth())
    across: dict[str, Any] = {"xycoords": ("figure fraction", "data"), "in_layout": False, "annotation_clip": False}
    # Panels beside each other share their titles.
    for panel in found if is_narrow(canvas) else found[:1]:
        for middle, title in titles:
            words = wrapped(title, width, 2)
            panel.annotate(words, (0.005, middle), weight="bold", fontsize=SIZE, va="center", **across)


def _characters(canvas: Figure) -> int:
    """Return how many characters a line of a label has, so that its panel keeps room for the axis."""
    if not is_narrow(canvas):
        return CHARACTERS
    letter = breadth() / OF_LABELS
    return max(FEWEST, min(CHARACTERS, int((canvas.get_figwidth() - LEAST) / letter) - NUMBERS))


def _label(label: str, characters: int) -> str:
    """Break a label into lines, before the minus sign first."""
    if len(label) <= characters:
        return label
    first, minus, second = label.partition(f" {MINUS} ")
    sides = (first, f"{MINUS} {second}") if minus else (first,)
    return "\n".join(wrapped(side, characters, LINES, "  ") for side in sides)


def _draw_panel(
    panel: Any, lines: Sequence[tuple[float, Difference]], spans: Sequence[tuple[float, float]], decimals: int
) -> None:
    for top, bottom in spans:
        panel.plot([0, 0], [top, bottom], color=SOFT, linewidth=0.7, zorder=1)
    dot: dict[str, Any] = {"marker": "o", "color": COLOURS[0], "markeredgewidth": 0}
    for middle, found in lines:
        words = signed(found.mean, decimals)
        if found.low is None:
            panel.plot(found.mean, middle, **dot | {"markeredgewidth": 1}, markersize=4.2, markerfacecolor="white")
        else:
            words += f" [{number(found.low, decimals)}, {number(found.high, decimals)}]"
            below, seed = [middle + BELOW] * len(found.differences), {"linestyle": "", "alpha": 0.35, "markersize": 2.6}
            panel.plot(found.differences, below, **dot | seed, zorder=2)
            panel.plot([found.low, found.high], [middle, middle], color=COLOURS[0], linewidth=1.3, zorder=3)
            panel.plot(found.mean, middle, **dot, markersize=4.6, zorder=4)
        panel.annotate(words, (1.04, middle), fontsize=SIZE - 0.4, **BESIDE)
    panel.spines["left"].set_visible(False)
    panel.patch.set_visible(False)  # a title over several panels is not hidden by the second
    panel.grid(False)
    panel.margins(x=0.08)
    panel.tick_params(axis="y", length=0)
    panel.locator_params(axis="x", nbins=4)
