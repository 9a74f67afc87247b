"""Panels of a figure and their layout, lines, legends, and names beside lines and points."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.textpath import TextPath
from scipy.optimize import isotonic_regression

from fivesentences.reproduction.paper.figures.style import NARROW, SMALL, breadth

WAYS, RINGS, STEP, GAP = 16, 5, 0.09, 0.03  # tried around a point; inches: between rings, from a mark to its text
LETTER, LETTER_OF_NAMES = 0.07, 0.06  # inches: a letter of a bold title, of the name of an axis
BESIDE_PANEL = 1.0  # inches beside a panel in a narrow figure, about
OUTSIDE, DISTANCE = 10.0, 0.002  # what square inches outside the panel, and inches away from a point, cost


def is_narrow(canvas: Any) -> bool:
    """Return True for a figure, or a block of one, that has its panels below each other."""
    return bool(canvas.get_figure(root=True).get_figwidth() < NARROW * breadth())


def columns_in(canvas: Any, most: int, narrow: int = 1) -> int:
    """Return how many panels are beside each other: ``most``, and in a narrow figure at most ``narrow``."""
    return min(most, narrow) if is_narrow(canvas) else most


def panels(canvas: Any, count: int, across: int, height: float = 0.0, **how: Any) -> list[Any]:
    """Divide an empty figure or a block of one into panels, row by row, with room for what surrounds them.

    Args:
        canvas: The figure, whose size is set, or a block, which keeps its size.
        count: Number of panels.
        across: Panels beside each other; a narrow figure has one, a block as many as ``columns_in`` returns for it.
        height: Inches of a row of a figure.
        how: Further arguments of ``Figure.subplots``.
    """
    if isinstance(canvas, Figure):
        across = columns_in(canvas, across)
    rows = -(-count // across)
    if isinstance(canvas, Figure):
        canvas.set_figheight(rows * height)
        canvas.set_layout_engine("constrained")
    found = canvas.subplots(rows, across, squeeze=False, **how).ravel().tolist()
    for spare in found[count:]:
        spare.remove()
    for panel in found[:count]:
        panel.locator_params(axis="y", nbins=5)  # a fixed number: the layout knows how wide their labels are
    return list(found[:count])


def fitted(panel: Any, text: str) -> str:
    """Break a title or the name of an axis into lines that fit into a figure of one panel."""
    width = panel.get_figure(root=True).get_figwidth()
    return textwrap.fill(text, max(20, int((width - BESIDE_PANEL) / (LETTER_OF_NAMES * breadth()))))


def name_rows(panel: Any, names: Sequence[str]) -> None:
    """Give rows, which stand at 0, 1, ... from the top, their names, and take away what marks heights."""
    panel.set_yticks(range(len(names)), names, fontsize=SMALL + 0.5)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)


def blocks(canvas: Figure, titles: Sequence[str], heights: Sequence[float], legend: float = 0.0) -> list[Any]:
    """Divide a figure into blocks below each other, each with a title; all sizes in inches."""
    canvas.set_figheight(sum(heights) + legend)
    canvas.set_layout_engine("constrained")
    found = canvas.subfigures(len(titles), 1, squeeze=False, height_ratios=heights)[:, 0].tolist()
    for block, title in zip(found, titles, strict=True):
        wrapped = textwrap.fill(title, int(canvas.get_figwidth() / (LETTER * breadth())))
        block.suptitle(wrapped, x=0.01, ha="left", fontsize=9, weight="bold")
    return list(found)


def columns_of(names: Iterable[str], width: float) -> int:
    """Return the number of columns of a legend that fit into a width in inches."""
    return max(1, int(width / (0.75 + 0.065 * breadth() * max(map(len, names)))))


def legend(canvas: Any, samples: Mapping[str, Mapping[str, Any]], **how: Any) -> None:
    """Explain lines and areas below a figure, in columns that are read downwards.

    Args:
        canvas: The figure, or axes.
        samples: For each text how its line looks, or its area, which has a face colour.
        how: Further arguments of ``legend``.
    """
    handles = [Patch(**look) if "facecolor" in look else Line2D([], [], **look) for look in samples.values()]
    width = canvas.get_figure(root=True).get_figwidth()
    style: dict[str, Any] = {"handlelength": 2.4, "borderpad": 0.2}
    style |= {
        "loc": "outside lower left",
        "ncols": min(len(samples), columns_of(samples, width)),
    }
    letters = max(10, int((width - 0.75) / (0.065 * breadth())))
    canvas.legend(handles, [textwrap.fill(text, letters) for text in samples], **style | how)


def draw_lines(
    panel: Any,
    data: pd.DataFrame,
    x: str,
    names: Sequence[str],
    looks: Mapping[str, Mapping[str, Any]],
    apart: float = 0.0,
) -> list[tuple[str, str, float, float]]:
    """Draw a line per label with its intervals: bars through the points, beside those of other lines, or bands.

    Args:
        panel: Axes, whose scale and limits across are final if there are bars.
        data: One row per point, with the columns ``label``, ``x`` and ``names``.
        x: Column of the places.
        names: Columns of the value and of the ends of its interval, NaN where it is unknown.
        looks: How each line looks, by its label.
        apart: Inches between the bars of two lines; 0 draws bands.

    Returns:
        Label, colour, and x and y of the last point of each line.
    """
    ends, middle, scale = [], (len(looks) - 1) / 2, panel.xaxis.get_transform()
    step = apart * np.ptp(scale.transform(panel.get_xlim())) * panel.figure.dpi / panel.get_window_extent().width
    for index, (label, look) in enumerate(looks.items()):
        line = data[data["label"] == label].dropna(subset=names[0]).sort_values(x)
        if line.empty:
            continue
        at, value, low, high = line[[x, *names]].to_numpy(dtype=float).T
        beside = scale.inverted().transform(scale.transform(at) + step * (index - middle))
        style: dict[str, Any] = {"linewidth": 1.2, "markersize": 3.3, "zorder": 3}
        panel.plot(beside, value, **style | dict(look))
        known = np.isfinite(low)
        if apart:
            panel.vlines(beside[known], low[known], high[known], color=look["color"], linewidth=0.8, zorder=2)
        elif (high > low).any():
            panel.fill_between(at, low, high, color=look["color"], alpha=0.14, linewidth=0)
        ends.append((label, look["color"], at[-1], value[-1]))
    return ends


def draw_labels(panel: Any, ends: Sequence[tuple[str, str, float, float]], width: int = 25) -> None:
    """Write labels to the right of the ends of lines, with thin leaders, moved apart where ends are close.

    Args:
        panel: Any whose limits are final.
        ends: Label, colour, and x and y of the last point of each line.
        width: Characters of a line of a label.
    """
    ends = sorted(ends, key=lambda end: end[3])
    labels = [textwrap.fill(label, width) for label, *_ in ends]
    (low, high), inches = panel.get_ylim(), panel.get_window_extent().height / panel.figure.dpi
    apart = 0.07 + 0.125 * max(label.count("\n") + 1 for label in labels)
    ys = [(y - low) / (high - low) for *_, y in ends]
    places = spread_apart(ys, min(apart / inches, 1.04 / len(ends)))
    for label, (_, colour, x, y), place in zip(labels, ends, places, strict=True):
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6, "relpos": (0, 0.5)}
        how: dict[str, Any] = {"textcoords": "axes fraction", "annotation_clip": False, "va": "center"}
        how |= {"color": colour, "fontsize": SMALL, "arrowprops": leader | {"shrinkA": 0.5, "shrinkB": 3}}
        panel.annotate(label, xy=(x, y), xytext=(1.07, place), **how)


def spread_apart(values: Sequence[float], apart: float) -> np.ndarray:
    """Rising values moved so that neighbours are at least ``apart``, with the least squared movement.

    The result stays inside [0, 1] if that many fit.
    """
    steps = apart * np.arange(len(values))
    places = isotonic_regression(np.asarray(values) - steps).x
    return np.asarray(np.clip(places, 0, max(1 - apart * (len(values) - 1), 0)) + steps)


def name_points(
    panel: Any,
    points: np.ndarray,
    texts: Sequence[str],
    colours: Sequence[str],
    radii: Sequence[float],
    size: float = SMALL,
    weight: str = "normal",
) -> None:
    """Write texts beside points where they hide neither marks nor each other, with a leader where they are far away.

    Args:
        panel: Any whose limits are final, of a figure whose layout is done.
        points: ``[points, 2]`` centres of marks in data coordinates; those beyond ``texts`` are only kept visible.
        texts: Text of each of the first points.
        colours: Colour of each text.
        radii: ``[points]`` half the width of each mark, in inches.
        size: Points of the texts.
        weight: ``"normal"`` or ``"bold"``.
    """
    inches = panel.get_window_extent().size / panel.figure.dpi
    low, high = np.transpose([panel.get_xlim(), panel.get_ylim()])
    points = (points - low) / (high - low) * inches
    sizes = np.zeros((len(points), 2))
    paths = [TextPath((0, 0), text, size, FontProperties(weight=weight)) for text in texts]
    sizes[: len(texts)] = [[path.get_extents().width / 72, 1.2 * size / 72] for path in paths]
    places = places_beside(points, np.asarray(radii), sizes, inches)
    for text, colour, point, place, half, radius in zip(texts, colours, points, places, sizes / 2, radii, strict=False):
        how: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "va": "center_baseline", "zorder": 6}
        how |= {"path_effects": [withStroke(linewidth=1.6, foreground="white")]}
        panel.text(*place / inches, text, color=colour, fontsize=size, weight=weight, **how)
        near = np.clip(point, place - half, place + half)
        if np.abs(near - point).max() > radius + 0.1:
            leader: dict[str, Any] = {"color": colour, "linewidth": 0.4, "alpha": 0.7, "zorder": 3}
            panel.plot(*np.transpose([near, point] / inches), transform=panel.transAxes, **leader)


def places_beside(points: np.ndarray, radii: np.ndarray, sizes: np.ndarray, panel: np.ndarray) -> np.ndarray:
    """Centres of texts, each close to its point, where they hide as little as possible.

    Texts are placed one by one, those of crowded points first, where the fewest square inches of marks and earlier
    texts are covered, and the nearest of such places.

    Args:
        points: ``[points, 2]`` centres of marks in inches from the lower left corner of the panel.
        radii: ``[points]`` half the width of each mark.
        sizes: ``[points, 2]`` width and height of each text; without one, zeros.
        panel: Width and height of the panel.

    Returns:
        ``[points, 2]`` in inches.
    """
    apart = np.abs(points[:, None] - points[None]).max(axis=2) + np.diag(np.full(len(points), np.inf))
    boxes = [(point - radius, point + radius) for point, radius in zip(points, radii, strict=True)]
    angles = 2 * np.pi * np.arange(WAYS) / WAYS
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ways /= np.abs(ways).max(axis=1, keepdims=True)  # from a circle to a square
    # The right-hand side and the places straight above and below read best.
    dear = DISTANCE * (np.repeat(np.arange(RINGS), WAYS) + np.tile(np.arange(WAYS) % 4 != 0, RINGS) / 10)
    places = points.copy()
    for index in np.argsort(apart.min(axis=1, initial=np.inf), kind="stable"):
        half = sizes[index] / 2
        if not half.any():
            continue
        # The text touches the mark's box, enlarged by the gap and by each ring, in each direction.
        reach = half + radii[index] + GAP + STEP * np.arange(RINGS)[:, None]  # [rings, 2]
        centres = points[index] + (reach[:, None] * ways).reshape(-1, 2)
        low, high = centres - half, centres + half
        cost = dear + OUTSIDE * (np.clip(-low, 0, None) + np.clip(high - panel, 0, None)).sum(axis=1)
        for lower, upper in boxes:
            cost += np.clip(np.minimum(high, upper) - np.maximum(low, lower), 0, None).prod(axis=1)
        best = int(np.argmin(cost))
        places[index] = centres[best]
        boxes.append((low[best], high[best]))
    return places
