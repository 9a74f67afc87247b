"""How a line or point looks, and a legend with samples of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fivesentences.paper.figures.canvas import text_at
from fivesentences.paper.figures.lines import widest_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

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
