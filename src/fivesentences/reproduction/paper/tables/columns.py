"""Columns of a table of runs: their headings, which values are better, and where the paper has their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config.metrics import Unit, metric_of, shown_name
from fivesentences.evaluation.published import PublishedRow, with_details
from fivesentences.reproduction.paper.numbers.results import Measure
from fivesentences.reproduction.paper.tables.table import Column
from fivesentences.reproduction.paper.text.labels import phi_label
from fivesentences.reproduction.paper.text.names import DIRECTIONS
from fivesentences.reproduction.study.exhibits import ColumnSpec
from fivesentences.reproduction.study.study import Study

# Digits after the point where a metric's values are small; everything else has the table's own.
DECIMALS: dict[Unit, int] = {"none": 2, "fraction": 3}


def columns_of(measures: Sequence[Measure], study: Study) -> tuple[Column, ...]:
    """Make columns with three headings: kind of metric (if there are several), direction, metric."""
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
    """Join all headings of a column, such as ``NCS@1 (CIDEr) i2t``."""
    heading = measure.metric if measure.metric == "ASP" else _heading(measure, study)
    if metric_of(measure.metric).is_hubness:
        heading = f"N₁ {heading}"
    paper = "paper" if measure.formula == "paper" else ""
    return f"{with_details(heading, phi_label(study, measure.phi), paper)} {measure.direction}".strip()


def published_value(row: PublishedRow, column: ColumnSpec, measure: Measure) -> float | None:
    """Look up a column of ours in a published row; None if the paper has no such value.

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
    """Name the kind of metric with its phi."""
    metric = metric_of(measure.metric)
    if not metric.needs_phi or metric.name == "ASP":
        return metric.family
    formula = "formula of the paper" if measure.formula == "paper" else ""
    return with_details(metric.family, phi_label(study, measure.phi), formula)


def _heading(measure: Measure, study: Study) -> str:
    """Name the metric, such as ``R@1``, and say if the query's own items are removed."""
    if measure.metric == "ASP":
        return phi_label(study, measure.phi)
    if heading := metric_of(measure.metric).heading:
        return heading
    removed = "own removed" if measure.ground_truth == "removed" and not measure.m else ""
    relevant = f"m = {measure.m}" if measure.m else ""
    return with_details(shown_name(measure.metric), relevant, "any" if measure.style == "vse_recall" else "", removed)
