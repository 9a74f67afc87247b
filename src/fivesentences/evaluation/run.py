"""One run's similarity on test -> every number of it, with everything needed to read them right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivesentences.config import RunSpec
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.metrics import TIE_RULE, Evaluator, MetricValue
from fivesentences.semantics import read_phi, read_phi_note
from fivesentences.storage import write_json

CUTOFFS = (1, 5, 10)
RELEVANT = (1, 2, 3, 4, 5)  # m of semantic recall; Figure 3 of Five Sentences draws it


def evaluate_similarity(
    similarity: ArrayLike, phi: ArrayLike, image_of_caption: ArrayLike | None = None
) -> list[MetricValue]:
    """Recall, ranks, NCS and semantic recall of one similarity, in both directions.

    Args:
        similarity: ``[images, captions]``, larger is more similar.
        phi: ``[captions, images]``.
        image_of_caption: ``[captions]``; default equal image-major blocks.

    Raises:
        InputError: If shapes disagree or a value is not finite.
    """
    return Evaluator(phi, image_of_caption, ks=CUTOFFS, ms=RELEVANT)(similarity)


def evaluate_run(spec: RunSpec, *, corpus: Path, similarity: Path, phi: Path, out: Path, split: str = "test") -> None:
    """Write every number of a run as one JSON file: values with their protocol, gallery, tie rule and phi.

    Args:
        spec: The run.
        corpus: The corpus it was trained on, as parquet.
        similarity: ``[images, captions]`` of ``split``, as ``.npy``.
        phi: ``[captions, images]`` of the same split, with its note beside it.
        out: The JSON file.
        split: Which images and captions are the gallery.

    Raises:
        InputError: If phi was made of other captions, or the similarity does not fit the split.
    """
    gallery = Corpus.read(corpus).split(split)
    matrix = np.load(similarity, mmap_mode="r", allow_pickle=False)
    if matrix.shape != (gallery.n_images, gallery.n_captions):
        raise InputError(
            f"{similarity} is {list(matrix.shape)}, but {split} of {gallery.name} has {gallery.n_images} images and "
            f"{gallery.n_captions} captions; train the run again."
        )
    values = evaluate_similarity(matrix, read_phi(phi, gallery.captions), gallery.image_of_caption)
    content: dict[str, Any] = {
        "run": spec.name,
        "dataset": spec.dataset,
        "model": spec.model.name,
        "loss": spec.loss.folder,
        "fraction": spec.fraction,
        "seed": spec.seed,
        "features": spec.features.stem,
        "phi": read_phi_note(phi)["metric"],
        "phi_made_of": read_phi_note(phi),
        "protocol": "the whole split is one gallery",
        "split": split,
        "images": gallery.n_images,
        "captions": gallery.n_captions,
        "tie_rule": TIE_RULE,
        "spec": spec.model_dump(mode="json"),
        "values": values,
    }
    write_json(out, content)
