"""The form that all tables share: columns, groups of rows, cells, and the lines in which a reader sees them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from fivesentences.errors import InputError
from fivesentences.storage import read_json, write_json

Kind = Literal["ours", "print"]
Best = Literal["highest", "lowest", "none"]
Keys = Mapping[str, str | int | float]
MINUS, UNDEFINED = "\N{MINUS SIGN}", "\N{EN DASH}"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        headings: Uppermost first; the last one names the number. Neighbours share an upper heading that is the same.
        label: All of it in one, for formats without spanning cells: ``N@1 (CIDEr) i2t``.
        keys: What the CSV says of it.
        best: Which value is the best; ranks are better if lower, and of some numbers none is better.
        decimals: Digits shown after the point; None for the table's own.
    """

    headings: tuple[str, ...]
    label: str
    keys: Keys
    best: Best = "highest"
    decimals: int | None = None


@dataclass(frozen=True)
class Cell:
    """One number of ours, how sure it is, and the number in print.

    Attributes:
        value: None in rows that only print has; in a row of ours a value that is not defined, shown as a dash.
        spread: Sample standard deviation of what ``value`` is the mean of; None with fewer than two.
        low: Lower end of an interval around ``value``; None where there is none.
        high: Upper end.
        count: Of how many seeds or pairs.
        published: None where print has no such number.
        difference: ``value`` minus print; None unless both were measured on the same.
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
    """One row. ``labels`` is what a reader sees in the stub, one text a column of it; ``printed`` names print's row."""

    kind: Kind
    labels: tuple[str, ...]
    keys: Keys
    printed: str
    same_data: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows below one title, of which each column has a best one."""

    title: str
    keys: Keys
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class Shown:
    """A cell as a reader sees it: a number, and small beside it how sure it is."""

    text: str
    beside: str = ""
    best: bool = False


@dataclass(frozen=True)
class Line:
    """A line as a reader sees it; a row of ours may have print and the difference in lines below it."""

    kind: Literal["ours", "print", "difference"]
    stub: tuple[str, ...]
    cells: tuple[Shown, ...]


@dataclass(frozen=True)
class Table:
    """A finished table, ready for any writer; without groups if the scale makes none of its rows.

    Attributes:
        stub: Headings of the columns that name a row.
        decimals: Digits shown after the point.
        csv: Columns of the CSV: (name, attribute of ``Cell``), the attribute empty where group, row and column say it.
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
        """Headings above the lowest, one list a line; lines without any text are left out."""
        lines = zip(*(column.headings[:-1] for column in self.columns), strict=True)
        return [list(line) for line in lines if any(line)]

    @property
    def widest_beside(self) -> list[str]:
        """For each column the longest text beside its numbers, for which every cell keeps room; empty if none."""
        rows = [row for group in self.groups for row in group.rows]
        return [
            max((uncertainty(row.cells[index], decimals) for row in rows), key=len, default="")
            for index, decimals in enumerate(self.digits)
        ]

    @property
    def digits(self) -> list[int]:
        """Digits shown after the point in each column."""
        return [self.decimals if column.decimals is None else column.decimals for column in self.columns]

    @property
    def empty(self) -> str:
        """What a table without groups says."""
        return f"None of its rows is made at the scale {self.scale}."

    def lines(self, row: TableRow) -> list[Line]:
        """A row of this table as one line, and below it print and the difference where there are any."""
        cells = list(zip(row.cells, self.digits, strict=True))
        printed = tuple(Shown(number(cell.published, digits)) for cell, digits in cells)
        what = "print" if row.same_data else "print, other data"
        if row.kind == "print":
            return [Line("print", (*row.labels[:-1], what), printed)]
        ours = (
            Shown(number(cell.value, digits) or UNDEFINED, uncertainty(cell, digits), cell.best)
            for cell, digits in cells
        )
        lines = [Line("ours", row.labels, tuple(ours))]
        blank = ("",) * (len(self.stub) - 1)
        if any(cell.published is not None for cell in row.cells):
            lines.append(Line("print", (*blank, what), printed))
        if any(cell.difference is not None for cell in row.cells):
            differences = tuple(Shown(signed(cell.difference, digits)) for cell, digits in cells)
            lines.append(Line("difference", (*blank, "ours minus print"), differences))
        return lines

    def tidy(self) -> pd.DataFrame:
        """One line a cell, numbers unrounded: what the CSV holds."""
        lines: list[dict[str, Any]] = []
        for group in self.groups:
            for row in group.rows:
                for column, cell in zip(self.columns, row.cells, strict=True):
                    said = {**group.keys, **row.keys, **column.keys, "row": row.kind, "printed_row": row.printed}
                    lines.append({name: getattr(cell, of) if of else said[name] for name, of in self.csv})
        return pd.DataFrame(lines, columns=[name for name, _ in self.csv])

    def write(self, path: Path | str) -> None:
        """Store as JSON; ``Table.read`` gives the same table back."""
        write_json(path, TypeAdapter(Table).dump_python(self, mode="json"))

    @classmethod
    def read(cls, path: Path | str) -> Table:
        """Read what ``write`` stored.

        Raises:
            InputError: If the file is missing or is no table.
        """
        try:
            return TypeAdapter(Table).validate_python(read_json(path))
        except ValidationError as error:
            raise InputError(f"{path}: this is not a table of this version ({error.error_count()} mistakes).") from None


def number(value: float | None, decimals: int) -> str:
    """A number as shown; empty where there is none."""
    return "" if value is None else f"{value:z.{decimals}f}".replace("-", MINUS)


def signed(value: float | None, decimals: int) -> str:
    """A difference as shown, with its sign; empty where there is none."""
    return "" if value is None else f"{value:+.{decimals}f}".replace("-", MINUS)


def uncertainty(cell: Cell, decimals: int) -> str:
    """The small text beside a number: ``±0.3``, or the interval ``[0.724, 0.735]``; empty where neither is known."""
    if cell.spread is not None:
        return f"±{number(cell.spread, decimals)}"
    if cell.low is not None and cell.high is not None:
        return f"[{number(cell.low, decimals)}, {number(cell.high, decimals)}]"
    return ""


def mark_best(rows: Sequence[TableRow], columns: Sequence[Column], decimals: int) -> list[TableRow]:
    """Mark the best values of every column as they are shown; a value alone is not the best of anything."""
    best: list[float | None] = []
    digits = [decimals if column.decimals is None else column.decimals for column in columns]
    for index, (column, places) in enumerate(zip(columns, digits, strict=True)):
        shown = [round(row.cells[index].value or 0.0, places) for row in rows if row.cells[index].value is not None]
        known = len(shown) > 1 and column.best != "none"
        best.append((min if column.best == "lowest" else max)(shown) if known else None)
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
