"""Columns of a table of runs: what each measures, what stands above it, and where print has its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fivesentences.config import Scale
from fivesentences.metrics.registry import Better, metric_of
from fivesentences.paper.results import Measure
from fivesentences.paper.tables.table import Best, Column
from fivesentences.paper.text.names import phi_in_words
from fivesentences.plan.exhibits import ColumnSpec

DIRECTIONS = {"i2t": "image → text", "t2i": "text → image"}
BEST: dict[Better, Best] = {"higher": "highest", "lower": "lowest", "neither": "none"}
UNITLESS_DECIMALS = 2  # of skewness and the Gini coefficient; everything else has the table's own


def kept_columns(columns: Sequence[ColumnSpec], scale: Scale) -> list[ColumnSpec]:
    """Columns that a scale can fill: those whose phi it evaluates with."""
    return [column for column in columns if column.phi is None or column.phi in scale.phis]


def columns_of(measures: Sequence[Measure], labels: Mapping[str, str]) -> tuple[Column, ...]:
    """Columns with three headings: the kind of metric (where there are several), the direction, the metric."""
    families = [_family(measure, labels) for measure in measures]
    several = len(set(families)) > 1 or any(not family.startswith("Recall") for family in families)
    columns = []
    for measure, family in zip(measures, families, strict=True):
        metric = metric_of(measure.metric)
        headings = (family if several else "", DIRECTIONS.get(measure.direction, ""), _heading(measure, labels))
        decimals = UNITLESS_DECIMALS if metric.unit == "none" else None
        columns.append(Column(headings, label_of(measure, labels), vars(measure), BEST[metric.better], decimals))
    return tuple(columns)


def label_of(measure: Measure, labels: Mapping[str, str]) -> str:
    """All of a column in one, such as ``N@1 (CIDEr) i2t``."""
    named = _phi(measure, labels) + (", paper" if measure.formula == "paper" else "")
    heading = measure.metric if measure.metric == "ASP" else _heading(measure, labels)
    if metric_of(measure.metric).is_hubness:
        heading = f"N₁ {heading}"
    return f"{heading}{f' ({named})' if named else ''} {measure.direction}".strip()


def printed_key(column: ColumnSpec, measure: Measure) -> tuple[str, str]:
    """Where a number stands in print, which has released formulas only, and own items removed in Nsum only."""
    if column.published is not None:
        return (measure.direction, column.published)
    if measure.formula == "paper" or measure.m:
        return ("", "not in print")
    if measure.ground_truth == "removed":
        return (measure.direction, f"{measure.metric}_nonGT")
    return (measure.direction, measure.metric)


def _phi(measure: Measure, labels: Mapping[str, str]) -> str:
    return labels.get(measure.phi) or phi_in_words(measure.phi)


def _family(measure: Measure, labels: Mapping[str, str]) -> str:
    """Which kind of metric, with the phi that was used."""
    metric = metric_of(measure.metric)
    if not metric.needs_phi or metric.name == "ASP":
        return metric.family
    formula = ", formula of the paper" if measure.formula == "paper" else ""
    return f"{metric.family} ({_phi(measure, labels)}{formula})"


def _heading(measure: Measure, labels: Mapping[str, str]) -> str:
    """The metric, such as ``R@1``; a column with the query's own items removed says so."""
    if measure.metric == "ASP":
        return _phi(measure, labels)
    if heading := metric_of(measure.metric).heading:
        return heading
    details = [f"m = {measure.m}" if measure.m else "", "any" if measure.style == "vse_recall" else ""]
    removed = measure.ground_truth == "removed" and not measure.m
    details.append("own removed" if removed else "")
    named = ", ".join(detail for detail in details if detail)
    return measure.metric + (f" ({named})" if named else "")
