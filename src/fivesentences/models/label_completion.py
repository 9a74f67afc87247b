"""CVSE's completion of concept labels at test: a caption takes over the concepts of captions with a similar meaning.

A test caption names few concepts, while in training the model is given those of five captions. The corrected release
closes this gap by a first pass over the whole test set, so that a caption's embedding depends on the others (it is
transductive). Rules and quirks are those of ``cvse_label_completion.npz``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError

NEIGHBOURS_BY_TEXT = 10
NEIGHBOURS_BY_IMAGE = 3
# If the two kinds of neighbours disagree: how many are taken by text, and how many by image.
FALLBACK = {"flickr30k": (3, 3), "coco": (2, 1)}
CAPTIONS_AT_ONCE = 1024


class Completed(NamedTuple):
    """Completed labels and where they came from.

    Attributes:
        labels: ``[captions, C]``, the elementwise maximum over a caption and its neighbours.
        neighbours: ``[captions, n]``, rows of the neighbours, padded with -1.
        by_text: ``[captions, 10]``, the captions most similar to each, most similar first.
        by_image: ``[captions, 3]``, the captions next to it in the ranking of its best image, itself included.
    """

    labels: NDArray[np.float64]
    neighbours: NDArray[np.int64]
    by_text: NDArray[np.int64]
    by_image: NDArray[np.int64]


def complete_labels(
    labels: ArrayLike,
    images: ArrayLike,
    captions: ArrayLike,
    recipe: Literal["flickr30k", "coco"] = "flickr30k",
) -> Completed:
    """Labels of a test set after its first pass, to be used in the second pass.

    By text: the 10 captions most similar to a caption (its own score counts as 0). By image: the image most similar to
    it ranks all captions, and the three around the caption in that ranking are taken. If those three are all among the
    ten, they are the neighbours; otherwise these are the first 3 by text and all 3 by image (flickr30k), or the first 2
    and the first 1 (coco). The caption itself is always found by image and hardly ever by text, so that the second case
    is the usual one.

    Args:
        labels: ``[captions, C]``, own labels.
        images: ``[images, dim]``, vectors of the first pass (CVSE: the fused ones) with length 1, each image once.
        captions: ``[captions, dim]``, likewise.
        recipe: The release whose fallback is used.

    Raises:
        InputError: If shapes disagree, there are fewer than 11 captions, or there is no such recipe.
    """
    own, of_images, of_captions = np.asarray(labels), np.asarray(images), np.asarray(captions)
    count = len(own)
    if of_captions.ndim != 2 or len(of_captions) != count or of_images.ndim != 2:
        raise InputError(
            f"label completion: labels {list(own.shape)}, images {list(of_images.shape)}, captions "
            f"{list(of_captions.shape)} do not belong together; labels and captions have one row per caption."
        )
    if recipe not in FALLBACK:
        raise InputError(f"label completion: recipe is {recipe!r}; it is 'flickr30k' or 'coco'.")
    if count <= NEIGHBOURS_BY_TEXT:
        raise InputError(f"label completion needs more than {NEIGHBOURS_BY_TEXT} captions; there are {count}.")
    by_text = np.empty((count, NEIGHBOURS_BY_TEXT), dtype=np.int64)
    by_image = np.empty((count, NEIGHBOURS_BY_IMAGE), dtype=np.int64)
    best = np.empty(count, dtype=np.int64)
    for start in range(0, count, CAPTIONS_AT_ONCE):  # blocks, which limit the memory
        rows = np.arange(start, min(start + CAPTIONS_AT_ONCE, count))
        alike = of_captions[rows] @ of_captions.T  # [rows, captions]
        alike[rows - start, rows] = 0
        by_text[rows] = np.argsort(-alike, axis=1, kind="stable")[:, :NEIGHBOURS_BY_TEXT]
        best[rows] = (of_images @ of_captions[rows].T).argmax(axis=0)
    for start in range(0, len(of_images), CAPTIONS_AT_ONCE):
        rows = np.flatnonzero((best >= start) & (best < start + CAPTIONS_AT_ONCE))
        scores = of_images[start : start + CAPTIONS_AT_ONCE] @ of_captions.T
        ranking = np.argsort(-scores, axis=1, kind="stable")  # [images of the block, captions]
        position_of = np.empty_like(ranking)
        np.put_along_axis(position_of, ranking, np.arange(count)[None, :], axis=1)
        image = best[rows] - start
        position = position_of[image, rows]
        # The third from the end counts as the end, as released: the caption is then the first of its three.
        last = count - NEIGHBOURS_BY_IMAGE
        first = np.where(position >= last, last, np.maximum(position - 1, 0))
        by_image[rows] = ranking[image[:, None], first[:, None] + np.arange(NEIGHBOURS_BY_IMAGE)]
    agree = (by_image[:, :, None] == by_text[:, None, :]).any(axis=2).all(axis=1)
    texts, vias = FALLBACK[recipe]
    neighbours = np.concatenate([by_text[:, :texts], by_image[:, :vias]], axis=1)
    width = max(neighbours.shape[1], NEIGHBOURS_BY_IMAGE)
    filled = np.full((count, width), -1, dtype=np.int64)
    filled[:, : neighbours.shape[1]] = neighbours
    filled[agree] = -1
    filled[agree, :NEIGHBOURS_BY_IMAGE] = by_image[agree]
    completed = own.astype(np.float64)
    for column in filled.T:  # a caption's own row takes the place of missing neighbours
        completed = np.maximum(completed, own[np.where(column < 0, np.arange(count), column)])
    return Completed(completed, filled, by_text, by_image)
