"""A study's table of runs at a scale: our numbers with their spread, each beside the number in print."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from fivesentences.config import Scale, Study, TableSpec
from fivesentences.paper.comparability import unlike_print
from fivesentences.paper.form import Cell, Column, Group, Table, TableRow, mark_best
from fivesentences.paper.names import phi_in_words
from fivesentences.paper.notes import notes_of_table
from fivesentences.paper.published import PrintedRow, printed_row, read_published
from fivesentences.paper.results import Measure, Results, is_semantic
from fivesentences.paper.rows import Row, expand_rows

# Columns of the CSV, and which attribute of a cell they hold; the others are said by group, row and column.
CSV = (
    *((key, "") for key in ("role", "dataset", "fraction", "row", "model", "loss", "printed_row")),
    *((key, "") for key in vars(Measure(""))),
    ("mean", "value"),
    ("spread", "spread"),
    ("seeds", "count"),
    ("print", "published"),
    ("difference", "difference"),
)
DECIMALS = 1


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
    measures = tuple(Measure.of_column(column, scale.evaluation_phi) for column in spec.columns)
    columns = _columns(measures)
    rows = expand_rows(spec.rows, study, scale)
    where = f"{study_name}: tables.{name}"
    beside = [printed_row(printed, row, f"{where}.also_print") for row in spec.also_print]
    groups = []
    kept = [row for row in rows if row.left_out is None]
    for (role, fraction), of_group in _grouped(kept).items():
        dataset = str(of_group[0].dataset)
        lines = [_our_row(row, measures, results, spec, printed, study, where) for row in of_group]
        lines = mark_best(lines, columns, DECIMALS)
        # Features are left out of this: a printed row without one of ours has another model anyway.
        same_data = not {"dataset", "gallery size"} & set(
            unlike_print(of_group[0], spec.published_setting, results, None)
        )
        lines += [
            _printed_row(row, measures, same_data)
            for row in beside
            if row.role == role and math.isclose(row.fraction, fraction)
        ]
        title = _title(study.labels, role, dataset, fraction)
        groups.append(Group(title, {"role": role, "dataset": dataset, "fraction": fraction}, tuple(lines)))
    notes = notes_of_table(spec, study, scale, rows, results, printed)
    texts = (study_name, name, scale.scale, study.paper, spec.title, spec.caption)
    return Table(*texts, ("Model", "Training"), columns, tuple(groups), notes, DECIMALS, CSV)


def _columns(measures: Sequence[Measure]) -> tuple[Column, ...]:
    """Columns with three headings: the kind of metric (where there are several), the direction, the metric."""
    families = [_family(measure) for measure in measures]
    several = len(set(families)) > 1
    columns = []
    for measure, family in zip(measures, families, strict=True):
        direction = {"i2t": "image → text", "t2i": "text → image"}.get(measure.direction, "")
        heading = _heading(measure)
        named = phi_in_words(measure.phi) + (", paper" if measure.formula == "paper" else "")
        label = f"{heading}{f' ({named})' if named else ''} {measure.direction}".strip()
        headings = (family if several else "", direction, heading)
        columns.append(Column(headings, label, vars(measure), measure.metric in ("Med r", "Mean r")))
    return tuple(columns)


def _family(measure: Measure) -> str:
    """Which kind of metric, with the phi that was used."""
    if not is_semantic(measure.metric):
        return "Recall"
    kind = "Semantic recall" if measure.metric.startswith("SR@") else "Normalised cumulative semantic score"
    formula = ", formula of the paper" if measure.formula == "paper" else ""
    return f"{kind} ({phi_in_words(measure.phi)}{formula})"


def _heading(measure: Measure) -> str:
    """The metric, such as ``R@1``; a column with the query's own items removed says so."""
    details = [f"m = {measure.m}" if measure.m else "", "any" if measure.style == "vse_recall" else ""]
    removed = measure.ground_truth == "removed" and not measure.m
    details.append("own removed" if removed else "")
    named = ", ".join(detail for detail in details if detail)
    return measure.metric + (f" ({named})" if named else "")


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


def _our_row(
    row: Row,
    measures: Sequence[Measure],
    results: Results,
    spec: TableSpec,
    printed: Mapping[str, PrintedRow],
    study: Study,
    where: str,
) -> TableRow:
    beside = printed_row(printed, row.published, where) if row.published is not None else None
    cells = []
    for measure in measures:
        values = [results.value(run.name, measure) for run in row.runs]
        mean = statistics.fmean(values)
        spread = statistics.stdev(values) if len(values) > 1 else None
        value = beside.values.get(_printed_key(measure)) if beside is not None else None
        comparable = value is not None and not unlike_print(row, spec.published_setting, results, measure)
        difference = mean - value if value is not None and comparable else None
        cells.append(Cell(mean, spread, count=len(values), published=value, difference=difference))
    labels = (study.labels.get(row.model, row.model), study.labels.get(row.loss, row.loss))
    same_data = beside is not None and not unlike_print(row, spec.published_setting, results, None)
    keys = {"model": row.model, "loss": row.loss}
    return TableRow("ours", labels, keys, row.published or "", same_data, tuple(cells))


def _printed_row(row: PrintedRow, measures: Sequence[Measure], same_data: bool) -> TableRow:
    cells = tuple(Cell(published=row.values.get(_printed_key(measure))) for measure in measures)
    return TableRow("print", (row.method, ""), {"model": row.method, "loss": ""}, row.row, same_data, cells)


def _printed_key(measure: Measure) -> tuple[str, str]:
    """Where a number stands in print, which has released formulas only, and own items removed in Nsum only."""
    if measure.formula == "paper" or measure.m:
        return ("", "not in print")
    if measure.ground_truth == "removed":
        return (measure.direction, f"{measure.metric}_nonGT")
    return (measure.direction, measure.metric)
