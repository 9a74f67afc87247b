"""A study's table of category retrieval at a scale: our numbers with their spread, each beside the published value."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

from fivesentences.errors import InputError
from fivesentences.evaluation.published import PublishedRow
from fivesentences.reproduction.categories.paper.notes import (
    epoch_of,
    notes_on_divisions,
    notes_on_inputs,
    notes_on_left_out,
    notes_on_measures,
    notes_on_published,
    place_of,
)
from fivesentences.reproduction.categories.paper.numbers import SubspaceResults
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.tables.table import (
    COMPARED,
    Cell,
    Column,
    Group,
    Table,
    TableRow,
    csv_of,
    mark_best,
)
from fivesentences.reproduction.paper.text.names import DIRECTIONS, grouped
from fivesentences.reproduction.paper.text.run_notes import notes_on_seeds
from fivesentences.reproduction.study.exhibits import SubspaceMeasure, SubspaceTable
from fivesentences.reproduction.study.expand import SubspaceRow

KEYS = ("role", "documents", "division", "row", "method", "selection", "published_row", "metric", "direction")
DECIMALS = 3
HEADINGS = {"mAP@100 possible": "mAP@100 of possible"}
SIDES = DIRECTIONS | {"mean": "mean"}


def subspaces_table(spec: SubspaceTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table from the metrics of its runs."""
    study, setting, results = context.study, spec.published_setting, SubspaceResults(numbers)
    rows, published = context.subspace_rows(spec), context.published_rows(spec)
    made, stub = [row for row in rows if row.runs], ("Method", "Epoch")
    columns = tuple(
        Column((heading, SIDES[one.direction]), f"{heading} {one.direction}", one.model_dump())
        for one in spec.columns
        for heading in [HEADINGS.get(one.metric, one.metric)]
    )

    def beside(row: SubspaceRow) -> PublishedRow | None:
        """Find the published row of a row of ours."""
        found = published.of_role(row.published, row.role) if row.published else None
        if row.published and found is None:
            which, known = f"'{row.published}' of the role '{row.role}'", ", ".join(published)
            raise InputError(f"{context.where(spec)} names the published row {which}, but the table has only: {known}.")
        return found

    def is_comparable(row: SubspaceRow) -> bool:
        return setting is not None and setting.is_that_of(row.role, row.documents, row.division)

    def our_row(row: SubspaceRow) -> TableRow:
        theirs, same = beside(row), is_comparable(row)
        cells = tuple(
            Cell.over_seeds(results.values(row, one.key), _published_value(theirs, one) if theirs else None, same)
            for one in spec.columns
        )
        keys = {"method": row.method, "selection": row.selection if row.spec.iterative else ""}
        return TableRow("ours", (row.label, epoch_of(row)), keys, theirs.row if theirs else "", same, cells)

    def without_ours(of_group: Sequence[SubspaceRow]) -> list[PublishedRow]:
        """Select the published rows that stand below a group without a row of ours."""
        named = {row.published for row in of_group}
        if not any(named):
            return []
        left_out = {row.published for row in rows if _place(row) == _place(of_group[0]) and row.published}
        role = of_group[0].role
        found = [published.of_role(number, role) for number in {*spec.also_published, *left_out} - named]
        order = list(published)
        return sorted((row for row in found if row is not None), key=lambda row: order.index(row.row))

    groups, alone = [], []
    for of_group in grouped(made, _place).values():
        first, theirs = of_group[0], without_ours(of_group)
        ours = mark_best([our_row(row) for row in of_group], columns, DECIMALS)
        below = []
        for row in theirs:
            about = {"method": row.method, "selection": ""}
            values = (_published_value(row, one) for one in spec.columns)
            below.append(TableRow.of_paper(row, len(stub), about, is_comparable(first), values))
        keys = {"role": first.role, "documents": str(first.documents), "division": first.division}
        groups.append(Group(place_of(first, study), keys, (*ours, *below)))
        alone += theirs
    notes = []
    if made:
        shown = [(row, found) for row in made if (found := beside(row)) is not None]
        notes += notes_on_divisions(made, results, study) + notes_on_inputs(made, study)
        notes += notes_on_measures(spec.columns) + notes_on_seeds(made, attrgetter("label"))
        notes += notes_on_published(shown, alone, setting, study)
        notes.append("Bold: the best mean of our rows within a group, as shown.")
    notes += [*notes_on_left_out(rows, context.scale, study), *spec.notes]
    return Table(*context.texts(spec), stub, columns, tuple(groups), tuple(notes), DECIMALS, csv_of(KEYS, COMPARED))


def _place(row: SubspaceRow) -> tuple[str, str]:
    return row.role, row.division


def _published_value(row: PublishedRow, measure: SubspaceMeasure) -> float | None:
    """Look up a measure in a published row, which calls the mean of both directions avg."""
    return row.values.get(("avg" if measure.direction == "mean" else measure.direction, measure.metric))
