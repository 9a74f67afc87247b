"""Where everything that is made is kept, so that a run made without the workflow fits into its tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fivesentences.config.features import FeatureSpec
from fivesentences.losses import LossSpec
from fivesentences.semantics.registry import parse_name
from fivesentences.study.runs import RunSpec

ALL_CAPTIONS = "fraction=1"  # what ``captions_of`` calls the whole training split


@dataclass(frozen=True)
class Places:
    """Paths of files. Arguments may be wildcards in braces, such as ``{dataset}``.

    Attributes:
        results: The folder of results.
        data: The folder of downloads.
    """

    results: Path = Path("results")
    data: Path = Path("data")

    def fetched(self, what: str) -> Path:
        """The record that something is in a library's own cache on this machine, such as ``networks/vgg19``."""
        return self.data / "fetched" / f"{what}.json"

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

    def feature_part(self, dataset: str, source: str, part: str) -> Path:
        """Features of a part of the photographs."""
        return self.feature_file(dataset, f"parts/{source}/{part}.npy")

    # --- semantics ------------------------------------------------------------------------------------------

    def phi(self, dataset: str, split: str, file: str) -> Path:
        """A phi matrix, or a file beside it."""
        return self.results / "semantics" / dataset / split / file

    def parsed_tuples(self, dataset: str, part: str) -> Path:
        """Scene-graph tuples of a dataset's captions, as SPICE's parser finds them.

        Args:
            dataset: Of the captions.
            part: As ``part_of_tuples`` names those of a split, or some of them.
        """
        return self.results / "semantics" / dataset / f"{part}.jsonl.gz"

    def phi_files(self, spec: RunSpec) -> dict[str, Path]:
        """phi of training captions that a run's loss reads from files, by name.

        CIDEr is prepared from the run's own captions; a metric that takes long has a matrix of them. tf-idf is
        computed when it is needed.
        """
        names = [name for name in spec.loss.phis if parse_name(name)[0] == "cider"]
        prepared = {name: self.phi(spec.dataset, "train", f"{name},{captions_of(spec)}.npz") for name in names}
        files = prepared | self.phi_matrices(spec.dataset, spec.loss, captions_of(spec))
        return {name: files[name] for name in spec.loss.phis if name in files}

    def phi_matrices(self, dataset: str, loss: LossSpec, captions: str) -> dict[str, Path]:
        """Those that are matrices of the training captions, all or some of them, see ``captions_of``."""
        names = [name for name in loss.phis if parse_name(name)[0] not in ("cider", "tfidf")]
        part = "" if captions == ALL_CAPTIONS else f",{captions}"
        return {name: self.phi(dataset, "train", f"{name}{part}.npy") for name in names}

    def embeddings(self, dataset: str, encoder: str) -> Path:
        """The folder of an encoder's vectors of a dataset's test split."""
        return self.results / "features" / dataset / "encoders" / encoder

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

    def histories(self, scale: str) -> Path:
        """One table of every epoch of every training of a scale."""
        return self.results / "evaluation" / f"{scale}.histories.parquet"

    def retrievals(self, scale: str, exhibit: str) -> Path:
        """The retrievals that a figure compares."""
        return self.results / "evaluation" / "retrievals" / scale / f"{exhibit}.json"

    def disagreements(self, scale: str) -> Path:
        """The queries of a scale's gallery, with what models retrieve for them."""
        return self.results / "evaluation" / "disagreements" / f"{scale}.json"

    def contrasts(self, scale: str, exhibit: str) -> Path:
        """Paired differences of the runs that a table or figure contrasts."""
        return self.results / "evaluation" / "contrasts" / scale / f"{exhibit}.json"

    def agreement(self, scale: str, dataset: str, judge: str, suffix: str) -> Path:
        """Correlations of each phi of a scale with a judge (``json``), or the judged pairs (``parquet``)."""
        return self.results / "evaluation" / "agreement" / scale / dataset / f"{judge}.{suffix}"

    def found_positives(self, scale: str, dataset: str, judge: str) -> Path:
        """How many of a judge's right pairs are among the first pairs by each phi of a scale."""
        return self.results / "evaluation" / "found_positives" / scale / dataset / f"{judge}.parquet"

    def phi_statistics(self, dataset: str) -> Path:
        """What each phi says of a dataset's captions."""
        return self.results / "evaluation" / "meaning" / f"{dataset}.json"

    def margins(self, scale: str, dataset: str) -> Path:
        """What the margins of a dataset's training captions are made of, and those of runs of a scale."""
        return self.results / "evaluation" / "margins" / scale / f"{dataset}.json"

    # --- category retrieval ---------------------------------------------------------------------------------

    def documents(self, documents: str) -> Path:
        """The table of some documents."""
        return self.results / "corpus" / "documents" / f"{documents}.parquet"

    def division(self, documents: str, division: str, seed: int | str) -> Path:
        """Which documents are for training, validation and test."""
        return self.results / "corpus" / "documents" / documents / f"{division},seed={seed}.csv"

    def document_vectors(self, documents: str, modality: Literal["image", "text"]) -> Path:
        """A vector of each document's image or text."""
        return self.results / "features" / "documents" / documents / f"{modality}.npy"

    def subspace_run(self, name: str) -> Path:
        """The folder of a run of category retrieval."""
        return self.results / "training" / "subspaces" / name

    def subspace_record(self, job: str) -> Path:
        """What a job of such runs made."""
        return self.results / "training" / "subspaces" / "jobs" / f"{job}.json"

    def subspace_numbers(self, job: str, part: str = "") -> Path:
        """Every number of a job's runs; a part is ``queries``, ``histories`` or ``category_margins``."""
        return self.results / "evaluation" / "subspaces" / f"{job}{part and '.'}{part}.parquet"

    def subspace_contrasts(self, scale: str, exhibit: str) -> Path:
        """Paired differences of such runs that a table or figure contrasts."""
        return self.results / "evaluation" / "contrasts" / scale / f"{exhibit}.subspaces.json"

    def subspace_projection(self, scale: str, exhibit: str) -> Path:
        """The subspace that a figure shows, on a plane."""
        return self.results / "evaluation" / "subspaces" / "projections" / scale / f"{exhibit}.parquet"

    # --- paper ----------------------------------------------------------------------------------------------

    def exhibit(self, scale: str, exhibit: str, suffix: str) -> Path:
        """A table or figure, by ``study/name``."""
        return self.results / "paper" / scale / f"{exhibit}.{suffix}"

    def claims(self, scale: str, suffix: str) -> Path:
        """What the papers state, with verdicts."""
        return self.results / "paper" / scale / "claims" / f"claims.{suffix}"

    def page(self, scale: str, path: str = "index.html") -> Path:
        """A page of a scale's site, by its path there; the first is the overview."""
        return self.results / "paper" / scale / path

    def runs_page(self, scale: str, file: str = "index.html") -> Path:
        """The page of every run of a scale; beside it ``runs.csv``."""
        return self.results / "paper" / scale / "runs" / file

    def document(self, scale: str) -> Path:
        """A LaTeX document of all tables and figures of a scale."""
        return self.results / "paper" / scale / "paper.tex"

    def manifest(self, scale: str, file: Literal["manifest", "headline", "settings"] = "manifest") -> Path:
        """What a scale's numbers were made of; beside it its headline numbers and its settings, which DVC compares."""
        return self.results / "paper" / scale / f"{file}.json"


def captions_of(spec: RunSpec) -> str:
    """Which training captions a run has, for a file name."""
    return part_of(spec.fraction, spec.captions_per_image, spec.training.draw, spec.seed)


def part_of(
    fraction: float, captions_per_image: int | None = None, draw: Literal["first", "seeded"] = "first", seed: int = 0
) -> str:
    """A part of the training captions, for a file name; see ``corpus.training_part``."""
    fewer = "" if captions_per_image is None else f",captions_per_image={captions_per_image}"
    return f"fraction={fraction:g}{fewer}" + (f",draw=seeded,seed={seed}" if draw == "seeded" and fraction < 1 else "")


def part_of_tuples(split: str, captions: str = "") -> str:
    """The name below a dataset's folder of the tuples of a split, or of some captions of it, without its ending."""
    return f"{split}/tuples,{captions}" if captions else f"{split}/tuples"
