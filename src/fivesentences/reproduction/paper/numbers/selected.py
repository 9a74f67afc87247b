"""Numbers for texts: one line of a CSV, selected by some of its columns and shown in Python's format language."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.reproduction.config.findings import VERBS, Finding, names_in
from fivesentences.reproduction.paper.text.names import MINUS

_NEGATIVE = re.compile(r"(?<![\w.])-(?=[\d.])")
_MINUS_ZERO = re.compile(r"(?<![\w.])-(?=0?\.?0+(?![\d.]))")  # what rounding leaves of a small negative number


def select(text: str, asked: Mapping[str, str | float], where: str) -> str:
    """Show the one line of a CSV that has some values.

    Args:
        text: The CSV.
        asked: Columns with their values, numbers compared as numbers; and ``show``, such as ``{value:.1f}``.
        where: Name and file of the value, for errors.

    Raises:
        InputError: If not exactly one line has these values, or it cannot be shown so.
    """
    wanted = {key: str(value) for key, value in asked.items() if key != "show"}
    lines = list(csv.DictReader(text.splitlines()))
    try:
        found = [line for line in lines if all(_number(line[key]) == _number(value) for key, value in wanted.items())]
        if len(found) != 1:
            raise InputError(f"{where}: {len(found)} lines have {wanted}; name values that one line has.")
        shown = str(asked["show"]).format_map({key: _number(value) for key, value in found[0].items()})
    except (KeyError, ValueError, AttributeError) as error:
        columns = ", ".join(lines[0]) if lines else "none"
        raise InputError(f"{where}: {dict(asked)} cannot be shown ({error!r}); columns are {columns}.") from None
    return _NEGATIVE.sub(MINUS, _MINUS_ZERO.sub("", shown))


def filler(finding: Finding, folder: Path) -> Callable[[str], str]:
    """Return the function that fills a text of a finding with its numbers.

    Args:
        finding: The finding.
        folder: Folder of the scale's tables.

    Raises:
        InputError: By the function, if a table is missing or a value is not in it.
    """

    def fill(text: str) -> str:
        found = {}
        for table in finding.tables_of([text]):
            path, values = folder / f"{table}.csv", finding.values[table]
            check_file(path, "make it with the workflow")
            content = path.read_text(encoding="utf-8")
            for name in set(names_in(text)) & set(values):
                where = f"{name} of {path}"
                found[name] = select(content, values[name], f"{where}, which the finding of the scale shows")
        return text.format_map(found)

    return fill


def check_headline(finding: Finding, folder: Path) -> None:
    """Compare the headline of a finding with the intervals of the values that it rests on.

    Args:
        finding: The finding.
        folder: Folder of the scale's tables.

    Raises:
        InputError: If an interval does not carry what the headline says of it, or a value has none.
    """
    for verb, names in finding.rests_on.items():
        ends: list[tuple[float, float]] = []
        for name in names:
            _, low, high = interval_of(finding, name, folder)
            carried = {
                "raises": low > 0,
                "lowers": high < 0,
                "no_gain": low <= 0,
                "no_difference": low <= 0 <= high,
                "falling": not ends or high < ends[-1][0],
            }[verb]
            if not carried:
                what = (
                    f"'{finding.headline}' rests on '{name}', whose interval [{low:g}, {high:g}] is not {VERBS[verb]}"
                )
                raise InputError(what, where="finding.headline", cure="reword it, or what rests_on says of it")
            ends.append((low, high))


def interval_of(finding: Finding, name: str, folder: Path) -> tuple[float, float, float]:
    """Return a difference that the headline of a finding rests on, and the ends of its interval.

    Args:
        finding: The finding.
        name: One of its values.
        folder: Folder of the scale's tables.

    Raises:
        InputError: If the table is missing, or the value is not in it or has no interval.
    """
    table = finding.table_of(name)
    path = folder / f"{table}.csv"
    check_file(path, "make it with the workflow")
    asked = {**finding.values[table][name], "show": "{value} {low} {high}"}
    shown = select(path.read_text(encoding="utf-8"), asked, f"{name} of {path}, on which the headline rests")
    try:
        value, low, high = (float(end.replace(MINUS, "-")) for end in shown.split(" "))
    except ValueError:
        raise InputError(f"finding.rests_on: '{name}' has no interval; name a difference.") from None
    return value, low, high


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value.strip()
