"""CSV files with a header that people wrote: read strictly, errors name the line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from fivesentences.documents import check_text, read_bytes, text_of
from fivesentences.errors import InputError, did_you_mean

LONGEST_HEADER = 65536  # characters
SEPARATORS = ",;\t|"  # as programs and spreadsheets of several languages write them; results.csv of Flickr30k has |
# Of results.csv: one of its 158,915 rows lacks the second separator.
_NUMBER_AND_TEXT = re.compile(r"\s*([0-9]{1,9})\s+(\S.*)", re.DOTALL)


def csv_rows(
    path: Path, needed: Sequence[str], optional: Sequence[str] = (), others: Mapping[str, Sequence[str]] | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Read the rows of a CSV; names of columns may be capitalised, and empty rows are passed over.

    Args:
        path: The CSV, in UTF-8; a quoted value may contain separators and line breaks. It is separated by the first of
            ``SEPARATORS`` with which the header names all needed columns.
        needed: Columns that it must have once, in any order.
        optional: Columns that it may have once; others are kept too.
        others: Other names of a column, which stand for it where it is missing.

    Yields:
        The place of a row, such as ``captions.csv, line 3``, and its values by column.

    Raises:
        InputError: If it is not a file, not UTF-8 or not CSV, a column is missing or named twice, or a row has more or
            fewer values than the header.
    """

    def renamed(header: list[str]) -> list[str]:
        for column, names in (others or {}).items():
            known = [name for name in names if column not in header and name in header]
            header = [column if name in known[:1] else name for name in header]
        return header

    text = text_of(read_bytes(path), path)
    separator = separator_of(text, lambda header: set(needed) <= set(renamed(header)))
    header = renamed(header_of(text, separator or ","))
    for column in (*needed, *optional):
        if header.count(column) > 1 or (column in needed and column not in header):
            shown = ", ".join(header)[:200] or "nothing"
            hint = did_you_mean(column, header) if column not in header else None
            raise InputError(
                f"the header must name the column '{column}' once; it is {shown}",
                where=path,
                cure=hint or f"expected {', '.join(needed)}",
            )
    yield from rows_below(path, text, separator or ",", header)


def header_of(text: str, separator: str) -> list[str]:
    """Return the columns that the first line of a text names, in lower case."""
    try:
        names = next(csv.reader(io.StringIO(text[:LONGEST_HEADER], newline=""), delimiter=separator), [])
    except csv.Error:
        return []
    return [name.strip().casefold() for name in names]


def separator_of(text: str, has_columns: Callable[[list[str]], Any]) -> str | None:
    """Return the first separator with which the header of a text has columns; None if none has."""
    return next((one for one in SEPARATORS if has_columns(header_of(text, one))), None)


def rows_below(path: Path, text: str, separator: str, header: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows below the header of a CSV, see ``csv_rows``.

    Raises:
        InputError: If it is not CSV, or a row has more or fewer values than the header.
    """
    # Nobody quotes between bars, where captions begin with a quotation mark.
    quoting: Literal[0, 3] = csv.QUOTE_NONE if separator == "|" else csv.QUOTE_MINIMAL
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator, quoting=quoting)
    try:
        next(reader)
        line = reader.line_num + 1
        for values in reader:
            where = f"{path}, line {line}"
            if any(value.strip() for value in values):  # spreadsheets write rows of separators alone
                if separator == "|" and len(values) == len(header) - 1 == 2:
                    values[1:] = found.groups() if (found := _NUMBER_AND_TEXT.fullmatch(values[1])) else values[1:]
                if len(values) != len(header):
                    cure = "" if separator == "|" else f"; put values that contain {separator!r} in double quotes"
                    raise InputError(f"{where}: {len(values)} values for {len(header)} columns{cure}.")
                yield where, {name: check_text(value, where) for name, value in zip(header, values, strict=True)}
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num} is not CSV ({error}).") from None
