"""A study's table at a scale: our numbers with their spread, each beside the number in print."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from fivesentences.config import Scale, Study, TableSpec
from fivesentences.errors import InputError
from fivesentences.paper.comparability import unlike_print
from fivesentences.paper.notes import notes_of_table
from fivesentences.paper.published import PrintedRow, printed_row, read_published
from fivesentences.paper.results import PHI, Measure, Results, is_semantic
from fivesentences.paper.rows import Row, expand_rows
from fivesentences.storage import read_json, write_json

Kind = Literal["ours", "print"]


@dataclass(frozen=True)
class Column:
    """One column: what it measures, and how its heading reads."""

    measure: Measure

    @property
    def family(self) -> str:
        """Uppermost heading: which kind of metric, with the phi that was used."""
        metric, phi = self.measure.metric, PHI.get(self.measure.phi, self.measure.phi)
        if not is_semantic(metric):
            return "Recall"
        kind = "Semantic recall" if metric.startswith("SR@") else "Normalised cumulative semantic score"
        formula = ", formula of the paper" if self.measure.formula == "paper" else ""
        return f"{kind} ({phi}{formula})"

    @property
    def direction(self) -> str:
        """Middle heading."""
        return {"i2t": "image → text", "t2i": "text → image"}.get(self.measure.direction, "")

    @property
    def heading(self) -> str:
        """Lowest heading, such as ``R@1``; a column with the query's own items removed says so."""
        measure = self.measure
        details = [f"m = {measure.m}" if measure.m else "", "any" if measure.style == "vse_recall" else ""]
        removed = measure.ground_truth == "removed" and not measure.m
        details.append("own removed" if removed else "")
        named = ", ".join(detail for detail in details if detail)
        return measure.metric + (f" ({named})" if named else "")

    @property
    def label(self) -> str:
        """All headings in one, for formats without spanning cells: ``N@1 (CIDEr) i2t``."""
        phi = PHI.get(self.measure.phi, self.measure.phi)
        formula = ", paper" if self.measure.formula == "paper" else ""
        return f"{self.heading}{f' ({phi}{formula})' if phi else ''} {self.measure.direction}".strip()

    @property
    def lower_is_better(self) -> bool:
        """Ranks count from 1, the best."""
        return self.measure.metric in ("Med r", "Mean r")


@dataclass(frozen=True)
class Cell:
    """One number: mean and sample standard deviation over seeds, and the number in print.

    ``mean`` is None in rows that only print has, ``spread`` with fewer than two seeds, ``published`` where print
    has no such number, ``difference`` (mean minus print) unless dataset, features, gallery and phi are print's.
    """

    mean: float | None = None
    spread: float | None = None
    seeds: int = 0
    published: float | None = None
    difference: float | None = None
    best: bool = False


@dataclass(frozen=True)
class TableRow:
    """One line. ``model`` and ``loss`` are names of the study (or print's method), ``labels`` what a reader sees."""

    kind: Kind
    model: str
    loss: str
    labels: tuple[str, str]
    printed: str
    same_data: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Lines of one role and one fraction of the training data."""

    title: str
    role: str
    dataset: str
    fraction: float
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class Table:
    """A finished table, ready for any writer; without groups if the scale plays none of its roles."""

    study: str
    name: str
    scale: str
    paper: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]

    @property
    def spreads(self) -> bool:
        """Whether any cell has a spread, that is, whether there was more than one seed."""
        return any(cell.spread is not None for group in self.groups for row in group.rows for cell in row.cells)

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


def build_table(
    study_name: str, name: str, study: Study, scale: Scale, frame: pd.DataFrame, published: Path | str
) -> Table:
    """Fill a study's table from the tidy table of results.

    Args:
        study_name: File name of the study without its suffix.
        name: Which of the study's tables.
        study: The study.
        scale: The scale; its seeds, roles and phi decide which runs are read.
        frame: The tidy table of results, one row a value; see ``Results``.
        published: Folder of the printed tables, ``config/published``.

    Raises:
        InputError: If a run or a value is missing (named), or the study names a printed row that is not there.
    """
    spec = study.tables[name]
    results = Results(frame)
    printed = read_published(Path(published) / f"{spec.published}.csv") if spec.published else {}
    columns = tuple(Column(Measure.of_column(column, scale.evaluation_phi)) for column in spec.columns)
    rows = expand_rows(spec.rows, study, scale)
    where = f"{study_name}: tables.{name}"
    beside = [printed_row(printed, row, f"{where}.also_print") for row in spec.also_print]
    groups = []
    kept = [row for row in rows if row.left_out is None]
    for (role, fraction), of_group in _grouped(kept).items():
        dataset = str(of_group[0].dataset)
        lines = [_our_line(row, columns, results, spec, printed, study, where) for row in of_group]
        lines = _mark_best(lines, columns)
        # Features are left out of this: a printed row without one of ours has another model anyway.
        same_data = not {"dataset", "gallery size"} & set(
            unlike_print(of_group[0], spec.published_setting, results, None)
        )
        lines += [
            _printed_line(row, columns, same_data)
            for row in beside
            if row.role == role and math.isclose(row.fraction, fraction)
        ]
        title = _title(study.labels, role, dataset, fraction)
        groups.append(Group(title, role, dataset, fraction, tuple(lines)))
    notes = notes_of_table(spec, study, scale, rows, results, printed)
    return Table(study_name, name, scale.scale, study.paper, spec.title, spec.caption, columns, tuple(groups), notes)


def tidy(table: Table) -> pd.DataFrame:
    """A table as one line a cell, numbers unrounded: what the CSV holds."""
    lines: list[dict[str, Any]] = []
    for group in table.groups:
        for row in group.rows:
            start = {"role": group.role, "dataset": group.dataset, "fraction": group.fraction, "row": row.kind}
            start |= {"model": row.model, "loss": row.loss, "printed_row": row.printed}
            for column, cell in zip(table.columns, row.cells, strict=True):
                value = {"mean": cell.mean, "spread": cell.spread, "seeds": cell.seeds}
                value |= {"print": cell.published, "difference": cell.difference}
                lines.append(start | vars(column.measure) | value)
    names = ["role", "dataset", "fraction", "row", "model", "loss", "printed_row"]
    names += [*vars(Measure("")), "mean", "spread", "seeds", "print", "difference"]
    return pd.DataFrame(lines, columns=names)


def _grouped(rows: Sequence[Row]) -> dict[tuple[str, float], list[Row]]:
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.role, row.fraction), []).append(row)
    return groups


def _title(labels: Mapping[str, str], role: str, dataset: str, fraction: float) -> str:
    data = labels.get(dataset, dataset)
    part = "all training captions" if fraction == 1 else f"{100 * fraction:g}% of the training captions"
    played = "" if dataset == role else f" in the role of {labels.get(role, role)}"
    return f"{data}{played}, {part}"


def _our_line(
    row: Row,
    columns: Sequence[Column],
    results: Results,
    spec: TableSpec,
    printed: Mapping[str, PrintedRow],
    study: Study,
    where: str,
) -> TableRow:
    beside = printed_row(printed, row.published, where) if row.published is not None else None
    cells = []
    for column in columns:
        values = [results.value(run.name, column.measure) for run in row.runs]
        mean = statistics.fmean(values)
        spread = statistics.stdev(values) if len(values) > 1 else None
        value = beside.values.get(_printed_key(column)) if beside is not None else None
        comparable = value is not None and not unlike_print(row, spec.published_setting, results, column.measure)
        difference = mean - value if value is not None and comparable else None
        cells.append(Cell(mean, spread, len(values), value, difference))
    labels = (study.labels.get(row.model, row.model), study.labels.get(row.loss, row.loss))
    same_data = beside is not None and not unlike_print(row, spec.published_setting, results, None)
    return TableRow("ours", row.model, row.loss, labels, row.published or "", same_data, tuple(cells))


def _printed_line(row: PrintedRow, columns: Sequence[Column], same_data: bool) -> TableRow:
    cells = tuple(Cell(published=row.values.get(_printed_key(column))) for column in columns)
    return TableRow("print", row.method, "", (row.method, ""), row.row, same_data, cells)


def _printed_key(column: Column) -> tuple[str, str]:
    """Where a column stands in print; print has released formulas only, and own items removed in Nsum only."""
    measure = column.measure
    if measure.formula == "paper" or measure.m:
        return ("", "not in print")
    if measure.ground_truth == "removed":
        return (measure.direction, f"{measure.metric}_nonGT")
    return (measure.direction, measure.metric)


def _mark_best(rows: Sequence[TableRow], columns: Sequence[Column]) -> list[TableRow]:
    """Mark the best means of a group as they are shown, to one decimal; one row alone is not the best of anything."""
    if len(rows) < 2:
        return list(rows)
    best = []
    for index, column in enumerate(columns):
        shown = [round(row.cells[index].mean or 0.0, 1) for row in rows]
        best.append(min(shown) if column.lower_is_better else max(shown))
    return [
        replace(
            row,
            cells=tuple(
                replace(cell, best=round(cell.mean or 0.0, 1) == top) for cell, top in zip(row.cells, best, strict=True)
            ),
        )
        for row in rows
    ]


def spans(headings: Sequence[str]) -> list[tuple[str, int]]:
    """Consecutive equal headings as (heading, how many columns)."""
    return [(heading, len(list(same))) for heading, same in itertools.groupby(headings)]
