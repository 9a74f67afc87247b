"""Pages of documentation kept true: their places are filled, compared with what stands there, and counted.

Training on processors of another kind changes numbers in their last digits, and then p-values and places in a ranking.
So a record beside the pages says on which kind each was made: on the same kind it is compared exactly, elsewhere with
every number masked.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.paper.text import filling, outputs
from fivesentences.storage import write_json

FORMAT = "fivesentences.pages 1"
NUMBER = re.compile(r"(?<![\w@.])[<+\-\N{MINUS SIGN}*]*(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE]-?\d+)?[%*]*")
SPACES = re.compile(r"[ \t]+|─+|-{3,}")


@dataclass(slots=True)
class Remade:
    """A page with its places filled.

    Attributes:
        text: Of the page.
        made: How many places were made from results or by a command.
        whole: Whether every place for the output of a command was made.
        left: What was not there for the places that were left alone, one entry per place.
    """

    text: str
    made: int = 0
    whole: bool = True
    left: list[str] = field(default_factory=list)


def remade(text: str, page: Path, results: Path, runner: outputs.Outputs, *, only: str, available: bool) -> Remade:
    """Fill all places of a page.

    Args:
        text: Of the page.
        page: Its path, for messages.
        results: The folder of results.
        runner: What runs the commands of places for output.
        only: Pattern of the files, or of the commands, whose places are filled.
        available: Leave a place alone whose results are not there, instead of an error.

    Raises:
        InputError: If a place cannot be filled; which line of the page it is in.
    """
    done = Remade("")

    def output(place: re.Match[str]) -> str:
        where = f"{page}, line {text.count(chr(10), 0, place.start()) + 1}"
        asked = outputs.asked_by(place, where)
        if not filling.wanted(asked.command, only):
            done.whole = False
            return place[0]
        missing = runner.missing(asked)
        if missing is not None:
            if not available:
                raise InputError(f"'{asked.command}' needs {results / missing}, which is not there", where=where)
            done.left.append(missing)
            done.whole = False
            return place[0]
        done.made += 1
        try:
            block = runner.block(asked)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        return f"<!-- output{place['head']}: {place['command']} -->\n{block}{outputs.ENDS}"

    outputs.check_marks(text, page)
    with_outputs = outputs.PLACE.sub(output, text)
    filled, made, left = filling.counted(with_outputs, results, page, only, available=available)
    done.text, done.made = filled, done.made + made
    done.left += left
    return done


def masked(text: str) -> str:
    """A text in which every number, its sign and its marks are #, and spaces and rules are as narrow as can be."""
    return SPACES.sub(" ", NUMBER.sub("#", text))


def difference(old: str, new: str, page: Path, *, exactly: bool) -> str:
    """A unified diff of a page and what it should be; empty if they are the same, or same but for numbers."""
    if old == new or (not exactly and masked(old) == masked(new)):
        return ""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), str(page), f"{page}, remade", lineterm="", n=1)
    return "\n".join(lines)


def recorded_kinds(record: Path) -> dict[str, str]:
    """On which kind of processor the measured numbers of each page were made; ``key_of`` names a page.

    Raises:
        InputError: If the file is there and is no such record.
    """
    if not record.is_file():
        return {}
    kinds = read_formatted(record, FORMAT, "it is no record of pages; remove it and run: fivesentences fill").get(
        "made_on"
    )
    if not isinstance(kinds, dict) or not all(isinstance(kind, str) for kind in kinds.values()):
        raise InputError(f"{record}: it is no record of pages; remove it and run: fivesentences fill.")
    return kinds


def record_kinds(record: Path, kinds: dict[str, str]) -> None:
    """Write what ``recorded_kinds`` reads."""
    write_json(record, {"format": FORMAT, "made_on": dict(sorted(kinds.items()))})


def key_of(page: Path, record: Path) -> str:
    """A page's name in a record: its path from the record's folder."""
    return Path(os.path.relpath(page.resolve(), record.resolve().parent)).as_posix()
