"""Rows and contrasts of a study at a scale: which dataset, model, loss and runs stand behind a line of a table."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from fivesentences.config.documents import CategoryScale, Selection
from fivesentences.config.features import FeatureSpec
from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.config.scales import Scale
from fivesentences.config.types import INFERENCES, Inference, as_list
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.models import ModelSpec, model_spec
from fivesentences.models.subspaces.specs import AnyMethod
from fivesentences.study.checks import check_scale
from fivesentences.study.exhibits import (
    AXES,
    ContrastSpec,
    Exhibit,
    GallerySpec,
    RowSpec,
    SubspaceContrastSpec,
    SubspaceRowSpec,
)
from fivesentences.study.runs import (
    SEED_STEP,
    EncodedRun,
    EnsembleRun,
    RunSpec,
    Scored,
    SubspaceRun,
    members_of,
    method_and_folds,
    reading_of,
)
from fivesentences.study.study import Study

Setting = TypeVar("Setting", int, list[int])
LeftOut = Literal["role", "features", "loss", "fraction", "inference", "cell"]
# Why a line is left out that another scale, or the target `complete`, makes: the published value is shown in its place.
NO_TIME = ("cell", "loss", "features")
Named = TypeVar("Named", bound=Scored | SubspaceRun)


@dataclass(frozen=True)
class Row:
    """One line of a table or figure, resolved at a scale.

    ``runs`` holds one run (or ensemble of runs) per seed, in the order of the scale's seeds. It is empty where the line
    is left out, and ``left_out`` says why: nobody plays the role, the scale has not the features, it has no time for
    the loss, the fraction or the inference method, or (``"cell"``) keeps other lines only. Lines that differ in
    inference alone read the same runs. Where the model is an encoder, ``loss`` is empty, ``spec`` is None, and ``runs``
    holds it alone.
    """

    role: str
    dataset: str | None
    model: str
    loss: str
    spec: LossSpec | None
    fraction: float
    inference: Inference
    published: str | None
    runs: tuple[Scored, ...]
    left_out: LeftOut | None = None
    captions_per_image: int | None = None
    features: str | None = None
    epochs: int | None = None
    one_caption_per_image: bool | None = None
    folds: int | str | None = None

    @property
    def reading(self) -> str:
        """How its runs are read, as an evaluation calls it."""
        return reading_of(self.inference, self.folds)


def expand_rows(rows: Iterable[RowSpec], study: Study, scale: Scale) -> list[Row]:
    """Multiply out the rows of a table or figure, in the order that ``RowSpec`` says; those left out stay in.

    Raises:
        InputError: If a model is unknown or the scale does not say how many epochs a fraction takes.
    """
    expanded = []
    for row in rows:
        for values in itertools.product(*(as_list(getattr(row, axis)) for axis in AXES)):
            features, model, fraction, captions, epochs, one_caption, loss, inference, folds = values
            cell = _Cell(study, scale, features, model, fraction, captions, loss or "", epochs, one_caption)
            dataset = scale.roles.get(row.role)
            left_out = _why_left_out(cell, dataset, inference)
            runs = cell.runs(dataset) if dataset is not None and left_out is None else ()
            expanded.append(
                Row(
                    role=row.role,
                    dataset=dataset,
                    model=model,
                    loss=loss or "",
                    spec=None if loss is None else study.losses[loss],
                    fraction=fraction,
                    inference=inference,
                    published=row.published,
                    runs=runs,
                    left_out=left_out,
                    captions_per_image=captions,
                    features=features,
                    epochs=epochs,
                    one_caption_per_image=one_caption,
                    folds=folds,
                )
            )
    return expanded


def rows_of_scale(studies: Mapping[str, Study], scale: Scale) -> list[Row]:
    """Rows of runs of all tables and figures that a scale makes, and of its gallery.

    Raises:
        InputError: If the scale names something that no study has; see ``check_scale``.
    """
    check_scale(studies, scale)
    shown: list[tuple[Study, Exhibit]] = [(study, one) for study in studies.values() for one in study.made_at(scale)]
    gallery = gallery_spec_of(studies, scale)
    if gallery is not None:
        shown.append((studies[gallery[0]], gallery[1]))
    return [row for study, exhibit in shown for row in expand_rows(exhibit.row_specs(), study, scale)]


def gallery_spec_of(studies: Mapping[str, Study], scale: Scale) -> tuple[str, GallerySpec] | None:
    """The gallery of the first study that has one, with the study's name; None if the scale makes none."""
    for name, study in studies.items():
        if study.gallery is not None:
            return (name, study.gallery) if scale.makes(study.gallery.name) else None
    return None


def runs_of_scale(studies: Mapping[str, Study], scale: Scale) -> dict[str, RunSpec]:
    """Runs of all studies at a scale; see ``rows_of_scale`` and ``runs_of_rows``."""
    return runs_of_rows(rows_of_scale(studies, scale))


def compared_rows(exhibit: Exhibit, study: Study, scale: Scale) -> list[Row]:
    """The two rows whose retrievals a figure compares: its first two that the scale trains on one dataset, or none."""
    rows = [row for row in expand_rows(exhibit.row_specs(), study, scale) if row.runs]
    pair = [row for row in rows if row.dataset == rows[0].dataset][:2]
    return pair if len(pair) == 2 else []


def runs_of_rows(rows: Iterable[Row]) -> dict[str, RunSpec]:
    """Runs to be trained for the given rows, members of ensembles among them, by name; a shared run appears once.

    Raises:
        InputError: If two different runs would have one name.
    """
    return _union(member for row in rows for run in row.runs for member in members_of(run))


def ensembles_of_rows(rows: Iterable[Row]) -> dict[str, EnsembleRun]:
    """Ensembles in the given rows, by name.

    Raises:
        InputError: If two different ensembles would have one name.
    """
    return _union(run for row in rows for run in row.runs if isinstance(run, EnsembleRun))


def encoded_of_rows(rows: Iterable[Row]) -> dict[str, EncodedRun]:
    """Encoders in the given rows and their datasets, by name.

    Raises:
        InputError: If two different encoders would have one name.
    """
    return _union(run for row in rows for run in row.runs if isinstance(run, EncodedRun))


def inferences_of_rows(rows: Iterable[Row]) -> dict[str, list[str]]:
    """How everything in the rows is read: as it is, and what the rows ask for besides; see ``reading_of``."""
    found: dict[str, set[str]] = {}
    for row in rows:
        for run in row.runs:
            for scored in (run, *members_of(run)):
                found.setdefault(scored.name, {"naive"})
            found[run.name].add(row.reading)
    # In the order of the configuration, so that an evaluation does not depend on the order of tables.
    return {run: sorted(asked, key=_place_of) for run, asked in found.items()}


def _place_of(reading: str) -> tuple[int, int, int]:
    method, folds, read = method_and_folds(reading)
    return folds, -read, INFERENCES.index(method)


def evaluated_of_rows(rows: Iterable[Row]) -> list[str]:
    """Names of the runs, ensembles and encoders whose numbers stand in the given rows, each once."""
    return list(dict.fromkeys(run.name for row in rows for run in row.runs))


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


@dataclass(frozen=True)
class _Cell:
    """What a row of a study is trained with at a scale."""

    study: Study
    scale: Scale
    features: str | None
    model: str
    fraction: float
    captions: int | None
    loss: str
    epochs: int | None
    one_caption_per_image: bool | None

    @property
    def models(self) -> set[str]:
        """Names under which a scale may mean the row's model."""
        if self.model in self.study.ensembles or self.model in self.study.encoders:
            return {self.model}
        return {self.model, _model(self.study, self.model).name}

    @property
    def is_kept(self) -> bool:
        return self.scale.keeps(self.models, self.loss, self.fraction, self.captions)

    def runs(self, dataset: str) -> tuple[Scored, ...]:
        """One run or ensemble per seed, in the order of the scale's seeds; of an encoder one alone."""
        encoder = self.study.encoders.get(self.model)
        if encoder is not None:
            return (EncodedRun(dataset=dataset, model=self.model, encoder=encoder),)
        if self.model not in self.study.ensembles:
            return self._of_model(dataset, self.model)
        members, count = [], Counter[str]()
        for model in self.study.ensembles[self.model]:
            runs, shift = self._of_model(dataset, model), SEED_STEP * count[model]
            members.append([run.model_copy(update={"seed": run.seed + shift}) for run in runs])
            count[model] += 1
        # Models may have different numbers of seeds.
        return tuple(EnsembleRun(ensemble=self.model, members=list(of_seed)) for of_seed in zip(*members, strict=False))

    def _of_model(self, dataset: str, name: str) -> tuple[RunSpec, ...]:
        scale, model = self.scale, _model(self.study, name)
        settings = scale.training.model_dump(include=set(Hyperparameters.model_fields))
        widths, layout, of_seeds = dict(scale.training.widths), model.layout, scale.seeds
        options: dict[str, Any] = {}
        cell = ({name, model.name}, self.loss, self.fraction, self.captions)
        for exception in scale.training.exceptions:
            if exception.holds(cell, dataset, self.study.name):
                settings |= exception.settings
                widths |= settings.pop("widths", {})
                options |= settings.pop("options", {})
                layout = settings.pop("features", layout)
        for other in scale.other_seeds:
            if other.applies(cell, self.epochs, self.one_caption_per_image):
                of_seeds = other.seeds
        seeds = _of_fraction(scale, "seeds", of_seeds, self.fraction)
        settings["epochs"] = self.epochs or _of_fraction(scale, "training.epochs", settings["epochs"], self.fraction)
        if self.one_caption_per_image is not None:
            settings["one_caption_per_image"] = self.one_caption_per_image
        run = RunSpec(
            dataset=dataset,
            features=self._features(layout),
            features_named=self.features is not None,
            model=model.with_options(options).with_widths(widths),
            loss=self.study.losses[self.loss],
            fraction=self.fraction,
            captions_per_image=self.captions,
            training=Hyperparameters(**settings),
            epochs_named=self.epochs is not None,
        )
        return tuple(run.model_copy(update={"seed": seed}) for seed in seeds)

    def _features(self, layout: str) -> FeatureSpec:
        scale = self.scale
        if self.features is not None:
            return scale.further_features[self.features].as_read
        features = scale.grid_features if layout == "grid" and scale.grid_features is not None else scale.features
        assert features is not None  # a scale with roles has features
        return features.as_read


def _why_left_out(cell: _Cell, dataset: str | None, inference: Inference) -> LeftOut | None:
    scale = cell.scale
    if dataset is None:
        return "role"
    if cell.features is not None and cell.features not in scale.further_features:
        return "features"
    if cell.loss in scale.leave_out.losses:
        return "loss"
    if inference in scale.leave_out.inferences:
        return "inference"
    if cell.fraction in scale.leave_out.fractions:
        return "fraction"
    return None if cell.is_kept else "cell"


def _model(study: Study, name: str) -> ModelSpec:
    """The model that a row names: a variant of the study's, or one of the registry as it is."""
    return study.variants.get(name) or model_spec(name)


def _of_fraction(scale: Scale, key: str, setting: Setting | dict[float, Setting], fraction: float) -> Setting:
    """A setting that a scale gives once for all fractions, or one for each."""
    if not isinstance(setting, dict):
        return setting
    if fraction not in setting:
        known = ", ".join(f"{key:g}" for key in setting)
        raise InputError(
            f"scale {scale.scale}: {key} has no entry for the fraction {fraction:g} (only {known}); "
            "add one, or give a single value for all."
        )
    return setting[fraction]


class SeededRun(Protocol):
    """A run or an ensemble, as far as pairing needs it."""

    @property
    def name(self) -> str:
        """Its folder, and what records call it."""

    @property
    def seed(self) -> int:
        """By which it is paired."""


class Line(Protocol):
    """A row with its runs, one per seed."""

    @property
    def runs(self) -> Sequence[SeededRun]:
        """One per seed."""


AnyLine = TypeVar("AnyLine", bound=Line)


@dataclass(frozen=True)
class Paired(Generic[AnyLine]):
    """Two rows that are compared seed by seed.

    Attributes:
        a: The first side; the difference is a - b.
        b: The second.
        question: What the difference tells; may be empty.
    """

    a: AnyLine
    b: AnyLine
    question: str = ""

    @property
    def seeds(self) -> list[int]:
        """The seeds that both sides have, in the order of the first."""
        others = {run.seed for run in self.b.runs}
        return [run.seed for run in self.a.runs if run.seed in others]

    @property
    def runs(self) -> tuple[list[str], list[str]]:
        """Names of the runs or ensembles of both sides, one for each of ``seeds``."""
        first, second = ({run.seed: run.name for run in row.runs} for row in (self.a, self.b))
        return [first[seed] for seed in self.seeds], [second[seed] for seed in self.seeds]

    @property
    def is_made(self) -> bool:
        """Whether the scale makes both sides, with at least one seed in common."""
        return bool(self.seeds)


class Contrast(Paired[Row]):
    """Two rows of image-text matching that are compared seed by seed."""


def contrasts_of(specs: Iterable[ContrastSpec], study: Study, scale: Scale) -> list[Contrast]:
    """Multiply out contrasts; those of which the scale leaves out a side stay in, without runs.

    Raises:
        InputError: As ``expand_rows``.
    """
    found = []
    for spec in specs:
        for pair in spec.pairs():
            a, b = expand_rows(pair, study, scale)
            found.append(Contrast(a, b, spec.question))
    return found


SubspaceLeftOut = Literal["role", "division", "method"]


@dataclass(frozen=True)
class SubspaceRow:
    """One line of a table or figure of category retrieval, resolved at a scale.

    Attributes:
        role: As the study names it.
        documents: Which documents play it; None if nobody does.
        division: How they are divided.
        method: Its name in the study.
        spec: The method with its settings.
        label: What tables call it.
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
    left_out: SubspaceLeftOut | None = None


class SubspaceContrast(Paired[SubspaceRow]):
    """Two lines of category retrieval that are compared seed by seed."""


def subspace_rows(specs: Iterable[SubspaceRowSpec], study: Study, scale: Scale) -> list[SubspaceRow]:
    """Multiply out rows in the order that ``SubspaceRowSpec`` says; those that the scale does not make stay in.

    A method without epochs has one line, whatever selections are asked for.
    """
    rows: list[SubspaceRow] = []
    for spec in specs:
        made: list[SubspaceRow] = []
        for division, method, selection in itertools.product(
            as_list(spec.division), as_list(spec.method), as_list(spec.selection)
        ):
            row = _row(spec, division, method, selection, study, scale)
            if row not in made:
                made.append(row)
        rows += made
    return rows


def subspace_contrasts(specs: Iterable[SubspaceContrastSpec], study: Study, scale: Scale) -> list[SubspaceContrast]:
    """Multiply out contrasts; those of which the scale leaves out a side stay in, without runs."""
    found = []
    for spec in specs:
        for pair in spec.pairs():
            a, b = subspace_rows(pair, study, scale)
            found.append(SubspaceContrast(a, b, spec.question))
    return found


def rows_shown(exhibit: Exhibit, study: Study, scale: Scale) -> list[SubspaceRow]:
    """Every line of category retrieval of a table or figure: its rows, then both sides of its contrasts."""
    return subspace_rows(exhibit.every_subspace_row(), study, scale)


def subspace_runs_of(rows: Iterable[SubspaceRow]) -> dict[str, SubspaceRun]:
    """Runs of the given rows by name; a shared run appears once.

    Raises:
        InputError: If two different runs would have one name.
    """
    return _union(run for row in rows for run in row.runs)


def _row(
    spec: SubspaceRowSpec, division: str, method: str, selection: Selection, study: Study, scale: Scale
) -> SubspaceRow:
    categories, settings = scale.categories, study.methods[method]
    documents = None if categories is None else categories.roles.get(spec.role)
    left_out: SubspaceLeftOut | None = None
    runs: tuple[SubspaceRun, ...] = ()
    if categories is None or documents is None:
        left_out = "role"
    elif division not in categories.documents[documents].divisions:
        left_out = "division"
    elif not categories.makes(method):
        left_out = "method"
    else:
        runs = _runs(categories, documents, division, method, settings)
    return SubspaceRow(
        role=spec.role,
        documents=documents,
        division=division,
        method=method,
        spec=settings,
        label=study.label_of(method),
        selection=selection if settings.iterative else "last",
        runs=runs,
        published=spec.published,
        left_out=left_out,
    )


def _runs(
    categories: CategoryScale, documents: str, division: str, name: str, method: AnyMethod
) -> tuple[SubspaceRun, ...]:
    data = categories.documents[documents]
    return tuple(
        SubspaceRun(
            documents=documents,
            division=division,
            method=method,
            seed=seed,
            image=method.inputs or data.image,
            text=method.inputs or data.text,
            words=data.words,
            training=categories.training,
        )
        for seed in categories.seeds_of(name, division)
    )
