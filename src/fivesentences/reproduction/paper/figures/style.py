"""Colours, dashes and markers of all figures, and the looks of lines."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from matplotlib import rc_context
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import TextPath

# The colours of the style in use, by their place in axes.prop_cycle: a style file of a user's changes them.
COLOURS = ("C0", "C1", "C2", "C3", "C4", "C5", "C6")
OTHERS_COLOUR, OWN_COLOUR = COLOURS[0], COLOURS[1]  # captions or items of other images, and of the image itself
DARK, SOFT, RULE, GRID = COLOURS[5], "#6b6b6b", "#c9c9c9", "#e4e4e4"
CHANCE: dict[str, Any] = {"color": "#8f8f8f", "linestyle": (0, (1, 1)), "linewidth": 1.0}
HATCHED: dict[str, Any] = {"facecolor": (OWN_COLOUR, 0.35), "edgecolor": OWN_COLOUR, "hatch": "/////", "linewidth": 0.6}
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 7.4  # inches, unless a user asks for another
ON_PHONES = 4.1  # inches: of the second drawing, for narrow screens
NARROW = 5.0  # inches: a figure of less has its panels below each other
SMALL = 7.5  # points: of what explains a figure
# One style for all figures, on top of matplotlib's defaults: a matplotlibrc of the machine changes nothing.
STYLE = "fivesentences.reproduction.paper.style"  # as matplotlib names paper/style.mplstyle
FAMILY, SAMPLE = "Source Sans 3", "negatives by meaning, +13.0 [10.7, 15.4]"  # the package's font; what is measured
TINTS = ((1.0, 0.0), (0.55, 0.0), (0.55, 1.0))  # of each round of colours: how much of it is left, mixed with what


for weight in ("Bold", "Regular"):
    fontManager.addfont(str(files("fivesentences.reproduction.paper.site") / f"vendored/SourceSans3-{weight}.ttf"))
    # Before a font of that name on the machine: the same drawing gives the same bytes everywhere.
    fontManager.ttflist.insert(0, fontManager.ttflist.pop())


def breadth() -> float:
    """Return how broad a text of the style in use is, against the package's own: layouts are made for that."""
    with rc_context({"text.usetex": False}):
        used = TextPath((0, 0), SAMPLE, size=10, prop=FontProperties()).get_extents().width
    return float(used / TextPath((0, 0), SAMPLE, size=10, prop=FontProperties(family=FAMILY)).get_extents().width)


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
        parts = to_rgb(COLOURS[place])
        colour = "#" + "".join(f"{round(255 * (share * part + (1 - share) * other)):02X}" for part in parts)
        looks[name] = {"color": colour, "linestyle": DASHES[(place - turn) % len(DASHES)]}
    return looks
