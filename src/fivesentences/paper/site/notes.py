"""Each note once: what holds for several tables stands above them, what is left in few lines below each.

The files of a table or figure keep all of their notes, since someone may take one of them away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LINES, LETTERS = 3, 120  # shown below a table; about so many letters in a line of notes


@dataclass(frozen=True)
class Notes:
    """Notes in the order of their writer: ``shown`` at once, ``folded`` where a reader asks."""

    shown: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()


NO_NOTES = Notes()


@dataclass(frozen=True)
class SharedNote:
    """A note of several tables and figures; ``of`` names those, and is empty if it holds for all that have notes."""

    text: str
    of: tuple[str, ...] = ()


def in_few_lines(notes: Iterable[str], lines: int = LINES) -> Notes:
    """The first notes as long as they fit into a few lines; a longer one is folded, and shorter ones may follow it."""
    shown: list[str] = []
    folded: list[str] = []
    left = lines
    for note in notes:
        needed = -(-len(note) // LETTERS)
        if needed <= left:
            shown.append(note)
            left -= needed
        else:
            folded.append(note)
    return Notes(tuple(shown), tuple(folded))


def shared_notes(notes_of: Mapping[str, Sequence[str]]) -> list[SharedNote]:
    """Notes that at least two tables or figures have word for word, those of most of them first.

    Args:
        notes_of: The notes of each table or figure, by its name.
    """
    having: dict[str, list[str]] = {}
    for name, notes in notes_of.items():
        for note in dict.fromkeys(notes):
            having.setdefault(note, []).append(name)
    every = sum(bool(notes) for notes in notes_of.values())
    several = sorted((one for one in having.items() if len(one[1]) > 1), key=lambda one: -len(one[1]))
    return [SharedNote(text, () if len(names) == every else tuple(names)) for text, names in several]
