"""CSV files with a header that people wrote: read strictly, errors name the line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from fivesentences.documents import check_text, read_bytes, text_of
from fivesentences.errors import InputError, did_you_mean

LONGEST_HEADER = 65536  # characters


def csv_rows(
    path: Path, needed: Sequence[str], optional: Sequence[str] = (), separators: str = ","
) -> Iterator[tuple[str, dict[str, str]]]:
    """Read the rows of a CSV; names of columns may be capitalised, and empty rows are passed over.

    Args:
        path: The CSV, in UTF-8; a quoted value may contain separators and line breaks.
        needed: Columns that it must have once, in any order.
        optional: Columns that it may have once; others are kept too.
        separators: Allowed separators; the first with which the header names all needed columns is taken.

    Yields:
        The place of a row, such as ``captions.csv, line 3``, and its values by column.

    Raises:
        InputError: If it is not a file, not UTF-8 or not CSV, a column is missing or named twice, or a row has more or
            fewer values than the header.
    """
    text = text_of(read_bytes(path), path)
    headers = {separator: _header(text[:LONGEST_HEADER], separator) for separator in separators}
    separator = next((one for one in separators if set(needed) <= set(headers[one])), separators[0])
    header = headers[separator]
    for column in (*needed, *optional):
        if header.count(column) > 1 or (column in needed and column not in header):
            shown = ", ".join(header)[:200] or "nothing"
            hint = did_you_mean(column, header) if column not in header else None
            raise InputError(
                f"the header must name the column '{column}' once; it is {shown}",
                where=path,
                cure=hint or f"expected {', '.join(needed)}",
            )
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    try:
        next(reader)
        line = reader.line_num + 1
        for values in reader:
            where = f"{path}, line {line}"
            if any(value.strip() for value in values):  # spreadsheets write rows of separators alone
                if len(values) != len(header):
                    raise InputError(
                        f"{where}: {len(values)} values for {len(header)} columns; put values that contain "
                        f"{separator!r} in double quotes."
                    )
                yield where, {name: check_text(value, where) for name, value in zip(header, values, strict=True)}
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num} is not CSV ({error}).") from None


def _header(text: str, separator: str) -> list[str]:
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:
        return []
    return [name.strip().casefold() for name in names]
