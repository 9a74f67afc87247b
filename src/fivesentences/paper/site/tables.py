"""Rows of a table for the site: one per row of ours, with the published value and the difference within its cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fivesentences.config.metrics import Better
from fivesentences.paper.tables.table import Cell, Column, Group, Line, ShownCell, Table, TableRow


@dataclass(frozen=True)
class SiteCell:
    """One cell.

    Attributes:
        ours: Our number with its uncertainty; of a row of the paper's alone, its number.
        published: The published value below ours; empty where there is none.
        difference: Ours minus published, signed; empty unless both were measured in the same way.
        sense: Whether the difference is for the better, as far as the metric says.
        sort: The number by which the column is sorted, unrounded; empty where there is none.
    """

    ours: ShownCell
    published: str
    difference: str
    sense: Literal["better", "worse", ""]
    sort: str


@dataclass(frozen=True)
class SiteRow:
    """One row: its labels, what stands below the first label (what the second number is), and its cells."""

    labels: tuple[str, ...]
    source: str
    of_paper: bool
    cells: tuple[SiteCell, ...]


def site_rows(table: Table, group: Group) -> Iterator[SiteRow]:
    """The rows of a group, in the table's order."""
    for row in group.rows:
        lines: dict[str, Line] = {line.kind: line for line in table.lines(row)}
        first = lines.get("ours") or lines["published"]
        beside = lines.get("published") if "ours" in lines else None
        cells = tuple(
            _cell(cell, column, digits, shown, beside.cells[index].text if beside else "", lines, index)
            for index, (cell, column, digits, shown) in enumerate(
                zip(row.cells, table.columns, table.digits, first.cells, strict=True)
            )
        )
        source = beside.stub[-1] if beside else ("" if row.kind == "ours" else first.stub[-1])
        yield SiteRow(row.labels, source, row.kind == "published", cells)


def _cell(
    cell: Cell, column: Column, digits: int, shown: ShownCell, published: str, lines: dict[str, Line], index: int
) -> SiteCell:
    difference = lines["difference"].cells[index].text if "difference" in lines else ""
    value = cell.published if cell.value is None and "ours" not in lines else cell.value
    sense = _sense(cell.difference, column.better, digits)
    return SiteCell(shown, published, difference, sense, "" if value is None else repr(float(value)))


def _sense(difference: float | None, better: Better, digits: int) -> Literal["better", "worse", ""]:
    """Whether a difference, rounded as shown, is for the better."""
    if difference is None or better == "neither" or round(difference, digits) == 0:
        return ""
    return "better" if (difference > 0) == (better == "higher") else "worse"


def names_published(table: Table) -> bool:
    """Whether a table holds a published value."""
    return any(cell.published is not None for row in _rows(table) for cell in row.cells)


def names_difference(table: Table) -> bool:
    """Whether a table holds a difference to a published value."""
    return any(cell.difference is not None for row in _rows(table) for cell in row.cells)


def _rows(table: Table) -> Iterator[TableRow]:
    return (row for group in table.groups for row in group.rows)
