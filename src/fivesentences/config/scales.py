"""A scale: which dataset plays which role, how long to train, and what is made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fivesentences.config.datasets import Dataset
from fivesentences.config.features import FeatureSpec
from fivesentences.config.types import (
    CaptionsPerImage,
    EvaluationPhi,
    Fraction,
    Inference,
    Judge,
    Name,
    PhiName,
    Strict,
    Width,
    as_list,
)

Epochs = Annotated[int, Field(ge=1)]
Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]


class CellSpec(Strict):
    """Some cells of models x losses x training sets; whatever is null matches every one."""

    model: Name | list[Name] | None = Field(default=None, description="a study's name of it, or the registry's")
    loss: Name | list[Name] | None = Field(default=None, description="a study's name of it")
    fraction: Fraction | list[Fraction] | None = None
    captions_per_image: CaptionsPerImage | Literal["all"] | list[CaptionsPerImage | Literal["all"]] | None = None

    def matches(self, models: set[str], loss: str, fraction: float, captions_per_image: int | None = None) -> bool:
        """Whether a cell is one of them; its model may have several names."""
        captions = captions_per_image or "all"
        return (
            (self.model is None or bool(models & set(as_list(self.model))))
            and (self.loss is None or loss in as_list(self.loss))
            and (self.fraction is None or fraction in as_list(self.fraction))
            and (self.captions_per_image is None or captions in as_list(self.captions_per_image))
        )


CELL = tuple(CellSpec.model_fields)


class TrainingException(CellSpec):
    """What some runs get instead of the scale's own settings; of several that set one thing, the last counts."""

    seeds: Seeds | None = None
    features: Literal["global", "grid"] | None = None
    embedding: Width | None = None
    word: Width | None = None
    similarity_dim: Width | None = None
    caption_hidden: Width | None = None
    caption_word: Width | None = None
    concepts: Width | None = None
    epochs: Epochs | dict[Fraction, Epochs] | None = None
    batch_size: Annotated[int, Field(ge=2)] | None = None
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    drop_after: Annotated[float, Field(gt=0, le=1)] | None = None
    gradient_clip: Annotated[float, Field(gt=0)] | None = None
    selection_images: Annotated[int, Field(ge=1)] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What it sets."""
        keys = [key for key in type(self).model_fields if key not in CELL]
        return {key: value for key in keys if (value := getattr(self, key)) is not None}

    @model_validator(mode="after")
    def _sets_something(self) -> TrainingException:
        if all(getattr(self, key) is None for key in CELL):
            raise ValueError("an exception names a model, a loss or a fraction; what holds for all stands above it")
        if not self.settings:
            raise ValueError("an exception without a setting changes nothing; remove it")
        return self


class TrainingScale(Strict):
    """How long and how wide to train at a scale; what a run does not get from its study's row."""

    embedding: int = Field(default=1024, ge=1)
    word: int = Field(default=300, ge=1)
    epochs: Epochs | dict[Fraction, Epochs] = Field(default=30)
    batch_size: int = Field(default=128, ge=2)
    learning_rate: float = Field(default=2e-4, gt=0)
    drop_after: float = Field(default=0.5, gt=0, le=1)
    gradient_clip: float = Field(default=2.0, gt=0)
    min_word_count: int = Field(default=4, ge=1)
    selection: Literal["rsum", "ncs"] = "rsum"
    selection_images: Annotated[int, Field(ge=1)] | None = None
    bucketing: bool = False
    draw: Literal["first", "seeded"] = "first"
    threads: int = Field(default=1, ge=1)
    minutes: int = Field(default=30, ge=1, description="time a scheduler should grant one run")
    gpu: bool = False
    runs_per_job: int = Field(default=1, ge=1, description="the most runs that one process trains one after the other")
    tensorboard: bool = Field(default=False, description="a run's history as TensorBoard events too")
    exceptions: list[TrainingException] = Field(default=[], description="other settings for some models or losses")


# Which loader a judge's captions and images come from.
JUDGED_LOADER: dict[str, str] = {
    "cxc": "karpathy",
    "flickr8k_expert": "flickr8k",
    "flickr8k_expert_each": "flickr8k",
    "flickr8k_crowdflower": "flickr8k",
    "scenes_truth": "scenes",
}


class LeaveOut(Strict):
    """What of the studies a scale has no time or no means for; tables say so."""

    losses: list[Name] = Field(default=[])
    fractions: list[Fraction] = Field(default=[])
    phis: list[PhiName] = Field(default=[], description="not asked for agreement, and not drawn")
    inferences: list[Inference] = Field(default=[])


class JudgeSpec(Strict):
    """Who says how well captions of a dataset fit its images."""

    judge: Judge
    dataset: Name


class Scale(Strict):
    """One scale: ``config/<name>.yaml``."""

    scale: Name
    title: str
    mirror: Path | None = None
    roles: dict[Name, Name]
    datasets: dict[Name, Dataset]
    features: FeatureSpec | None = Field(default=None, description="null: captions only, nothing is trained")
    grid_features: FeatureSpec | None = Field(default=None, description="for models that read regions; null: features")
    further_features: dict[Name, FeatureSpec] = Field(
        default={}, description="for rows that name features, such as resnet152; without them these rows are left out"
    )
    evaluation_phi: PhiName = "cider"
    evaluation_phis: list[EvaluationPhi] = Field(default=[], description="further phi that runs are evaluated with")
    matrices: list[PhiName] = Field(default=[], description="further phi matrices of every dataset's test split")
    judges: list[JudgeSpec] = Field(default=[])
    seeds: Seeds | dict[Fraction, Seeds] = Field(default=[0])
    training: TrainingScale = TrainingScale()
    studies: list[Name] = Field(min_length=1)
    only: list[Name] | None = Field(default=None, description="tables and figures to make; null: all of the studies")
    keep: list[CellSpec] | None = Field(
        default=None, description="the only rows that are made, except by the target `complete`; null: all"
    )
    leave_out: LeaveOut = LeaveOut()

    @property
    def complete(self) -> Scale:
        """The same scale without ``keep``: its tables have every row, and go into a folder of their own."""
        named = {"scale": f"{self.scale}-complete", "title": f"{self.title}, every row"}
        return self.model_copy(update=named | {"keep": None})

    def keeps(self, models: set[str], loss: str, fraction: float, captions_per_image: int | None) -> bool:
        """Whether the scale makes such a row."""
        return self.keep is None or any(
            cells.matches(models, loss, fraction, captions_per_image) for cells in self.keep
        )

    @property
    def phis(self) -> list[str]:
        """Every phi that runs are evaluated with, ``evaluation_phi`` first, each once."""
        return list(dict.fromkeys([self.evaluation_phi, *self.evaluation_phis]))

    def makes(self, name: str) -> bool:
        """Whether the scale makes a table or figure of that name."""
        return self.only is None or name in self.only

    @model_validator(mode="after")
    def _runs_have_features(self) -> Scale:
        if self.roles and self.features is None:
            raise ValueError("features is missing; models are trained on them (only a scale without roles needs none)")
        return self

    @model_validator(mode="after")
    def _grid_is_a_grid(self) -> Scale:
        if self.grid_features is not None and self.grid_features.layout != "grid":
            raise ValueError("grid_features.layout is 'global'; write layout: grid there, or leave the block out")
        return self

    @model_validator(mode="after")
    def _judges_know_their_dataset(self) -> Scale:
        for spec in self.judges:
            if spec.dataset not in self.datasets:
                known = ", ".join(self.datasets)
                raise ValueError(f"judges: {spec.judge} judges '{spec.dataset}', but datasets has only: {known}")
            loader = JUDGED_LOADER[spec.judge]
            if self.datasets[spec.dataset].loader != loader:
                raise ValueError(f"judges: {spec.judge} judges a dataset of the loader {loader}, not '{spec.dataset}'")
        if len({spec.judge for spec in self.judges}) < len(self.judges):
            raise ValueError("judges: every judge may stand there once")
        return self

    @model_validator(mode="after")
    def _roles_are_played(self) -> Scale:
        for role, dataset in self.roles.items():
            if dataset not in self.datasets:
                known = ", ".join(self.datasets)
                raise ValueError(f"roles.{role} is '{dataset}', but datasets has only: {known}")
        for seeds in self.seeds.values() if isinstance(self.seeds, dict) else [self.seeds]:
            if len(set(seeds)) != len(seeds):
                raise ValueError(f"seeds is {seeds}; every seed may stand there once")
        return self
