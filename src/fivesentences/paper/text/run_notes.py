"""The sentences below a table or figure of runs: what was measured, on what, and what is missing at this scale."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.config.scales import Scale
from fivesentences.encoders.spec import PLACE
from fivesentences.paper.numbers.results import Results
from fivesentences.paper.text.labels import loss_in_words
from fivesentences.paper.text.names import INFERENCES, capitalised, listed, unique
from fivesentences.study.expand import Row
from fivesentences.study.runs import members_of
from fivesentences.study.study import Study

FEW = 4  # up to so many things are listed; more are counted
PREPARED = {"as_stored": "as stored", "standardise": "standardised", "normalise": "normalised"}
Seeds = tuple[int, ...]


def notes_on_data(
    study: Study, rows: Sequence[Row], results: Results, shown: str = "Mean ± sample standard deviation"
) -> list[str]:
    """Datasets, galleries, ensembles, seeds and the tie rule behind the rows that are made; nothing if none is.

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
    for role, dataset in dict.fromkeys((row.role, row.dataset or "") for row in made):
        of_role = [row for row in made if row.role == role]
        gallery = results.gallery(of_role[0].runs[0].name)
        plays = ":" if dataset == role else f" plays the role of {study.label_of(role)}, with"
        read = _features_of(of_role, study)
        notes.append(
            f"{study.label_of(dataset)}{plays} {gallery.images:,} test images and {gallery.captions:,} captions"
            + (f"; features {read}." if read else ".")
        )
    for model in unique(row.model for row in made if row.model in study.ensembles):
        members = study.ensembles[model]
        names = listed([study.label_of(member) for member in members])
        other_seeds = ", with different seeds" if len(set(members)) < len(members) else ""
        notes.append(
            f"{study.label_of(model)}: the mean of the similarities of {names}, each trained separately{other_seeds}."
        )
    notes += _on_encoders(made, study)
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
    trained = [row for row in made if row.spec is not None]
    for seeds, where in _seeds_of(trained, study).items() if trained else ():
        named = ", ".join(str(seed) for seed in seeds)
        notes.append(
            f"{shown} over {len(seeds)} seeds ({named}){where}."
            if len(seeds) > 1
            else f"One seed ({named}){where}, so no spread is known."
        )
    return [*notes, f"{capitalised(results.gallery(made[0].runs[0].name).tie_rule)}."]


def _on_encoders(rows: Sequence[Row], study: Study) -> list[str]:
    notes = []
    for name in unique(row.model for row in rows if row.spec is None):
        spec = study.encoders[name]
        settings = [spec.encoder, spec.precision]
        settings += [f"captions as “{spec.prompt}”"] if spec.prompt != PLACE else []
        settings += [f"at most {spec.max_length} tokens"] if spec.max_length is not None else []
        notes.append(
            f"{study.label_of(name)} ({', '.join(settings)}): pre-trained elsewhere, on other data, and on no training "
            "caption here; its similarity is the cosine."
        )
    return notes


def _features_of(rows: Sequence[Row], study: Study) -> str:
    """What the models of a role read; which model reads what, where they read different features."""
    readers: dict[str, list[str]] = {}
    for row in rows:
        for member in (one for run in row.runs for one in members_of(run)):
            read = f"{member.features.stem} ({PREPARED[member.features.prepare]})"
            readers.setdefault(read, []).append(study.label_of(row.model))
    if len(readers) == 1:
        return next(iter(readers))
    return "; ".join(f"{read} for {listed(unique(models))}" for read, models in readers.items())


def notes_on_missing(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """The roles that nobody plays, and what the scale has no time for."""
    notes = []
    for role in unique(row.role for row in rows if row.left_out == "role"):
        count = sum(row.role == role for row in rows)
        notes.append(
            f"No dataset plays the role of {study.label_of(role)} at the scale {scale.scale}: "
            f"its {count} row{'s are' if count != 1 else ' is'} left out."
        )
    losses = unique(loss_in_words(study, row.loss) for row in rows if row.left_out == "loss")
    fractions = unique(f"{100 * row.fraction:g}%" for row in rows if row.left_out == "fraction")
    methods = unique(INFERENCES[row.inference] for row in rows if row.left_out == "inference")
    to_save_time = f"left out at the scale {scale.scale} to save time"
    if losses:
        notes.append(f"{capitalised(to_save_time)}: {'; '.join(losses)}.")
    if methods:
        notes.append(f"Inference methods {to_save_time}: {', '.join(methods)}.")
    if fractions:
        notes.append(f"Training fractions {to_save_time}: {', '.join(fractions)}.")
    features = unique(str(row.features) for row in rows if row.left_out == "features")
    if features:
        named = ", ".join(study.label_of(name) for name in features)
        notes.append(f"Rows left out at the scale {scale.scale}, which does not have their features: {named}.")
    return notes + _on_cells(study, scale, rows)


def _on_cells(study: Study, scale: Scale, rows: Sequence[Row]) -> list[str]:
    """Which rows only the target `complete` makes: by model and part of the training captions, with their losses."""
    wanted = [row for row in rows if row.left_out in (None, "cell")]
    left_out = [row for row in wanted if row.left_out == "cell"]
    if not left_out:
        return []
    models = []
    for model in unique(row.model for row in left_out):
        parts_with: dict[tuple[str, ...], list[str]] = {}
        for part in unique(_part_in_words(row) for row in left_out if row.model == model):
            of_part = [row for row in wanted if row.model == model and _part_in_words(row) == part]
            losses = unique(loss_in_words(study, row.loss) for row in of_part if row.left_out == "cell")
            if len(losses) == len(of_part):
                losses = ["every row"]
            elif len(losses) > FEW:
                losses = [f"{len(losses)} of {len(of_part)} rows"]
            parts_with.setdefault(tuple(losses), []).append(part)
        parts = [f"{'; '.join(losses)} at {listed(parts)}" for losses, parts in parts_with.items()]
        models.append(f"{study.label_of(model)}: {', '.join(parts)}")
    return [
        f"{len(wanted) - len(left_out)} of {len(wanted)} rows are made at the scale {scale.scale} to save time; the "
        f"target “complete” makes the others too ({' · '.join(models)})."
    ]


def training_in_words(epochs: int | None, one_caption_per_image: bool | None) -> list[str]:
    """What a row says of its training beside its captions: ``60 epochs``, ``one caption per image in a batch``."""
    words = [] if epochs is None else [f"{epochs} epoch{'s' if epochs > 1 else ''}"]
    if one_caption_per_image is not None:
        words.append("one caption per image in a batch" if one_caption_per_image else "any captions in a batch")
    return words


def _part_in_words(row: Row) -> str:
    """Which training captions a row has, and what it says of its training, such as ``10%, 60 epochs``."""
    part = f"{100 * row.fraction:g}%"
    if row.captions_per_image is not None:
        captions = f"{row.captions_per_image} caption{'s' if row.captions_per_image > 1 else ''} per image"
        part = captions if row.fraction == 1 else f"{part} with {captions}"
    return ", ".join([part, *training_in_words(row.epochs, row.one_caption_per_image)])


def _seeds_of(rows: Sequence[Row], study: Study) -> dict[Seeds, str]:
    """Which rows were trained with which seeds: by training fraction if that tells, or by model and fraction.

    All other rows, where rows are called so, are the last ones.
    """
    rows_with: dict[Seeds, list[Row]] = {}
    for row in rows:
        rows_with.setdefault(tuple(run.seed for run in row.runs), []).append(row)
    if len(rows_with) == 1:
        return dict.fromkeys(rows_with, "")
    most = max(rows_with, key=lambda seeds: len(rows_with[seeds]))

    def model_of(row: Row) -> str:
        return study.label_of(row.model)

    parts = {seeds: unique(map(_part_in_words, some)) for seeds, some in rows_with.items()}
    if _disjoint(parts):
        return {seeds: f" at {listed(names)}" for seeds, names in parts.items()}
    models = {seeds: unique(map(model_of, some)) for seeds, some in rows_with.items()}
    if _disjoint(models):
        named = {seeds for seeds, names in models.items() if seeds != most or len(names) < FEW}
        order = sorted(models, key=lambda seeds: seeds not in named)
        return {seeds: f" for {listed(models[seeds])}" if seeds in named else " for all other rows" for seeds in order}
    cells = {
        seeds: unique(f"{model_of(row)} at {_part_in_words(row)}" for row in some) for seeds, some in rows_with.items()
    }
    if not _disjoint(cells):
        order = sorted(rows_with, key=lambda seeds: len(seeds) == 1)
        return {seeds: " where a spread is shown" if len(seeds) > 1 else " in the other rows" for seeds in order}
    order = sorted(rows_with, key=lambda seeds: seeds == most)
    return {seeds: " for all other rows" if seeds == most else f" for {listed(cells[seeds])}" for seeds in order}


def _disjoint(names: dict[Seeds, list[str]]) -> bool:
    """Whether no name stands with two sets of seeds."""
    return len({name for some in names.values() for name in some}) == sum(map(len, names.values()))
