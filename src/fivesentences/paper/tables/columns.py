"""Columns of a table of runs: their headings, which values are better, and where the paper has their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config.metrics import Unit, metric_of
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.numbers.results import Measure
from fivesentences.paper.tables.table import Column
from fivesentences.paper.text.labels import phi_label
from fivesentences.paper.text.names import DIRECTIONS, with_details
from fivesentences.study.exhibits import ColumnSpec
from fivesentences.study.study import Study

# Digits after the point where a metric's values are small; everything else has the table's own.
DECIMALS: dict[Unit, int] = {"none": 2, "fraction": 3}


def columns_of(measures: Sequence[Measure], study: Study) -> tuple[Column, ...]:
    """Columns with three headings: the kind of metric (where there are several), the direction, the metric."""
    families = [_family(measure, study) for measure in measures]
    several = len(set(families)) > 1 or any(not family.startswith("Recall") for family in families)
    columns = []
    for measure, family in zip(measures, families, strict=True):
        metric = metric_of(measure.metric)
        headings = (family if several else "", DIRECTIONS.get(measure.direction, ""), _heading(measure, study))
        label = column_label(measure, study)
        columns.append(Column(headings, label, vars(measure), metric.better, DECIMALS.get(metric.unit)))
    return tuple(columns)


def column_label(measure: Measure, study: Study) -> str:
    """All headings of a column in one, such as ``N@1 (CIDEr) i2t``."""
    heading = measure.metric if measure.metric == "ASP" else _heading(measure, study)
    if metric_of(measure.metric).is_hubness:
        heading = f"N₁ {heading}"
    paper = "paper" if measure.formula == "paper" else ""
    return f"{with_details(heading, phi_label(study, measure.phi), paper)} {measure.direction}".strip()


def published_value(row: PublishedRow, column: ColumnSpec, measure: Measure) -> float | None:
    """The value of a published row in a column of ours; None where the paper has none.

    The papers' numbers are by the released formulas, and Nsum alone is published with the query's own items removed.
    """
    if column.published is False:
        return None
    if column.published is not None:
        return row.values.get((measure.direction, column.published))
    if measure.formula == "paper" or measure.m:
        return None
    suffix = "_nonGT" if measure.ground_truth == "removed" else ""
    return row.values.get((measure.direction, f"{measure.metric}{suffix}"))


def _family(measure: Measure, study: Study) -> str:
    """The kind of metric, with the phi that was used."""
    metric = metric_of(measure.metric)
    if not metric.needs_phi or metric.name == "ASP":
        return metric.family
    formula = "formula of the paper" if measure.formula == "paper" else ""
    return with_details(metric.family, phi_label(study, measure.phi), formula)


def _heading(measure: Measure, study: Study) -> str:
    """The metric, such as ``R@1``; a column with the query's own items removed says so."""
    if measure.metric == "ASP":
        return phi_label(study, measure.phi)
    if heading := metric_of(measure.metric).heading:
        return heading
    removed = "own removed" if measure.ground_truth == "removed" and not measure.m else ""
    relevant = f"m = {measure.m}" if measure.m else ""
    return with_details(measure.metric, relevant, "any" if measure.style == "vse_recall" else "", removed)
