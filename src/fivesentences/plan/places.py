"""Where everything that is made is kept, so that a run made without the workflow fits into its tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fivesentences.config import FeatureSpec
from fivesentences.plan.runs import RunSpec
from fivesentences.semantics.registry import parse_name


@dataclass(frozen=True)
class Places:
    """Paths of files. Arguments may be wildcards in braces, such as ``{dataset}``.

    Attributes:
        results: The folder of results.
        data: The folder of downloads.
    """

    results: Path = Path("results")
    data: Path = Path("data")

    # --- corpus and features --------------------------------------------------------------------------------

    def corpus(self, dataset: str) -> Path:
        """The corpus of a dataset; other files about it are in a folder of its name beside it."""
        return self.results / "corpus" / f"{dataset}.parquet"

    def beside_corpus(self, dataset: str, file: str) -> Path:
        """A file about a dataset, such as ``labels.parquet``."""
        return self.results / "corpus" / dataset / file

    def features(self, dataset: str, spec: FeatureSpec, precomp: bool = False) -> Path:
        """Features of a dataset; those of a precomp folder are described in a ``.json`` unless they are reduced."""
        described = precomp and spec.stem == spec.source
        return self.feature_file(dataset, f"{spec.stem}{'.json' if described else '.npy'}")

    def source_of_features(self, dataset: str, spec: FeatureSpec, precomp: bool = False) -> Path:
        """Features before they are reduced."""
        return self.feature_file(dataset, f"{spec.source}{'.json' if precomp else '.npy'}")

    def feature_file(self, dataset: str, file: str) -> Path:
        """A file of features."""
        return self.results / "features" / dataset / file

    # --- semantics ------------------------------------------------------------------------------------------

    def phi(self, dataset: str, split: str, file: str) -> Path:
        """A phi matrix, or a file beside it."""
        return self.results / "semantics" / dataset / split / file

    def parsed_tuples(self, dataset: str) -> Path:
        """Scene-graph tuples of a dataset's captions, as SPICE's parser finds them."""
        return self.results / "semantics" / dataset / "tuples.jsonl.gz"

    def phi_files(self, spec: RunSpec) -> dict[str, Path]:
        """phi of training captions that a run's loss reads from files, by name.

        CIDEr is prepared from the run's own captions; a metric that takes long has a matrix of the whole training
        split. tf-idf is computed when it is needed.
        """
        names = [name for name in spec.loss.phis if parse_name(name)[0] != "tfidf"]
        return {
            name: self.phi(spec.dataset, "train", f"{name},{captions_of(spec)}.npz")
            if parse_name(name)[0] == "cider"
            else self.phi(spec.dataset, "train", f"{name}.npy")
            for name in names
        }

    # --- training and evaluation ----------------------------------------------------------------------------

    def run(self, name: str) -> Path:
        """The folder of a run or ensemble."""
        return self.results / "training" / name

    def record(self, job: str) -> Path:
        """What a training job made: its runs, and a checksum of each of their files."""
        return self.results / "training" / "jobs" / f"{job}.json"

    def similarity(self, run: str, split: str = "test") -> Path:
        """The similarity of a run or ensemble."""
        return self.run(run) / f"similarity_{split}.npy"

    def metrics(self, job: str) -> Path:
        """Every number of the runs or ensembles of an evaluation job."""
        return self.results / "evaluation" / "jobs" / f"{job}.json"

    def per_image(self, job: str) -> Path:
        """What each test image contributes to Rsum and Nsum of the runs or ensembles of an evaluation job."""
        return self.results / "evaluation" / "jobs" / f"{job}.per_image.parquet"

    def tidy(self, scale: str) -> Path:
        """One table of every number of every run of a scale."""
        return self.results / "evaluation" / f"{scale}.parquet"

    def retrievals(self, scale: str, exhibit: str) -> Path:
        """The retrievals that a figure compares."""
        return self.results / "evaluation" / "retrievals" / scale / f"{exhibit}.json"

    def contrasts(self, scale: str, exhibit: str) -> Path:
        """Paired differences of the runs that a table or figure contrasts."""
        return self.results / "evaluation" / "contrasts" / scale / f"{exhibit}.json"

    def agreement(self, dataset: str, judge: str, suffix: str) -> Path:
        """Correlations of each phi with a judge (``json``), or the judged pairs (``parquet``)."""
        return self.results / "evaluation" / "agreement" / dataset / f"{judge}.{suffix}"

    def phi_statistics(self, dataset: str) -> Path:
        """What each phi says of a dataset's captions."""
        return self.results / "evaluation" / "meaning" / f"{dataset}.json"

    # --- paper ----------------------------------------------------------------------------------------------

    def exhibit(self, scale: str, exhibit: str, suffix: str) -> Path:
        """A table or figure, by ``study/name``."""
        return self.results / "paper" / scale / f"{exhibit}.{suffix}"

    def page(self, scale: str) -> Path:
        """The page of a scale."""
        return self.results / "paper" / scale / "index.html"


def captions_of(spec: RunSpec) -> str:
    """Which training captions a run has, for a file name."""
    drawn = spec.training.draw == "seeded" and spec.fraction < 1
    fewer = "" if spec.captions_per_image is None else f",captions_per_image={spec.captions_per_image}"
    return f"fraction={spec.fraction:g}{fewer}" + (f",draw=seeded,seed={spec.seed}" if drawn else "")
