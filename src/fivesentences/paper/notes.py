"""The sentences below a table: what was measured, on what, and what is missing at this scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fivesentences.config import Scale, Study, TableSpec
from fivesentences.paper.comparability import unlike_print
from fivesentences.paper.names import phi_in_words
from fivesentences.paper.published import PrintedRow
from fivesentences.paper.results import Results, is_semantic
from fivesentences.paper.rows import Row

PREPARED = {"as_stored": "as stored", "standardise": "standardised", "normalise": "normalised"}


def notes_of_data(study: Study, scale: Scale, rows: Sequence[Row], results: Results) -> list[str]:
    """Datasets, galleries, seeds and tie rule behind the rows that are there."""
    labels, notes = study.labels, []
    kept = [row for row in rows if row.left_out is None]
    for role, dataset in dict.fromkeys((row.role, row.dataset or "") for row in kept):
        run = next(row.runs[0] for row in kept if row.role == role)
        gallery = results.gallery(run.name)
        named = labels.get(dataset, dataset)
        plays = ":" if dataset == role else f" plays the role of {labels.get(role, role)}, with"
        prepared = PREPARED[run.features.prepare]
        notes.append(
            f"{named}{plays} {gallery.images:,} test images and {gallery.captions:,} captions; "
            f"features {run.features.stem} ({prepared})."
        )
    if kept:
        for seeds, fractions in _seeds_of(kept).items():
            named = ", ".join(str(seed) for seed in seeds)
            where = f" at {_listed(fractions)}" if len(_seeds_of(kept)) > 1 else ""
            notes.append(
                f"Mean ± sample standard deviation over {len(seeds)} seeds ({named}){where}."
                if len(seeds) > 1
                else f"One seed ({named}){where}, so no spread is known."
            )
        rule = results.gallery(kept[0].runs[0].name).tie_rule
        notes.append(f"{rule[:1].upper()}{rule[1:]}.")
    return notes


def notes_on_missing(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Roles nobody plays and what the scale has no time for."""
    labels, notes = study.labels, []
    for role in unique(row.role for row in rows if row.left_out == "role"):
        count = sum(row.role == role for row in rows)
        notes.append(
            f"No dataset plays the role of {labels.get(role, role)} at the scale {scale.scale}: "
            f"its {count} row{'s are' if count != 1 else ' is'} left out."
        )
    losses = unique(labels.get(row.loss, row.loss).lstrip("+ ") for row in rows if row.left_out == "loss")
    fractions = unique(f"{100 * row.fraction:g}%" for row in rows if row.left_out == "fraction")
    if losses:
        notes.append(f"Left out at the scale {scale.scale} to save time: {'; '.join(losses)}.")
    if fractions:
        notes.append(f"Training fractions left out at the scale {scale.scale} to save time: {', '.join(fractions)}.")
    return notes


def notes_of_table(
    spec: TableSpec,
    study: Study,
    scale: Scale,
    rows: Sequence[Row],
    results: Results,
    printed: Mapping[str, PrintedRow],
) -> tuple[str, ...]:
    """All notes of a table: data, metrics, print, what is missing, and the study's own."""
    notes = notes_of_data(study, scale, rows, results)
    if notes:
        notes += _on_metrics(spec, scale)
        notes += _on_print(spec, study, scale, rows, results, printed)
        notes.append("Bold: the best mean of our rows within a group, as shown.")
    return (*notes, *notes_on_missing(study, scale, rows), *spec.notes)


def _on_metrics(spec: TableSpec, scale: Scale) -> list[str]:
    semantic = [column for column in spec.columns if is_semantic(column.metric)]
    if not semantic:
        return []
    formulas = " and ".join(unique(column.formula for column in semantic))
    phi = phi_in_words(scale.evaluation_phi)
    sentence = f"Semantic metrics: {phi} as φ, {formulas} formula"
    theirs = spec.published_setting.phi if spec.published_setting is not None else None
    if theirs is not None and theirs != scale.evaluation_phi:
        sentence += f"; print evaluates with {phi_in_words(theirs)}, so the two are on different scales"
    return [sentence + "."]


def _on_print(
    spec: TableSpec,
    study: Study,
    scale: Scale,
    rows: Sequence[Row],
    results: Results,
    printed: Mapping[str, PrintedRow],
) -> list[str]:
    notes = []
    kept = [row for row in rows if row.left_out is None]
    beside = [row for row in kept if row.published is not None]
    setting = spec.published_setting
    if beside:
        differs = unique(part for row in beside for part in unlike_print(row, setting, results, None))
        theirs = ", ".join(unique(printed[str(row.published)].where for row in beside))
        features = f" with {setting.features} features" if setting is not None else ""
        if differs:
            notes.append(
                f"Print: {theirs}{features}. Not comparable: other {_listed(differs)}, so no difference is shown."
            )
        else:
            notes.append(f"Print: {theirs}{features}, as here; differences are ours minus print.")
    roles = {row.role for row in kept}
    alone = [printed[row] for row in spec.also_print if printed[row].role in roles]
    if alone:
        theirs = ", ".join(unique(row.where for row in alone))
        features = f", {setting.features} features" if setting is not None else ""
        notes.append(
            f"Rows marked “print” ({', '.join(unique(row.method for row in alone))}) are as printed "
            f"({theirs}{features}) and have no row of ours yet: for orientation, not for comparison."
        )
    return notes


def _seeds_of(rows: Sequence[Row]) -> dict[tuple[int, ...], list[str]]:
    """Which fractions were trained with which seeds."""
    found: dict[tuple[int, ...], list[str]] = {}
    for row in rows:
        fractions = found.setdefault(tuple(run.seed for run in row.runs), [])
        if f"{row.fraction:.0%}" not in fractions:
            fractions.append(f"{row.fraction:.0%}")
    return found


def notes_on_left_out(phis: Iterable[str], scale: Scale) -> list[str]:
    """Which of the phi of a table or figure a scale leaves out."""
    left_out = unique(phi_in_words(phi) for phi in phis if phi in scale.leave_out.phis)
    return [f"Left out at the scale {scale.scale}: {', '.join(left_out)}."] if left_out else []


def notes_on_tuples(found: Iterable[Mapping[str, Any]], phis: Iterable[str]) -> list[str]:
    """Where SPICE's tuples of each dataset came from, as ``evaluation.measure_meaning`` notes it."""
    shown = list(phis)
    return unique(
        f"SPICE’s tuples of {one['dataset']}: {source}."
        for one in found
        for phi in shown
        if (source := one["phis"][phi]["tuples"])
    )


def unique(things: Iterable[str]) -> list[str]:
    """Each once, in the order of the first."""
    return list(dict.fromkeys(things))


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
