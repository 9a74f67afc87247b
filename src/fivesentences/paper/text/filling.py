"""Numbers and tables in a page of Markdown that are written there from results, so that they cannot drift.

A place begins with ``<!-- fill FILE -->`` and ends with ``<!-- /fill -->``; both stay, and what is between them is
replaced:

- ``<!-- fill paper/demo/study/table.md -->``: the whole text of a file of results;
- ``<!-- fill paper/demo/study/table.md table -->``: its tables alone, without title and notes;
- ``<!-- fill paper/demo/study/table.csv where loss=sam, metric=Rsum show {mean:.1f} ± {spread:.1f} -->``: columns of
  the one line of a CSV that has these values, in Python's format language.
"""

from __future__ import annotations

import csv
import re
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path
from string import Formatter

from fivesentences.documents import check_file, read_bytes, text_of
from fivesentences.errors import InputError

PLACE = re.compile(r"<!-- fill (?P<asked>.*?) -->(?P<old>.*?)<!-- /fill -->", re.DOTALL)
ASKED = re.compile(r"(?P<file>\S+)(?:\s+(?P<table>table)|\s+where\s+(?P<where>.+?)\s+show\s+(?P<show>.+))?", re.DOTALL)
MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
MINUS_ZERO = re.compile(r"(?<![\w.])-(?=0?\.?0+(?![\d.]))")  # what rounding leaves of a small negative number


def filled(text: str, results: Path, page: Path | str = "page", only: str = "*") -> str:
    """A page with its places filled.

    Args:
        text: Of the page.
        results: The folder in which the files of results lie.
        page: Its name, for messages.
        only: Pattern of the files whose places are filled; other places keep what they hold.

    Raises:
        InputError: If a place does not end or asks for something that is not there; which line of the page it is in.
    """
    return counted(text, results, page, only)[0]


def counted(
    text: str, results: Path, page: Path | str = "page", only: str = "*", *, available: bool = False
) -> tuple[str, int, list[str]]:
    """As ``filled``, and how many places were filled, and the missing files of those that were left alone.

    Args:
        available: Leave a place alone whose file is missing, instead of an error.
    """
    done, left = 0, []

    def fill(place: re.Match[str]) -> str:
        nonlocal done
        file = place["asked"].strip().partition(" ")[0]
        if not wanted(file, only):
            return place[0]
        if available and not (results / file).exists():
            left.append(file)
            return place[0]
        done += 1
        where = f"{page}, line {text.count(chr(10), 0, place.start()) + 1}"
        return f"<!-- fill {place['asked']} -->{_content(place['asked'], results, where)}<!-- /fill -->"

    begun, ended = text.count("<!-- fill "), len(PLACE.findall(text))
    if begun != ended:
        raise InputError(f"{page}: {begun} places begin with '<!-- fill ', but {ended} end with '<!-- /fill -->'.")
    return PLACE.sub(fill, text), done, left


def wanted(name: str, only: str) -> bool:
    """Whether a file or a command matches the pattern."""
    return fnmatchcase(name, only)


def _content(asked: str, results: Path, where: str) -> str:
    match = ASKED.fullmatch(asked)
    if match is None:
        raise InputError(
            f"'{asked}' is no place to fill", where=where, cure="FILE, FILE table, or FILE where KEY=VALUE show FORMAT"
        )
    path = results / match["file"]
    check_file(path, f"{where} asks for it; make it with the workflow")
    text = text_of(read_bytes(path), path)
    if match["where"] is not None:
        return _value(text, match["where"], match["show"], f"{where}, from {path}")
    if match["table"]:
        tables = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
        text = "\n".join(table.rstrip("\n") + "\n" for table in tables)
    return f"\n\n{text.strip()}\n\n"


def _value(text: str, where: str, show: str, place: str) -> str:
    parts = [part.partition("=") for part in re.split(r",\s*(?=\w+=)", where)]  # a value may contain a comma
    wanted = {key.strip(): value.strip() for key, _, value in parts}
    lines = list(csv.DictReader(StringIO(text)))
    known = list(lines[0]) if lines else []
    for key in (*wanted, *_columns(show, place)):
        if key not in known:  # nor an attribute or an item of one
            raise InputError(f"there is no column '{key}'", where=place, cure=f"there are: {', '.join(known)}")
    found = [line for line in lines if all(_same(line[key], value) for key, value in wanted.items())]
    if len(found) != 1:
        raise InputError(f"{len(found)} lines have {where}; name values that one line has", where=place)
    try:
        shown = show.format_map({key: _number(value) for key, value in found[0].items()})
    except ValueError as error:
        raise InputError(f"'{show}' cannot be shown: {error}", where=place) from None
    return MINUS.sub("\N{MINUS SIGN}", MINUS_ZERO.sub("", shown))


def _columns(show: str, place: str) -> list[str]:
    try:
        fields = [name for _, name, _, _ in Formatter().parse(show) if name is not None]
    except ValueError as error:
        raise InputError(f"'{show}' is not a format: {error}", where=place) from None
    return fields


def _same(value: str, wanted: str) -> bool:
    try:
        return float(value) == float(wanted)
    except ValueError:
        return value == wanted


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value
