"""One run's similarity on test -> every number of it, with everything needed to read them right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.corpus import Corpus
from fivesentences.corpus.labels import read_labels
from fivesentences.errors import InputError
from fivesentences.metrics import TIE_RULE, Evaluator, MetricValue
from fivesentences.metrics.asp import mean_phi
from fivesentences.metrics.ranking import DIRECTIONS
from fivesentences.plan.ensembles import EnsembleRun, members_of
from fivesentences.plan.runs import RunSpec
from fivesentences.retrieval import hubness, rescore
from fivesentences.retrieval.matrices import Direction
from fivesentences.semantics import read_phi, read_phi_note
from fivesentences.storage import replacing, write_json

CUTOFFS = (1, 5, 10)
RELEVANT = (1, 2, 3, 4, 5)  # m of semantic recall; Figure 3 of Five Sentences draws it
ASP_TIES = ("index", "average")
Hubs = dict[str, dict[str, list[int]]]


class RunValue(MetricValue):
    """One number of a run; ``inference`` says how its similarity was read."""

    inference: str


def evaluate_similarity(
    similarity: ArrayLike,
    phis: Mapping[str, ArrayLike],
    image_of_caption: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    inferences: Sequence[str] = ("naive",),
) -> list[RunValue]:
    """Every number of one similarity in both directions, as it is and re-scored; see ``evaluate_with_hubs``."""
    return evaluate_with_hubs(similarity, phis, image_of_caption, labels=labels, inferences=inferences)[0]


def evaluate_with_hubs(
    similarity: ArrayLike,
    phis: Mapping[str, ArrayLike],
    image_of_caption: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    inferences: Sequence[str] = ("naive",),
) -> tuple[list[RunValue], Hubs]:
    """Every number of one similarity in both directions, as it is and re-scored, and how often items are nearest.

    Args:
        similarity: ``[images, captions]``, larger is more similar.
        phis: ``[captions, images]`` by name. The first is the main one: the others have NCS and ASP, but no semantic
            recall, and are not asked of re-scored similarities.
        image_of_caption: ``[captions]``; default equal image-major blocks.
        labels: ``[images, labels]``, true where a picture shows a thing; with them there is PMRP.
        inferences: Names of ``fivesentences.retrieval.INFERENCE``.

    Returns:
        The numbers; and by inference and direction how many items are the nearest of no query, of one, of two ...

    Raises:
        InputError: If shapes disagree, a value is not finite, or an inference method is unknown.
    """
    main, *others = phis
    matrix = np.asarray(similarity)
    with_labels: dict[str, Any] = {} if labels is None else {"labels": labels}
    of_main = Evaluator(
        {main: phis[main]}, image_of_caption, ks=CUTOFFS, ms=RELEVANT, asp_ties=ASP_TIES, hubness=True, **with_labels
    )
    values: list[RunValue] = []
    hubs: Hubs = {}
    for method in inferences:
        for directions, scores in rescored(matrix, method, image_of_caption):
            # The sums of two directions are taken below, where these may come from two matrices.
            found = of_main(scores, directions)
            values += [RunValue(**value, inference=method) for value in found if value["direction"]]
            for direction in directions:
                counts = hubness(scores, direction, image_of_caption=image_of_caption).counts
                hubs.setdefault(method, {})[direction] = np.bincount(counts).tolist()
        if method == "naive" and others:
            of_others = Evaluator(
                {name: phis[name] for name in others}, image_of_caption, ks=CUTOFFS, ms=(), asp_ties=ASP_TIES
            )
            values += [
                RunValue(**value, inference=method)
                for value in of_others(matrix)
                if value["phi"] and value["direction"]
            ]
    return values + _sums(values), hubs


def rescored(
    similarity: NDArray, method: str, image_of_caption: ArrayLike | None = None
) -> Iterator[tuple[tuple[Direction, ...], NDArray]]:
    """Similarities as an inference method reads them, each with the directions that are read from it.

    The inverted softmax of image queries and that of caption queries are two matrices; every other method has one.
    """
    if method == "naive":
        yield DIRECTIONS, similarity
    elif method == "inverted_softmax":
        for direction in DIRECTIONS:
            yield (direction,), rescore(similarity, method, direction)
    elif method == "assignment":
        yield DIRECTIONS, rescore(similarity, method, "i2t", image_of_caption=image_of_caption)
    else:
        yield DIRECTIONS, rescore(similarity, method, "i2t")


@dataclass(frozen=True)
class Evaluated:
    """A run or ensemble to evaluate.

    Attributes:
        spec: Its settings.
        similarity: ``[images, captions]`` as ``.npy``.
        inferences: How the similarity is read, each one of ``fivesentences.retrieval.INFERENCE``.
    """

    spec: RunSpec | EnsembleRun
    similarity: Path
    inferences: Sequence[str] = ("naive",)


def evaluate_runs(
    runs: Sequence[Evaluated],
    *,
    corpus: Path,
    phis: Sequence[str],
    matrices: Mapping[str, Path],
    out: Path,
    labels: Path | None = None,
    split: str = "test",
) -> None:
    """Write every number of some runs or ensembles of one dataset as one JSON file, a list with one entry per run.

    Args:
        runs: The runs.
        corpus: The corpus they were trained on, as parquet.
        phis: What they are evaluated with, the main one first; ``a+b`` is the mean of the matrices ``a`` and ``b``.
        matrices: ``.npy`` of each phi by name, ``[captions, images]`` of the same split, with its note beside it.
        out: The JSON file.
        labels: ``labels.parquet`` of the dataset, if it has labels.
        split: Which images and captions are the gallery.

    Raises:
        InputError: If phi was made of other captions, a similarity does not fit the split, or an image has no labels.
    """
    gallery = Corpus.read(corpus).split(split)
    read = {name: read_phi(path, gallery.captions) for name, path in matrices.items()}
    means = {name: read[name] if name in read else mean_phi([read[one] for one in name.split("+")]) for name in phis}
    shown = read_labels(labels, list(gallery.images["image_id"])) if labels is not None else None
    contents = []
    for run in runs:
        spec, matrix = run.spec, np.load(run.similarity, mmap_mode="r", allow_pickle=False)
        if matrix.shape != (gallery.n_images, gallery.n_captions):
            raise InputError(
                f"{run.similarity} is {list(matrix.shape)}, but {split} of {gallery.name} has {gallery.n_images} "
                f"images and {gallery.n_captions} captions; train the run again."
            )
        values, hubs = evaluate_with_hubs(
            matrix, means, gallery.image_of_caption, labels=shown, inferences=run.inferences
        )
        ensemble = isinstance(spec, EnsembleRun)
        contents.append(
            {
                "run": spec.name,
                "dataset": spec.dataset,
                "model": spec.ensemble if isinstance(spec, EnsembleRun) else spec.model.folder,
                "ensemble_of": [member.name for member in members_of(spec)] if ensemble else [],
                "loss": spec.loss.folder,
                "fraction": spec.fraction,
                "seed": spec.seed,
                "features": spec.features.stem,
                "main_phi": phis[0],
                "phi_made_of": {name: read_phi_note(path) for name, path in matrices.items()},
                "protocol": "the whole split is one gallery",
                "split": split,
                "images": gallery.n_images,
                "captions": gallery.n_captions,
                "tie_rule": TIE_RULE,
                "labels": labels is not None,
                "spec": spec.model_dump(mode="json"),
                "values": values,
                "hubs": hubs,
            }
        )
    write_json(out, contents)


def write_mean_similarity(similarities: Sequence[Path], out: Path) -> None:
    """Write the mean of some similarities, which is that of an ensemble: SGRAF of SGR and SAF, SCAN of both directions.

    Args:
        similarities: ``[images, captions]`` of each member, as ``.npy``; read piece by piece.
        out: Where to write it, float32 ``.npy``.

    Raises:
        InputError: If there is none, or their shapes differ.
    """
    matrices = [np.load(path, mmap_mode="r", allow_pickle=False) for path in similarities]
    if not matrices:
        raise InputError(f"{out}: an ensemble needs the similarity of at least one member.")
    for path, matrix in zip(similarities, matrices, strict=True):
        if matrix.shape != matrices[0].shape:
            raise InputError(
                f"{path} is {list(matrix.shape)}, but {similarities[0]} is {list(matrices[0].shape)}; "
                "train the members of an ensemble on the same images and captions."
            )
    with replacing(out) as temporary:
        mean = np.lib.format.open_memmap(temporary, "w+", np.float32, matrices[0].shape)
        for rows in (slice(start, start + 256) for start in range(0, len(mean), 256)):
            mean[rows] = np.mean([matrix[rows] for matrix in matrices], axis=0, dtype=np.float64)
        mean.flush()


def _sums(values: Sequence[RunValue]) -> list[RunValue]:
    """Rsum and Nsum of each inference method: sums over cut-offs and directions."""
    sums: dict[tuple[str, str, str, str, str], float] = {}
    for value in values:
        name = {"R": "Rsum", "N": "Nsum"}.get(value["metric"].partition("@")[0])
        if name and "@" in value["metric"]:
            key = (value["inference"], name, value["formula"], value["ground_truth"], value["phi"])
            sums[key] = sums.get(key, 0.0) + value["value"]
    return [
        RunValue(
            metric=name, direction="", formula=formula, ground_truth=kept, m=0, style="",
            weighting="", discount="", phi=phi, value=total,
            inference=inference,
        )
        for (inference, name, formula, kept, phi), total in sums.items()
    ]  # fmt: skip
