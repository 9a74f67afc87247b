"""Columns of a table of runs: their headings, which values are better, and where the paper has their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.numbers.results import Measure
from fivesentences.paper.tables.table import Better, Column
from fivesentences.paper.text.labels import phi_label
from fivesentences.paper.text.names import DIRECTIONS
from fivesentences.plan.exhibits import ColumnSpec, is_semantic
from fivesentences.plan.studies import Study

# Of the gallery's N₁, in the paper's order. Fewer items that nobody finds, and smaller hubs, are better; of the
# classes between nothing can be said.
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
BETTER: dict[str, Better] = {
    "Med r": "lower",
    "Mean r": "lower",
    "hubs 0": "lower",
    "hubs max": "lower",
    "hubs skewness": "lower",
    "hubs Gini": "lower",
}
DECIMALS = {"hubs skewness": 2, "hubs Gini": 2}


def columns_of(measures: Sequence[Measure], study: Study) -> tuple[Column, ...]:
    """Columns with three headings: the kind of metric (where there are several), the direction, the metric."""
    families = [_family(measure, study) for measure in measures]
    several = len(set(families)) > 1 or any(not family.startswith("Recall") for family in families)
    columns = []
    for measure, family in zip(measures, families, strict=True):
        heading = _heading(measure, study)
        better = BETTER.get(measure.metric, "neither" if measure.metric.startswith("hubs") else "higher")
        headings = (family if several else "", DIRECTIONS.get(measure.direction, ""), heading)
        columns.append(
            Column(headings, column_label(measure, study), vars(measure), better, DECIMALS.get(measure.metric))
        )
    return tuple(columns)


def column_label(measure: Measure, study: Study) -> str:
    """All headings of a column in one, such as ``N@1 (CIDEr) i2t``."""
    named = phi_label(study, measure.phi) + (", paper" if measure.formula == "paper" else "")
    heading = measure.metric if measure.metric == "ASP" else _heading(measure, study)
    if measure.metric.startswith("hubs"):
        heading = f"N₁ {heading}"
    return f"{heading}{f' ({named})' if named else ''} {measure.direction}".strip()


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
    return f"{kind} ({phi_label(study, measure.phi)}{formula})"


def _heading(measure: Measure, study: Study) -> str:
    """The metric, such as ``R@1``; a column with the query's own items removed says so."""
    if measure.metric == "ASP":
        return phi_label(study, measure.phi)
    if measure.metric.startswith("hubs"):
        return HUBS[measure.metric.removeprefix("hubs ")]
    details = [f"m = {measure.m}" if measure.m else "", "any" if measure.style == "vse_recall" else ""]
    removed = measure.ground_truth == "removed" and not measure.m
    details.append("own removed" if removed else "")
    named = ", ".join(detail for detail in details if detail)
    return measure.metric + (f" ({named})" if named else "")
