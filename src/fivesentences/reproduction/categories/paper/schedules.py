"""Figures 3, 4 and 7 of sched_sam: the schedule of the margin, the mean margin beside it, and what it reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fivesentences.errors import InputError
from fivesentences.losses.scheduled_margin_spec import activation
from fivesentences.metrics.seed_intervals import paired_interval
from fivesentences.reproduction.categories.models.specs import TripletNetwork
from fivesentences.reproduction.categories.paper.notes import EPOCHS, place_of
from fivesentences.reproduction.categories.paper.numbers import SubspaceResults
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import (
    blocks,
    columns_in,
    draw_labels,
    draw_lines,
    is_narrow,
    legend,
    panels,
)
from fivesentences.reproduction.paper.figures.drawing import Drawing, notes_of_subspaces
from fivesentences.reproduction.paper.figures.style import COLOURS, DASHES, SOFT
from fivesentences.reproduction.paper.numbers.histories import of_run, read_recorded
from fivesentences.reproduction.paper.text.names import DIRECTIONS, grouped, listed, number, signed, unique
from fivesentences.reproduction.paper.text.run_notes import notes_on_seeds
from fivesentences.reproduction.study.exhibits import ActivationFigure, MarginByEpochFigure, StartAndShareFigure
from fivesentences.reproduction.study.expand import SubspaceRow

ACTIVATION = ["start", "steepness", "epochs", "epoch", "alpha"]
POINTS = 201  # of each curve
EDGE = 0.01  # a schedule that begins or ends further than this from 0 or 1 is named in a note
HISTORY = ["setting", "line", "what", "epoch", "mean", "low", "high", "seeds"]
MARGIN, ALPHA = "mean margin", "alpha"
# Margins take these colours in turn; the schedule has one that no margin has.
LOOKS = [
    {"color": COLOURS[colour], "linestyle": DASHES[dashes], "linewidth": 1.5}
    for colour, dashes in ((0, 0), (1, 2), (3, 3), (4, 5), (5, 6), (6, 0))
]
SCHEDULE = {"color": COLOURS[2], "linewidth": 1.5}
VALUES, DIFFERENCES = ["mean", "low", "high"], ["difference", "difference_low", "difference_high"]
POINT = ["setting", "selection", "line", "label", "start", "feature_share", "metric", "direction"]
COLUMNS = [*POINT, *VALUES, "seeds", *DIFFERENCES, "paired_seeds"]
CURVE, FIXED = "curve", "fixed margin"
SMALLEST_SHOWN = 0.005  # of a metric whose range is 1: the smallest range of colours
ONE_SIDED, TWO_SIDED = ["#F4F8FB", COLOURS[0]], [COLOURS[1], "#FFFFFF", COLOURS[0]]


def activation_figure(spec: ActivationFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Calculate how the schedule activates the adaptive margin; no curves at a scale without category retrieval."""
    t = np.linspace(0, spec.epochs, POINTS)
    lines = [
        (start, steepness, spec.epochs, at, activation(float(at), start, steepness, spec.epochs))
        for start, steepness in ((curve.start, curve.steepness) for curve in spec.curves)
        for at in (t if context.scale.categories is not None else ())
    ]
    data = pd.DataFrame(lines, columns=ACTIVATION)
    notes = [] if data.empty else _on_activation(data, spec.epochs)
    return Drawing(data, [*notes, *spec.notes], lambda canvas: _draw_activation(canvas, data, spec.epochs))


def _on_activation(data: pd.DataFrame, epochs: int) -> list[str]:
    unfinished = []
    for (start, steepness), curve in data.groupby(["start", "steepness"], sort=False):
        first, last = curve["alpha"].iloc[0], curve["alpha"].iloc[-1]
        ends = [f"begins at {first:.2f}"] if first > EDGE else []
        ends += [f"ends at {last:.2f}"] if last < 1 - EDGE else []
        if ends:
            unfinished.append(f"fₐ = {start:g}, k = {steepness:g} {' and '.join(ends)}")
    notes = [
        "α(t) = 1 / (1 + exp(−k (t − fₐ nₑ))), the weight of the adaptive margin at epoch t, with "
        f"nₑ = {epochs} epochs; the fixed margin has the weight 1 − α(t). Dots: t = fₐ nₑ, where "
        "both weigh the same."
    ]
    return notes + ([f"Not every schedule goes from 0 to 1: {'; '.join(unfinished)}."] if unfinished else [])


def _draw_activation(canvas: Figure, data: pd.DataFrame, epochs: int) -> None:
    (panel,), looks = panels(canvas, 1, 1, 2.7), {}
    curves = data.groupby(["start", "steepness"], sort=False)
    for ((start, steepness), curve), colour, dashes in zip(curves, COLOURS, DASHES, strict=False):
        look = {"color": colour, "linestyle": dashes, "linewidth": 1.5}
        panel.plot(curve["epoch"], curve["alpha"], zorder=3, **look)
        half = curve["start"].iloc[0] * epochs
        panel.plot(half, 0.5, marker="o", markersize=4, color=colour, zorder=4, clip_on=False)
        looks[f"fₐ = {start:g}, k = {steepness:g}"] = look
    panel.set(xlim=(0, epochs), ylim=(-0.02, 1.02), xlabel="epoch t", ylabel="α(t)")
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    for y, text in ((1, "α = 1: the adaptive margin, fₘ = fₐₘ"), (0, "α = 0: the fixed margin, fₘ = m")):
        how: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False, "va": "center"}
        panel.annotate(text, (1.04, y), color=SOFT, fontsize=7.5, **how)
    legend(panel, looks, loc="center left", bbox_to_anchor=(1.03, 0.5), ncols=1)


def margin_by_epoch_figure(spec: MarginByEpochFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the mean margin of all triplets of every epoch, and the schedules.

    Raises:
        InputError: If a run has no triplets.
    """
    rows = context.subspace_rows(spec)
    # Rows that differ from another in their selection only have the same history.
    made = {(row.role, row.division, row.method): row for row in reversed(rows) if row.runs}
    histories, parts = read_recorded(numbers, "histories") if made else pd.DataFrame(), [pd.DataFrame(columns=HISTORY)]
    for row in reversed(made.values()):
        runs, where = pd.concat([of_run(histories, run.name) for run in row.runs]), place_of(row, context.study)
        for what, column, line in ((MARGIN, "mean_margin", row.label), (ALPHA, "alpha", _schedule(row))):
            found = runs.dropna(subset=column).groupby("epoch")[column].agg(["mean", "min", "max", "count"])
            found = found.reset_index().set_axis(HISTORY[3:], axis=1)
            parts.append(found.assign(setting=where, line=line, what=what).dropna(subset="line"))
    data = pd.concat(parts if len(parts) == 1 else parts[1:], ignore_index=True)[HISTORY]
    data = data[~((data["what"] == ALPHA) & data.duplicated(HISTORY[:4]))].reset_index(drop=True)
    how_to_read = _on_margins([row for row in rows if row.runs], data) if made else []
    notes = notes_of_subspaces(spec, context, how_to_read)
    return Drawing(data, notes, lambda canvas: _draw_margins(canvas, data))


def _schedule(row: SubspaceRow) -> str | None:
    """Name a row's schedule; None for a margin that stays fixed."""
    loss = row.spec.loss if isinstance(row.spec, TripletNetwork) else None
    if loss is None or loss.toward == "nothing":
        return None
    return "α(t) = 1" if loss.always else f"α(t), fₐ = {loss.start:g}, k = {loss.steepness:g}"


def _on_margins(made: Sequence[SubspaceRow], data: pd.DataFrame) -> list[str]:
    falls = []
    for (setting, name), line in data[data["what"] == MARGIN].groupby(["setting", "line"], sort=False):
        where = f"{name} ({setting})" if data["setting"].nunique() > 1 else name
        falls.append(f"{where}: {line['mean'].iloc[0]:.2f} → {line['mean'].iloc[-1]:.2f}")
    return [
        "Mean margin: over all pairs of training documents of different category, with the centroids that the epoch "
        "began with. α(t): the weight of what the schedule leads to at that epoch, on the same axis.",
        *notes_on_seeds(made, attrgetter("label"), "Lines: mean; bands: lowest to highest value"),
        f"Mean margin in the first and the last epoch: {'; '.join(falls)}.",
    ]


def _draw_margins(canvas: Figure, data: pd.DataFrame) -> None:
    """Draw a panel per setting, one below the other."""
    names, settings = unique(data[data["what"] == MARGIN]["line"]), unique(data["setting"])
    found = panels(canvas, len(settings), 1, max(2.9, 0.35 * data["line"].nunique() + 0.8))
    for panel, (setting, part) in zip(found, data.groupby("setting", sort=False), strict=True):
        ends = []
        for what, short in ((MARGIN, "mean margin"), (ALPHA, "α(t)")):
            lines = part[part["what"] == what].rename(columns={"line": "label"})
            labels = unique(lines["label"])
            looks = {label: LOOKS[names.index(label) % len(LOOKS)] for label in labels if what == MARGIN}
            for place, label in enumerate(labels if what == ALPHA else []):
                looks[label] = SCHEDULE | {"linestyle": (0, (5 - place % 3, 1.5))}
            drawn = draw_lines(panel, lines, "epoch", VALUES, looks)
            ends += [(short if len(labels) == 1 else label, colour, x, y) for label, colour, x, y in drawn]
        first, last = int(data["epoch"].min()), int(data["epoch"].max())
        panel.set(xlim=(first, max(last, first + 1)), ylim=(0, max(1.0, part["high"].max()) * 1.04))
        panel.set(title=setting, xlabel="epoch t", ylabel="margin, α(t)")
        draw_labels(panel, ends, 30)


def start_and_share_figure(spec: StartAndShareFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect a metric over the start of the schedule, one curve per share of the distance of features.

    Raises:
        InputError: If a row is no method with triplets, two rows have one place, or a value is missing (named).
    """
    made = [row for row in context.subspace_rows(spec) if row.runs]
    data = _tidy(spec, made, context, numbers)
    if not (data["line"] == CURVE).any():  # fixed margins alone are no figure
        data, made = data.iloc[:0], []
    notes = notes_of_subspaces(spec, context, _how_to_read(made, data) if made else [])
    return Drawing(data, notes, lambda canvas: _draw(spec, canvas, data), _message(spec, data))


def _message(spec: StartAndShareFigure, data: pd.DataFrame) -> str:
    """Say how many schedules differ from the fixed margin; empty if there is none, or no interval."""
    known = data[data["difference_low"].notna() & (data["line"] == CURVE)]
    if known.empty:
        return ""
    apart = int(((known["difference_low"] > 0) | (known["difference_high"] < 0)).sum())
    most = number(float(known["difference"].abs().max()), 3)
    told = f"{apart or 'None'} of {len(known)} schedules {'is' if apart < 2 else 'are'} told apart"
    seeds = int(known["paired_seeds"].min())
    return f"{told} from {_fixed(data)} by {seeds} paired seeds, and no mean differs by more than {most} {spec.metric}"


def _tidy(
    spec: StartAndShareFigure, made: Sequence[SubspaceRow], context: Context, numbers: Sequence[Path]
) -> pd.DataFrame:
    """Make one line per row: over seeds the mean, the lowest and the highest value, and the paired difference."""
    results, measure, where = SubspaceResults(numbers), (spec.metric, spec.direction), context.where(spec)
    lines: list[tuple[Any, ...]] = []
    for some in grouped(made, lambda row: (row.role, row.division, row.selection)).values():
        places = [_place(row, where) for row in some]
        for _, _, start, share in (place for place in places if places.count(place) > 1 and place[0] == CURVE):
            raise InputError(f"{where}: two rows have fₐ = {start:g} and λ = {share:g}; leave out one of them.")
        values = [{run.seed: results.value(run.name, row.selection, measure) for run in row.runs} for row in some]
        fixed = next((found for place, found in zip(places, values, strict=True) if place[0] == FIXED), {})
        for place, found in zip(places, values, strict=True):
            seeds = list(found.values())
            difference = paired_interval(found, {} if found is fixed else fixed)
            point = (place_of(some[0], context.study), some[0].selection, *place, *measure)
            lines.append((*point, float(np.mean(seeds)), min(seeds), max(seeds), len(seeds), *difference))
    return pd.DataFrame(lines, columns=COLUMNS)


def _place(row: SubspaceRow, where: str) -> tuple[str, str, float, float]:
    """Find the line of a row: ``curve`` or ``fixed margin``, its label, its start and its share of features."""
    spec = row.spec
    if not isinstance(spec, TripletNetwork) or spec.loss.toward == "constant" or spec.loss.always:
        raise InputError(
            f"{where}: the method '{row.method}' has no place in it; name triplets whose margin is fixed, or moves to "
            "the adaptive one by a schedule."
        )
    if spec.loss.toward == "nothing":
        return FIXED, row.label, math.nan, math.nan
    return CURVE, f"λ = {spec.loss.feature_share:g}", spec.loss.start, spec.loss.feature_share


def _how_to_read(made: Sequence[SubspaceRow], data: pd.DataFrame) -> list[str]:
    chosen = listed(unique(EPOCHS[selection] for selection in data["selection"]))
    shown = "Cells: mean"
    fixed = data[data["line"] == FIXED][["selection", "label", "mean"]].itertuples(index=False)
    values = "; ".join(f"{label} {number(value, 3)} ({EPOCHS[of]})" for of, label, value in fixed)
    notes = [
        "fₐ: the share of the epochs at which the schedule is half active. λ: the weight of the distance of "
        "features in the adaptive margin.",
        *notes_on_seeds(made, attrgetter("label"), shown),
        f"Epoch whose weights are read: {chosen}.",
    ]
    notes += [f"For comparison: {values}."] if values else []
    if data["difference"].notna().any():
        single = " With one seed in common, no interval is known."
        notes.append(
            f"Differences to {_fixed(data)} are paired by seed. Bold, in a frame: the 95% t interval of the mean "
            "difference, in the CSV, leaves out zero. Elsewhere these seeds do not tell the two apart. Test documents "
            "do not count as a sample here." + single * bool(data["paired_seeds"].eq(1).any())
        )
    return notes


def _fixed(data: pd.DataFrame) -> str:
    """Name the line that differences are taken to."""
    return str(data[data["line"] == FIXED]["label"].iloc[0])


def _draw(spec: StartAndShareFigure, canvas: Figure, data: pd.DataFrame) -> None:
    """Draw a row of maps per setting and selection: values, and beside them the differences to the fixed margin."""
    parts = [part for _, part in data.groupby(["setting", "selection"], sort=False)]
    headings = [f"{part['setting'].iloc[0]}, {EPOCHS[part['selection'].iloc[0]]}" for part in parts]
    height = max(1.5, 0.24 * data[data["line"] == CURVE]["feature_share"].nunique() + 1.1)
    heights = [2 * height if is_narrow(canvas) else height] * len(parts)
    for block, part in zip(blocks(canvas, headings, heights), parts, strict=True):
        shown = [VALUES, DIFFERENCES] if part["difference"].notna().any() else [VALUES]
        for panel, names in zip(panels(block, len(shown), columns_in(canvas, len(shown))), shown, strict=True):
            _draw_map(panel, part[part["line"] == CURVE], names)
            of_values = f"{spec.metric}, {DIRECTIONS.get(spec.direction, 'mean of both directions')}"
            panel.set_title(of_values if names == VALUES else f"difference to {_fixed(part)}")


def _draw_map(panel: Any, curves: pd.DataFrame, names: list[str]) -> None:
    """Draw a cell per start and share; differences whose interval leaves out zero are bold, in a frame."""
    tables = [curves.pivot(index="feature_share", columns="start", values=name) for name in names]
    values, low, high = (table.to_numpy(dtype=float) for table in tables)
    differences = names == DIFFERENCES
    # At least half a percent: no colour makes a difference look large that is not.
    most = max(SMALLEST_SHOWN, float(np.nanmax(np.abs(values)))) if differences else float(np.nanmax(values))
    least = -most if differences else min(float(np.nanmin(values)), most - SMALLEST_SHOWN)
    colours = LinearSegmentedColormap.from_list("cells", TWO_SIDED if differences else ONE_SIDED)
    image = panel.imshow(values, cmap=colours, vmin=least, vmax=most, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if math.isfinite(value):
            told_apart = differences and bool(low[row, column] > 0 or high[row, column] < 0)
            weight = "bold" if told_apart else "normal"
            text = signed(value, 3).replace("0.", ".", 1) if differences else f"{value:.3f}".removeprefix("0")
            ink = "white" if abs(image.norm(value) - 0.5 * differences) > (0.35 if differences else 0.6) else "black"
            panel.text(column, row, text, ha="center", va="center", fontsize=7.5, weight=weight, color=ink)
            if told_apart:
                panel.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, linewidth=1.2, zorder=3))
    panel.set_xticks(range(len(tables[0].columns)), [f"{start:g}" for start in tables[0].columns])
    panel.set_yticks(range(len(tables[0].index)), [f"λ = {share:g}" for share in tables[0].index])
    panel.set_xlabel("start of the schedule, fₐ")
    panel.tick_params(length=0)
    panel.grid(False)
    panel.spines[:].set_visible(False)
