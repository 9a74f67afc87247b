"""A study's table of runs at a scale: our numbers with their spread, each beside the published value."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from fivesentences.paper.context import Context
from fivesentences.paper.numbers.comparability import differing_settings
from fivesentences.paper.numbers.published import (
    PublishedRow,
    also_published,
    published_row,
)
from fivesentences.paper.numbers.results import Measure, Results, evaluated_columns
from fivesentences.paper.tables.columns import columns_of, published_value
from fivesentences.paper.tables.table import Cell, Group, Table, TableRow, mark_best
from fivesentences.paper.text.labels import PARTS, label_of
from fivesentences.paper.text.metric_notes import notes_on_inference, notes_on_metrics
from fivesentences.paper.text.names import unique
from fivesentences.paper.text.published_notes import note_on_published_only, notes_on_beside
from fivesentences.paper.text.run_notes import notes_on_data, notes_on_missing, training_in_words
from fivesentences.study.exhibits import (
    ColumnSpec,
    RunTable,
    inferences_of,
)
from fivesentences.study.expand import NO_TIME, Row
from fivesentences.study.study import Study

# Columns of the CSV, and which attribute of a cell they hold; the others are keys of group, row and column.
CSV = (
    *((key, "") for key in ("role", "dataset", "features", "fraction", "captions_per_image")),
    *((key, "") for key in ("epochs", "one_caption_per_image")),
    *((key, "") for key in ("row", "model", "loss", "inference", "published_row")),
    *((key, "") for key in vars(Measure(""))),
    ("mean", "value"),
    ("spread", "spread"),
    ("seeds", "count"),
    ("published", "published"),
    ("difference", "difference"),
)
DECIMALS = 1


def runs_table(spec: RunTable, context: Context, frame: pd.DataFrame) -> Table:
    """Fill a table from the tidy table of results, one row per value; see ``Results``."""
    published = context.published_rows(spec, spec.published_rows)
    return _RunTableMaker(spec, context, context.rows(spec), Results(frame), published).table


class GroupKey(NamedTuple):
    """What the rows of a group have in common."""

    role: str
    features: str | None
    fraction: float
    captions_per_image: int | None
    epochs: int | None
    one_caption_per_image: bool | None
    folds: int | str | None

    @classmethod
    def of(cls, row: Row) -> GroupKey:
        """The group that a row belongs to."""
        captions, one_caption = row.captions_per_image, row.one_caption_per_image
        return cls(row.role, row.features, row.fraction, captions, row.epochs, one_caption, row.folds)

    def fits(self, row: PublishedRow) -> bool:
        """Whether a published row was trained on the group's part of the training captions."""
        return math.isclose(row.fraction, self.fraction) and row.captions_per_image == self.captions_per_image

    def title(self, study: Study, dataset: str, trained: bool = True) -> str:
        """What stands above the group; ``trained``: whether any of its rows is trained here."""
        captions = "all training captions" if trained else "no training captions"
        if self.fraction < 1:
            captions = f"{100 * self.fraction:g}% of the training captions"
        if self.captions_per_image is not None:
            number = self.captions_per_image
            among = "" if self.fraction == 1 else f" among {captions}"
            captions = f"{number} caption{'s' if number > 1 else ''} of each training image{among}"
        played = "" if dataset == self.role else f" in the role of {study.label_of(self.role)}"
        features = "" if self.features is None else f", {study.label_of(self.features)}"
        training = training_in_words(self.epochs, self.one_caption_per_image)
        read = self.folds if isinstance(self.folds, str) else f"mean of {self.folds}"
        galleries = [] if self.folds is None else [f"{read} folds of the test split"]
        return ", ".join([f"{study.label_of(dataset)}{played}{features}", captions, *training, *galleries])


@dataclass(frozen=True)
class _RunTableMaker:
    """One table at one scale, with everything that it is filled from."""

    spec: RunTable
    context: Context
    rows: Sequence[Row]
    results: Results
    published: Mapping[str, PublishedRow]

    @property
    def table(self) -> Table:
        spec, context = self.spec, self.context
        columns = columns_of([measure for _, measure in self.columns], context.study)
        groups = []
        for key, rows in self.groups.items():
            dataset = str(rows[0].dataset)
            ours = mark_best([self.our_row(row) for row in rows], columns, DECIMALS)
            keys = key._asdict() | {"dataset": dataset}
            keys = {name: "" if value is None else value for name, value in keys.items()}
            title = key.title(context.study, dataset, any(row.spec for row in rows))
            groups.append(Group(title, keys, (*ours, *self.published_only_rows(key, rows))))
        return Table(*context.texts(spec), self.stub, columns, tuple(groups), self.notes, DECIMALS, CSV)

    @cached_property
    def stub(self) -> tuple[str, ...]:
        several = inferences_of(self.spec.rows) != ["naive"]
        return ("Model", "Training", "Inference") if several else ("Model", "Training")

    @cached_property
    def columns(self) -> list[tuple[ColumnSpec, Measure]]:
        """The columns that the scale can fill, and what they measure there."""
        scale = self.context.scale
        shown = evaluated_columns(self.spec.columns, scale)
        return [(column, Measure.of_column(column, scale.evaluation_phi)) for column in shown]

    @cached_property
    def made(self) -> list[Row]:
        """The rows that the scale makes."""
        return [row for row in self.rows if row.left_out is None]

    @cached_property
    def groups(self) -> dict[GroupKey, list[Row]]:
        """The rows that the scale makes, in groups."""
        groups: dict[GroupKey, list[Row]] = {}
        for row in self.made:
            groups.setdefault(GroupKey.of(row), []).append(row)
        return groups

    def our_row(self, row: Row) -> TableRow:
        """A row of ours, with the published values beside it."""
        beside = None if row.published is None else self.published_row(row.published)
        setting, results = self.spec.published_setting, self.results
        cells = []
        for column, measure in self.columns:
            published = None if beside is None else published_value(beside, column, measure)
            if measure.metric == "PMRP" and not all(results.gallery(run.name).labels for run in row.runs):
                cells.append(Cell(published=published))
                continue
            values = [results.value(run.name, measure, row.reading) for run in row.runs]
            mean = statistics.fmean(values)
            spread = statistics.stdev(values) if len(values) > 1 else None
            comparable = published is not None and not differing_settings(row, setting, results, measure)
            difference = mean - published if comparable and published is not None else None
            cells.append(Cell(mean, spread, count=len(values), published=published, difference=difference))
        keys = {"model": row.model, "loss": row.loss, "inference": row.reading}
        named = keys | {"inference": row.inference}
        labels = tuple(label_of(self.context.study, part, named[part]) for part in PARTS if part in named)
        same_data = beside is not None and not differing_settings(row, setting, results)
        return TableRow("ours", labels[: len(self.stub)], keys, row.published or "", same_data, tuple(cells))

    def published_only_rows(self, key: GroupKey, rows: Sequence[Row]) -> list[TableRow]:
        """The published rows that stand in a group without a row of ours."""
        # Features do not count here: such a row has another model anyway.
        differs = differing_settings(rows[0], self.spec.published_setting, self.results)
        same_data = not {"dataset", "gallery size"} & set(differs)
        beside = {row.published for row in rows}
        missing = [row.published for row in self.without_time if GroupKey.of(row) == key]
        found = [row for row, roles in self.also_published if key.role in roles and key.fits(row)]
        splits = {self.published_row(name).split for name in beside if name}  # such as 1K and 5K, each its own group
        found = [row for row in found if not splits or row.split in splits or row.role != key.role]
        found += [self.published_row(name) for name in unique(filter(None, missing)) if name not in beside]
        return [self.published_only_row(row, same_data and row.role == key.role) for row in found]

    def published_only_row(self, row: PublishedRow, same_data: bool) -> TableRow:
        """A row of the paper's."""
        cells = tuple(Cell(published=published_value(row, *column)) for column in self.columns)
        labels = (row.label, *("" for _ in self.stub[1:]))
        keys = {"model": row.method, "loss": "", "inference": row.setting.get("inference", "")}
        return TableRow("published", labels, keys, row.row, same_data, cells)

    def published_row(self, name: str) -> PublishedRow:
        """A row of the published table, which must have it."""
        return published_row(self.published, name, self.context.where(self.spec))

    @cached_property
    def also_published(self) -> list[tuple[PublishedRow, tuple[str, ...]]]:
        """The published rows that the study names, each with the roles whose rows it stands below."""
        return also_published(self.spec.also_published, self.published, self.context.where(self.spec))

    @cached_property
    def without_time(self) -> list[Row]:
        """The rows that the scale has no time for: the published ones are shown in their place."""
        return [row for row in self.rows if row.left_out in NO_TIME]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the data, the metrics, the published values and what is missing, and the study's own."""
        spec, study, scale, results = self.spec, self.context.study, self.context.scale, self.results
        setting = spec.published_setting
        notes = notes_on_data(study, self.made, results)
        if notes:
            notes += notes_on_metrics(spec.columns, setting, study, scale, self.made, results)
            notes += notes_on_inference(unique(row.inference for row in self.made))
            notes += notes_on_beside(self.made, setting, results, self.published)
            notes += note_on_published_only(self.all_published_only, setting)
            notes.append("Bold: the best mean of our rows within a group, as shown.")
        return (*notes, *notes_on_missing(study, scale, self.rows), *spec.notes)

    @property
    def all_published_only(self) -> list[PublishedRow]:
        """The published rows without a row of ours in the whole table, each once."""
        roles = {row.role for row in self.made}
        beside = {row.published for row in self.made}
        missing = unique(str(row.published) for row in self.without_time if row.published and row.role in roles)
        found = [row for row, below in self.also_published if roles & set(below)]
        return found + [self.published_row(name) for name in missing if name not in beside]
