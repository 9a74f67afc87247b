"""The sentences below a table: what was measured, on what, and what is missing at this scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fivesentences.config import Scale
from fivesentences.paper.comparability import PublishedSetting, features_in_print, unlike_print
from fivesentences.paper.published import PrintedRow, PublishedAlone, printed_alone
from fivesentences.paper.results import Results
from fivesentences.paper.text.names import INFERENCES, listed, phi_in_words, unique
from fivesentences.plan.ensembles import members_of
from fivesentences.plan.rows import NO_TIME, Row
from fivesentences.plan.studies import Study

FEW = 4  # what is listed, where more is counted
PREPARED = {"as_stored": "as stored", "standardise": "standardised", "normalise": "normalised"}


def notes_of_data(study: Study, scale: Scale, rows: Sequence[Row], results: Results) -> list[str]:
    """Datasets, galleries, seeds and tie rule behind the rows that are there."""
    notes = []
    kept = [row for row in rows if row.left_out is None]
    for role, dataset in dict.fromkeys((row.role, row.dataset or "") for row in kept):
        of_role = [row for row in kept if row.role == role]
        gallery = results.gallery(of_role[0].runs[0].name)
        named = study.label_of(dataset)
        plays = ":" if dataset == role else f" plays the role of {study.label_of(role)}, with"
        notes.append(
            f"{named}{plays} {gallery.images:,} test images and {gallery.captions:,} captions; "
            f"features {_features_of(of_role, study)}."
        )
    for model in unique(row.model for row in kept if row.model in study.ensembles):
        members = study.ensembles[model]
        names = listed([study.label_of(member) for member in members])
        other_seeds = ", with different seeds" if len(set(members)) < len(members) else ""
        notes.append(
            f"{study.label_of(model)}: the mean of the similarities of {names}, each trained by itself{other_seeds}."
        )
    leaking = unique(
        study.label_of(row.model)
        for row in kept
        for run in row.runs
        if any(member.model.concept_options.labels == "released" for member in members_of(run))
    )
    if leaking:
        notes.append(
            f"{listed(leaking)}: at test, too, each caption came with the concepts of all captions of its image, as "
            "released; this tells which captions belong together."
        )
    if kept:
        for seeds, where in sorted(_seeds_of(kept, study).items(), key=lambda one: "other" in one[1]):
            named = ", ".join(str(seed) for seed in seeds)
            notes.append(
                f"Mean ± sample standard deviation over {len(seeds)} seeds ({named}){where}."
                if len(seeds) > 1
                else f"One seed ({named}){where}, so no spread is known."
            )
        rule = results.gallery(kept[0].runs[0].name).tie_rule
        notes.append(f"{rule[:1].upper()}{rule[1:]}.")
    return notes


def _features_of(rows: Sequence[Row], study: Study) -> str:
    """What the models of a role read; which of them, where they read different features."""
    readers: dict[str, list[str]] = {}
    for row in rows:
        for member in (one for run in row.runs for one in members_of(run)):
            read = f"{member.features.stem} ({PREPARED[member.features.prepare]})"
            readers.setdefault(read, []).append(study.label_of(row.model))
    if len(readers) == 1:
        return next(iter(readers))
    return "; ".join(f"{read} for {listed(unique(models))}" for read, models in readers.items())


def notes_on_missing(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Roles nobody plays and what the scale has no time for."""
    notes = []
    for role in unique(row.role for row in rows if row.left_out == "role"):
        count = sum(row.role == role for row in rows)
        notes.append(
            f"No dataset plays the role of {study.label_of(role)} at the scale {scale.scale}: "
            f"its {count} row{'s are' if count != 1 else ' is'} left out."
        )
    losses = unique(study.label_of(row.loss).lstrip("+ ") for row in rows if row.left_out == "loss")
    fractions = unique(f"{100 * row.fraction:g}%" for row in rows if row.left_out == "fraction")
    methods = unique(INFERENCES[row.inference] for row in rows if row.left_out == "inference")
    if losses:
        notes.append(f"Left out at the scale {scale.scale} to save time: {'; '.join(losses)}.")
    if methods:
        notes.append(f"Inference methods left out at the scale {scale.scale} to save time: {', '.join(methods)}.")
    if fractions:
        notes.append(f"Training fractions left out at the scale {scale.scale} to save time: {', '.join(fractions)}.")
    features = unique(str(row.features) for row in rows if row.left_out == "features")
    if features:
        named = ", ".join(study.label_of(name) for name in features)
        notes.append(f"Rows left out at the scale {scale.scale}, which has not their features: {named}.")
    return notes + _on_cells(study, scale, rows)


def _on_cells(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Which rows only the target `complete` makes: by model and part of the training captions, with their losses."""
    wanted = [row for row in rows if row.left_out in (None, "cell")]
    left_out = [row for row in wanted if row.left_out == "cell"]
    if not left_out:
        return []
    said = []
    for model in unique(row.model for row in left_out):
        by_losses: dict[tuple[str, ...], list[str]] = {}
        for part in unique(_part_in_words(row) for row in left_out if row.model == model):
            of_part = [row for row in wanted if row.model == model and _part_in_words(row) == part]
            losses = unique(study.label_of(row.loss).lstrip("+ ") for row in of_part if row.left_out == "cell")
            if len(losses) == len(of_part):
                losses = ["every row"]
            elif len(losses) > FEW:
                losses = [f"{len(losses)} of {len(of_part)} rows"]
            by_losses.setdefault(tuple(losses), []).append(part)
        parts = [f"{'; '.join(losses)} at {listed(parts)}" for losses, parts in by_losses.items()]
        said.append(f"{study.label_of(model)}: {', '.join(parts)}")
    return [
        f"{len(wanted) - len(left_out)} of {len(wanted)} rows are made at the scale {scale.scale} to save time; the "
        f"target “complete” makes the others too ({' · '.join(said)})."
    ]


def _part_in_words(row: Row) -> str:
    part = f"{100 * row.fraction:g}%"
    if row.captions_per_image is None:
        return part
    captions = f"{row.captions_per_image} caption{'s' if row.captions_per_image > 1 else ''} an image"
    return captions if row.fraction == 1 else f"{part} with {captions}"


def notes_on_published(
    rows: Sequence[Row],
    setting: PublishedSetting | None,
    also: Sequence[str | PublishedAlone],
    study: Study,
    results: Results,
    printed: Mapping[str, PrintedRow],
) -> list[str]:
    """Which published numbers stand beside ours, and whether they may be compared.

    Args:
        rows: All rows of the table.
        setting: What the published numbers were measured with.
        also: Published rows shown without a row of ours.
        study: The study of the table.
        results: Numbers of the runs.
        printed: The published table.
    """
    notes = []
    kept = [row for row in rows if row.left_out is None]
    beside = [row for row in kept if row.published is not None]
    for same, of_kind in _by_comparability(beside, setting, results).items():
        theirs = ", ".join(unique(printed[str(row.published)].where for row in of_kind))
        features = _features_in_print(setting, [(row.role, row.features) for row in of_kind], " with ", " features")
        if same:
            differs = f"other {listed(same)}, so no difference is shown"
            notes.append(f"Print: {theirs}{features}. Not comparable: {differs}.")
        else:
            notes.append(f"Print: {theirs}{features}, as here; differences are ours minus print.")
    roles = {row.role for row in kept}
    alone = [row for row, below in printed_alone(also, printed, "also_published") if roles & set(below)]
    in_place = [row.published for row in rows if row.left_out in NO_TIME and row.role in roles]
    alone += [printed[name] for name in unique(filter(None, in_place)) if name not in {row.published for row in kept}]
    if alone:
        theirs = ", ".join(unique(row.where for row in alone))
        features = _features_in_print(setting, [(row.role, None) for row in alone], ", ", " features")
        said = unique(row.said for row in alone)
        named = said if len(said) <= FEW else unique(row.method for row in alone)
        notes.append(
            f"Rows marked “print” ({', '.join(named)}) are as printed "
            f"({theirs}{features}) and have no row of ours here: for orientation, not for comparison."
        )
    return notes


def _by_comparability(
    rows: Sequence[Row], setting: PublishedSetting | None, results: Results
) -> dict[tuple[str, ...], list[Row]]:
    """Rows with a printed number by what differs there; rows that differ in anything stand together."""
    found: dict[tuple[str, ...], list[Row]] = {}
    unlike = [row for row in rows if unlike_print(row, setting, results, None)]
    alike = [row for row in rows if row not in unlike]
    if unlike:
        parts = tuple(unique(part for row in unlike for part in unlike_print(row, setting, results, None)))
        found[parts] = unlike
    if alike:
        found[()] = alike
    return found


def _features_in_print(
    setting: PublishedSetting | None, read: Sequence[tuple[str, str | None]], before: str, after: str
) -> str:
    """What print's models read, for some (role, features of the row)."""
    if setting is None:
        return ""
    return before + listed(unique(str(features_in_print(setting, *one)) for one in read)) + after


def _seeds_of(rows: Sequence[Row], study: Study) -> dict[tuple[int, ...], str]:
    """Which rows were trained with which seeds: by training fraction if that tells, or by model and fraction."""
    found: dict[tuple[int, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(run.seed for run in row.runs), []).append(row)
    if len(found) == 1:
        return dict.fromkeys(found, "")
    fractions = {seeds: unique(_part_in_words(row) for row in of_seeds) for seeds, of_seeds in found.items()}
    if len({name for names in fractions.values() for name in names}) == sum(map(len, fractions.values())):
        return {seeds: f" at {listed(names)}" for seeds, names in fractions.items()}
    most = max(found, key=lambda seeds: len(found[seeds]))
    models = {seeds: unique(study.label_of(row.model) for row in of_seeds) for seeds, of_seeds in found.items()}
    if len({name for names in models.values() for name in names}) == sum(map(len, models.values())):
        few = {seeds for seeds, names in models.items() if seeds != most or len(names) < FEW}
        return {seeds: f" for {listed(models[seeds])}" if seeds in few else " for all other rows" for seeds in models}
    cells = {
        seeds: unique(f"{study.label_of(row.model)} at {_part_in_words(row)}" for row in of_seeds)
        for seeds, of_seeds in found.items()
    }
    if len({name for names in cells.values() for name in names}) < sum(map(len, cells.values())):
        return {seeds: " where a spread is shown" if len(seeds) > 1 else " in the other rows" for seeds in found}
    return {seeds: " for all other rows" if seeds == most else f" for {listed(cells[seeds])}" for seeds in found}


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
