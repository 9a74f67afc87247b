"""What all tables consist of: columns, groups of rows, cells, and the lines in which a reader sees them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from fivesentences.config.metrics import Better
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.paper.text.numbers import UNDEFINED, number, signed
from fivesentences.storage import write_json

RowKind = Literal["ours", "published"]
Keys = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        headings: Uppermost first; the last one names the number. Neighbours share an upper heading that is the same.
        label: All headings in one, for formats without spanning cells: ``N@1 (CIDEr) i2t``.
        keys: Its columns of the CSV.
        better: Which values are better: ranks if lower; for some numbers neither.
        decimals: Digits shown after the point; None: as in the whole table.
    """

    headings: tuple[str, ...]
    label: str
    keys: Keys
    better: Better = "higher"
    decimals: int | None = None


@dataclass(frozen=True)
class Cell:
    """One number of ours, its uncertainty, and the published value.

    Attributes:
        value: None in published rows; in a row of ours a value that is not defined, shown as a dash.
        spread: Sample standard deviation of the values whose mean is ``value``; None with fewer than two.
        low: Lower end of an interval around ``value``; None where there is none.
        high: Upper end.
        count: Number of seeds or pairs behind ``value``.
        published: None where the paper has no such value.
        difference: ``value`` minus the published value; None unless both were measured in the same way.
        best: Whether ``value`` is the best of its column and group.
    """

    value: float | None = None
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0
    published: float | None = None
    difference: float | None = None
    best: bool = False


@dataclass(frozen=True)
class TableRow:
    """One row.

    Attributes:
        kind: Whether it is a row of ours, with published values beside it, or the paper's alone.
        labels: What a reader sees in the stub, one text per column of the stub.
        keys: Its columns of the CSV.
        published_row: Name of the paper's row; empty where there is none.
        same_data: Whether the published values were measured on the same data.
        cells: One per column.
    """

    kind: RowKind
    labels: tuple[str, ...]
    keys: Keys
    published_row: str
    same_data: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows below one title; each column has a best value within a group."""

    title: str
    keys: Keys
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class ShownCell:
    """A cell as a reader sees it: a number, and its uncertainty in small type beside it."""

    text: str
    beside: str = ""
    best: bool = False


@dataclass(frozen=True)
class Line:
    """A line as a reader sees it; below a row of ours stand the published values and the differences, if any."""

    kind: Literal["ours", "published", "difference"]
    stub: tuple[str, ...]
    cells: tuple[ShownCell, ...]


@dataclass(frozen=True)
class Table:
    """A finished table, ready for any writer; without groups if the scale makes none of its rows.

    Attributes:
        stub: Headings of the columns that name a row.
        decimals: Digits shown after the point.
        csv: Columns of the CSV: (name, attribute of ``Cell``); the attribute is empty for keys of group, row or column.
    """

    study: str
    name: str
    scale: str
    paper: str
    title: str
    caption: str
    stub: tuple[str, ...]
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]
    decimals: int
    csv: tuple[tuple[str, str], ...]

    @property
    def upper_headings(self) -> list[list[str]]:
        """Headings above the lowest, one list per line; lines without any text are left out."""
        lines = zip(*(column.headings[:-1] for column in self.columns), strict=True)
        return [list(line) for line in lines if any(line)]

    @property
    def widest_beside(self) -> list[str]:
        """For each column the longest text beside its numbers, for which every cell leaves room; empty if none."""
        rows = [row for group in self.groups for row in group.rows]
        return [
            max((uncertainty(row.cells[index], decimals) for row in rows), key=len, default="")
            for index, decimals in enumerate(self.digits)
        ]

    @property
    def digits(self) -> list[int]:
        """Digits shown after the point in each column."""
        return digits_of(self.columns, self.decimals)

    @property
    def empty(self) -> str:
        """What a table without groups says."""
        return f"None of its rows is made at the scale {self.scale}."

    def lines(self, row: TableRow) -> list[Line]:
        """A row of this table as one line, and below it the published values and the differences, if any."""
        cells = list(zip(row.cells, self.digits, strict=True))
        published = tuple(ShownCell(number(cell.published, digits)) for cell, digits in cells)
        source = "published" if row.same_data else "published, other data"
        if row.kind == "published":
            return [Line("published", (*row.labels[:-1], source), published)]
        ours = (
            ShownCell(number(cell.value, digits) or UNDEFINED, uncertainty(cell, digits), cell.best)
            for cell, digits in cells
        )
        lines = [Line("ours", row.labels, tuple(ours))]
        blank = ("",) * (len(self.stub) - 1)
        if any(cell.published is not None for cell in row.cells):
            lines.append(Line("published", (*blank, source), published))
        if any(cell.difference is not None for cell in row.cells):
            differences = tuple(ShownCell(signed(cell.difference, digits)) for cell, digits in cells)
            lines.append(Line("difference", (*blank, "ours minus published"), differences))
        return lines

    def tidy(self) -> pd.DataFrame:
        """One line per cell, numbers unrounded: what the CSV holds."""
        lines: list[dict[str, Any]] = []
        for group in self.groups:
            for row in group.rows:
                for column, cell in zip(self.columns, row.cells, strict=True):
                    keys = {**group.keys, **row.keys, **column.keys}
                    keys |= {"row": row.kind, "published_row": row.published_row}
                    lines.append({name: getattr(cell, of) if of else keys[name] for name, of in self.csv})
        return pd.DataFrame(lines, columns=[name for name, _ in self.csv])

    def write(self, path: Path | str) -> None:
        """Store as JSON; ``Table.read`` returns an equal table."""
        write_json(path, TypeAdapter(Table).dump_python(self, mode="json"))

    @classmethod
    def read(cls, path: Path | str) -> Table:
        """Read what ``write`` stored.

        Raises:
            InputError: If the file is missing or is not a table.
        """
        try:
            return TypeAdapter(Table).validate_python(read_json(path, "make the table again"))
        except ValidationError as error:
            raise InputError(f"{path}: this is not a table of this version ({error.error_count()} mistakes).") from None


def digits_of(columns: Sequence[Column], decimals: int) -> list[int]:
    """Digits shown after the point in each column of a table that shows so many by default."""
    return [decimals if column.decimals is None else column.decimals for column in columns]


def uncertainty(cell: Cell, decimals: int) -> str:
    """The small text beside a number: ``±0.3`` or the interval ``[0.724, 0.735]``; empty where neither is known."""
    if cell.spread is not None:
        return f"±{number(cell.spread, decimals)}"
    if cell.low is not None and cell.high is not None:
        return f"[{number(cell.low, decimals)}, {number(cell.high, decimals)}]"
    return ""


def mark_best(rows: Sequence[TableRow], columns: Sequence[Column], decimals: int) -> list[TableRow]:
    """Mark the best values of every column, rounded as shown; a single value is not marked."""
    best: list[float | None] = []
    digits = digits_of(columns, decimals)
    for index, (column, places) in enumerate(zip(columns, digits, strict=True)):
        shown = [round(row.cells[index].value or 0.0, places) for row in rows if row.cells[index].value is not None]
        known = len(shown) > 1 and column.better != "neither"
        best.append((min if column.better == "lower" else max)(shown) if known else None)
    return [
        replace(
            row,
            cells=tuple(
                replace(cell, best=cell.value is not None and round(cell.value, places) == top)
                for cell, top, places in zip(row.cells, best, digits, strict=True)
            ),
        )
        for row in rows
    ]


def spans(headings: Sequence[str]) -> list[tuple[str, int]]:
    """Consecutive equal headings as (heading, how many columns)."""
    return [(heading, len(list(same))) for heading, same in itertools.groupby(headings)]
