"""Lines of a figure: how they look, and their labels beside their ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

LABEL_SIZE = 7.5  # points
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


class LineEnd(NamedTuple):
    """The last point of a line, and what is written beside it."""

    label: str
    colour: str
    x: float
    y: float


def widest_label(labels: Iterable[str]) -> float:
    """Width in inches of the longest line of some labels."""
    from matplotlib.textpath import TextPath

    lines = {line for label in labels for line in label.splitlines()}
    return max(float(TextPath((0, 0), line, size=LABEL_SIZE).get_extents().width) for line in lines) / 72


def draw_labels(panel: Any, ends: Sequence[LineEnd], apart: float, beside: float = 1.07) -> None:
    """Write each label to the right of its line's end, with a thin leader, moved apart where ends are close.

    Args:
        panel: Axes whose limits are final.
        ends: One per line.
        apart: Distance between labels as a share of the panel's height; less where so many do not fit.
        beside: Where they begin, as a share of the panel's width.
    """
    low, high = panel.get_ylim()
    apart = (high - low) * min(apart, 1.04 / len(ends))
    ends = sorted(ends, key=lambda end: end.y)
    places = spread_apart([end.y for end in ends], apart, low, high)
    for (label, colour, x, y), place in zip(ends, places, strict=True):
        panel.annotate(
            label,
            xy=(x, y),
            xytext=(beside, (place - low) / (high - low)),
            textcoords="axes fraction",
            color=colour,
            va="center",
            fontsize=LABEL_SIZE,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "alpha": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 0.5,
                "shrinkB": 3,
            },
            annotation_clip=False,
        )


def spread_apart(values: list[float], apart: float, low: float, high: float) -> list[float]:
    """Rising values moved so that neighbours are at least ``apart``, with the least squared movement.

    The result stays inside [low, high] if that many fit.
    """
    # With the spacing subtracted this is isotonic regression: pool neighbours that are out of order.
    blocks: list[list[float]] = []
    for index, value in enumerate(values):
        blocks.append([value - index * apart])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    places = [float(np.mean(block)) for block in blocks for _ in block]
    top = high - (len(values) - 1) * apart
    return [min(max(place, low), max(top, low)) + index * apart for index, place in enumerate(places)]
