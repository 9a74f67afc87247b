"""A scale: which dataset plays which role, how long to train, and what is made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.blocks import EvaluationPhi, Fraction, Inference, Judge, Name, PhiName, Strict
from fivesentences.config.datasets import Dataset
from fivesentences.config.runs import FeatureSpec


class TrainingScale(Strict):
    """How long and how wide to train at a scale; what a run does not get from its study's row."""

    embedding: int = Field(default=1024, ge=1)
    word: int = Field(default=300, ge=1)
    epochs: int | dict[Fraction, Annotated[int, Field(ge=1)]] = Field(default=30)
    batch_size: int = Field(default=128, ge=2)
    learning_rate: float = Field(default=2e-4, gt=0)
    drop_after: float = Field(default=0.5, gt=0, le=1)
    gradient_clip: float = Field(default=2.0, gt=0)
    min_word_count: int = Field(default=4, ge=1)
    selection: Literal["rsum", "ncs"] = "rsum"
    draw: Literal["first", "seeded"] = "first"
    threads: int = Field(default=1, ge=1)
    minutes: int = Field(default=30, ge=1, description="time a scheduler should grant one run")
    gpu: bool = False
    runs_per_job: int = Field(default=1, ge=1, description="the most runs that one process trains one after the other")


# Which loader a judge's captions and images come from.
JUDGED_LOADER: dict[str, str] = {
    "cxc": "karpathy",
    "flickr8k_expert": "flickr8k",
    "flickr8k_expert_each": "flickr8k",
    "flickr8k_crowdflower": "flickr8k",
    "scenes_truth": "scenes",
}
Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]


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
    evaluation_phi: PhiName = "cider"
    evaluation_phis: list[EvaluationPhi] = Field(default=[], description="further phi that runs are evaluated with")
    matrices: list[PhiName] = Field(default=[], description="further phi matrices of every dataset's test split")
    judges: list[JudgeSpec] = Field(default=[])
    seeds: Seeds | dict[Fraction, Seeds] = Field(default=[0])
    training: TrainingScale = TrainingScale()
    studies: list[Name] = Field(min_length=1)
    only: list[Name] | None = Field(default=None, description="tables and figures to make; null: all of the studies")
    leave_out: LeaveOut = LeaveOut()

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
