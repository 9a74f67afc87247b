"""Lines and points of a figure: how they look, labels beside their ends, and a legend with samples of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fivesentences.paper.figures.canvas import COLOURS, text_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

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


LEGEND_SIZE, LEGEND_LINE = 7.5, 0.165  # points, and inches from one line of a legend to the next
SAMPLE, APART = 0.3, 0.2  # inches: length of a sample of a line, and between columns


class Look(NamedTuple):
    """Colour and dashes."""

    colour: str
    dashes: Any


def legend_height(names: Sequence[str], width: float) -> float:
    """Inches that ``draw_legend`` needs."""
    return LEGEND_LINE * -(-len(names) // _columns(names, width))


def draw_legend(
    canvas: Canvas,
    left: float,
    top: float,
    width: float,
    looks: Mapping[str, Look],
    names: Mapping[str, str],
    *,
    dots: bool = False,
) -> None:
    """Sample and name of each line or point, in columns that are read downwards.

    Args:
        canvas: The canvas, in its final size.
        left: Inches from the left.
        top: Inches from the top.
        width: Inches that it may take.
        looks: Of each of them.
        names: What the legend calls each of them.
        dots: Dots as samples; otherwise lines.
    """
    from matplotlib.lines import Line2D

    across, down = canvas.get_size_inches()
    columns = _columns(list(names.values()), width)
    rows = -(-len(looks) // columns)
    each = width / columns
    for index, (name, look) in enumerate(looks.items()):
        column, row = divmod(index, rows)
        x, y = left + column * each, top + (row + 0.5) * LEGEND_LINE
        if dots:
            sample = Line2D([(x + 0.05) / across], [1 - y / down], color=look.colour, marker="o", markersize=5)
        else:
            ends = [x / across, (x + SAMPLE) / across]
            sample = Line2D(ends, [1 - y / down] * 2, color=look.colour, linestyle=look.dashes, linewidth=1.6)
        canvas.add_artist(sample)
        text_at(canvas, x + (0.14 if dots else SAMPLE + 0.06), y, names[name], fontsize=LEGEND_SIZE, va="center")


def _columns(names: Sequence[str], width: float) -> int:
    """How many columns fit."""
    each = SAMPLE + 0.06 + widest_label(names) + APART
    return max(1, min(len(names), int((width + APART) / each)))


TINTS = ((1.0, 0.0), (0.55, 0.0), (0.55, 1.0))  # of each round of colours: how much of it is left, mixed with what


def looks_of_categories(categories: Sequence[str]) -> dict[str, Look]:
    """A look for each category, in their order.

    Up to 21 of them have colours of their own: they come again as darker and lighter ones, with other dashes.
    """
    looks = {}
    for index, name in enumerate(categories):
        turn, place = divmod(index, len(COLOURS))
        looks[name] = Look(_tinted(COLOURS[place], *TINTS[turn % len(TINTS)]), DASHES[(place - turn) % len(DASHES)])
    return looks


def _tinted(colour: str, share: float, other: float) -> str:
    """A colour mixed with white (1) or black (0)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 * (share * part + (1 - share) * other)):02X}" for part in parts)
