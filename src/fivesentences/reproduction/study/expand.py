"""Rows and contrasts of a study at a scale: which dataset, model, loss and runs stand behind a line of a table."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from fivesentences.choices import BANKED
from fivesentences.config.features import FeatureSpec
from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.config.types import INFERENCES, Inference, as_list
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.models import ModelSpec, model_spec
from fivesentences.reproduction.categories.config import Selection
from fivesentences.reproduction.categories.models.specs import AnyMethod
from fivesentences.reproduction.categories.runs import SubspaceRun
from fivesentences.reproduction.config.scales import AbsentData, OtherMatrix, RowOfMatrix, Scale
from fivesentences.reproduction.study.exhibits import (
    AXES,
    ContrastSpec,
    Exhibit,
    GallerySpec,
    RowSpec,
    SubspaceContrastSpec,
    SubspaceRowSpec,
)
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import (
    AS_GIVEN,
    SEED_STEP,
    EnsembleRun,
    GivenRun,
    RunSpec,
    Scored,
    members_of,
    method_and_folds,
    reading_of,
)

Setting = TypeVar("Setting", int, list[int])
LeftOut = Literal["role", "features", "loss", "fraction", "inference", "cell", "absent"]
# Why a line is left out that another scale, more data or the target `complete` make: the published value is shown in
# its place.
NO_TIME = ("cell", "loss", "features", "absent")
Named = TypeVar("Named", bound=Scored | SubspaceRun)


@dataclass(frozen=True)
class Row:
    """One line of a table or figure, resolved at a scale.

    ``runs`` holds one run (or ensemble of runs) per seed, in the order of the scale's seeds. It is empty where the line
    is left out, and ``left_out`` says why: nobody plays the role, the scale has not the features, it has no time for
    the loss, the fraction or the inference method, (``"cell"``) keeps other lines only, or (``"absent"``) the data of
    their features are not here. Lines that differ in inference alone read the same runs.
    """

    role: str
    dataset: str | None
    model: str
    loss: str
    spec: LossSpec
    fraction: float
    inference: Inference
    published: str | None
    runs: tuple[Scored, ...] = ()
    left_out: LeftOut | None = None
    captions_per_image: int | None = None
    noise: float | None = None
    features: str | None = None
    epochs: int | None = None
    folds: int | str | None = None

    @property
    def is_given(self) -> bool:
        """Whether it is a matrix of others, which nothing here makes."""
        return self.loss == AS_GIVEN

    @property
    def reading(self) -> str:
        """How its runs are read, as an evaluation calls it."""
        return reading_of(self.inference, self.folds)


@dataclass(frozen=True)
class SubspaceRow:
    """One line of a table or figure of category retrieval, resolved at a scale.

    Attributes:
        role: The role that the study names.
        documents: Which documents play it; None if nobody does.
        division: How they are divided.
        method: Its name in the study.
        spec: The method with its settings.
        label: Its name in tables.
        selection: Which epoch's weights are read; ``last`` for a method without epochs.
        runs: One per seed, in the order of the scale's seeds; empty if the scale does not make the line.
        published: Value of the column ``row`` in the published table.
        left_out: Why it has no runs: nobody plays the role, its documents have no such division, or the scale makes
            other methods only.
    """

    role: str
    documents: str | None
    division: str
    method: str
    spec: AnyMethod
    label: str
    selection: Selection
    runs: tuple[SubspaceRun, ...]
    published: str | None = None
    left_out: Literal["role", "division", "method"] | None = None


AnyLine = TypeVar("AnyLine", Row, SubspaceRow)


@dataclass(frozen=True)
class Paired(Generic[AnyLine]):
    """Two rows that are compared seed by seed.

    Attributes:
        a: The first side; the difference is a - b.
        b: The second.
        question: Question that the difference answers; may be empty.
    """

    a: AnyLine
    b: AnyLine
    question: str = ""

    @property
    def seeds(self) -> list[int]:
        """The seeds that both sides have, in the order of the first; none if the scale leaves out a side."""
        others = {run.seed for run in self.b.runs}
        return [run.seed for run in self.a.runs if run.seed in others]

    @property
    def runs(self) -> tuple[list[str], list[str]]:
        """Names of the runs or ensembles of both sides, one for each of ``seeds``."""
        first, second = ({run.seed: run.name for run in row.runs} for row in (self.a, self.b))
        return [first[seed] for seed in self.seeds], [second[seed] for seed in self.seeds]

    @property
    def read(self) -> dict[str, list[str]]:
        """How the runs of both sides are read, as ``inference``; empty if they are read as they are."""
        methods = [getattr(row, "inference", "naive") for row in (self.a, self.b)]
        return {} if set(methods) == {"naive"} else {"inference": methods}

    @property
    def is_made(self) -> bool:
        """Whether the scale makes both sides, with at least one seed in common."""
        return bool(self.seeds)


Contrast = Paired[Row]
SubspaceContrast = Paired[SubspaceRow]


# --- image-text matching ----------------------------------------------------------------------------------------------


def expand_rows(rows: Iterable[RowSpec], study: Study, scale: Scale) -> list[Row]:
    """Multiply out the rows of a table or figure, in the order that ``RowSpec`` says; those left out stay in.

    Raises:
        InputError: If a model is unknown or the scale does not say how many epochs a fraction takes.
    """
    expanded = []
    for spec in rows:
        for line in spec.lines(AXES):
            row = Row(dataset=scale.roles.get(spec.role), spec=study.losses[line["loss"]], **line)
            left_out = _why_left_out(row, study, scale)
            expanded.append(replace(row, left_out=left_out, runs=() if left_out else _runs(row, study, scale)))
    return expanded


def rows_of(name: str, exhibit: Exhibit, study: Study, scale: Scale) -> list[Row]:
    """Return the rows of a table or figure, named ``study/name``: those of the study, and matrices of others.

    Raises:
        InputError: As ``expand_rows``.
    """
    given = [
        _given_row(matrix, row, scale)
        for matrix in scale.matrices_of_others
        for row in matrix.rows
        if row.exhibit in (name, name.partition("/")[2])
    ]
    return expand_rows(exhibit.row_specs(), study, scale) + given


def _given_row(matrix: OtherMatrix, row: RowOfMatrix, scale: Scale) -> Row:
    dataset = scale.roles.get(matrix.role)
    runs = [
        GivenRun(given=matrix.name, title=matrix.label, dataset=one, features=matrix.features, fraction=row.fraction)
        for one in ([] if dataset is None else [dataset])
    ]
    return Row(
        role=matrix.role,
        dataset=dataset,
        model=matrix.label,
        loss=AS_GIVEN,
        spec=LossSpec(),
        fraction=row.fraction,
        inference=row.inference,
        published=row.published,
        runs=tuple(runs),
        left_out="role" if dataset is None else None,
        captions_per_image=row.captions_per_image,
        folds=row.folds,
    )


def contrasts_of(specs: Iterable[ContrastSpec], study: Study, scale: Scale) -> list[Contrast]:
    """Multiply out contrasts; those of which the scale leaves out a side stay in, without runs.

    Raises:
        InputError: As ``expand_rows``.
    """
    pairs = ((spec, expand_rows(pair, study, scale)) for spec in specs for pair in spec.pairs())
    return [Contrast(a, b, spec.question) for spec, (a, b) in pairs]


def gallery_spec_of(studies: Mapping[str, Study], scale: Scale) -> tuple[str, GallerySpec] | None:
    """Return the gallery of the first study that has one, with the study's name; None if the scale makes none."""
    found = next(((name, study.gallery) for name, study in studies.items() if study.gallery is not None), None)
    return found if found is not None and scale.makes(found[0], found[1].name, found[1].shows_photographs) else None


@dataclass(frozen=True)
class Made:
    """Runs and ensembles of some rows, by name; those that several rows share are there once.

    Attributes:
        runs: Runs to be trained, members of ensembles among them.
        ensembles: Ensembles.
        given: Matrices of others.
        subspaces: Runs of category retrieval.
        readings: How each run and ensemble is read: as it is, and what rows ask for besides; see ``reading_of``.
    """

    runs: dict[str, RunSpec]
    ensembles: dict[str, EnsembleRun]
    given: dict[str, GivenRun]
    subspaces: dict[str, SubspaceRun]
    readings: dict[str, list[str]]


def made_of(rows: Sequence[Row], subspace_rows: Iterable[SubspaceRow] = ()) -> Made:
    """Return everything in some rows.

    Raises:
        InputError: If two different runs would have one name, or an ensemble or a matrix of others is read by a method
            that needs training queries.
    """
    scored = [run for row in rows for run in row.runs]
    return Made(
        runs=_union(member for run in scored for member in members_of(run)),
        ensembles=_union(run for run in scored if isinstance(run, EnsembleRun)),
        given=_union(run for run in scored if isinstance(run, GivenRun)),
        subspaces=_union(run for row in subspace_rows for run in row.runs),
        readings=_readings_of(rows),
    )


def _readings_of(rows: Iterable[Row]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for row in rows:
        for run in row.runs:
            if row.inference in BANKED and not isinstance(run, RunSpec):
                what = f"'{run.name}' has no weights to score training queries, which {row.inference} reads"
                raise InputError(what, cure="leave this inference method out of the row")
            found.setdefault(run.name, {"naive"}).add(row.reading)
            if isinstance(run, EnsembleRun):
                for member in run.members:
                    found.setdefault(member.name, {"naive"})

    def place(reading: str) -> tuple[int, int, int]:
        method, folds, read = method_and_folds(reading)
        return folds, -read, INFERENCES.index(method)

    # In the order of the configuration, so that an evaluation does not depend on the order of tables.
    return {run: sorted(asked, key=place) for run, asked in found.items()}


def _union(runs: Iterable[Named]) -> dict[str, Named]:
    named: dict[str, Named] = {}
    for run in runs:
        first = named.setdefault(run.name, run)
        if first != run:
            ours, theirs = first.model_dump(), run.model_dump()
            key = next(key for key in ours if ours[key] != theirs[key])
            raise InputError(
                f"two different runs are both named '{run.name}': {key} is {ours[key]!r} in one and {theirs[key]!r} "
                "in the other; give them settings that show in the name."
            )
    return named


def _why_left_out(row: Row, study: Study, scale: Scale) -> LeftOut | None:
    if row.dataset is None:
        return "role"
    if row.features is not None and row.features not in scale.further_features:
        return "features"
    if row.loss in scale.leave_out.losses:
        return "loss"
    if row.inference in scale.leave_out.inferences:
        return "inference"
    if row.fraction in scale.leave_out.fractions:
        return "fraction"
    names = {row.model}
    if row.model not in study.ensembles:
        names.add(_model(study, row.model).name)
    if not scale.keeps(names, row.loss, row.fraction, row.captions_per_image):
        return "cell"
    return "absent" if absent_features(row, study, scale) else None


def absent_features(row: Row, study: Study, scale: Scale) -> list[AbsentData]:
    """Return why features of a row, or of members of its ensemble, are left out; empty if none is."""
    if not scale.absent_data or row.dataset is None:
        return []
    models = dict.fromkeys(study.ensembles.get(row.model, [row.model]))
    sources = dict.fromkeys(_features(row, _model(study, model), scale).source for model in models)
    found = (scale.lacks("features", row.dataset, source) for source in sources)
    return [one for one in found if one is not None]


def _runs(row: Row, study: Study, scale: Scale) -> tuple[Scored, ...]:
    """Return one run or ensemble per seed, in the order of the scale's seeds."""
    assert row.dataset is not None  # otherwise the row is left out
    if row.model not in study.ensembles:
        return _runs_of_model(row, row.dataset, row.model, study, scale)
    members, count = [], Counter[str]()
    for model in study.ensembles[row.model]:
        runs, shift = _runs_of_model(row, row.dataset, model, study, scale), SEED_STEP * count[model]
        members.append([run.model_copy(update={"seed": run.seed + shift}) for run in runs])
        count[model] += 1
    # Models may have different numbers of seeds.
    return tuple(EnsembleRun(ensemble=row.model, members=list(of_seed)) for of_seed in zip(*members, strict=False))


def _runs_of_model(row: Row, dataset: str, name: str, study: Study, scale: Scale) -> tuple[RunSpec, ...]:
    model = _model(study, name)
    settings = scale.training.model_dump(include=set(Hyperparameters.model_fields))
    widths, options = dict(scale.training.widths), dict[str, Any]()
    cell = ({name, model.name}, row.loss, row.fraction, row.captions_per_image)
    for exception in scale.training.exceptions:
        if exception.holds(cell, dataset, study.name):
            settings |= exception.settings
            widths |= settings.pop("widths", {})
            options |= settings.pop("options", {})
    seeds = scale.seeds
    for other in scale.other_seeds:
        if other.applies(cell, row.epochs):
            seeds = other.seeds
    settings |= {} if row.noise is None else {"noise": row.noise}
    settings["epochs"] = row.epochs or _of_fraction(scale, "training.epochs", settings["epochs"], row.fraction)
    features = _features(row, model, scale)
    run = RunSpec(
        dataset=dataset,
        features=features.as_read,
        # Two runs: a later download of released regions takes no run of our own away.
        features_named=row.features is not None or features is scale.own_grid_features,
        model=model.with_options(options).with_widths(widths),
        loss=study.losses[row.loss],
        fraction=row.fraction,
        captions_per_image=row.captions_per_image,
        training=Hyperparameters(**settings),
        epochs_named=row.epochs is not None,
        group=scale.group,
    )
    of_fraction = _of_fraction(scale, "seeds", seeds, row.fraction)
    return tuple(run.model_copy(update={"seed": seed}) for seed in of_fraction)


def _features(row: Row, model: ModelSpec, scale: Scale) -> FeatureSpec:
    """Return the features that a model reads in a row."""
    if row.features is not None:
        return scale.further_features[row.features]
    grid = scale.grid_features_of(str(row.dataset)) if model.layout == "grid" else None
    features = grid or scale.features
    assert features is not None  # a scale with roles has features
    return features


def _model(study: Study, name: str) -> ModelSpec:
    """Return the model that a row names: a variant of the study's, or one of the registry as it is."""
    return study.models.get(name) or model_spec(name)


def _of_fraction(scale: Scale, key: str, setting: Setting | dict[float, Setting], fraction: float) -> Setting:
    """Return a setting that a scale gives once for all fractions, or one for each."""
    if not isinstance(setting, dict):
        return setting
    if fraction not in setting:
        known = ", ".join(f"{key:g}" for key in setting)
        raise InputError(
            f"scale {scale.scale}: {key} has no entry for the fraction {fraction:g} (only {known}); "
            "add one, or give a single value for all."
        )
    return setting[fraction]


# --- category retrieval -----------------------------------------------------------------------------------------------


def subspace_rows(specs: Iterable[SubspaceRowSpec], study: Study, scale: Scale) -> list[SubspaceRow]:
    """Multiply out rows in the order that ``SubspaceRowSpec`` says; those that the scale does not make stay in.

    A method without epochs has one line, whatever selections are asked for.
    """
    rows: list[SubspaceRow] = []
    for spec in specs:
        axes = (as_list(spec.division), as_list(spec.method), as_list(spec.selection))
        made = [_subspace_row(spec, *values, study, scale) for values in itertools.product(*axes)]
        rows += [row for place, row in enumerate(made) if row not in made[:place]]
    return rows


def subspace_contrasts(specs: Iterable[SubspaceContrastSpec], study: Study, scale: Scale) -> list[SubspaceContrast]:
    """Multiply out contrasts; those of which the scale leaves out a side stay in, without runs."""
    pairs = ((spec, subspace_rows(pair, study, scale)) for spec in specs for pair in spec.pairs())
    return [SubspaceContrast(a, b, spec.question) for spec, (a, b) in pairs]


def rows_shown(exhibit: Exhibit, study: Study, scale: Scale) -> list[SubspaceRow]:
    """Return every line of category retrieval of a table or figure: its rows, then both sides of its contrasts."""
    return subspace_rows(exhibit.every_subspace_row(), study, scale)


def _subspace_row(
    spec: SubspaceRowSpec, division: str, name: str, selection: Selection, study: Study, scale: Scale
) -> SubspaceRow:
    categories, method = scale.categories, study.methods[name]
    documents = None if categories is None else categories.roles.get(spec.role)
    row = SubspaceRow(
        role=spec.role,
        documents=documents,
        division=division,
        method=name,
        spec=method,
        label=study.label_of(name),
        selection=selection if method.iterative else "last",
        runs=(),
        published=spec.published,
    )
    if categories is None or documents is None:
        return replace(row, left_out="role")
    data = categories.documents[documents]
    if division not in data.divisions:
        return replace(row, left_out="division")
    if not categories.makes(name):
        return replace(row, left_out="method")
    run = SubspaceRun(
        documents=documents,
        division=division,
        method=method,
        seed=0,
        image=method.inputs or data.image,
        text=method.inputs or data.text,
        words=data.words,
        training=categories.training,
    )
    seeds = categories.seeds_of(name)
    return replace(row, runs=tuple(run.model_copy(update={"seed": seed}) for seed in seeds))
