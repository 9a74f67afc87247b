"""How the categories of a data set look in lines and points."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.paper.figures.canvas import COLOURS
from fivesentences.paper.figures.legend import Look
from fivesentences.paper.figures.lines import DASHES

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
