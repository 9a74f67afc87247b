"""Figures 3, 4 and 7 of sched_sam: the schedule of the margin, the mean margin beside it, and what it reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

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
from fivesentences.reproduction.paper.figures.style import COLOURS, DARK, DASHES, SOFT, cycled
from fivesentences.reproduction.paper.numbers.histories import of_run, read_recorded
from fivesentences.reproduction.paper.text.names import DIRECTIONS, grouped, listed, unique
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
CURVES = [colour for colour in COLOURS if colour != DARK]  # a fixed margin is dark
DODGE = 0.04  # inches from a bar to its neighbour


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
    return Drawing(data, notes, lambda canvas: _draw(spec, canvas, data))


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
    shown = "Points: mean; bars (grey: of a fixed margin): lowest to highest value"
    notes = [
        "fₐ: the share of the epochs at which the schedule is half active. λ: the weight of the distance of "
        "features in the adaptive margin.",
        *notes_on_seeds(made, attrgetter("label"), shown),
        f"Epoch whose weights are read: {chosen}.",
    ]
    if data["difference"].notna().any():
        single = " With one seed in common, no interval is known."
        notes.append(
            f"Right: differences to {_fixed(data)}, paired by seed, with the 95% t interval of the mean difference. "
            "Where a bar includes zero, these seeds do not tell the two apart; test documents do not count as a "
            "sample here." + single * bool(data["paired_seeds"].eq(1).any())
        )
    return notes


def _fixed(data: pd.DataFrame) -> str:
    """Name the line that differences are taken to."""
    return str(data[data["line"] == FIXED]["label"].iloc[0])


def _draw(spec: StartAndShareFigure, canvas: Figure, data: pd.DataFrame) -> None:
    """Draw a row of panels per setting and selection: values, and beside them the differences to the fixed margin."""
    parts = [part for _, part in data.groupby(["setting", "selection"], sort=False)]
    headings = [f"{part['setting'].iloc[0]}, {EPOCHS[part['selection'].iloc[0]]}" for part in parts]
    height = max(3.2, 0.2 * max(part["label"].nunique() for part in parts) + 1)
    heights = [2 * height if is_narrow(canvas) else height] * len(parts)
    for block, part in zip(blocks(canvas, headings, heights), parts, strict=True):
        shown = [VALUES, DIFFERENCES] if part["difference"].notna().any() else [VALUES]
        for panel, names in zip(panels(block, len(shown), columns_in(canvas, len(shown))), shown, strict=True):
            ends = _draw_curves(panel, part, names)
            of_values = f"{spec.metric}, {DIRECTIONS.get(spec.direction, 'mean of both directions')}"
            panel.set_title(of_values if names == VALUES else f"difference to {_fixed(part)}")
            if names == shown[-1] or is_narrow(canvas):
                draw_labels(panel, ends, 22)


def _draw_curves(panel: Any, data: pd.DataFrame, names: list[str]) -> list[tuple[str, str, float, float]]:
    """Draw one curve per share, and fixed margins as horizontal lines; return where lines end."""
    curves, fixed = (data[data["line"] == line] for line in (CURVE, FIXED))
    starts = sorted(curves["start"].unique())
    span = (starts[-1] - starts[0]) or 1.0
    panel.set_xlim(starts[0] - 0.06 * span, starts[-1] + 0.06 * span)
    ends = []
    for number, (label, line) in enumerate(fixed.groupby("label", sort=False)):
        value, low, high = line[names].iloc[0].astype(float)
        if number == 0 and names == DIFFERENCES:  # the one that they are taken to
            value = 0.0
        if math.isfinite(value):
            colour = (DARK, SOFT)[number % 2]
            panel.axhline(value, color=colour, linewidth=1.1, linestyle=DASHES[1 + number % 3], zorder=2)
            if names == VALUES:
                panel.axhspan(low, high, color=colour, alpha=0.07, linewidth=0, zorder=0)
            ends.append((str(label), colour, panel.get_xlim()[1], value))
    labels = curves.drop_duplicates("label").sort_values("feature_share")["label"]
    ends += draw_lines(panel, curves, "start", names, cycled(list(labels), CURVES), DODGE)
    panel.set_xticks(starts, [f"{start:g}" for start in starts])
    panel.set_xlabel("start of the schedule, fₐ")
    return ends
