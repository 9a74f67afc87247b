"""Where the workflow keeps what a run reads and writes, so that a run made without it fits into its tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fivesentences.config.features import FeatureSpec
from fivesentences.plan.runs import RunSpec


@dataclass(frozen=True)
class Places:
    """Paths below the folder of results.

    Attributes:
        results: That folder.
    """

    results: Path = Path("results")

    def corpus(self, dataset: str) -> Path:
        """The corpus of a dataset."""
        return self.results / "corpus" / f"{dataset}.parquet"

    def features(self, dataset: str, spec: FeatureSpec, precomp: bool = False) -> Path:
        """Features of a dataset; those of a precomp folder are described in a ``.json`` unless they are reduced."""
        described = precomp and spec.stem == spec.source
        return self.results / "features" / dataset / f"{spec.stem}{'.json' if described else '.npy'}"

    def source_of_features(self, dataset: str, spec: FeatureSpec, precomp: bool = False) -> Path:
        """Features before they are reduced."""
        return self.results / "features" / dataset / f"{spec.source}{'.json' if precomp else '.npy'}"

    def phi_files(self, spec: RunSpec) -> dict[str, Path]:
        """phi of training captions that a run's loss reads from files, by name.

        CIDEr prepared from the run's own captions; matrices of the whole training split of what takes long. tf-idf is
        computed as it is needed.
        """
        folder = self.results / "semantics" / spec.dataset / "train"
        names = [name for name in spec.loss.phis if metric(name) != "tfidf"]
        return {
            name: folder / (f"{name},{captions_of(spec)}.npz" if metric(name) == "cider" else f"{name}.npy")
            for name in names
        }

    def run(self, spec: RunSpec) -> Path:
        """The folder of a run."""
        return self.results / "training" / spec.name


def metric(phi: str) -> str:
    """A phi's name without its tokenisation."""
    return phi.partition("-")[0]


def captions_of(spec: RunSpec) -> str:
    """Which training captions a run has, for a file name."""
    drawn = spec.training.draw == "seeded" and spec.fraction < 1
    fewer = "" if spec.captions_per_image is None else f",captions_per_image={spec.captions_per_image}"
    return f"fraction={spec.fraction:g}{fewer}" + (f",draw=seeded,seed={spec.seed}" if drawn else "")


def prepared_cider(runs: Iterable[RunSpec]) -> dict[str, list[tuple[str, RunSpec]]]:
    """Which CIDEr of training captions runs read: its name and the first run that has these captions, by dataset."""
    needed: dict[str, dict[tuple[str, str], RunSpec]] = {}
    for spec in runs:
        for name in spec.loss.phis:
            if metric(name) == "cider":
                needed.setdefault(spec.dataset, {}).setdefault((name, captions_of(spec)), spec)
    return {dataset: [(name, spec) for (name, _), spec in parts.items()] for dataset, parts in needed.items()}
