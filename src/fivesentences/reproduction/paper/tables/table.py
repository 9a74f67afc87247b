"""Parts of every table: columns, groups of rows, cells, and the lines in which a reader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal, NamedTuple

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from fivesentences.config.metrics import Better
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.evaluation.published import PublishedRow
from fivesentences.metrics.sheet import Marked, Sheet
from fivesentences.reproduction.paper.text.names import UNDEFINED, number, signed
from fivesentences.storage import write_json

RowKind = Literal["ours", "published"]
Keys = Mapping[str, str | int | float]
COMPARED = {"mean": "value", "spread": "spread", "seeds": "count", "published": "published", "difference": "difference"}


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        headings: Uppermost first; the last one names the number. Neighbours share an upper heading that is the same.
        label: All headings in one, for formats without spanning cells: ``NCS@1 (CIDEr) i2t``.
        keys: Its columns of the CSV.
        better: Direction of better values: lower for ranks; for some numbers neither.
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

    @classmethod
    def over_seeds(cls, values: Sequence[float], published: float | None = None, comparable: bool = False) -> Cell:
        """Average one value per seed; ``comparable`` if the published value was measured in the same way."""
        mean, spread = fmean(values), stdev(values) if len(values) > 1 else None
        difference = mean - published if comparable and published is not None else None
        return cls(mean, spread, count=len(values), published=published, difference=difference)


@dataclass(frozen=True)
class TableRow:
    """One row.

    Attributes:
        kind: Whether it is a row of ours, with published values beside it, or the paper's alone.
        labels: Texts of the stub, one per column of the stub.
        keys: Its columns of the CSV.
        published_row: Name of the paper's row; empty where there is none.
        same_data: Whether the published values were measured on the same data.
        cells: One per column.
        chance: Rsum by chance, of a row that learnt nothing; None for others.
    """

    kind: RowKind
    labels: tuple[str, ...]
    keys: Keys
    published_row: str
    same_data: bool
    cells: tuple[Cell, ...]
    chance: float | None = None

    @property
    def remark(self) -> str:
        """Words below the label of a row that learnt nothing; empty for others."""
        return "" if self.chance is None else f"learnt nothing: Rsum is near chance, {number(self.chance, 1)}"

    @classmethod
    def of_paper(
        cls, row: PublishedRow, stub: int, keys: Keys, same_data: bool, values: Iterable[float | None]
    ) -> TableRow:
        """Make a row of the paper's alone, in a table whose stub has so many columns."""
        labels = (row.label, *[""] * (stub - 1))
        return cls("published", labels, keys, row.row, same_data, tuple(Cell(published=value) for value in values))


@dataclass(frozen=True)
class Group:
    """Rows below one title; each column has a best value within a group."""

    title: str
    keys: Keys
    rows: tuple[TableRow, ...]


class Line(NamedTuple):
    """A line as a reader sees it; below a row of ours stand the published values and the differences, if any."""

    kind: Literal["ours", "published", "difference"]
    stub: tuple[str, ...]
    cells: tuple[Marked, ...]


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
        """Sentence in place of a table without groups."""
        return f"None of its rows is made at the scale {self.scale}."

    def laid_out(self) -> Sheet:
        """Lay out the table with the lines of all rows; groups are below their titles."""
        rows: list[Sequence[str]] = []
        for group in self.groups:
            rows.append(group.title)
            rows += [(*line.stub, *line.cells) for row in group.rows for line in self.lines(row)]
        columns, labels = [one.headings for one in self.columns], [one.label for one in self.columns]
        return Sheet(self.stub, columns, rows, self.title, self.notes, self.caption, labels, self.empty)

    def lines(self, row: TableRow) -> list[Line]:
        """Lay out a row as one line, with the published values and the differences, if any, in lines below it."""
        cells = list(zip(row.cells, self.digits, strict=True))
        blank, source = ("",) * (len(self.stub) - 1), "published" if row.same_data else "published, other data"
        theirs = tuple(Marked(number(cell.published, digits)) for cell, digits in cells)
        if row.kind == "published":
            return [Line("published", (*row.labels[:-1], source), theirs)]
        ours = (Marked(number(one.value, at) or UNDEFINED, one.best, beside=uncertainty(one, at)) for one, at in cells)
        nothing = "" if row.chance is None else " (learnt nothing)"
        lines = [Line("ours", (*row.labels[:-1], row.labels[-1] + nothing), tuple(ours))]
        if any(cell.published is not None for cell in row.cells):
            lines.append(Line("published", (*blank, source), theirs))
        if any(cell.difference is not None for cell in row.cells):
            differences = tuple(Marked(signed(cell.difference, digits)) for cell, digits in cells)
            lines.append(Line("difference", (*blank, "ours minus published"), differences))
        return lines

    def tidy(self) -> pd.DataFrame:
        """Return one line per cell, numbers unrounded, as in the CSV."""
        lines = []
        for group in self.groups:
            for row in group.rows:
                about = {**group.keys, **row.keys, "row": row.kind, "published_row": row.published_row}
                for column, cell in zip(self.columns, row.cells, strict=True):
                    keys = {**about, **column.keys}
                    lines.append([getattr(cell, of) if of else keys[name] for name, of in self.csv])
        return pd.DataFrame(lines, columns=[name for name, _ in self.csv])

    def write(self, path: Path | str) -> None:
        """Store as JSON without values that are their defaults; ``Table.read`` returns an equal table."""
        write_json(path, TypeAdapter(Table).dump_python(self, mode="json", exclude_defaults=True), indent=None)

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


def csv_of(keys: Sequence[str], values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """List the columns of a CSV: keys of group, row and column, then values by the attributes of a cell."""
    return (*((key, "") for key in keys), *values.items())


def digits_of(columns: Sequence[Column], decimals: int) -> list[int]:
    """Return the digits shown after the point in each column; ``decimals`` where the column does not say."""
    return [decimals if column.decimals is None else column.decimals for column in columns]


def uncertainty(cell: Cell, decimals: int) -> str:
    """Word the small text beside a number: ``±0.3`` or ``[0.724, 0.735]``; empty if neither is known."""
    if cell.spread is not None:
        return f"±{number(cell.spread, decimals)}"
    if cell.low is not None and cell.high is not None:
        return f"[{number(cell.low, decimals)}, {number(cell.high, decimals)}]"
    return ""


def mark_best(rows: Sequence[TableRow], columns: Sequence[Column], decimals: int) -> list[TableRow]:
    """Mark the best values of every column, rounded as shown; a single value is not marked."""
    marked = [list(row.cells) for row in rows]
    for at, (column, digits) in enumerate(zip(columns, digits_of(columns, decimals), strict=True)):
        values = [row.cells[at].value for row in rows]
        shown = [None if value is None else round(value, digits) for value in values]
        known = [value for value in shown if value is not None]
        if len(known) > 1 and column.better != "neither":
            top = (min if column.better == "lower" else max)(known)
            for cells, value in zip(marked, shown, strict=True):
                cells[at] = replace(cells[at], best=value == top)
    return [replace(row, cells=tuple(cells)) for row, cells in zip(rows, marked, strict=True)]
