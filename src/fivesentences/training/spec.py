"""Runs and ensembles: complete settings, the folder that follows from them, and readings of a similarity."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError, model_validator

from fivesentences.config.features import FeatureSpec
from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.config.reading import check
from fivesentences.config.types import (
    INFERENCES,
    CaptionsPerImage,
    Fraction,
    Inference,
    Name,
    RunSeed,
    Strict,
)
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.models import AnyModelSpec
from fivesentences.semantics.names import check_phi
from fivesentences.semantics.registry import model_of, of_batches

FORMAT = 2  # of run.yaml


class Named(Strict):
    """Settings of anything that a job trains."""

    @property
    def name(self) -> str:
        """Its folder below the results of its kind; equal names mean equal runs within a scale."""
        raise NotImplementedError


class RunSpec(Named):
    """One training run, complete: what ``fivesentences train`` and the workflow's training jobs are given."""

    dataset: Name
    features: FeatureSpec
    model: AnyModelSpec
    loss: LossSpec = LossSpec()
    fraction: Fraction = 1.0
    """Share of the training captions."""
    captions_per_image: CaptionsPerImage | None = None
    """Only so many first captions of each training image; null: all."""
    seed: RunSeed = 0
    training: Hyperparameters = Hyperparameters()
    epochs_named: bool = False
    """The name of the run's folder says how many epochs it has."""
    features_named: bool = False
    """The name of the run's folder says which features it reads."""
    group: Name | None = None
    """A word in the name of the run's folder, which tells it from a run of another study with other settings."""

    @property
    def name(self) -> str:
        """Folder of the run below ``results/training``; equal names mean equal runs within a scale."""
        return self.named(self.model.folder)

    def named(self, model: str) -> str:
        """Return such a folder, with another word for the model."""
        features = f"@{self.features.stem}" if self.features_named else ""
        captions = "" if self.captions_per_image is None else f",captions_per_image={self.captions_per_image}"
        noise = f",noise={self.training.noise:g}" if self.training.noise else ""
        epochs = f",epochs={self.training.epochs}" if self.epochs_named else ""
        group = "" if self.group is None else f",{self.group}"
        part = f"fraction={self.fraction:g}{captions}{noise}{epochs}{group}"
        return f"{self.dataset}/{model}{self.loss.suffix}{features}/{self.loss.folder}/{part}/seed={self.seed}"

    def as_recorded(self, recorded: Any) -> dict[str, Any]:
        """Return plain data of the run: as recorded, if that means the same today.

        Snakemake trains again when the text of a run's settings changes. A setting that the package has gained since is
        missing in the record, where it has its default, so the run stays the same; a default that has changed since
        differs from the record, which states the old one.

        Args:
            recorded: ``run`` of an earlier ``run.yaml``, or anything else.
        """
        now = self.model_dump(mode="json")
        try:
            same = RunSpec.model_validate(recorded).model_dump(mode="json") == now
        except (ValidationError, InputError):
            same = False
        return dict(recorded) if same else now

    @model_validator(mode="after")
    def _phis_are_known(self) -> RunSpec:
        for phi in self.loss.phis:
            check_phi(phi, "loss: phi")
            if self.training.noise and model_of(phi) is None and not of_batches(phi):
                raise ValueError(
                    f"training.noise is {self.training.noise:g}, and phi '{phi}' is read from a matrix of the pairs as "
                    "they are; use cider, embedding or another phi that is computed for each batch"
                )
        return self


class RunFile(Strict):
    """``run.yaml``: a run's settings and the files that it read."""

    format: int
    """Changes with the layout of a run's settings."""
    corpus: str
    features: str
    unknown_dev_words: float | None = None
    """Share of the words of dev that the model does not know."""
    run: RunSpec

    @model_validator(mode="before")
    @classmethod
    def _of_this_format(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("format") != FORMAT:
            found = f"of format {given['format']}" if "format" in given else "of an earlier version"
            raise ValueError(f"this run is {found}, and format {FORMAT} is read here; train the run again")
        return given


def recorded_run(folder: Path) -> Any:
    """Read the settings of a run from the ``run.yaml`` in its folder; None if it has none that can be read."""
    try:
        content = read_yaml(folder / "run.yaml")
    except InputError:
        return None
    return content.get("run") if isinstance(content, dict) else None


# Between the seeds of members with the same model: far enough that the seeds of a scale stay distinct.
SEED_STEP = 100


class EnsembleRun(Strict):
    """Runs of one dataset, loss and training set, whose mean similarity is shown in a table as one run.

    It has every attribute of a run that a row reads; ``features`` and ``seed`` are those of its first member.
    """

    ensemble: Name
    """Its name in the study, such as sgraf."""
    members: Annotated[list[RunSpec], Field(min_length=2)]

    @property
    def name(self) -> str:
        """Folder of its similarity below ``results/training``, and of its metrics."""
        return self.members[0].named(f"{self.ensemble},ensemble")

    @property
    def dataset(self) -> str:
        """Dataset of its members."""
        return self.members[0].dataset

    @property
    def features(self) -> FeatureSpec:
        """Features of its first member."""
        return self.members[0].features

    @property
    def loss(self) -> LossSpec:
        """Loss of its members."""
        return self.members[0].loss

    @property
    def fraction(self) -> float:
        """Fraction of its members."""
        return self.members[0].fraction

    @property
    def seed(self) -> int:
        """Seed of its first member."""
        return self.members[0].seed

    @model_validator(mode="after")
    def _of_one_kind(self) -> EnsembleRun:
        for key in ("dataset", "loss", "fraction", "captions_per_image"):
            if any(getattr(member, key) != getattr(self.members[0], key) for member in self.members):
                raise ValueError(f"members of an ensemble differ in {key}; their similarities cannot be averaged")
        return self


class GivenRun(Strict):
    """A similarity that was made elsewhere, which is evaluated as that of a run; nothing is trained."""

    given: Name
    """Its name in the scale."""
    title: str
    dataset: Name
    features: str | None = None
    """File name of the features that its model read, without a suffix; null: not known."""
    fraction: Fraction = 1.0
    seed: RunSeed = 0

    @property
    def name(self) -> str:
        """Folder of its similarity below ``results/training``, and of its metrics."""
        return f"{self.dataset}/{self.given},matrix_of_others/as_given/fraction={self.fraction:g}/seed={self.seed}"


AS_GIVEN = "as given"  # what stands in place of a loss
Scored = RunSpec | EnsembleRun | GivenRun


def members_of(run: Scored) -> list[RunSpec]:
    """Return the runs to be trained: a run itself, the members of an ensemble, or none of a matrix of others."""
    match run:
        case EnsembleRun():
            return run.members
        case GivenRun():
            return []
    return [run]


def features_of(run: Scored) -> list[str]:
    """Return file names of the features that its models read, without suffixes; none where they are not known."""
    if isinstance(run, GivenRun):
        return [run.features] if run.features else []
    return [member.features.stem for member in members_of(run)]


def read_scored(content: dict[str, Any], where: str) -> Scored:
    """Read a run, an ensemble or a matrix of others from its ``model_dump``.

    Raises:
        InputError: If a key or value is wrong.
    """
    if "given" in content:
        return check(GivenRun, content, where)
    return check(EnsembleRun, content, where) if "members" in content else check(RunSpec, content, where)


CHANCE = "chance"  # stands for the method in the reading of a random ranking

_IN_FOLDS = re.compile(r"([a-z_]+), (first of )?([0-9]{1,3}) folds")


def reading_of(inference: str, folds: int | str | None) -> str:
    """Return the name of a reading: ``csls``, ``csls, 5 folds`` or ``csls, first of 5 folds``."""
    return inference if folds is None else f"{inference}, {folds} folds"


def method_and_folds(reading: str) -> tuple[Inference, int, int]:
    """The inference method of a reading, into how many galleries the split is cut, and how many of these are read.

    One gallery is the whole split.

    Raises:
        InputError: If it names no reading.
    """
    found = _IN_FOLDS.fullmatch(reading)
    method, folds = (found[1], int(found[3])) if found else (reading, 1)
    if method not in INFERENCES or folds < 1:
        known = ", ".join(INFERENCES)
        raise InputError(f"'{reading}' is no way to read a similarity; it is one of {known}, perhaps with folds.")
    return cast(Inference, method), folds, 1 if found and found[2] else folds
