"""Differences of runs that are paired by seed, with intervals over seeds and test images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fivesentences.paper.context import Context
from fivesentences.paper.numbers.contrasts import Contrasts, Measured, measured_contrasts
from fivesentences.paper.tables.differences import COLUMNS, cells_of, labels_of, stub_of
from fivesentences.paper.tables.table import Group, Table, TableRow
from fivesentences.paper.text.contrast_notes import (
    METRICS,
    groups_of,
    notes_on_contrasts,
    notes_on_contrasts_left_out,
    notes_on_statistics,
    sides_in_words,
)
from fivesentences.paper.text.run_notes import notes_on_missing
from fivesentences.plan.contrasts import Contrast, contrasts_of
from fivesentences.plan.rows import Row
from fivesentences.study.exhibits import SETTINGS, PairedTable

DECIMALS = 2
# Columns of the CSV, and which attribute of a cell they hold; the others are keys of group, row and column.
CSV = (
    *((key, "") for key in ("role", "dataset", *SETTINGS)),
    *((key, "") for key in ("a", "b", "against", "question", "metric", "statistic")),
    ("value", "value"),
    ("low", "low"),
    ("high", "high"),
    ("seeds", "count"),
)


def paired_table(spec: PairedTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with the differences of its runs; see ``TableSpec``."""
    contrasts = contrasts_of(spec.contrasts, context.study, context.scale)
    return _Filling(spec, context, contrasts, measured_contrasts(contrasts, numbers, context.where(spec))).table


@dataclass(frozen=True)
class _Filling:
    """One table at one scale, with everything that it is filled from."""

    spec: PairedTable
    context: Context
    contrasts: Sequence[Contrast]
    found: Contrasts

    @property
    def table(self) -> Table:
        context, groups = self.context, []
        for title, measured in groups_of(self.found.of, context.study).items():
            first = measured[0].contrast.a
            keys = {"role": first.role, "dataset": str(first.dataset)} | _plain(first)
            rows, asked = [], ""
            for one in measured:
                rows += self.rows(one, asked)
                asked = one.contrast.question
            groups.append(Group(title, keys, tuple(rows)))
        return Table(*context.texts(self.spec), self.stub, COLUMNS, tuple(groups), self.notes, DECIMALS, CSV)

    @cached_property
    def stub(self) -> tuple[str, ...]:
        return stub_of(self.contrasts)

    def rows(self, measured: Measured, asked: str) -> list[TableRow]:
        """The lines of one contrast, one per metric.

        Args:
            measured: The contrast.
            asked: The question of the contrast above, which is not shown again.
        """
        contrast, measures = measured.contrast, self.spec.measures
        keys = _plain(contrast.a) | {"a": contrast.a.loss, "b": contrast.b.loss, "question": contrast.question}
        ours, theirs = _plain(contrast.a), _plain(contrast.b)
        keys["against"] = ",".join(f"{key}={theirs[key]}" for key in SETTINGS if ours[key] != theirs[key])
        question = "" if contrast.question == asked else contrast.question
        sides = sides_in_words(contrast, self.context.study)
        labels = labels_of(sides, [METRICS[metric] for metric in measures], question, self.stub)
        return [
            TableRow("ours", names, keys | {"metric": metric}, "", False, cells_of(measured.metrics[metric]))
            for names, metric in zip(labels, measures, strict=True)
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        spec, context = self.spec, self.context
        study, scale = context.study, context.scale
        notes = notes_on_contrasts(self.found, spec.measures, study)
        if any(len(one.contrast.seeds) > 1 for one in self.found.of):
            notes += notes_on_statistics(self.found.resamples, "test images")
        left_out = notes_on_contrasts_left_out(self.contrasts, scale.scale, study)
        return (*notes, *left_out, *notes_on_missing(study, scale, context.rows(spec)), *spec.notes)


def _plain(row: Row) -> dict[str, str | int | float]:
    """The settings of a row as they stand in a CSV; empty for what the scale decides."""
    values = {key: getattr(row, key) for key in SETTINGS}
    return {key: "" if value is None else value for key, value in values.items()}
