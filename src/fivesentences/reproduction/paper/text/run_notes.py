"""The sentences below a table or figure of runs: what was measured, on what, and what is missing at this scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from fivesentences.config.features import AS_RELEASED, RELEASED, of_kind
from fivesentences.evaluation.published import PublishedRow
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.numbers.results import Results, differing_settings
from fivesentences.reproduction.paper.text.labels import loss_in_words
from fivesentences.reproduction.paper.text.names import (
    INFERENCES,
    PREPARED,
    capitalised,
    grouped,
    listed,
    note_naming,
    unique,
)
from fivesentences.reproduction.study.exhibits import PublishedSetting
from fivesentences.reproduction.study.expand import Row, SubspaceRow, absent_features
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import GivenRun, features_of, members_of

FEW = 4  # up to so many things are listed; more are counted
AnyRow = TypeVar("AnyRow", Row, SubspaceRow)


def notes_on_data(
    study: Study, rows: Sequence[Row], results: Results, shown: str = "Mean ± sample standard deviation"
) -> list[str]:
    """Describe datasets, galleries, ensembles, seeds and the tie rule of the rows that are made; nothing if none is.

    Args:
        study: The study of the table or figure.
        rows: Its rows.
        results: Numbers of their runs.
        shown: Statistic shown of several seeds.
    """
    made = [row for row in rows if row.left_out is None]
    if not made:
        return []
    notes = []
    for (role, dataset), of_role in grouped(made, lambda row: (row.role, row.dataset or "")).items():
        gallery, read = results.gallery(of_role[0].runs[0].name), _features_of(of_role, study)
        plays = ":" if dataset == role else f", here instead of {study.label_of(role)}:"
        sizes = f"{gallery.images:,} test images and {gallery.captions:,} captions"
        notes.append(f"{study.label_of(dataset)}{plays} {sizes}{f'; features {read}' if read else ''}.")
    for model in unique(row.model for row in made if row.model in study.ensembles):
        members = study.ensembles[model]
        names = listed([study.label_of(member) for member in members])
        other_seeds = ", with different seeds" if len(set(members)) < len(members) else ""
        notes.append(
            f"{study.label_of(model)}: the mean of the similarities of {names}, each trained separately{other_seeds}."
        )
    for run in unique(run for row in made for run in row.runs if isinstance(run, GivenRun)):
        of_features = f"features {run.features}" if run.features else "what its model read is not known here"
        notes.append(
            f"{run.title}: its similarity is a file that was made elsewhere, evaluated as ours; {of_features}."
        )
    for owner, some in grouped((row for row in made if not row.is_given), _owner_of_regions).items():
        if owner:
            notes.append(f"Regions of {listed(unique(study.label_of(str(row.dataset)) for row in some))} are {owner}.")
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
    notes += notes_on_seeds([row for row in made if not row.is_given], _part_in_words, shown)
    return [*notes, f"{capitalised(results.gallery(made[0].runs[0].name).tie_rule)}."]


def notes_on_seeds(
    rows: Sequence[AnyRow], words: Callable[[AnyRow], str], shown: str = "Mean ± sample standard deviation"
) -> list[str]:
    """Say which seeds stand behind rows; if they differ, for which rows, or for how many if words do not tell them.

    Args:
        rows: Rows with runs.
        words: Words that tell rows with different seeds apart.
        shown: Statistic shown of several seeds.
    """
    rows_with = grouped(rows, lambda row: tuple(run.seed for run in row.runs))
    names = {seeds: unique(map(words, some)) for seeds, some in rows_with.items()}
    tells = len({name for some in names.values() for name in some}) == sum(map(len, names.values()))
    notes = []
    for seeds, some in rows_with.items():
        few = tells and len(names[seeds]) <= FEW
        where = f" for {listed(names[seeds])}" if few else f" in {len(some)} of {len(rows)} rows"
        named = f"({', '.join(map(str, seeds))}){where if len(rows_with) > 1 else ''}"
        several = f"{shown} over {len(seeds)} seeds {named}."
        notes.append(several if len(seeds) > 1 else f"One seed {named}, so no spread is known.")
    return notes


def _stems(row: Row) -> list[str]:
    """Return the features that a row's models read, each once, by the names of their files."""
    return unique(stem for run in row.runs for stem in features_of(run))


def _owner_of_regions(row: Row) -> str:
    """Say who made the regions that a row's models read; empty if they read others than bottom-up attention's."""
    for stem in _stems(row):
        if stem == RELEASED:
            return "those of a precomp folder, as released with SCAN"
        if of_kind(stem, [RELEASED]):
            return f"our own, found in the photographs by the network and the rule of the released ones: {stem}"
    return ""


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
    notes = []
    for unlike in (True, False):
        if some := [row for row, parts in beside if bool(parts) == unlike]:
            galleries = ", ".join(unique(published[str(row.published)].gallery for row in some))
            features = _published_features(setting, [(row.role, row.features) for row in some])
            theirs = galleries + (f" with {features}" if features else "")
            differs = listed(unique(part for _, parts in beside for part in parts)) if unlike else ""
            ours = unique(stem for row in some for stem in _stems(row) if of_kind(stem, AS_RELEASED))
            notes.append(note_on_published(theirs, differs, listed(ours) if ours else ""))
    return notes


def note_on_published(theirs: str, differs: str, ours: str = "") -> str:
    """Say what published values were measured on, and in what it differs from ours, if in anything.

    Args:
        theirs: Galleries and features of the published values.
        differs: Settings that differ.
        ours: Features of the same kind that have another name here.
    """
    here = f"; here with {ours}, of the same network and rule" if ours else ", as here"
    same = f"{here}; differences are ours minus published."
    return f"Published: {theirs}" + (
        f". Not comparable: other {differs}, so no difference is shown." if differs else same
    )


def notes_on_published_only(rows: Sequence[PublishedRow], on: str = "") -> list[str]:
    """Name the published rows that stand in a table without a row of ours, and what they were measured on."""
    labels = unique(row.label for row in rows)
    named = ", ".join(labels if len(labels) <= FEW else unique(row.method for row in rows))
    about = f"the paper’s{f' ({on})' if on else ''} and have no row of ours here: for orientation, not for comparison."
    return [f"Rows marked “published” ({named}) are {about}"] if rows else []


def galleries_of(rows: Sequence[PublishedRow], setting: PublishedSetting | None) -> str:
    """Name the galleries of published rows and the features that their models read."""
    features = _published_features(setting, [(row.role, None) for row in rows])
    return ", ".join([*unique(row.gallery for row in rows), *([features] if features else [])])


def _published_features(setting: PublishedSetting | None, read: Sequence[tuple[str, str | None]]) -> str:
    """Name the features that the paper's models read, for some (role, features of the row)."""
    return listed(unique(str(setting.features_of(*one)) for one in read)) + " features" if setting and read else ""


def notes_on_missing(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Name the roles that no dataset plays, and what the scale leaves out to save time."""
    saved = f"left out at the scale {scale.scale} to save time"
    absent = f"Rows left out at the scale {scale.scale}, which does not have their features"
    lost = defaultdict(list, grouped(rows, lambda row: row.left_out))
    return [
        *notes_on_roles(rows, scale, study),
        *_on_absent(study, scale, lost["absent"]),
        *note_naming(capitalised(saved), (loss_in_words(study, row.loss) for row in lost["loss"]), "; "),
        *note_naming(f"Inference methods {saved}", (INFERENCES[row.inference] for row in lost["inference"])),
        *note_naming(f"Training fractions {saved}", (f"{100 * row.fraction:g}%" for row in lost["fraction"])),
        *note_naming(absent, (study.label_of(str(row.features)) for row in lost["features"])),
        *_on_cells(study, scale, rows),
    ]


def notes_on_roles(rows: Sequence[AnyRow], scale: Scale, study: Study) -> list[str]:
    """Name the papers' datasets that the scale has no data for, with the number of their rows and the reason."""
    absent = grouped((row for row in rows if row.left_out == "role"), lambda row: row.role)
    because = {role: one for one in scale.absent_data for role in one.roles}
    return [
        f"The scale {scale.scale} has no data for {study.label_of(role)}: its {len(some)} "
        f"row{'s are' if len(some) != 1 else ' is'} left out."
        + (f" {because[role].sentence(study.label_of(because[role].name))}" if role in because else "")
        for role, some in absent.items()
    ]


def _on_absent(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Count the rows whose features are not here, and say what brings them."""
    absent = [one for row in rows for one in absent_features(row, study, scale)]
    return [one.sentence(study.label_of(one.name), absent.count(one)) for one in scale.absent_data if one in absent]


def _on_cells(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Count the rows that only the target `complete` makes, by model."""
    wanted = [row for row in rows if row.left_out in (None, "cell") and not row.is_given]
    left_out = [row for row in wanted if row.left_out == "cell"]
    counts = [
        f"{study.label_of(model)}: {len(some)}" for model, some in grouped(left_out, lambda row: row.model).items()
    ]
    made = f"{len(wanted) - len(left_out)} of {len(wanted)} rows are made at the scale {scale.scale} to save time"
    return [f"{made}; the target “complete” makes the others too ({', '.join(counts)})."] if counts else []


def noise_in_words(noise: float | None) -> str:
    """Word the wrong pairs of a row that names their share: ``20% wrong pairs``."""
    return "" if noise is None else f"{100 * noise:g}% wrong pairs"


def training_in_words(row: Row) -> list[str]:
    """Word the training of a row beside its captions: ``20% wrong pairs``, ``60 epochs``."""
    epochs = "" if row.epochs is None else f"{row.epochs} epoch{'s' if row.epochs > 1 else ''}"
    return [words for words in (noise_in_words(row.noise), epochs) if words]


def _part_in_words(row: Row) -> str:
    """Word the training captions of a row, and its training if it says so, such as ``10%, 60 epochs``."""
    part = f"{100 * row.fraction:g}%"
    if row.captions_per_image is not None:
        captions = f"{row.captions_per_image} caption{'s' if row.captions_per_image > 1 else ''} per image"
        part = captions if row.fraction == 1 else f"{part} with {captions}"
    return ", ".join([part, *training_in_words(row)])
