"""How many pairs a phi, or shared labels, take for right until they reach each pair that a judge calls right.

Figure 1 and section B of DAA's supplement: the positives that a metric takes for granted, held against those that
people confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.console import track
from fivesentences.corpus import Corpus
from fivesentences.corpus.judgements import Judgements
from fivesentences.corpus.parquet import write_frame
from fivesentences.errors import InputError
from fivesentences.metrics.plausible_match import UNLABELLED, LabelDistances
from fivesentences.reproduction.config.scales import LABELS, RIGHT
from fivesentences.retrieval.blocks import blocks_of_rows
from fivesentences.semantics import read_phi

COLUMNS = ["judge", "dataset", "caption_id", "image_id", "order", "searched", "pairs"]


def pairs_until(
    phi: ArrayLike, image_of_caption: ArrayLike, captions: ArrayLike, images: ArrayLike
) -> NDArray[np.int64]:
    """Count the pairs of a caption with another image that have at least the phi of each right pair.

    Args:
        phi: ``[captions, images]``, finite.
        image_of_caption: ``[captions]`` The image that each caption was written for; that pair is not counted.
        captions, images: ``[positives]`` The right pairs, none of them a caption with its own image.

    Returns:
        ``[positives]`` the counts, each with the right pair itself and all that have the same phi.
    """
    matrix, owner = np.asanyarray(phi), np.asarray(image_of_caption)
    rows, columns = np.asarray(captions), np.asarray(images)
    if len(rows) == 0:
        raise InputError("there is no right pair of a caption with another image, so none can be found.")
    values, place = np.unique(matrix[rows, columns], return_inverse=True)
    reached = np.zeros(len(values) + 1, dtype=np.int64)  # pairs whose phi is at least the first so many values
    for part, block in blocks_of_rows(matrix, None):
        places = np.searchsorted(values, block.ravel(), side="right").reshape(block.shape)
        places[np.arange(len(block)), owner[part]] = 0
        reached += np.bincount(places.ravel(), minlength=len(values) + 1)
    at_least = np.cumsum(reached[:0:-1])[::-1]
    return at_least[place.ravel()]


def shared_labels(labels: ArrayLike, image_of_caption: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return ``[captions, images]`` in how many labels the caption's own image and another differ, with a minus sign.

    The order in which plausible matches (PMRP) are taken: the fewer labels differ, the better. Pairs of an image
    without a label come last, since PMRP takes none of them.

    Args:
        labels: ``[images, labels]`` Whether an image has a label.
        image_of_caption: ``[captions]``.

    Raises:
        InputError: As raised by ``LabelDistances``.
    """
    known = LabelDistances(labels, image_of_caption)
    known.distance[~known.labelled] = UNLABELLED
    nearness: NDArray[np.int16] = -known.distance
    return np.asarray(nearness[image_of_caption])


def write_found_positives(
    corpus: Corpus, judgements: Judgements, phis: Mapping[str, Path | str], labels: ArrayLike | None, out: Path | str
) -> None:
    """Write one line for each right pair and order (a phi, or labels): how many pairs are searched until then.

    Args:
        corpus: The split that the matrices are of.
        judgements: Judgements of pairs of that split, by a judge of ``RIGHT``.
        phis: ``.npy`` file of each phi by name, as ``write_phi`` wrote it.
        labels: ``[images, labels]`` of the split's images; None: the order by labels is left out.
        out: A ``.parquet`` with the columns ``COLUMNS``; ``pairs`` is the number of all.

    Raises:
        InputError: If a matrix is missing, damaged or of other captions, or there is no right pair.
    """
    pairs = judgements.pairs
    right = pairs[~pairs["own"] & (pairs["human"] >= RIGHT[judgements.name])]
    captions, images, owner = right["caption"].to_numpy(), right["image"].to_numpy(), corpus.image_of_caption
    about = {
        "judge": judgements.name,
        "dataset": corpus.name,
        "caption_id": corpus.table["caption_id"].to_numpy()[captions],
        "image_id": corpus.images["image_id"].to_numpy()[images],
        "pairs": corpus.n_captions * (corpus.n_images - 1),
    }
    matrices: dict[str, Callable[[], NDArray]] = {
        name: partial(read_phi, path, corpus.captions) for name, path in phis.items()
    }
    if labels is not None:
        matrices[LABELS] = partial(shared_labels, labels, owner)
    frames = []
    for name, make in track(matrices.items(), f"search for pairs of {judgements.name}", len(matrices)):
        phi = make()
        frames.append(pd.DataFrame({**about, "order": name, "searched": pairs_until(phi, owner, captions, images)}))
    write_frame(pd.concat(frames, ignore_index=True)[COLUMNS], out)
