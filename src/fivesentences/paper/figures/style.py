"""Colours, dashes and markers of all figures, and the looks of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# The hues of Okabe and Ito, each with a lightness of its own, so that they differ in grey print too; dark enough for
# thin lines and text on white. Found by a search for the largest smallest distance in CAM02-UCS, to everybody, to the
# colour-blind and in grey: see tests/paper/test_canvas.py.
COLOURS = ("#204AA2", "#A93C08", "#1E8064", "#700C54", "#B88E13", "#242724", "#1B87D8")
OTHERS_COLOUR, OWN_COLOUR = COLOURS[0], COLOURS[1]  # captions or items of other images, and of the image itself
DARK, SOFT, RULE, GRID = COLOURS[5], "#6b6b6b", "#c9c9c9", "#e4e4e4"
CHANCE: dict[str, Any] = {"color": "#8f8f8f", "linestyle": (0, (1, 1)), "linewidth": 1.0}
HATCHED: dict[str, Any] = {"facecolor": f"{OWN_COLOUR}59", "edgecolor": OWN_COLOUR, "hatch": "/////", "linewidth": 0.6}
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 7.4  # inches
SMALL = 7.5  # points: of what explains a figure
# One style for all figures, on top of matplotlib's defaults: a matplotlibrc of the machine changes nothing.
STYLE = "fivesentences.paper.style"  # as matplotlib names paper/style.mplstyle
TINTS = ((1.0, 0.0), (0.55, 0.0), (0.55, 1.0))  # of each round of colours: how much of it is left, mixed with what


def cycled(names: Sequence[str], colours: Sequence[str] = COLOURS) -> dict[str, dict[str, Any]]:
    """Colour and marker of each line, and dashes that change once the colours are used up."""
    looks = {}
    for place, name in enumerate(names):
        turn, number = divmod(place, len(colours))
        marker = MARKERS[COLOURS.index(colours[number])]
        looks[name] = {"color": colours[number], "marker": marker, "linestyle": DASHES[turn % len(DASHES)]}
    return looks


def looks_of_categories(categories: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes of each category, in their order.

    Up to 21 of them have colours of their own: they come again as darker and lighter ones, with other dashes.
    """
    looks = {}
    for index, name in enumerate(categories):
        turn, place = divmod(index, len(COLOURS))
        share, other = TINTS[turn % len(TINTS)]
        parts = (int(COLOURS[place][at : at + 2], 16) / 255 for at in (1, 3, 5))
        colour = "#" + "".join(f"{round(255 * (share * part + (1 - share) * other)):02X}" for part in parts)
        looks[name] = {"color": colour, "linestyle": DASHES[(place - turn) % len(DASHES)]}
    return looks
