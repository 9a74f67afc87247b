"""The sentences below a table or figure of runs: what was measured, on what, and what is missing at this scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from fivesentences.config.scales import Scale
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.numbers.results import Results, differing_settings
from fivesentences.paper.text.labels import loss_in_words
from fivesentences.paper.text.names import INFERENCES, PREPARED, capitalised, grouped, listed, note_naming, unique
from fivesentences.study.exhibits import PublishedSetting
from fivesentences.study.expand import Row, SubspaceRow
from fivesentences.study.runs import members_of
from fivesentences.study.study import Study

FEW = 4  # up to so many things are listed; more are counted
Seeds = tuple[int, ...]
AnyRow = TypeVar("AnyRow", Row, SubspaceRow)


def notes_on_data(
    study: Study, rows: Sequence[Row], results: Results, shown: str = "Mean ± sample standard deviation"
) -> list[str]:
    """Describe datasets, galleries, ensembles, seeds and the tie rule of the rows that are made; nothing if none is.

    Args:
        study: The study of the table or figure.
        rows: Its rows.
        results: Numbers of their runs.
        shown: What it shows of several seeds.
    """
    made = [row for row in rows if row.left_out is None]
    if not made:
        return []
    notes = []
    for (role, dataset), of_role in grouped(made, lambda row: (row.role, row.dataset or "")).items():
        gallery, read = results.gallery(of_role[0].runs[0].name), _features_of(of_role, study)
        plays = ":" if dataset == role else f" plays the role of {study.label_of(role)}, with"
        sizes = f"{gallery.images:,} test images and {gallery.captions:,} captions"
        notes.append(f"{study.label_of(dataset)}{plays} {sizes}{f'; features {read}' if read else ''}.")
    for model in unique(row.model for row in made if row.model in study.ensembles):
        members = study.ensembles[model]
        names = listed([study.label_of(member) for member in members])
        other_seeds = ", with different seeds" if len(set(members)) < len(members) else ""
        notes.append(
            f"{study.label_of(model)}: the mean of the similarities of {names}, each trained separately{other_seeds}."
        )
    leaking = unique(
        study.label_of(row.model)
        for row in made
        for run in row.runs
        if any(member.model.concept_options.labels == "released" for member in members_of(run))
    )
    if leaking:
        notes.append(
            f"{listed(leaking)}: at test time, too, each caption came with the concepts of all captions of its image, "
            "as released; this reveals which captions belong together."
        )
    for seeds, where in _seeds_of(made, study).items():
        named = ", ".join(map(str, seeds))
        notes.append(
            f"{shown} over {len(seeds)} seeds ({named}){where}."
            if len(seeds) > 1
            else f"One seed ({named}){where}, so no spread is known."
        )
    return [*notes, f"{capitalised(results.gallery(made[0].runs[0].name).tie_rule)}."]


def _features_of(rows: Sequence[Row], study: Study) -> str:
    """Name the features that the models of a role read, and which model reads which if they differ."""
    members = [(row, member) for row in rows for run in row.runs for member in members_of(run)]
    readers = grouped(members, lambda one: f"{one[1].features.stem} ({PREPARED[one[1].features.prepare]})")
    if len(readers) == 1:
        return next(iter(readers))
    models = {read: listed(unique(study.label_of(row.model) for row, _ in some)) for read, some in readers.items()}
    return "; ".join(f"{read} for {named}" for read, named in models.items())


def notes_on_beside(
    rows: Sequence[Row],
    setting: PublishedSetting | None,
    results: Results,
    published: Mapping[str, PublishedRow],
) -> list[str]:
    """Say which published values stand below rows of ours, and whether differences are taken.

    Args:
        rows: The rows that are made.
        setting: How the published numbers were measured.
        results: Numbers of the runs.
        published: The published table.
    """
    beside = [(row, differing_settings(row, setting, results)) for row in rows if row.published is not None]
    differs = unique(part for _, parts in beside for part in parts)
    notes = []
    for unlike in (True, False):
        if some := [row for row, parts in beside if bool(parts) == unlike]:
            galleries = ", ".join(unique(published[str(row.published)].gallery for row in some))
            features = _published_features(setting, [(row.role, row.features) for row in some])
            theirs = galleries + (f" with {features}" if features else "")
            end = ", as here; differences are ours minus published."
            if unlike:
                end = f". Not comparable: other {listed(differs)}, so no difference is shown."
            notes.append(f"Published: {theirs}{end}")
    return notes


def note_on_published_only(rows: Sequence[PublishedRow], setting: PublishedSetting | None) -> list[str]:
    """Name the published rows that stand in a table without a row of ours."""
    if not rows:
        return []
    galleries = ", ".join(unique(row.gallery for row in rows))
    features = _published_features(setting, [(row.role, None) for row in rows])
    theirs, labels = galleries + (f", {features}" if features else ""), unique(row.label for row in rows)
    named = ", ".join(labels if len(labels) <= FEW else unique(row.method for row in rows))
    return [
        f"Rows marked “published” ({named}) are the paper’s ({theirs}) and have no row of ours here: for orientation, "
        "not for comparison."
    ]


def _published_features(setting: PublishedSetting | None, read: Iterable[tuple[str, str | None]]) -> str:
    """Name the features that the paper's models read, for some (role, features of the row)."""
    return listed(unique(str(setting.features_of(*one)) for one in read)) + " features" if setting else ""


def notes_on_missing(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Name the roles that no dataset plays, and what the scale leaves out to save time."""
    saved = f"left out at the scale {scale.scale} to save time"
    absent = f"Rows left out at the scale {scale.scale}, which does not have their features"
    lost = defaultdict(list, grouped(rows, lambda row: row.left_out))
    return [
        *notes_on_roles(rows, "No dataset plays", scale.scale, study),
        *note_naming(capitalised(saved), (loss_in_words(study, row.loss) for row in lost["loss"]), "; "),
        *note_naming(f"Inference methods {saved}", (INFERENCES[row.inference] for row in lost["inference"])),
        *note_naming(f"Training fractions {saved}", (f"{100 * row.fraction:g}%" for row in lost["fraction"])),
        *note_naming(absent, (study.label_of(str(row.features)) for row in lost["features"])),
        *_on_cells(study, scale, rows),
    ]


def notes_on_roles(rows: Sequence[AnyRow], nobody: str, scale: str, study: Study) -> list[str]:
    """Name the roles that nobody plays, such as ``No dataset plays``, with the number of their rows."""
    absent = grouped((row for row in rows if row.left_out == "role"), lambda row: row.role)
    return [
        f"{nobody} the role of {study.label_of(role)} at the scale {scale}: its {len(some)} "
        f"row{'s are' if len(some) != 1 else ' is'} left out."
        for role, some in absent.items()
    ]


def _on_cells(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Name the rows that only the target `complete` makes: by model and part of the training captions."""
    wanted = [row for row in rows if row.left_out in (None, "cell")]
    left_out = [row for row in wanted if row.left_out == "cell"]
    models = []
    for model, of_model in grouped(left_out, lambda row: row.model).items():
        parts_with: dict[str, list[str]] = {}
        for part, some in grouped(of_model, _part_in_words).items():
            count = sum(row.model == model and _part_in_words(row) == part for row in wanted)
            losses = unique(loss_in_words(study, row.loss) for row in some)
            named = "; ".join(losses) if len(losses) <= FEW else f"{len(losses)} of {count} rows"
            parts_with.setdefault("every row" if len(losses) == count else named, []).append(part)
        parts = [f"{losses} at {listed(parts)}" for losses, parts in parts_with.items()]
        models.append(f"{study.label_of(model)}: {', '.join(parts)}")
    made = f"{len(wanted) - len(left_out)} of {len(wanted)} rows are made at the scale {scale.scale} to save time"
    return [f"{made}; the target “complete” makes the others too ({' · '.join(models)})."] if models else []


def training_in_words(epochs: int | None) -> list[str]:
    """Word the training of a row beside its captions: ``60 epochs``."""
    return [] if epochs is None else [f"{epochs} epoch{'s' if epochs > 1 else ''}"]


def _part_in_words(row: Row) -> str:
    """Word the training captions of a row, and its training if it says so, such as ``10%, 60 epochs``."""
    part = f"{100 * row.fraction:g}%"
    if row.captions_per_image is not None:
        captions = f"{row.captions_per_image} caption{'s' if row.captions_per_image > 1 else ''} per image"
        part = captions if row.fraction == 1 else f"{part} with {captions}"
    return ", ".join([part, *training_in_words(row.epochs)])


def _seeds_of(rows: Sequence[Row], study: Study) -> dict[Seeds, str]:
    """Say which rows were trained with which seeds: by training fraction if that tells, or by model and fraction.

    All other rows, where rows are called so, are the last ones.
    """
    rows_with = grouped(rows, lambda row: tuple(run.seed for run in row.runs))
    if len(rows_with) < 2:
        return dict.fromkeys(rows_with, "")

    def told_apart(words: Callable[[Row], str]) -> tuple[dict[Seeds, list[str]], bool]:
        """Word the rows of each set of seeds, and tell whether no word stands for two sets."""
        names = {seeds: unique(map(words, some)) for seeds, some in rows_with.items()}
        return names, len({name for some in names.values() for name in some}) == sum(map(len, names.values()))

    names, tells = told_apart(_part_in_words)
    if tells:
        return {seeds: f" at {listed(parts)}" for seeds, parts in names.items()}
    most = max(rows_with, key=lambda seeds: len(rows_with[seeds]))
    names, tells = told_apart(lambda row: study.label_of(row.model))
    others = None if tells and len(names[most]) < FEW else most
    if not tells:
        names, tells = told_apart(lambda row: f"{study.label_of(row.model)} at {_part_in_words(row)}")
    if not tells:
        order = sorted(rows_with, key=lambda seeds: len(seeds) == 1)
        return {seeds: " where a spread is shown" if len(seeds) > 1 else " in the other rows" for seeds in order}
    order = sorted(rows_with, key=lambda seeds: seeds == others)
    return {seeds: " for all other rows" if seeds == others else f" for {listed(names[seeds])}" for seeds in order}
