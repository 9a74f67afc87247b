"""A study's table of category retrieval at a scale: our numbers with their spread, each beside the published value."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fivesentences.errors import InputError
from fivesentences.paper.context import Context
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.numbers.subspaces import SubspaceResults, published_of, published_value
from fivesentences.paper.tables.table import Cell, Column, Group, Table, TableRow, mark_best
from fivesentences.paper.text.names import DIRECTIONS
from fivesentences.paper.text.subspace_notes import (
    epoch_of,
    notes_on_divisions,
    notes_on_inputs,
    notes_on_left_out,
    notes_on_measures,
    notes_on_published,
    notes_on_subspace_seeds,
    place_of,
)
from fivesentences.study.exhibits import SubspaceTable
from fivesentences.study.expand import SubspaceRow

# Columns of the CSV, and which attribute of a cell they hold; the others are keys of group, row and column.
CSV = (
    *((key, "") for key in ("role", "documents", "division", "row", "method", "selection", "published_row")),
    *((key, "") for key in ("metric", "direction")),
    ("mean", "value"),
    ("spread", "spread"),
    ("seeds", "count"),
    ("published", "published"),
    ("difference", "difference"),
)
DECIMALS = 3
STUB = ("Method", "Epoch")
HEADINGS = {"mAP@100 possible": "mAP@100 of possible"}
SIDES = DIRECTIONS | {"mean": "mean"}


def subspaces_table(spec: SubspaceTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table from the metrics of its runs."""
    return _SubspaceTableMaker(
        spec, context, context.subspace_rows(spec), SubspaceResults(numbers), context.published_rows(spec)
    ).table


@dataclass(frozen=True)
class _SubspaceTableMaker:
    """One table at one scale, with everything that it is filled from."""

    spec: SubspaceTable
    context: Context
    rows: Sequence[SubspaceRow]
    results: SubspaceResults
    published: Mapping[str, PublishedRow]

    @property
    def table(self) -> Table:
        context, groups = self.context, []
        for rows in self.groups.values():
            first = rows[0]
            keys = {"role": first.role, "documents": str(first.documents), "division": first.division}
            ours = mark_best([self.our_row(row) for row in rows], self.columns, DECIMALS)
            alone = [self.published_only_row(row, first) for row in self.alone(rows)]
            groups.append(Group(place_of(first, context.study), keys, (*ours, *alone)))
        return Table(*context.texts(self.spec), STUB, self.columns, tuple(groups), self.notes, DECIMALS, CSV)

    @cached_property
    def made(self) -> list[SubspaceRow]:
        """The rows that the scale makes."""
        return [row for row in self.rows if row.runs]

    @cached_property
    def groups(self) -> dict[tuple[str, str], list[SubspaceRow]]:
        """The rows that the scale makes, by role and division."""
        groups: dict[tuple[str, str], list[SubspaceRow]] = {}
        for row in self.made:
            groups.setdefault((row.role, row.division), []).append(row)
        return groups

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        columns = []
        for measure in self.spec.columns:
            heading, side = HEADINGS.get(measure.metric, measure.metric), SIDES[measure.direction]
            columns.append(Column((heading, side), f"{heading} {measure.direction}", measure.model_dump()))
        return tuple(columns)

    def our_row(self, row: SubspaceRow) -> TableRow:
        """A row of ours, with the published values beside it."""
        beside, same = self.beside(row), self.is_comparable(row)
        cells = []
        for measure in self.spec.columns:
            values = self.results.values(row, measure.key)
            mean, spread = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None
            published = None if beside is None else published_value(beside, measure)
            difference = mean - published if same and published is not None else None
            cells.append(Cell(mean, spread, count=len(values), published=published, difference=difference))
        keys = {"method": row.method, "selection": row.selection if row.spec.iterative else ""}
        return TableRow(
            "ours", (row.label, epoch_of(row)), keys, "" if beside is None else beside.row, same, tuple(cells)
        )

    def published_only_row(self, row: PublishedRow, beside: SubspaceRow) -> TableRow:
        """A row of the paper's, below rows of ours."""
        cells = tuple(Cell(published=published_value(row, measure)) for measure in self.spec.columns)
        keys = {"method": row.method, "selection": ""}
        return TableRow("published", (row.label, ""), keys, row.row, self.is_comparable(beside), cells)

    def is_comparable(self, row: SubspaceRow) -> bool:
        """Whether differences to published values may be taken."""
        return self.spec.published_setting is not None and self.spec.published_setting.is_that_of(
            row.role, row.documents, row.division
        )

    def beside(self, row: SubspaceRow) -> PublishedRow | None:
        """The published row of a row of ours.

        Raises:
            InputError: If the study names one that the paper does not have for that role.
        """
        if row.published is None:
            return None
        found = published_of(self.published, row.published, row.role)
        if found is None:
            raise InputError(
                f"{self.context.where(self.spec)} names the published row '{row.published}' of the role "
                f"'{row.role}', but the table has only: {', '.join(self.published)}."
            )
        return found

    def alone(self, rows: Sequence[SubspaceRow]) -> list[PublishedRow]:
        """The published rows that stand below a group without a row of ours."""
        if not any(row.published for row in rows):
            return []
        first, beside = rows[0], {row.published for row in rows}
        left_out = [row for row in self.rows if (row.role, row.division) == (first.role, first.division)]
        numbers = {*self.spec.also_published, *(row.published for row in left_out if row.published)} - beside
        found = [published_of(self.published, str(number), first.role) for number in numbers]
        order = list(self.published)
        return sorted((row for row in found if row is not None), key=lambda row: order.index(row.row))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the divisions, the metrics, the published values and what is missing, and the study's own."""
        spec, study, notes = self.spec, self.context.study, []
        if self.made:
            notes = notes_on_divisions(self.made, self.results, study) + notes_on_inputs(self.made, study)
            notes += notes_on_measures(spec.columns)
            notes += notes_on_subspace_seeds(self.made)
            beside = [(row, found) for row in self.made if (found := self.beside(row)) is not None]
            alone = [row for rows in self.groups.values() for row in self.alone(rows)]
            notes += notes_on_published(beside, alone, spec.published_setting, study)
            notes.append("Bold: the best mean of our rows within a group, as shown.")
        return (*notes, *notes_on_left_out(self.rows, self.context.scale.scale, study), *spec.notes)
