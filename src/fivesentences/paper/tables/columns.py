"""Columns of a table of runs: what each measures, what stands above it, and where print has its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fivesentences.config import Scale
from fivesentences.paper.results import Measure
from fivesentences.paper.tables.table import Best, Column
from fivesentences.paper.text.names import phi_in_words
from fivesentences.plan.exhibits import ColumnSpec, is_semantic

DIRECTIONS = {"i2t": "image → text", "t2i": "text → image"}
# Of the gallery's N₁: in print's order, as a reader sees them. Fewer items that nobody finds, and smaller hubs, are
# better; of the classes between nothing can be said.
HUBS = {
    "0": "0",
    "1": "1",
    ">=2": "≥ 2",
    ">=5": "≥ 5",
    ">=10": "≥ 10",
    "max": "largest",
    "skewness": "skew",
    "Gini": "Gini",
}
BEST: dict[str, Best] = {
    "Med r": "lowest",
    "Mean r": "lowest",
    "hubs 0": "lowest",
    "hubs max": "lowest",
    "hubs skewness": "lowest",
    "hubs Gini": "lowest",
}
DECIMALS = {"hubs skewness": 2, "hubs Gini": 2}


def kept_columns(columns: Sequence[ColumnSpec], scale: Scale) -> list[ColumnSpec]:
    """Columns that a scale can fill: those whose phi it evaluates with."""
    return [column for column in columns if column.phi is None or column.phi in scale.phis]


def columns_of(measures: Sequence[Measure], labels: Mapping[str, str]) -> tuple[Column, ...]:
    """Columns with three headings: the kind of metric (where there are several), the direction, the metric."""
    families = [_family(measure, labels) for measure in measures]
    several = len(set(families)) > 1 or any(not family.startswith("Recall") for family in families)
    columns = []
    for measure, family in zip(measures, families, strict=True):
        heading = _heading(measure, labels)
        best = BEST.get(measure.metric, "none" if measure.metric.startswith("hubs") else "highest")
        headings = (family if several else "", DIRECTIONS.get(measure.direction, ""), heading)
        columns.append(Column(headings, label_of(measure, labels), vars(measure), best, DECIMALS.get(measure.metric)))
    return tuple(columns)


def label_of(measure: Measure, labels: Mapping[str, str]) -> str:
    """All of a column in one, such as ``N@1 (CIDEr) i2t``."""
    named = _phi(measure, labels) + (", paper" if measure.formula == "paper" else "")
    heading = measure.metric if measure.metric == "ASP" else _heading(measure, labels)
    if measure.metric.startswith("hubs"):
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
    if measure.metric == "ASP":
        return "Average semantic precision by φ"
    if measure.metric == "PMRP":
        return "By labels"
    if measure.metric.startswith("hubs"):
        return "N₁ of items: how many queries have an item as their nearest"
    if not is_semantic(measure.metric):
        return "Recall"
    kind = "Semantic recall" if measure.metric.startswith("SR@") else "Normalised cumulative semantic score"
    formula = ", formula of the paper" if measure.formula == "paper" else ""
    return f"{kind} ({_phi(measure, labels)}{formula})"


def _heading(measure: Measure, labels: Mapping[str, str]) -> str:
    """The metric, such as ``R@1``; a column with the query's own items removed says so."""
    if measure.metric == "ASP":
        return _phi(measure, labels)
    if measure.metric.startswith("hubs"):
        return HUBS[measure.metric.removeprefix("hubs ")]
    details = [f"m = {measure.m}" if measure.m else "", "any" if measure.style == "vse_recall" else ""]
    removed = measure.ground_truth == "removed" and not measure.m
    details.append("own removed" if removed else "")
    named = ", ".join(detail for detail in details if detail)
    return measure.metric + (f" ({named})" if named else "")
