"""How many of the pairs that a judge calls right are among the first n pairs by phi, and by shared labels.

Figure 1 and section B of DAA's supplement: the positives that a metric takes for granted, held against those that
people confirmed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.config.scales import LABELS, RIGHT
from fivesentences.console import track
from fivesentences.corpus import Corpus
from fivesentences.corpus.judgements import Judgements
from fivesentences.errors import InputError
from fivesentences.semantics import read_phi
from fivesentences.storage import replacing

COLUMNS = ["judge", "dataset", "order", "found", "searched", "positives", "pairs"]
BLOCK = 20_000_000  # cells of a matrix that are looked at together


def found_positives(
    phi: ArrayLike, image_of_caption: ArrayLike, captions: ArrayLike, images: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many pairs of a caption with another image must be searched to find so many of the right ones.

    Pairs are searched in the order of phi, the largest first, all of one value together.

    Args:
        phi: ``[captions, images]``, finite.
        image_of_caption: ``[captions]`` The image that each caption was written for; that pair is left out.
        captions, images: ``[positives]`` The right pairs, none of them a caption with its own image.

    Returns:
        ``[steps]`` right pairs found, rising, and ``[steps]`` pairs searched until then: one step for each value of phi
        that a right pair has.

    Raises:
        InputError: If there is no right pair, one is of a caption with its own image, or a value is not finite.
    """
    matrix, owner = np.asanyarray(phi), np.asarray(image_of_caption)
    rows, columns = np.asarray(captions), np.asarray(images)
    if len(rows) == 0:
        raise InputError("there is no right pair of a caption with another image, so none can be found.")
    if (own := np.flatnonzero(owner[rows] == columns)).size:
        raise InputError(f"pair {own[0]} is of caption {rows[own[0]]} with its own image; leave these out.")
    values, counts = np.unique(matrix[rows, columns], return_counts=True)
    reached = np.zeros(len(values) + 1, dtype=np.int64)  # pairs whose phi is at least the first so many values
    for block, start in _blocks(matrix):
        if not np.isfinite(block).all():
            raise InputError("phi holds a value that is not finite; make phi again.")
        places = np.searchsorted(values, block.ravel(), side="right").reshape(block.shape)
        places[np.arange(len(block)), owner[start : start + len(block)]] = 0
        reached += np.bincount(places.ravel(), minlength=len(values) + 1)
    return np.cumsum(counts[::-1]), np.cumsum(reached[:0:-1])


def shared_labels(labels: ArrayLike, image_of_caption: ArrayLike) -> NDArray[np.int8]:
    """``[captions, images]`` in how many labels the caption's own image and another differ, with a minus sign.

    The order in which plausible matches (PMRP) are taken: the fewer labels differ, the better.

    Args:
        labels: ``[images, labels]`` Whether an image has a label; at most 127 labels.
        image_of_caption: ``[captions]``.
    """
    known = np.asarray(labels, dtype=np.float32)
    differing = known @ (1 - known).T
    of_images: NDArray[np.int8] = -(differing + differing.T).round().astype(np.int8)
    return of_images[np.asarray(image_of_caption)]


def write_found_positives(
    corpus: Corpus,
    judgements: Judgements,
    phis: Mapping[str, Path | str],
    labels: ArrayLike | None,
    out: Path | str,
) -> None:
    """Write one line for each order (a phi, or labels) and step: the right pairs found and the pairs searched.

    Args:
        corpus: The split that the matrices are of.
        judgements: Of pairs of that split, by a judge of ``RIGHT``.
        phis: ``.npy`` file of each phi by name, as ``write_phi`` wrote it.
        labels: ``[images, labels]`` of the split's images; None: the order by labels is left out.
        out: A ``.parquet`` with the columns ``COLUMNS``; ``positives`` and ``pairs`` are the numbers of all.

    Raises:
        InputError: If a matrix is missing, damaged or of other captions, or as ``found_positives`` raises.
    """
    pairs = judgements.pairs
    right = pairs[~pairs["own"] & (pairs["human"] >= RIGHT[judgements.name])]
    owner, frames = corpus.image_of_caption, []
    for name in track([*phis, *([] if labels is None else [LABELS])], f"search for pairs of {judgements.name}"):
        by_labels = name == LABELS and labels is not None
        phi = shared_labels(labels, owner) if by_labels else read_phi(phis[name], corpus.captions)
        found, searched = found_positives(phi, owner, right["caption"], right["image"])
        frames.append(pd.DataFrame({"order": name, "found": found, "searched": searched}))
    about = {"judge": judgements.name, "dataset": corpus.name}
    about |= {"positives": len(right), "pairs": corpus.n_captions * (corpus.n_images - 1)}
    table = pd.concat(frames, ignore_index=True).assign(**about)[COLUMNS]
    with replacing(out) as temporary:
        table.to_parquet(temporary, index=False)


def _blocks(matrix: NDArray) -> Iterator[tuple[NDArray, int]]:
    rows = max(1, BLOCK // max(matrix.shape[1], 1))
    for start in range(0, len(matrix), rows):
        yield np.asarray(matrix[start : start + rows]), start
