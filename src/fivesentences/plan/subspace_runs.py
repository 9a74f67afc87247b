"""One run of category retrieval: which documents, how they are divided, and what method with which settings."""

from __future__ import annotations

from fivesentences.config.documents import Prepare, SubspaceTraining
from fivesentences.config.types import Count, Name, Seed, Strict
from fivesentences.models.subspaces.specs import AnyMethod


class SubspaceRun(Strict):
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
