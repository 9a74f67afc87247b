"""What all figures share: type, colours, and elements placed in inches from the upper left corner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fivesentences.corpus import Photographs, decode

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# The hues of Okabe and Ito, each with a lightness of its own, so that they differ in grey print too; dark enough for
# thin lines and text on white. Found by a search for the largest smallest distance in CAM02-UCS, to everybody, to the
# colour-blind and in grey: see tests/paper/test_colours.py.
COLOURS = ("#204AA2", "#A93C08", "#1E8064", "#700C54", "#B88E13", "#242724", "#1B87D8")
HATCHED = "▨"  # a sign of a legend
HATCH = "/////"  # of areas of OWN_COLOUR, which lie on or beside those of OTHERS_COLOUR
OTHERS_COLOUR, OWN_COLOUR = COLOURS[0], COLOURS[1]  # captions or items of other images, and of the image itself
SOFT, RULE, GRID = "#6b6b6b", "#c9c9c9", "#e4e4e4"
WIDTH = 7.4  # inches
# One style for all figures, on top of matplotlib's defaults: a matplotlibrc of the machine changes nothing.
STYLE = "fivesentences.paper.style"  # as matplotlib names paper/style.mplstyle


def panel_at(canvas: Canvas, left: float, top: float, width: float, height: float) -> Any:
    """Axes whose upper left corner is at a place."""
    across, down = canvas.get_size_inches()
    return canvas.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))


def text_at(canvas: Canvas, left: float, top: float, text: str, **how: Any) -> Any:
    """Text whose upper left corner is at a place."""
    across, down = canvas.get_size_inches()
    style: Any = {"va": "top", "ha": "left"} | how
    return canvas.text(left / across, 1 - top / down, text, **style)


def mark_at(canvas: Canvas, left: float, foot: float, sign: str, colour: str, fontsize: float) -> None:
    """A sign before text that begins at a place, for readers to whom its colour is like another; ``foot``: baseline."""
    text_at(canvas, left - 0.09, foot, sign, fontsize=fontsize, color=colour, va="baseline")


def legend_at(
    canvas: Canvas, left: float, top: float, entries: Sequence[tuple[str, str, str]], apart: float = 0.16
) -> None:
    """Explain signs: entries of (sign, its colour, text), one below the other; ``HATCHED`` is an area with hatches."""
    from matplotlib.patches import Rectangle

    across, down = canvas.get_size_inches()
    for index, (sign, colour, text) in enumerate(entries):
        y = top + index * apart
        if sign == HATCHED:
            look: Any = {"facecolor": f"{colour}59", "edgecolor": colour, "hatch": HATCH, "linewidth": 0.6}
            size: Any = (0.1 / across, 0.1 / down)
            canvas.add_artist(Rectangle((left / across, 1 - (y + 0.115) / down), *size, **look))
        else:
            text_at(canvas, left, y, sign, color=colour, fontsize=8)
        text_at(canvas, left + 0.16, y, text, fontsize=7.5)


def rule_at(canvas: Canvas, top: float) -> None:
    """A thin line across the canvas."""
    from matplotlib.lines import Line2D

    height = 1 - top / canvas.get_size_inches()[1]
    canvas.add_artist(Line2D([0, 1], [height, height], color=RULE, linewidth=0.5))


def photograph_at(
    canvas: Canvas,
    place: tuple[float, float, float, float],
    filename: str,
    photographs: Photographs | None,
    *,
    longest_side: int,
    fontsize: float,
    anchor: str = "NW",
) -> Any:
    """A photograph inside a box; its file name where there are no photographs.

    Args:
        canvas: The canvas.
        place: Left, top, width and height of the box.
        filename: The photograph's.
        photographs: Those of its dataset.
        longest_side: Pixels that it is reduced to.
        fontsize: Of the file name, in points.
        anchor: Where it lies in the box, as matplotlib names it.

    Returns:
        Its axes; None without photographs.
    """
    if photographs is None:
        text_at(canvas, *place[:2], f"{filename}\n(no photographs here)", fontsize=fontsize, color=SOFT)
        return None
    picture = decode(photographs.read(filename), filename)
    picture.thumbnail((longest_side, longest_side))
    panel = panel_at(canvas, *place)
    panel.imshow(picture)
    panel.set_axis_off()
    panel.set_anchor(anchor)
    return panel


def draw_grid(panel: Any) -> None:
    """Light horizontal lines behind the data."""
    panel.grid(axis="y", color=GRID, linewidth=0.5)
    panel.set_axisbelow(True)
