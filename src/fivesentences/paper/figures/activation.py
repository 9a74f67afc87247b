"""Figure 3 of sched_sam: how the schedule activates the adaptive margin over the epochs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.losses.scheduled_margin import activation
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, SOFT, WIDTH, draw_grid, panel_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, LEGEND_LINE, Look, draw_legend
from fivesentences.study.exhibits import ActivationFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["start", "steepness", "epochs", "epoch", "alpha"]
POINTS = 201  # of each curve
EDGE = 0.01  # a schedule that begins or ends further than this from 0 or 1 is named in a note
# Inches.
LEFT, ABOVE, PANEL, HEIGHT, BELOW, BESIDE = 0.5, 0.14, 4.3, 2.1, 0.46, 0.22


def activation_figure(spec: ActivationFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Calculate the curves. A scale without category retrieval has no use for them."""
    if context.scale.categories is None:
        return Drawing(pd.DataFrame(columns=COLUMNS), spec.notes, None)
    data = activation_curves([(curve.start, curve.steepness) for curve in spec.curves], spec.epochs)
    return Drawing(data, [*_notes(data), *spec.notes], functools.partial(_draw, data=data))


def activation_curves(curves: Sequence[tuple[float, float]], epochs: int) -> pd.DataFrame:
    """One line per point of each (start, steepness)."""
    t = np.linspace(0, epochs, POINTS)
    parts = [
        pd.DataFrame(
            {
                "start": start,
                "steepness": steepness,
                "epochs": epochs,
                "epoch": t,
                "alpha": [activation(float(at), start, steepness, epochs) for at in t],
            }
        )
        for start, steepness in curves
    ]
    return pd.concat(parts, ignore_index=True)


def _curves(data: pd.DataFrame) -> list[tuple[float, float, pd.DataFrame]]:
    """Start, steepness and points of each curve."""
    grouped = data.groupby(["start", "steepness"], sort=False)
    return [(float(curve["start"].iloc[0]), float(curve["steepness"].iloc[0]), curve) for _, curve in grouped]


def _label(start: float, steepness: float) -> str:
    return f"fₐ = {start:g}, k = {steepness:g}"


def _notes(data: pd.DataFrame) -> list[str]:
    notes = [
        "α(t) = 1 / (1 + exp(−k (t − fₐ nₑ))), the weight of the adaptive margin at epoch t, with "
        f"nₑ = {data['epochs'].iloc[0]} epochs; the fixed margin has the weight 1 − α(t). Dots: t = fₐ nₑ, where "
        "both weigh the same."
    ]
    unfinished = []
    for start, steepness, curve in _curves(data):
        first, last = curve["alpha"].iloc[0], curve["alpha"].iloc[-1]
        ends = [f"begins at {first:.2f}"] if first > EDGE else []
        ends += [f"ends at {last:.2f}"] if last < 1 - EDGE else []
        if ends:
            unfinished.append(f"{_label(start, steepness)} {' and '.join(ends)}")
    return notes + ([f"Not every schedule goes from 0 to 1: {'; '.join(unfinished)}."] if unfinished else [])


def _draw(canvas: Canvas, data: pd.DataFrame) -> None:
    canvas.set_size_inches(WIDTH, ABOVE + HEIGHT + BELOW)
    panel = panel_at(canvas, LEFT, ABOVE, PANEL, HEIGHT)
    looks = {}
    for number, (start, steepness, curve) in enumerate(_curves(data)):
        colour, epochs = COLOURS[number], int(curve["epochs"].iloc[0])
        how: dict[str, Any] = {"color": colour, "linestyle": DASHES[number], "linewidth": 1.5, "zorder": 3}
        panel.plot(curve["epoch"], curve["alpha"], **how)
        panel.plot(start * epochs, 0.5, marker="o", markersize=4, color=colour, zorder=4, clip_on=False)
        looks[_label(start, steepness)] = Look(colour, DASHES[number])
    panel.set_xlim(0, data["epochs"].iloc[0])
    panel.set_ylim(-0.02, 1.02)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    panel.set_xlabel("epoch t", labelpad=2)
    panel.set_ylabel("α(t)", labelpad=3)
    draw_grid(panel)
    beside = LEFT + PANEL + BESIDE
    across = {"fontsize": 7.5, "color": SOFT, "va": "center"}
    text_at(canvas, beside, ABOVE + HEIGHT * 0.02 / 1.04, "α = 1: the adaptive margin, fₘ = fₐₘ", **across)
    text_at(canvas, beside, ABOVE + HEIGHT * 1.02 / 1.04, "α = 0: the fixed margin, fₘ = m", **across)
    middle = ABOVE + HEIGHT / 2 - LEGEND_LINE * len(looks) / 2
    draw_legend(canvas, beside, middle, 0, looks, {name: name for name in looks})
