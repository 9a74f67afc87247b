"""The sentences on metrics, inference methods and phi: how numbers are computed, who judged, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fivesentences.choices import BANKED
from fivesentences.config.types import as_list
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.numbers.agreements import of_judge
from fivesentences.reproduction.paper.numbers.results import Results, evaluated_columns
from fivesentences.reproduction.paper.text.labels import phi_label
from fivesentences.reproduction.paper.text.names import (
    INFERENCES,
    capitalised,
    listed,
    note_naming,
    phi_in_words,
    unique,
)
from fivesentences.reproduction.study.exhibits import OTHER_IMAGES, ColumnSpec, PublishedSetting
from fivesentences.reproduction.study.expand import Row
from fivesentences.reproduction.study.study import Study

TIES = {"index": "ordered by index, lower first", "average": "given the mean of their ranks"}


def notes_on_metrics(
    columns: Sequence[ColumnSpec],
    setting: PublishedSetting | None,
    study: Study,
    scale: Scale,
    rows: Sequence[Row],
    results: Results,
) -> list[str]:
    """Explain how the numbers of each kind of metric are computed, and with which phi.

    Args:
        columns: All columns of a table; those that the scale cannot fill are named.
        setting: How the published numbers were measured.
        study: The study of the table.
        scale: The scale of the table.
        rows: The rows that are made.
        results: Numbers of the runs.
    """
    shown = evaluated_columns(columns, scale)
    names = {column.metric for column in shown}
    notes = _on_semantic_scores(shown, setting, scale)
    if "ASP" in names:
        rules = " and ".join(unique(TIES[column.ties] for column in shown if column.metric == "ASP"))
        notes.append(
            "ASP: the ranks of every item of the gallery by φ and by the model, the smaller over the larger, averaged "
            f"over items and queries, in percent; items of equal φ, of which there are many with φ = 0, are {rules}."
        )
    if "PMRP" in names:
        notes.append(
            "PMRP: R-precision where an item is relevant if its image’s labels differ from the query’s in at most "
            "ζ places, mean over ζ = 0, 1, 2."
        )
        without = unique(study.label_of(row.dataset or "") for row in rows if not results.have_labels(row))
        notes += [f"No PMRP for {listed(without)}, which has no labels."] if without else []
        unlabelled = (scale.lacks("labels", dataset) for dataset in unique(row.dataset or "" for row in rows))
        notes += [one.sentence(study.label_of(one.name)) for one in unlabelled if one is not None]
    if any(name.startswith("hubs") for name in names):
        notes.append(
            "N₁ of an item is the number of queries whose nearest item it is. Columns 0 to ≥ 10: percent of the "
            "items of the gallery (captions for image queries, images for caption queries)."
        )
    absent = f"Columns left out at the scale {scale.scale}, which does not evaluate with their φ"
    dropped = (column.phi for column in columns if column.phi is not None and column.phi not in scale.phis)
    return notes + note_naming(absent, (phi_label(study, phi) for phi in dropped))


def _on_semantic_scores(columns: Sequence[ColumnSpec], setting: PublishedSetting | None, scale: Scale) -> list[str]:
    scores = [column for column in columns if column.is_semantic and column.metric != "ASP"]
    if not scores:
        return []
    formulas = " and ".join(unique(column.formula for column in scores if column.has_formulas))
    phis = unique(column.phi or scale.evaluation_phi for column in scores)
    named = listed([phi_in_words(phi) for phi in phis])
    note = f"Semantic metrics: {named} as φ{f', {formulas} formula' if formulas else ''}"
    theirs = as_list(setting.phi) if setting is not None and setting.phi is not None else []
    if theirs and not set(phis) <= set(theirs):
        published = listed([phi_in_words(phi) for phi in theirs])
        note += f"; the paper evaluates with {published}, so the two are on different scales"
    return [note + "."]


def notes_on_inference(methods: Sequence[str]) -> list[str]:
    """Say which inference methods need all queries together, and what the others read."""
    banked = [INFERENCES[method] for method in methods if method in BANKED]
    transductive = [INFERENCES[method] for method in methods if method not in ("naive", *BANKED)]
    notes = []
    if transductive:
        notes.append(
            f"{capitalised(listed(transductive))}: the similarities of the same trained runs, re-scored (similarity "
            "normalisation). Transductive: all test queries are needed together, and no query can be answered alone."
        )
    if banked:
        notes.append(
            f"{capitalised(listed(banked))}: re-scored by a bank of the run’s own training data, each image with one "
            "of its captions, drawn by its seed, at most 6,000; β = 20 for queries, 3 for items of the gallery’s kind. "
            "Not transductive: no other test query is read, so they can be used outside a benchmark."
        )
    return notes


def notes_on_judges(study: Study, scale: Scale, agreements: Sequence[Any], phis: Sequence[str]) -> list[str]:
    """Describe each judge of a scale: its score, and the number of pairs and images."""
    notes = []
    for judge in scale.judges:
        lines = of_judge(agreements, judge.judge, phis)
        every = [one for one in lines if one.pairs == "all"]
        pairs, images = max(one.n_pairs for one in every), max(one.n_images for one in every)
        counted = f"{pairs:,} pairs of captions with {images:,} images"
        if others := [one.n_pairs for one in lines if one.pairs == OTHER_IMAGES]:
            counted += f", {max(others):,} of them with an image other than the caption's own"
        where = f"{study.label_of(judge.judge)}, on {study.label_of(judge.dataset)} ({every[0].split} split)"
        notes.append(f"{where}: {every[0].human}; {counted}.")
    return notes


def notes_on_phi(agreements: Sequence[Any]) -> list[str]:
    """Say where idf was counted and where SPICE's tuples came from."""
    idf = unique(one.idf_corpus for one in agreements if one.idf_corpus)
    tuples = unique(one.tuples for one in agreements if one.tuples)
    return [f"Counts behind idf: {corpus}." for corpus in idf] + [f"SPICE’s tuples: {source}." for source in tuples]


def notes_without_judges(study: Study, scale: Scale, phis: Iterable[str]) -> list[str]:
    """Say so if no judge rates pairs at this scale, and name the phi that it leaves out."""
    nobody = [] if scale.judges else [f"Nobody judges at the scale {scale.scale}."]
    absent = [one.sentence(study.label_of(one.name)) for one in scale.absent_data if one.part == "judge"]
    return nobody + absent + note_on_left_out(phis, scale)


def note_on_left_out(phis: Iterable[str], scale: Scale) -> list[str]:
    """Name the phi of a table or figure that a scale leaves out."""
    left_out = (phi_in_words(phi) for phi in phis if not scale.shows(phi))
    return note_naming(f"Left out at the scale {scale.scale}", left_out)
