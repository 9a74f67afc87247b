"""An ensemble: several runs whose similarities are averaged and evaluated like those of one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from fivesentences.config.features import FeatureSpec
from fivesentences.config.types import Name, Strict
from fivesentences.losses import LossSpec
from fivesentences.plan.runs import RunSpec

# Between the seeds of members with the same model: far enough that the seeds of a scale stay distinct.
SEED_STEP = 100


class EnsembleRun(Strict):
    """Runs of one dataset, loss and training set, whose mean similarity is shown in a table as one run.

    It has every attribute of a run that a row reads; ``features`` and ``seed`` are those of its first member.
    """

    ensemble: Name = Field(description="its name in the study, such as sgraf")
    members: Annotated[list[RunSpec], Field(min_length=2)]

    @property
    def name(self) -> str:
        """Folder of its similarity below ``results/training``, and of its metrics."""
        return self.members[0].named(f"{self.ensemble},ensemble")

    @property
    def dataset(self) -> str:
        """That of its members."""
        return self.members[0].dataset

    @property
    def features(self) -> FeatureSpec:
        """Those of its first member."""
        return self.members[0].features

    @property
    def loss(self) -> LossSpec:
        """That of its members."""
        return self.members[0].loss

    @property
    def fraction(self) -> float:
        """That of its members."""
        return self.members[0].fraction

    @property
    def seed(self) -> int:
        """That of its first member."""
        return self.members[0].seed

    @model_validator(mode="after")
    def _of_one_kind(self) -> EnsembleRun:
        for key in ("dataset", "loss", "fraction", "captions_per_image"):
            if any(getattr(member, key) != getattr(self.members[0], key) for member in self.members):
                raise ValueError(f"members of an ensemble differ in {key}; their similarities cannot be averaged")
        names = [member.name for member in self.members]
        if len(set(names)) < len(names):
            raise ValueError("a member occurs twice in an ensemble; give it another seed")
        return self


Trained = RunSpec | EnsembleRun
