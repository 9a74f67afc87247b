"""Differences of methods of category retrieval that are paired by seed, with intervals over seeds and documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fivesentences.paper.context import Context
from fivesentences.paper.numbers.subspaces import MeasuredSubspaces, measured_subspace_contrasts
from fivesentences.paper.tables.differences import COLUMNS, cells_of, labels_of, stub_of
from fivesentences.paper.tables.subspaces import DECIMALS, HEADINGS, SIDES
from fivesentences.paper.tables.table import Group, Table, TableRow
from fivesentences.paper.text.contrast_notes import notes_on_statistics
from fivesentences.paper.text.subspace_notes import (
    notes_on_left_out,
    notes_on_measures,
    notes_on_pairs,
    notes_on_pairs_left_out,
    setting_in_words,
    sides_in_words,
)
from fivesentences.plan.subspaces import SubspaceContrast, subspace_contrasts
from fivesentences.study.exhibits import SubspaceContrastTable

# Columns of the CSV, and which attribute of a cell they hold; the others are keys of group, row and column.
CSV = (
    *((key, "") for key in ("role", "documents", "division", "a", "a_selection", "b", "b_selection", "question")),
    *((key, "") for key in ("metric", "direction", "statistic")),
    ("value", "value"),
    ("low", "low"),
    ("high", "high"),
    ("seeds", "count"),
)


def subspace_contrasts_table(spec: SubspaceContrastTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with the differences of its runs; see ``TableSpec``."""
    contrasts = subspace_contrasts(spec.contrasts, context.study, context.scale)
    found, resamples = measured_subspace_contrasts(contrasts, numbers, context.where(spec))
    return _Filling(spec, context, contrasts, found, resamples).table


@dataclass(frozen=True)
class _Filling:
    """One table at one scale, with everything that it is filled from."""

    spec: SubspaceContrastTable
    context: Context
    contrasts: Sequence[SubspaceContrast]
    found: Sequence[MeasuredSubspaces]
    resamples: int

    @property
    def table(self) -> Table:
        context, groups = self.context, []
        by_setting: dict[str, list[MeasuredSubspaces]] = {}
        for one in self.found:
            by_setting.setdefault(setting_in_words(one.contrast, context.study), []).append(one)
        for title, measured in by_setting.items():
            first = measured[0].contrast.a
            keys = {"role": first.role, "documents": str(first.documents), "division": first.division}
            rows, asked = [], ""
            for one in measured:
                rows += self.rows(one, asked)
                asked = one.contrast.question
            groups.append(Group(title, keys, tuple(rows)))
        return Table(*context.texts(self.spec), self.stub, COLUMNS, tuple(groups), self.notes, DECIMALS, CSV)

    @cached_property
    def stub(self) -> tuple[str, ...]:
        return stub_of(self.contrasts)

    def rows(self, measured: MeasuredSubspaces, asked: str) -> list[TableRow]:
        """The lines of one contrast, one per measure.

        Args:
            measured: The contrast.
            asked: The question of the contrast above, which is not shown again.
        """
        contrast, measures = measured.contrast, self.spec.measures
        keys = {"a": contrast.a.method, "a_selection": contrast.a.selection, "b": contrast.b.method}
        keys |= {"b_selection": contrast.b.selection, "question": contrast.question}
        question = "" if contrast.question == asked else contrast.question
        metrics = [f"{HEADINGS.get(one.metric, one.metric)}, {SIDES[one.direction]}" for one in measures]
        labels = labels_of(sides_in_words(contrast), metrics, question, self.stub)
        return [
            TableRow("ours", names, keys | one.model_dump(), "", False, cells_of(measured.metrics[one.key]))
            for names, one in zip(labels, measures, strict=True)
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        spec, study, scale = self.spec, self.context.study, self.context.scale.scale
        notes = notes_on_pairs(self.found, study)
        if notes:
            notes += notes_on_measures(spec.measures)
        if any(len(one.contrast.seeds) > 1 for one in self.found):
            notes += notes_on_statistics(self.resamples, "test documents")
        sides = [row for contrast in self.contrasts for row in (contrast.a, contrast.b)]
        left_out = notes_on_left_out(sides, scale, study)
        return (*notes, *notes_on_pairs_left_out(self.contrasts, scale, study), *left_out, *spec.notes)
