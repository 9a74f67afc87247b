"""Figure 6 of sched_sam: the mean margin of each category against every other over the epochs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import WIDTH, draw_grid, panel_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import Look, draw_legend, legend_height, looks_of_categories
from fivesentences.paper.numbers.histories import of_run, read_category_margins
from fivesentences.paper.text.names import unique
from fivesentences.paper.text.subspace_notes import note_on_seeds, notes_on_left_out, place_of
from fivesentences.study.exhibits import CategoryMarginsFigure
from fivesentences.study.expand import SubspaceRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["setting", "anchor", "negative", "epoch", "mean_margin", "low", "high", "seeds"]
# Inches.
LEFT, RIGHT, BETWEEN, TITLE, HEIGHT, GAP, AXIS = 0.5, 0.16, 0.14, 0.2, 1.05, 0.1, 0.42
HEADING, LEGEND = 0.26, 0.02
SIZE = 6.5  # points of the names inside a panel
ROOM = 0.17  # share of a panel's height, above and below its lines, for these names


def category_margins_figure(spec: CategoryMarginsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the margins between categories.

    Raises:
        InputError: If a run recorded none.
    """
    rows = context.subspace_rows(spec)
    made = [row for row in rows if row.runs]
    frame = read_category_margins(numbers) if made else pd.DataFrame()
    parts = [margins_over_seeds(row, frame, _setting(row, context)) for row in made]
    data = pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)
    names = {category: context.study.label_of(category) for category in unique(data["anchor"])}
    notes = [
        *(_notes(made) if made else []),
        *notes_on_left_out(rows, context.scale.scale, context.study),
        *spec.notes,
    ]
    return Drawing(data, notes, functools.partial(_draw, data=data, names=names) if made else None)


def margins_over_seeds(row: SubspaceRow, frame: pd.DataFrame, setting: str) -> pd.DataFrame:
    """One line per ordered pair of categories and epoch: the mean over seeds, the lowest and the highest value.

    Args:
        row: Whose runs.
        frame: Columns run, epoch, anchor, negative, mean_margin.
        setting: Goes into the column of that name.

    Raises:
        InputError: If a run recorded none.
    """
    runs = pd.concat([of_run(frame, run.name) for run in row.runs])
    found = runs.groupby(["anchor", "negative", "epoch"])["mean_margin"].agg(["mean", "min", "max", "count"])
    found = found.reset_index().set_axis(["anchor", "negative", "epoch", "mean_margin", "low", "high", "seeds"], axis=1)
    return found.assign(setting=setting)


def _setting(row: SubspaceRow, context: Context) -> str:
    """What a block of panels is called: its method and its documents."""
    return f"{row.label}: {place_of(row, context.study)}"


def _notes(made: Sequence[SubspaceRow]) -> list[str]:
    return [
        "Each panel: the mean margin of triplets whose anchor and positive are of the panel’s category and whose "
        "negative is of the line’s category, at that epoch. Named: the largest and the smallest of the last epoch.",
        note_on_seeds(made, "Lines: mean", "One run"),
    ]


def _draw(canvas: Canvas, data: pd.DataFrame, names: Mapping[str, str]) -> None:
    """A block per setting: its heading and panels; below all, the legend."""
    looks = looks_of_categories(list(names))
    settings = unique(data["setting"])
    blocks = [data[data["setting"] == setting] for setting in settings]
    grids = [_grid(block["anchor"].nunique()) for block in blocks]
    heights = [HEADING + rows * (TITLE + HEIGHT + GAP) + AXIS for _, rows in grids]
    legend = legend_height(list(names.values()), WIDTH - LEFT)
    canvas.set_size_inches(WIDTH, sum(heights) + LEGEND + legend + 0.04)
    top = 0.0
    for setting, block, (columns, rows), height in zip(settings, blocks, grids, heights, strict=True):
        text_at(canvas, LEFT, top + 0.04, setting, fontsize=9, weight="bold")
        _draw_block(canvas, block, looks, names, columns, rows, top + HEADING)
        top += height
    draw_legend(canvas, LEFT, top + LEGEND, WIDTH - LEFT, looks, names)


def _grid(panels: int) -> tuple[int, int]:
    """Columns and rows."""
    columns = min(panels, 4 if panels % 4 == 0 or panels > 12 or panels == 7 else 5 if panels in (5, 9, 10) else 4)
    return columns, -(-panels // columns)


def _draw_block(
    canvas: Canvas,
    data: pd.DataFrame,
    looks: Mapping[str, Look],
    names: Mapping[str, str],
    columns: int,
    rows: int,
    top: float,
) -> None:
    width = (WIDTH - LEFT - RIGHT - BETWEEN * (columns - 1)) / columns
    anchors = unique(data["anchor"])
    low, high = float(data["mean_margin"].min()), float(data["mean_margin"].max())
    span = (high - low) or 0.1
    limits = (low - ROOM * span / (1 - 2 * ROOM), high + ROOM * span / (1 - 2 * ROOM))
    for index, anchor in enumerate(anchors):
        row, column = divmod(index, columns)
        place = (LEFT + column * (width + BETWEEN), top + row * (TITLE + HEIGHT + GAP) + TITLE)
        panel = panel_at(canvas, *place, width, HEIGHT)
        _draw_panel(panel, data[data["anchor"] == anchor], looks, names, limits)
        first, last = int(data["epoch"].min()), int(data["epoch"].max())
        panel.set_xlim(first, max(last, first + 1))
        panel.set_title(names[anchor], loc="left", pad=2.5, fontsize=8)
        lowest = index + columns >= len(anchors)
        panel.tick_params(labelsize=7, length=2.5, labelleft=column == 0, labelbottom=lowest)
        if lowest:
            panel.set_xlabel("epoch t", fontsize=7.5, labelpad=1)
        if column == 0:
            panel.set_ylabel("mean margin", fontsize=7.5, labelpad=3)


def _draw_panel(
    panel: Any,
    data: pd.DataFrame,
    looks: Mapping[str, Look],
    names: Mapping[str, str],
    limits: tuple[float, float],
) -> None:
    from matplotlib.ticker import MaxNLocator

    ends = {}
    for negative, line in data.groupby("negative", sort=False):
        look = looks[str(negative)]
        epoch, mean = (line[name].to_numpy(dtype=float) for name in ("epoch", "mean_margin"))
        panel.plot(epoch, mean, color=look.colour, linestyle=look.dashes, linewidth=1.0, zorder=3)
        ends[str(negative)] = float(mean[-1])
    panel.set_ylim(*limits)
    panel.yaxis.set_major_locator(MaxNLocator(4))
    panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    draw_grid(panel)
    order = sorted(ends, key=lambda name: ends[name])
    named = [("largest", order[-1], 0.98, "top"), ("smallest", order[0], 0.03, "bottom")]
    for word, negative, height, align in (
        named if len(order) > 1 and not np.isclose(ends[order[0]], ends[order[-1]]) else []
    ):
        how: dict[str, Any] = {"transform": panel.transAxes, "fontsize": SIZE, "ha": "right", "va": align, "zorder": 4}
        panel.text(0.99, height, f"{word}: {names[negative]}", color=looks[negative].colour, **how)
