"""Runs of category retrieval: complete settings, and where the files of one are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.config.reading import check
from fivesentences.config.types import Count, Name, Seed
from fivesentences.reproduction.categories.config import Prepare, SubspaceTraining
from fivesentences.reproduction.categories.models.specs import AnyMethod
from fivesentences.training.spec import Named


class SubspaceRun(Named):
    """One run, complete; its folder is ``results/training/subspaces/<name>``."""

    documents: Name
    division: Name
    method: AnyMethod
    seed: Seed
    image: Prepare
    text: Prepare
    words: Count
    training: SubspaceTraining

    @property
    def name(self) -> str:
        """Equal names mean equal runs within a scale."""
        return f"{self.documents}/{self.division}/{self.method.folder}/seed={self.seed}"

    @property
    def plain(self) -> dict[str, Any]:
        """Plain data from which the same run is read: of the method only what was stated, which its name says."""
        return self.model_dump(mode="json", exclude={"method"}) | {
            "method": self.method.model_dump(mode="json", exclude_unset=True)
        }


@dataclass(frozen=True)
class PlacedRun:
    """A run and where its files are.

    Attributes:
        run: Its settings.
        folder: Its folder.
        division: The table that says which documents are for training, validation and test.
    """

    run: SubspaceRun
    folder: Path
    division: Path

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> PlacedRun:
        """Read a run from plain data, as the plan writes it: the keys ``run``, ``folder`` and ``division``.

        Raises:
            InputError: If the settings are wrong.
        """
        folder = Path(given["folder"])
        return cls(check(SubspaceRun, given["run"], str(folder)), folder, Path(given["division"]))

    @property
    def plain(self) -> dict[str, Any]:
        """Plain data, which ``of`` reads."""
        return {"run": self.run.plain, "folder": str(self.folder), "division": str(self.division)}
