"""A dual encoder on a dataset: vectors of its test split, evaluated like a run, though nothing is trained."""

from __future__ import annotations

from typing import Any

from fivesentences.config.reading import check
from fivesentences.config.types import Name, Strict
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.plan.ensembles import EnsembleRun, Trained
from fivesentences.plan.runs import RunSpec


class EncodedRun(Strict):
    """An encoder of a study and the dataset whose test split it embeds."""

    dataset: Name
    model: Name
    encoder: EncoderSpec

    @property
    def name(self) -> str:
        """Folder of its similarity below ``results/training``, and what records call it."""
        return self.named(self.dataset, self.model)

    @property
    def seed(self) -> int:
        """0: nothing about it is drawn."""
        return 0

    @staticmethod
    def named(dataset: str, model: str) -> str:
        """Such a folder."""
        return f"{dataset}/{model},encoder"


Scored = Trained | EncodedRun


def members_of(run: Scored) -> list[RunSpec]:
    """The runs to be trained: a run itself, the members of an ensemble, or none for an encoder."""
    match run:
        case EnsembleRun():
            return run.members
        case EncodedRun():
            return []
    return [run]


def read_scored(content: dict[str, Any], where: str) -> Scored:
    """A run, an ensemble or an encoder from its ``model_dump``.

    Raises:
        InputError: If a key or value is wrong.
    """
    if "encoder" in content:
        return check(EncodedRun, content, where)
    return check(EnsembleRun, content, where) if "members" in content else check(RunSpec, content, where)
