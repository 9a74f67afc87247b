"""How the categories of a data set look in lines and points, and the legend that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fivesentences.paper.figures.canvas import COLOURS, text_at
from fivesentences.paper.figures.lines import DASHES, widest_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

LEGEND_SIZE, LEGEND_LINE = 7.5, 0.165  # points, and inches from one line of a legend to the next
SAMPLE, APART = 0.26, 0.2  # inches: length of a sample of a line, and between columns
TINTS = ((1.0, 0.0), (0.55, 0.0), (0.55, 1.0))  # of each round of colours: how much of it is left, mixed with what


class Look(NamedTuple):
    """Colour and dashes of a category; colours come again as darker and lighter ones, with other dashes."""

    colour: str
    dashes: Any


def looks_of_categories(categories: Sequence[str]) -> dict[str, Look]:
    """A look for each category, in their order; up to 21 of them have colours of their own, and all differ."""
    looks = {}
    for index, name in enumerate(categories):
        turn, place = divmod(index, len(COLOURS))
        looks[name] = Look(_tinted(COLOURS[place], *TINTS[turn % len(TINTS)]), DASHES[turn % len(DASHES)])
    return looks


def _tinted(colour: str, share: float, other: float) -> str:
    """A colour mixed with white (1) or black (0)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 * (share * part + (1 - share) * other)):02X}" for part in parts)


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
    """Sample and name of each category, in columns that are read downwards.

    Args:
        canvas: The canvas, in its final size.
        left: Inches from the left.
        top: Inches from the top.
        width: Inches that it may take.
        looks: Of each category.
        names: What the legend calls each category.
        dots: Dots as samples; otherwise lines.
    """
    from matplotlib.lines import Line2D

    across, down = canvas.get_size_inches()
    columns = _columns(list(names.values()), width)
    rows = -(-len(looks) // columns)
    each = width / columns
    for index, (category, look) in enumerate(looks.items()):
        column, row = divmod(index, rows)
        x, y = left + column * each, top + (row + 0.5) * LEGEND_LINE
        if dots:
            sample = Line2D([(x + 0.05) / across], [1 - y / down], color=look.colour, marker="o", markersize=5)
        else:
            ends = [x / across, (x + SAMPLE) / across]
            sample = Line2D(ends, [1 - y / down] * 2, color=look.colour, linestyle=look.dashes, linewidth=1.6)
        canvas.add_artist(sample)
        text_at(canvas, x + (0.14 if dots else SAMPLE + 0.06), y, names[category], fontsize=LEGEND_SIZE, va="center")


def _columns(names: Sequence[str], width: float) -> int:
    """How many columns fit."""
    each = SAMPLE + 0.06 + widest_label(names) + APART
    return max(1, min(len(names), int((width + APART) / each)))
