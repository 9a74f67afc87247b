"""A finding, filled with its numbers, for the pages that open with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.paper.numbers.selected import check_headline, filler


def filled(finding: Finding, folder: Path) -> dict[str, Any]:
    """Fill the texts of a finding; a tile's number comes apart from its interval.

    Args:
        finding: The finding.
        folder: Folder of the site.

    Raises:
        InputError: If a table is missing, a value is not in it, or an interval does not carry the headline.
    """
    check_headline(finding, folder)
    fill = filler(finding, folder)
    tiles = []
    for tile in finding.tiles:
        number, _, interval = fill(f"{{{tile.value}}}").partition(" [")
        ends = interval.rstrip("]").split(", ") if interval else []
        tiles.append({"number": number, "ends": ends, "text": fill(tile.text), "kind": kind_of(ends, tile.bad)})
    texts = {key: fill(getattr(finding, key)) for key in ("kicker", "headline", "lead")}
    return texts | {"tiles": tiles, "not_shown": [fill(text) for text in finding.not_shown]}


def card_of(finding: Finding, folder: Path, page: str, below: str = "") -> dict[str, Any]:
    """Fill what other pages show of a finding: its headline, first number, first limit and figure.

    Args:
        finding: The finding.
        folder: Folder of its site.
        page: The page that opens with it, from the folder of the site.
        below: Path of that folder from the page that shows the card, with a slash at its end.

    Raises:
        InputError: As ``filled``.
    """
    found = filled(finding, folder)
    return {
        "page": f"{below}{page}",
        "picture": None if finding.figure is None else f"{below}{finding.figure}.narrow.svg",
        "kicker": found["kicker"],
        "headline": found["headline"],
        "tile": found["tiles"][0],
        "limit": found["not_shown"][0],
    }


def kind_of(ends: Sequence[str], bad: bool) -> str:
    """Return the colour of a number: "good" only where its interval leaves 0 out, "open" where it contains 0.

    Args:
        ends: Both ends of the interval; empty: there is none, and the number is no good news by itself.
        bad: Whether the number is the bad news.
    """
    low, high = (float(end.replace("−", "-")) for end in ends or ("0", "0"))
    if ends and low <= 0 <= high:
        return "open"
    return "bad" if bad else "good" if ends else "open"
