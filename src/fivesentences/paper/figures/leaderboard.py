"""Models by recall and NCS: one mark per model, with paired intervals of the difference from one of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.paper.figures.canvas import COLOURS, GRID, SOFT, WIDTH, panel_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.placing import places_beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = [
    "model",
    "phi",
    "ground_truth",
    "recall",
    "recall_low",
    "recall_high",
    "ncs",
    "ncs_low",
    "ncs_high",
    "tested",
]
# Inches: left of, between, above and below panels, and a panel's height.
LEFT, BETWEEN, ABOVE, BELOW, HEIGHT = 0.5, 0.55, 0.35, 0.45, 2.6
SIZE, TEXT, MARGIN = 5.0, 7, 0.16  # points: of marks, of names; of a panel, around the points
ON_A_BAR = 15  # places along a bar that a name should not hide


def drawing(tidy: pd.DataFrame, first: str) -> Drawing:
    """Rsum against Nsum, one panel per phi and way of counting ground truth.

    Args:
        tidy: One row per model and number: model, metric ("Rsum", "Nsum"), phi, ground_truth, value, against, low, high
            (of the difference from ``against``), tested.
        first: The model with which the others were compared, if any was.

    Returns:
        The figure; nothing to draw if no model has NCS.
    """
    reference = next((name for name in tidy["against"] if name), first)
    recall = tidy[tidy["metric"] == "Rsum"].set_index("model")
    ncs = tidy[tidy["metric"] == "Nsum"]
    at = {name: float(row["value"]) for name, row in recall.iterrows()}
    lines = []
    for row in ncs.to_dict("records"):
        name = row["model"]
        if name not in at:
            continue
        same = ncs[(ncs["phi"] == row["phi"]) & (ncs["ground_truth"] == row["ground_truth"])].set_index("model")
        # An interval of a difference is drawn where the reference stands, so that its line tells whether it is chance.
        across = at.get(reference, np.nan) + recall.loc[name, ["low", "high"]].to_numpy(dtype=float)
        base = float(same.loc[reference, "value"]) if reference in same.index else np.nan
        along = base + np.array([row["low"], row["high"]], dtype=float)
        lines.append([name, row["phi"], row["ground_truth"], at[name], *across, row["value"], *along, row["tested"]])
    data = pd.DataFrame(lines, columns=COLUMNS)
    notes = [f"Bars: 95% intervals of the difference from '{reference}', drawn from where it stands (dotted lines)."]
    if not data.empty and not data["tested"].all():
        notes.append("Hollow marks: models whose values of every query are not known, so that nothing is tested.")
    return Drawing(data, notes, None if data.empty else functools.partial(_draw, data=data, reference=reference))


def _draw(canvas: Canvas, data: pd.DataFrame, reference: str) -> None:
    panels = [panel for _, panel in data.groupby(["phi", "ground_truth"], sort=False)]
    across = min(2, len(panels))
    width = (WIDTH - LEFT - 0.1 - BETWEEN * (across - 1)) / across
    canvas.set_size_inches(WIDTH, -(-len(panels) // across) * (ABOVE + HEIGHT + BELOW))
    names = list(dict.fromkeys(data["model"]))
    for place, points in enumerate(panels):
        row, column = divmod(place, across)
        left, top = LEFT + column * (width + BETWEEN), ABOVE + row * (ABOVE + HEIGHT + BELOW)
        panel = panel_at(canvas, left, top, width, HEIGHT)
        phi, kept = (str(points[name].iloc[0]) for name in ("phi", "ground_truth"))
        panel.set_title(f"{phi}, own items {kept}", loc="left", pad=6)
        panel.set_xlabel("Rsum", labelpad=2)
        panel.set_ylabel("sum of NCS", labelpad=2)
        _draw_points(panel, points, names, reference)
        _draw_names(panel, points, names, (width, HEIGHT))


def _draw_points(panel: Any, points: pd.DataFrame, names: list[str], reference: str) -> None:
    for line in points.to_dict("records"):
        colour = _colour(names, line["model"])
        bars: dict[str, Any] = {"color": colour, "linewidth": 0.8, "alpha": 0.6, "zorder": 2}
        if line["ncs_low"] == line["ncs_low"]:
            panel.hlines(line["ncs"], line["recall_low"], line["recall_high"], **bars)
            panel.vlines(line["recall"], line["ncs_low"], line["ncs_high"], **bars)
        look = {} if line["tested"] else {"markerfacecolor": "white"}
        panel.plot(line["recall"], line["ncs"], "o", color=colour, markersize=SIZE, zorder=4, **look)
        if line["model"] == reference:
            dotted: dict[str, Any] = {"color": SOFT, "linewidth": 0.7, "linestyle": ":", "zorder": 1}
            panel.axvline(line["recall"], **dotted)
            panel.axhline(line["ncs"], **dotted)
    panel.margins(MARGIN)
    panel.grid(color=GRID, linewidth=0.5)
    panel.set_axisbelow(True)


def _draw_names(panel: Any, points: pd.DataFrame, names: list[str], size: tuple[float, float]) -> None:
    from matplotlib.patheffects import withStroke
    from matplotlib.textpath import TextPath

    (left, right), (bottom, top) = panel.get_xlim(), panel.get_ylim()
    marks = points[["recall", "ncs"]].to_numpy(dtype=float)
    places = (np.concatenate([marks, _on_bars(points)]) - [left, bottom]) / [right - left, top - bottom] * size
    shown = [str(name) for name in points["model"]]
    widths = [TextPath((0, 0), name, size=TEXT).get_extents().width / 72 for name in shown]
    sizes, radii = np.zeros((len(places), 2)), np.full(len(places), 0.02)
    sizes[: len(shown)], radii[: len(shown)] = [[width, TEXT / 72] for width in widths], SIZE / 144
    found = places_beside(places, radii, sizes, size)[: len(shown)]
    for name, (x, y) in zip(shown, found, strict=True):
        halo = [withStroke(linewidth=1.6, foreground="white")]
        where: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "va": "center_baseline"}
        panel.text(
            x / size[0], y / size[1], name, color=_colour(names, name), fontsize=TEXT, path_effects=halo, zorder=6,
            **where,
        )  # fmt: skip


def _on_bars(points: pd.DataFrame) -> np.ndarray:
    """``[places, 2]`` some places on every bar."""
    found = [np.empty((0, 2))]
    for line in points.dropna(subset=["ncs_low", "recall_low"]).to_dict("records"):
        across = np.linspace(line["recall_low"], line["recall_high"], ON_A_BAR)
        along = np.linspace(line["ncs_low"], line["ncs_high"], ON_A_BAR)
        found.append(np.stack([across, np.full(ON_A_BAR, line["ncs"])], axis=1))
        found.append(np.stack([np.full(ON_A_BAR, line["recall"]), along], axis=1))
    return np.concatenate(found)


def _colour(names: list[str], name: str) -> str:
    return COLOURS[names.index(name) % len(COLOURS)]
