"""Figure 4 of sched_sam: the mean margin of all triplets over the epochs, beside the schedule alpha(t)."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from fivesentences.paper.figures.canvas import COLOURS, WIDTH, draw_grid, panel_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import LineEnd, draw_labels, widest_label
from fivesentences.paper.figures.subspace_rows import (
    SubspaceRowsFigure,
    note_on_seeds,
    notes_on_rows,
    where_in_words,
)
from fivesentences.paper.kinds import Context
from fivesentences.paper.numbers.histories import of_run, read_histories
from fivesentences.paper.text.names import unique
from fivesentences.plan.exhibits import Source
from fivesentences.plan.subspaces import SubspaceRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["setting", "method", "what", "epoch", "mean", "low", "high", "seeds"]
MARGIN, ALPHA = "mean margin", "alpha"
# Margins take these colours in turn; the schedule has one that no margin has.
LINES = (COLOURS[0], COLOURS[1], COLOURS[3], COLOURS[4], COLOURS[5], COLOURS[6])
SCHEDULE = COLOURS[2]
# Inches; and characters of a line of a label.
LEFT, ABOVE, HEIGHT, BELOW, BESIDE, TEXT_LINE, APART = 0.5, 0.3, 2.1, 0.5, 0.2, 0.125, 0.07
WRAPPED = 30


class MarginByEpochFigure(SubspaceRowsFigure):
    """The mean margin of all triplets of each epoch, one line per method, and the schedule that it follows."""

    reads: ClassVar[Source] = "subspace_histories"

    kind: Literal["margin_by_epoch"]

    def drawing(self, context: Context, numbers: Sequence[Path]) -> Drawing:
        """Collect what was recorded of every epoch; see ``FigureKind``.

        Raises:
            InputError: If a run has no triplets.
        """
        made, rows = self.resolved(context)
        data = self._tidy(made, context, numbers)
        notes = [*(_notes(made, data) if made else []), *notes_on_rows(context, made, rows), *self.notes]
        return Drawing(data, notes, functools.partial(_draw, data=data) if made else None)

    def _tidy(self, made: Sequence[SubspaceRow], context: Context, numbers: Sequence[Path]) -> pd.DataFrame:
        """One line per method, quantity and epoch: over seeds the mean, the lowest and the highest value."""
        parts = [pd.DataFrame(columns=COLUMNS)] if not made else []
        histories = read_histories(numbers) if made else pd.DataFrame()
        for row in _each_once(made):
            runs = [of_run(histories, run.name) for run in row.runs]
            for column, what in (("mean_margin", MARGIN), ("alpha", ALPHA)):
                values = (
                    pd.concat(runs).dropna(subset=column).groupby("epoch")[column].agg(["mean", "min", "max", "count"])
                )
                values = values.reset_index().set_axis(["epoch", "mean", "low", "high", "seeds"], axis=1)
                parts.append(values.assign(setting=where_in_words(row, context), method=row.label, what=what))
        return pd.concat(parts, ignore_index=True)[COLUMNS]


def _each_once(made: Sequence[SubspaceRow]) -> list[SubspaceRow]:
    """Rows without those that differ from another in their selection only: they have the same history."""
    return list({(row.role, row.division, row.method): row for row in reversed(made)}.values())[::-1]


def _notes(made: Sequence[SubspaceRow], data: pd.DataFrame) -> list[str]:
    notes = [
        "Mean margin: over all triplets of the batches of an epoch. α(t): the weight of what the schedule leads to at "
        "that epoch, on the same axis.",
        note_on_seeds(made, "Lines: mean; bands: lowest to highest value"),
    ]
    falls = []
    for (setting, method), line in data[data["what"] == MARGIN].groupby(["setting", "method"], sort=False):
        first, last = line["mean"].iloc[0], line["mean"].iloc[-1]
        where = f"{method} ({setting})" if data["setting"].nunique() > 1 else method
        falls.append(f"{where} {first:.2f} → {last:.2f}")
    return [*notes, f"Mean margin in the first and the last epoch: {'; '.join(falls)}."]


def _draw(canvas: Canvas, data: pd.DataFrame) -> None:
    """A panel per setting, one below the other."""
    settings, methods = unique(data["setting"]), unique(data["method"])
    colours = {method: LINES[index % len(LINES)] for index, method in enumerate(methods)}
    panels = [(setting, _lines(data[data["setting"] == setting], colours)) for setting in settings]
    labels = [label for _, lines in panels for label, *_ in lines]
    apart = TEXT_LINE * max(len(label.splitlines()) for label in labels) + APART
    height = max(HEIGHT, apart * max(len(lines) for _, lines in panels))
    width = WIDTH - LEFT - BESIDE - widest_label(labels) - 0.12
    canvas.set_size_inches(WIDTH, len(panels) * (ABOVE + height + BELOW))
    for number, (setting, lines) in enumerate(panels):
        panel = panel_at(canvas, LEFT, ABOVE + number * (ABOVE + height + BELOW), width, height)
        ends = [_draw_line(panel, *line) for line in lines]
        top = max(float(line["high"].max()) for _, line, _, _ in lines)
        panel.set_ylim(0, max(1.0, top) * 1.04)
        panel.set_xlim(data["epoch"].min(), data["epoch"].max())
        panel.set_title(setting, loc="left", pad=6)
        panel.set_xlabel("epoch t", labelpad=2)
        panel.set_ylabel("margin, α(t)", labelpad=3)
        draw_grid(panel)
        draw_labels(panel, ends, apart / height, 1 + BESIDE / width)


def _lines(data: pd.DataFrame, colours: dict[str, str]) -> list[tuple[str, pd.DataFrame, str, Any]]:
    """Label, points, colour and dashes of each line of a panel; methods with the same schedule share its line."""
    lines, schedules = [], []
    for method, of_method in data.groupby("method", sort=False):
        margin, alpha = (of_method[of_method["what"] == what] for what in (MARGIN, ALPHA))
        lines.append((str(method), margin, colours[str(method)], "-"))
        if not alpha.empty:
            schedules.append((str(method), alpha))
    if len(lines) == 1:
        lines = [(f"mean margin\n{textwrap.fill(lines[0][0], WRAPPED)}", *lines[0][1:])]
    else:
        lines = [(textwrap.fill(label, WRAPPED), *rest) for label, *rest in lines]
    distinct: list[tuple[list[str], pd.DataFrame]] = []
    for method, alpha in schedules:
        same = next((names for names, other in distinct if _equal(alpha, other)), None)
        if same is None:
            distinct.append(([method], alpha))
        else:
            same.append(method)
    for number, (names, alpha) in enumerate(distinct):
        label = "α(t)" if len(distinct) == 1 else textwrap.fill(f"α(t): {'; '.join(names)}", WRAPPED)
        lines.append((label, alpha, SCHEDULE, (0, (5 - number % 3, 1.5))))
    return lines


def _equal(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    values = [frame[["epoch", "mean"]].to_numpy(dtype=float) for frame in (one, other)]
    return values[0].shape == values[1].shape and bool(np.allclose(*values))


def _draw_line(panel: Any, label: str, line: pd.DataFrame, colour: str, dashes: Any) -> LineEnd:
    epoch, mean, low, high = (line[name].to_numpy(dtype=float) for name in ("epoch", "mean", "low", "high"))
    panel.plot(epoch, mean, color=colour, linestyle=dashes, linewidth=1.5, zorder=3)
    if (high > low).any():
        panel.fill_between(epoch, low, high, color=colour, alpha=0.16, linewidth=0)
    return LineEnd(label, colour, float(epoch[-1]), float(mean[-1]))
