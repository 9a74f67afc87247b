"""Photographs and captions of a figure, placed in inches from its upper left corner."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from fivesentences.corpus import Photographs
from fivesentences.reproduction.paper.figures.style import RULE, SOFT

CHARACTERS = 20.5  # that fit into an inch of a picture's captions
CAPTION, CAPTION_LINE = 6.2, 0.105  # points of a picture's captions, and inches from one line to the next


def panel_at(canvas: Figure, left: float, top: float, width: float, height: float) -> Any:
    """Axes whose upper left corner is at a place, in inches from the upper left corner of the figure."""
    across, down = canvas.get_size_inches()
    return canvas.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))


def text_at(canvas: Figure, left: float, top: float, text: str, **how: Any) -> None:
    """Text whose upper left corner is at a place in inches."""
    across, down = canvas.get_size_inches()
    style: dict[str, Any] = {"va": "top", "ha": "left"}
    canvas.text(left / across, 1 - top / down, text, **style | how)


def rule_at(canvas: Figure, top: float) -> None:
    """Draw a thin line across the figure."""
    height = 1 - top / canvas.get_size_inches()[1]
    canvas.add_artist(Line2D([0, 1], [height, height], color=RULE, linewidth=0.5))


def photograph_at(
    canvas: Figure,
    place: tuple[float, float, float, float],
    filename: str,
    photographs: Photographs | None,
    longest: int,
    **how: Any,
) -> Any:
    """Draw a photograph inside a box, or its file name where there are no photographs.

    Args:
        canvas: The figure.
        place: Left, top, width and height of the box in inches.
        filename: File name of the photograph.
        photographs: Photographs of its dataset.
        longest: Pixels of its longest side on the page.
        how: ``anchor``: where it lies in the box, as matplotlib names it.

    Returns:
        Its axes; None without photographs.
    """
    if photographs is None:
        text_at(canvas, place[0], place[1], f"{filename}\n(no photographs here)", fontsize=CAPTION, color=SOFT)
        return None
    picture = photographs.decoded(filename)
    picture.thumbnail((longest, longest))
    panel = panel_at(canvas, *place)
    panel.imshow(picture)
    panel.set_axis_off()
    panel.set_anchor(how.get("anchor", "NW"))
    return panel


def caption_at(
    canvas: Figure, left: float, down: float, value: str, text: str, colour: str, sign: str = "", ink: str = "black"
) -> float:
    """Write a number and beside it a wrapped caption, whose first baseline is ``down``; return where the next begins.

    Args:
        canvas: The figure.
        left: Inches from the left.
        down: Inches from the top.
        value: The number; empty for none.
        text: The caption in lines.
        colour: Colour of the number.
        sign: Sign before the number, for readers to whom its colour is like another.
        ink: Colour of the caption.
    """
    how: dict[str, Any] = {"fontsize": CAPTION, "va": "baseline"}
    text_at(canvas, left - 0.09, down, sign, color=colour, **how)
    text_at(canvas, left, down, value, color=colour, weight="bold", **how)
    for line in text.split("\n"):
        text_at(canvas, left + (0.3 if value else 0), down, line, color=ink, **how)
        down += CAPTION_LINE
    return down


def boxed(panel: Any, corner: tuple[float, float], width: float, height: float, **look: Any) -> None:
    """Draw the frame of a rectangle."""
    panel.add_patch(Rectangle(corner, width, height, fill=False, **look))
