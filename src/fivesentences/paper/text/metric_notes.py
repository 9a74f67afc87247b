"""The sentences that say how the numbers of each kind of metric and inference method are made."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config import Scale, as_list
from fivesentences.paper.comparability import PublishedSetting
from fivesentences.paper.results import Results
from fivesentences.paper.tables.columns import kept_columns
from fivesentences.paper.text.names import INFERENCES, listed, phi_in_words, unique
from fivesentences.plan.exhibits import ColumnSpec
from fivesentences.plan.rows import Row
from fivesentences.plan.studies import Study


def notes_on_metrics(
    asked: Sequence[ColumnSpec],
    setting: PublishedSetting | None,
    study: Study,
    scale: Scale,
    rows: Sequence[Row],
    results: Results,
) -> list[str]:
    """How the numbers of each kind of metric are made, and which phi."""
    columns = kept_columns(asked, scale)
    notes = _on_semantic_scores(columns, setting, scale)
    if any(column.metric == "ASP" for column in columns):
        ties = {"index": "ordered by index, lower first", "average": "given the mean of their ranks"}
        rules = " and ".join(unique(ties[column.ties] for column in columns if column.metric == "ASP"))
        notes.append(
            "ASP: the ranks of every item of the gallery by φ and by the model, the smaller over the larger, averaged "
            f"over items and queries, in percent; items of equal φ, of which there are many with φ = 0, are {rules}."
        )
    if any(column.metric == "PMRP" for column in columns):
        notes.append(
            "PMRP: R-precision where an item fits if its image’s labels differ from the query’s in at most ζ places, "
            "mean over ζ = 0, 1, 2."
        )
        kept = [row for row in rows if row.left_out is None]
        without = unique(
            study.labels.get(row.dataset or "", row.dataset or "")
            for row in kept
            if not all(results.gallery(run.name).labels for run in row.runs)
        )
        if without:
            notes.append(f"No PMRP for {listed(without)}, which has no labels.")
    if any(column.metric.startswith("hubs") for column in columns):
        notes.append(
            "N₁ of an item is the number of queries whose nearest item it is. Columns 0 to ≥ 10: percent of the "
            "items of the gallery (captions for image queries, images for caption queries)."
        )
    dropped = unique(column.phi or "" for column in asked if column not in columns)
    if dropped:
        named = ", ".join(study.labels.get(phi) or phi_in_words(phi) for phi in dropped)
        notes.append(f"Columns left out at the scale {scale.scale}, which does not evaluate with their φ: {named}.")
    return notes


def _on_semantic_scores(columns: Sequence[ColumnSpec], setting: PublishedSetting | None, scale: Scale) -> list[str]:
    scores = [column for column in columns if column.is_semantic and column.metric != "ASP"]
    if not scores:
        return []
    formulas = " and ".join(unique(column.formula for column in scores))
    phis = unique(column.phi or scale.evaluation_phi for column in scores)
    sentence = f"Semantic metrics: {listed([phi_in_words(phi) for phi in phis])} as φ, {formulas} formula"
    theirs = as_list(setting.phi) if setting is not None and setting.phi is not None else []
    if theirs and not set(phis) <= set(theirs):
        printed = listed([phi_in_words(phi) for phi in theirs])
        sentence += f"; print evaluates with {printed}, so the two are on different scales"
    return [sentence + "."]


def notes_on_inference(methods: Sequence[str]) -> list[str]:
    """Which inference methods need all queries together."""
    transductive = [INFERENCES[method] for method in methods if method != "naive"]
    if not transductive:
        return []
    named = listed(transductive)
    return [
        f"{named[:1].upper()}{named[1:]}: the similarities of the same trained runs, re-scored. Transductive: all test "
        "queries are needed together, and no query can be answered alone."
    ]
