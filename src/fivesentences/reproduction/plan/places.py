"""Where everything that is made is kept, so that a run made without the workflow fits into its tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fivesentences.config.features import FeatureSpec
from fivesentences.losses import LossSpec
from fivesentences.semantics.registry import model_of, of_batches, parse_name
from fivesentences.training.spec import RunSpec

ALL_CAPTIONS = "fraction=1"  # what ``captions_of`` calls the whole training split


def _result(path: str) -> Callable[..., Path]:
    """A method of ``Places``: this path below the results, with its arguments in place of the words in braces."""
    words = re.findall(r"{(\w+)}", path)

    def place(self: Places, *names: object) -> Path:
        return self.results / path.format(**dict(zip(words, names, strict=True)))

    return place


@dataclass(frozen=True)
class Places:
    """Paths of files.

    Attributes:
        results: The folder of results.
        data: The folder of downloads.
    """

    results: Path = Path("results")
    data: Path = Path("data")

    corpus = _result("corpus/{dataset}.parquet")
    images = _result("corpus/{dataset}/images.parquet")  # of a corpus, without their captions
    beside_corpus = _result("corpus/{dataset}/{file}")
    feature_file = _result("features/{dataset}/{file}")
    phi = _result("semantics/{dataset}/{split}/{file}")  # a matrix, or a file beside it

    run = _result("training/{run}")  # the folder of a run or ensemble
    record = _result("training/jobs/{job}.json")  # what a job made: its runs, and a checksum of each of their files
    similarity = _result("training/{run}/similarity_test.npy")
    metrics = _result("evaluation/jobs/{job}.json")  # every number of its runs or ensembles
    per_image = _result("evaluation/jobs/{job}.per_image.parquet")  # what each test image adds to Rsum and Nsum
    banks = _result("evaluation/jobs/{job}.banks.parquet")  # of training queries, which some inference methods read

    tidy = _result("evaluation/{pool}.parquet")  # every number of every run of some studies; see ``Runs.pools``
    histories = _result("evaluation/{pool}.histories.parquet")  # every epoch of their trainings
    retrievals = _result("evaluation/retrievals/{scale}/{exhibit}.json")  # those that a figure compares
    disagreements = _result("evaluation/disagreements/{scale}.json")  # the queries of the gallery, with retrievals
    contrasts = _result("evaluation/contrasts/{scale}/{exhibit}.json")  # paired differences of runs
    agreement = _result("evaluation/agreement/{scale}/{dataset}/{judge}.{suffix}")  # json: of phi; parquet: the pairs
    found_positives = _result("evaluation/found_positives/{scale}/{dataset}/{judge}.parquet")
    caption_vectors = _result("semantics/{dataset}/vectors/{model}.npy")  # of all captions, by a sentence encoder
    phi_statistics = _result("evaluation/meaning/{dataset}.json")
    margins = _result("evaluation/margins/{scale}/{dataset}.json")  # what margins of captions and of runs are made of

    documents = _result("corpus/documents/{documents}.parquet")
    division = _result("corpus/documents/{documents}/{division},seed={seed}.csv")
    document_vectors = _result("features/documents/{documents}/{modality}.npy")  # of each document's image or text
    subspace_run = _result("training/subspaces/{run}")
    subspace_record = _result("training/subspaces/jobs/{job}.json")
    subspace_contrasts = _result("evaluation/contrasts/{scale}/{exhibit}.subspaces.json")
    subspace_projection = _result("evaluation/subspaces/projections/{scale}/{exhibit}.parquet")

    exhibit = _result("paper/{scale}/{exhibit}.{suffix}")  # a table or figure, by ``study/name``
    page = _result("paper/{scale}/{path}")  # of the site, by its path there
    document = _result("paper/{scale}/paper.tex")  # all tables and figures
    manifest = _result("paper/{scale}/manifest.json")  # what the numbers were made of

    def fetched(self, what: str) -> Path:
        """Return the record that something is in a library's own cache on this machine, such as ``networks/vgg19``."""
        return self.data / "fetched" / f"{what}.json"

    def features(self, dataset: str, spec: FeatureSpec, precomp: bool = False) -> Path:
        """Features of a dataset; those of a precomp folder are described in a ``.json`` unless they are reduced."""
        described = precomp and spec.stem == spec.source
        return self.feature_file(dataset, f"{spec.stem}{'.json' if described else '.npy'}")

    def source_of_features(self, dataset: str, spec: FeatureSpec, precomp: bool = False) -> Path:
        """Features before they are reduced."""
        return self.feature_file(dataset, f"{spec.source}{'.json' if precomp else '.npy'}")

    def parsed_tuples(self, dataset: str, split: str, captions: str = "") -> Path:
        """Scene-graph tuples, as SPICE's parser finds them, of a split or of ``captions`` of it (``captions_of``)."""
        return self.phi(dataset, split, f"tuples{captions and ','}{captions}.jsonl.gz")

    def phi_files(self, spec: RunSpec) -> dict[str, Path]:
        """phi of training captions that a run's loss reads from files, by name.

        CIDEr is prepared from the run's own captions, SPICE has a matrix of them, and a phi of vectors their vectors.
        Others are computed when they are needed.
        """
        # Wrong pairs give each image other references, by seed: they are not prepared for all runs at once.
        names = [name for name in spec.loss.phis if parse_name(name)[0] == "cider" and not spec.training.noise]
        prepared = {name: self.phi(spec.dataset, "train", f"{name},{captions_of(spec)}.npz") for name in names}
        files = prepared | self.phi_matrices(spec.dataset, spec.loss, captions_of(spec))
        return {name: files[name] for name in spec.loss.phis if name in files}

    def phi_matrices(self, dataset: str, loss: LossSpec, captions: str) -> dict[str, Path]:
        """Return the phi that are matrices of training captions (see ``captions_of``), or vectors of all."""
        part = "" if captions == ALL_CAPTIONS else f",{captions}"
        found = {}
        for name in loss.phis:
            if (model := model_of(name)) is not None:
                found[name] = self.caption_vectors(dataset, model)
            elif not of_batches(name):
                found[name] = self.phi(dataset, "train", f"{name}{part}.npy")
        return found

    def subspace_numbers(self, job: str, part: str = "") -> Path:
        """Every number of a job of category retrieval; a part is ``queries``, ``histories`` or ``category_margins``."""
        return self.results / "evaluation" / "subspaces" / f"{job}{part and '.'}{part}.parquet"


def captions_of(spec: RunSpec) -> str:
    """Which training captions a run has, for a file name."""
    return part_of(spec.fraction, spec.captions_per_image)


def part_of(fraction: float, captions_per_image: int | None = None) -> str:
    """Name a part of the training captions, for a file name; see ``corpus.training_part``."""
    fewer = "" if captions_per_image is None else f",captions_per_image={captions_per_image}"
    return f"fraction={fraction:g}{fewer}"


def as_text(paths: Mapping[str, Path]) -> dict[str, str]:
    """Return paths as text, by the same names."""
    return {name: str(path) for name, path in paths.items()}
