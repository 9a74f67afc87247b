"""Figure 4 of sched_sam: the mean margin of all triplets over the epochs, beside the schedule alpha(t)."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fivesentences.models.subspaces.specs import TripletNetwork
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, WIDTH, draw_grid, panel_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, LineEnd, Look, draw_labels, widest_label
from fivesentences.paper.numbers.histories import of_run, read_histories
from fivesentences.paper.text.names import unique
from fivesentences.paper.text.subspace_notes import note_on_seeds, notes_on_left_out, place_of
from fivesentences.study.exhibits import MarginByEpochFigure
from fivesentences.study.expand import SubspaceRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["setting", "line", "what", "epoch", "mean", "low", "high", "seeds"]
MARGIN, ALPHA = "mean margin", "alpha"
# Margins take these colours in turn; the schedule has one that no margin has.
LOOKS = tuple(
    Look(COLOURS[colour], DASHES[dashes]) for colour, dashes in ((0, 0), (1, 2), (3, 3), (4, 5), (5, 6), (6, 0))
)
SCHEDULE = COLOURS[2]
# Inches; and characters of a line of a label.
LEFT, ABOVE, HEIGHT, BELOW, BESIDE, TEXT_LINE, APART = 0.5, 0.3, 2.1, 0.5, 0.2, 0.125, 0.07
WRAPPED = 30


def margin_by_epoch_figure(spec: MarginByEpochFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect what was recorded of every epoch.

    Raises:
        InputError: If a run has no triplets.
    """
    rows = context.subspace_rows(spec)
    made = [row for row in rows if row.runs]
    data = _tidy(spec, made, context, numbers)
    notes = [
        *(_notes(made, data) if made else []),
        *notes_on_left_out(rows, context.scale.scale, context.study),
        *spec.notes,
    ]
    return Drawing(data, notes, functools.partial(_draw, data=data) if made else None)


def _tidy(
    spec: MarginByEpochFigure, made: Sequence[SubspaceRow], context: Context, numbers: Sequence[Path]
) -> pd.DataFrame:
    """One line per method, quantity and epoch: over seeds the mean, the lowest and the highest value."""
    parts = [pd.DataFrame(columns=COLUMNS)] if not made else []
    histories = read_histories(numbers) if made else pd.DataFrame()
    schedules: set[tuple[str, str]] = set()
    for row in _each_once(made):
        runs = pd.concat([of_run(histories, run.name) for run in row.runs])
        where = place_of(row, context.study)
        parts.append(_over_seeds(runs, "mean_margin").assign(setting=where, line=row.label, what=MARGIN))
        schedule = _schedule(row)
        if schedule is not None and (where, schedule) not in schedules:
            schedules.add((where, schedule))
            parts.append(_over_seeds(runs, "alpha").assign(setting=where, line=schedule, what=ALPHA))
    return pd.concat(parts, ignore_index=True)[COLUMNS]


def _each_once(made: Sequence[SubspaceRow]) -> list[SubspaceRow]:
    """Rows without those that differ from another in their selection only: they have the same history."""
    return list({(row.role, row.division, row.method): row for row in reversed(made)}.values())[::-1]


def _schedule(row: SubspaceRow) -> str | None:
    """What a row's schedule is called; None for a margin that stays fixed."""
    loss = row.spec.loss if isinstance(row.spec, TripletNetwork) else None
    if loss is None or loss.toward == "nothing":
        return None
    return "α(t) = 1" if loss.always else f"α(t), fₐ = {loss.start:g}, k = {loss.steepness:g}"


def _over_seeds(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Epoch, mean, lowest and highest value over runs, and how many they are."""
    found = runs.dropna(subset=column).groupby("epoch")[column].agg(["mean", "min", "max", "count"])
    return found.reset_index().set_axis(["epoch", "mean", "low", "high", "seeds"], axis=1)


def _notes(made: Sequence[SubspaceRow], data: pd.DataFrame) -> list[str]:
    notes = [
        "Mean margin: over all pairs of training documents of different category, with the centroids that the epoch "
        "began with. α(t): the weight of what the schedule leads to at that epoch, on the same axis.",
        note_on_seeds(made, "Lines: mean; bands: lowest to highest value", "One run of each method"),
    ]
    falls = []
    for (setting, name), line in data[data["what"] == MARGIN].groupby(["setting", "line"], sort=False):
        first, last = line["mean"].iloc[0], line["mean"].iloc[-1]
        where = f"{name} ({setting})" if data["setting"].nunique() > 1 else name
        falls.append(f"{where}: {first:.2f} → {last:.2f}")
    return [*notes, f"Mean margin in the first and the last epoch: {'; '.join(falls)}."]


def _draw(canvas: Canvas, data: pd.DataFrame) -> None:
    """A panel per setting, one below the other."""
    settings, names = unique(data["setting"]), unique(data[data["what"] == MARGIN]["line"])
    looks = {name: LOOKS[index % len(LOOKS)] for index, name in enumerate(names)}
    panels = [(setting, _lines(data[data["setting"] == setting], looks)) for setting in settings]
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
        first, last = int(data["epoch"].min()), int(data["epoch"].max())
        panel.set_xlim(first, max(last, first + 1))
        panel.set_title(setting, loc="left", pad=6)
        panel.set_xlabel("epoch t", labelpad=2)
        panel.set_ylabel("margin, α(t)", labelpad=3)
        draw_grid(panel)
        draw_labels(panel, ends, apart / height, 1 + BESIDE / width)


def _lines(data: pd.DataFrame, looks: dict[str, Look]) -> list[tuple[str, pd.DataFrame, str, Any]]:
    """Label, points, colour and dashes of each line of a panel."""
    lines: list[tuple[str, pd.DataFrame, str, Any]] = []
    margins, schedules = (data[data["what"] == what] for what in (MARGIN, ALPHA))
    for name, line in margins.groupby("line", sort=False):
        label = "mean margin" if margins["line"].nunique() == 1 else str(name)
        lines.append((textwrap.fill(label, WRAPPED), line, *looks[str(name)]))
    for number, (name, line) in enumerate(schedules.groupby("line", sort=False)):
        label = "α(t)" if schedules["line"].nunique() == 1 else str(name)
        lines.append((textwrap.fill(label, WRAPPED), line, SCHEDULE, (0, (5 - number % 3, 1.5))))
    return lines


def _draw_line(panel: Any, label: str, line: pd.DataFrame, colour: str, dashes: Any) -> LineEnd:
    epoch, mean, low, high = (line[name].to_numpy(dtype=float) for name in ("epoch", "mean", "low", "high"))
    panel.plot(epoch, mean, color=colour, linestyle=dashes, linewidth=1.5, zorder=3)
    if (high > low).any():
        panel.fill_between(epoch, low, high, color=colour, alpha=0.16, linewidth=0)
    return LineEnd(label, colour, float(epoch[-1]), float(mean[-1]))
