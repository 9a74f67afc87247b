"""A study's table of runs at a scale: our numbers with their spread, each beside the number in print."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import pandas as pd
from pydantic import Field

from fivesentences.config import Name, Scale
from fivesentences.evaluation import collect
from fivesentences.paper.comparability import PublishedSetting, unlike_print
from fivesentences.paper.kinds import Context, TableKind
from fivesentences.paper.published import PrintedRow, PublishedAlone, printed_alone, printed_row, read_published
from fivesentences.paper.results import Measure, Results
from fivesentences.paper.tables.columns import columns_of, kept_columns, printed_key
from fivesentences.paper.tables.table import Cell, Group, Keys, Table, TableRow, mark_best
from fivesentences.paper.text.metric_notes import notes_on_inference, notes_on_metrics
from fivesentences.paper.text.names import INFERENCES, unique
from fivesentences.paper.text.notes import notes_of_data, notes_on_missing, notes_on_published
from fivesentences.plan.exhibits import ColumnSpec, RowSpec, Source, inferences_of
from fivesentences.plan.rows import NO_TIME, Row
from fivesentences.plan.studies import Study

# Columns of the CSV, and which attribute of a cell they hold; the others are said by group, row and column.
CSV = (
    *((key, "") for key in ("role", "dataset", "features", "fraction", "captions_per_image")),
    *((key, "") for key in ("row", "model", "loss", "inference", "printed_row")),
    *((key, "") for key in vars(Measure(""))),
    ("mean", "value"),
    ("spread", "spread"),
    ("seeds", "count"),
    ("print", "published"),
    ("difference", "difference"),
)
DECIMALS = 1


class Asked(NamedTuple):
    """A column of the study, and what it measures at a scale."""

    column: ColumnSpec
    measure: Measure


class RunTable(TableKind):
    """Rows x metrics of runs, and the published values that they are compared with."""

    reads: ClassVar[Source] = "runs"

    kind: Literal["runs"]
    rows: list[RowSpec] = Field(min_length=1)
    columns: list[ColumnSpec] = Field(min_length=1)
    published: Name | None = Field(default=None, description="file in config/published, without .csv")
    published_rows: Literal["rows", "columns"] = Field(
        default="rows", description="columns: the published rows are our columns, and the published methods our rows"
    )
    published_setting: PublishedSetting | None = None
    also_published: list[str | PublishedAlone] = Field(
        default=[], description="published rows shown without a row of ours"
    )

    def row_specs(self) -> list[RowSpec]:
        """Its rows."""
        return self.rows

    def metrics(self) -> list[ColumnSpec]:
        """Its columns."""
        return self.columns

    def published_table(self) -> Name | None:
        """File name of the published table."""
        return self.published

    def build(self, context: Context, numbers: Sequence[Path], published: Path) -> Table:
        """Fill the table from the metrics of its runs; see ``TableKind``."""
        return self.filled(context, collect(numbers, context.scale.scale), published)

    def filled(self, context: Context, frame: pd.DataFrame, published: Path) -> Table:
        """As ``build``, from the tidy table of results, one row per value; see ``Results``."""
        study, scale = context.study, context.scale
        results, printed = Results(frame), self._printed(published)
        shown = kept_columns(self.columns, scale)
        asked = [Asked(column, Measure.of_column(column, scale.evaluation_phi)) for column in shown]
        columns = columns_of([one.measure for one in asked], study.labels)
        rows = context.rows(self)
        where = f"{context.study_name}: {self.name}"
        beside = printed_alone(self.also_published, printed, where)
        groups = []
        kept = [row for row in rows if row.left_out is None]
        for part, of_group in _grouped(kept).items():
            role, dataset = part.role, str(of_group[0].dataset)
            lines = [_our_row(row, asked, results, self.published_setting, printed, study, where) for row in of_group]
            lines = mark_best(lines, columns, DECIMALS)
            # Features are left out of this: a printed row without one of ours has another model anyway.
            same_data = not {"dataset", "gallery size"} & set(
                unlike_print(of_group[0], self.published_setting, results, None)
            )
            alone = [row for row, roles in beside if role in roles and _is_of(row, part)]
            # Print beside a row that the scale has no time for; not beside one whose print stands here already.
            ours = {row.published for row in of_group}
            missing = [row.published for row in rows if _part(row) == part and row.left_out in NO_TIME]
            alone += [printed_row(printed, row, where) for row in unique(filter(None, missing)) if row not in ours]
            lines += [_printed_row(row, asked, same_data and row.role == role) for row in alone]
            captions = part.captions_per_image or ""
            keys: Keys = {
                "role": role, "dataset": dataset, "features": part.features or "",
                "fraction": part.fraction, "captions_per_image": captions,
            }  # fmt: skip
            groups.append(Group(_title(study.labels, part, dataset), keys, tuple(lines)))
        notes = self._notes(study, scale, rows, results, printed)
        texts = (context.study_name, self.name, scale.scale, study.paper, self.title, self.caption)
        stub = ("Model", "Training", "Inference") if inferences_of(self.rows) != ["naive"] else ("Model", "Training")
        groups = [replace(group, rows=tuple(_with_stub(row, len(stub)) for row in group.rows)) for group in groups]
        return Table(*texts, stub, columns, tuple(groups), tuple(notes), DECIMALS, CSV)

    def _printed(self, published: Path) -> dict[str, PrintedRow]:
        if self.published is None:
            return {}
        return read_published(published / f"{self.published}.csv", self.published_rows)

    def _notes(
        self, study: Study, scale: Scale, rows: Sequence[Row], results: Results, printed: Mapping[str, PrintedRow]
    ) -> list[str]:
        """All notes: data, metrics, published values, what is missing, and the study's own."""
        notes = notes_of_data(study, scale, rows, results)
        if notes:
            notes += notes_on_metrics(self.columns, self.published_setting, study, scale, rows, results)
            notes += notes_on_inference(unique(row.inference for row in rows if row.left_out is None))
            notes += notes_on_published(rows, self.published_setting, self.also_published, study, results, printed)
            notes.append("Bold: the best mean of our rows within a group, as shown.")
        return [*notes, *notes_on_missing(study, scale, rows), *self.notes]


class Part(NamedTuple):
    """What the rows of a group have in common."""

    role: str
    features: str | None
    fraction: float
    captions_per_image: int | None


def _part(row: Row) -> Part:
    return Part(row.role, row.features, row.fraction, row.captions_per_image)


def _grouped(rows: Sequence[Row]) -> dict[Part, list[Row]]:
    groups: dict[Part, list[Row]] = {}
    for row in rows:
        groups.setdefault(_part(row), []).append(row)
    return groups


def _is_of(row: PrintedRow, part: Part) -> bool:
    """Whether a printed row was trained on such a part of the training captions."""
    return math.isclose(row.fraction, part.fraction) and row.captions_per_image == part.captions_per_image


def _title(labels: Mapping[str, str], part: Part, dataset: str) -> str:
    data = labels.get(dataset, dataset)
    captions = "all training captions" if part.fraction == 1 else f"{100 * part.fraction:g}% of the training captions"
    if part.captions_per_image is not None:
        number = part.captions_per_image
        of_images = "" if part.fraction == 1 else f" among {captions}"
        captions = f"{number} caption{'s' if number > 1 else ''} of each training image{of_images}"
    played = "" if dataset == part.role else f" in the role of {labels.get(part.role, part.role)}"
    features = "" if part.features is None else f", {labels.get(part.features, part.features)}"
    return f"{data}{played}{features}, {captions}"


def _our_row(
    row: Row,
    asked: Sequence[Asked],
    results: Results,
    setting: PublishedSetting | None,
    printed: Mapping[str, PrintedRow],
    study: Study,
    where: str,
) -> TableRow:
    beside = printed_row(printed, row.published, where) if row.published is not None else None
    cells = []
    for column, measure in asked:
        value = beside.values.get(printed_key(column, measure)) if beside is not None else None
        if measure.metric == "PMRP" and not all(results.gallery(run.name).labels for run in row.runs):
            cells.append(Cell(published=value))
            continue
        values = [results.value(run.name, measure, row.inference) for run in row.runs]
        mean = statistics.fmean(values)
        spread = statistics.stdev(values) if len(values) > 1 else None
        comparable = value is not None and not unlike_print(row, setting, results, measure)
        difference = mean - value if value is not None and comparable else None
        cells.append(Cell(mean, spread, count=len(values), published=value, difference=difference))
    of_row = (row.model, row.loss, row.inference)
    labels = tuple(study.label_of(name, INFERENCES.get(name)) for name in of_row)
    same_data = beside is not None and not unlike_print(row, setting, results, None)
    keys = {"model": row.model, "loss": row.loss, "inference": row.inference}
    return TableRow("ours", labels, keys, row.published or "", same_data, tuple(cells))


def _printed_row(row: PrintedRow, asked: Sequence[Asked], same_data: bool) -> TableRow:
    cells = tuple(Cell(published=row.values.get(printed_key(*one))) for one in asked)
    keys = {"model": row.method, "loss": "", "inference": row.setting.get("inference", "")}
    return TableRow("print", (row.said, "", ""), keys, row.row, same_data, cells)


def _with_stub(row: TableRow, columns: int) -> TableRow:
    """A row with as many labels as the table's stub has columns."""
    return replace(row, labels=row.labels[:columns])
