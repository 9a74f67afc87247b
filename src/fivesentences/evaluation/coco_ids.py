"""The images and captions of COCO's test split (Karpathy and Li) by their ids, and whether a gallery is in that order.

The ids are in ``coco_test_ids.npz`` beside this module: those of the split's public file, the same as in eccv_caption.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from fivesentences.errors import Cure, InputError
from fivesentences.evaluation.positives import Ids, pairs, places_of

CAPTIONS_PER_IMAGE = 5
_FILE = Path(__file__).with_name("coco_test_ids.npz")
# SHA-256 of the letters and digits of the 25,000 captions in lower case, a line per caption: in the order of the ids,
# and sorted. Released files of the split differ in case, spaces and punctuation alone.
_CAPTIONS_IN_ORDER = "ef2c967434bc87b11033a879cd0b81eae5d8a39329a1c46a6f604087eeeb00d4"
_CAPTIONS_SORTED = "daa65f72b67330cce160a35fba2c2c81285034003e7208006461b4e266adfef7"


def coco_test_ids() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``[5000]`` image ids and ``[25000]`` caption ids of COCO's test split in Karpathy's order, image-major.

    The five folds of the 1K protocol are consecutive fifths of them.
    """
    images, captions = _read()
    return images.copy(), captions.copy()


@lru_cache(maxsize=1)
def _read() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    with np.load(_FILE, allow_pickle=False) as stored:
        # Of each image the first caption's id, and the four steps from each to the next, which are above 0.
        rows = np.column_stack([stored["captions"], stored["steps"]]).astype(np.int64)
        return stored["images"].astype(np.int64), np.cumsum(rows, axis=1).ravel()


def own_pairs(image_ids: Ids, caption_ids: Ids) -> scipy.sparse.csr_array:
    """Each caption of COCO's test split with its own image, as rows and columns of a similarity.

    Args:
        image_ids: ``[images]`` COCO image ids of the rows; others than those of the split are passed over.
        caption_ids: ``[captions]`` COCO annotation ids of the columns.

    Returns:
        Sparse bool ``[images, captions]``.

    Raises:
        InputError: If an id is not a whole number or occurs twice.
    """
    row_of, column_of = places_of(image_ids, "image_ids"), places_of(caption_ids, "caption_ids")
    images, captions = _read()
    known = [
        (row_of[image], column_of[caption])
        for image, caption in zip(np.repeat(images, CAPTIONS_PER_IMAGE).tolist(), captions.tolist(), strict=True)
        if image in row_of and caption in column_of
    ]
    return pairs((row for row, _ in known), (column for _, column in known), (len(row_of), len(column_of)))


def is_in_order(captions: Sequence[str], caption_ids: Ids | None = None, where: str | Path = "captions") -> bool:
    """Whether captions are those of COCO's test split in the order of ids, by their letters and digits.

    Args:
        captions: In the order of the columns.
        caption_ids: ``[captions]`` COCO annotation ids of the columns; default the order of ``coco_test_ids``.
        where: What a message calls the captions.

    Returns:
        True if they are; False if they are other captions, which says nothing about the order.

    Raises:
        InputError: If they are the captions of the split in another order.
    """
    usual = _read()[1]
    if len(captions) != len(usual):
        return False
    words = ["".join(filter(str.isalnum, caption.lower())) for caption in captions]
    if caption_ids is not None:
        column_of = places_of(caption_ids, "caption_ids")
        if column_of.keys() != set(usual.tolist()):
            return False
        in_order = [words[column_of[caption]] for caption in usual.tolist()]
    else:
        in_order = words
    if _digest(in_order) == _CAPTIONS_IN_ORDER:
        return True
    if _digest(sorted(words)) != _CAPTIONS_SORTED:
        return False
    order = "Karpathy's order" if caption_ids is None else "the order of the caption ids"
    raise InputError(
        f"these are the captions of COCO's test split, but not in {order}",
        where=where,
        cure=Cure(
            "pass image_ids and caption_ids, the COCO ids of the rows and columns in their order",
            "give the COCO ids of rows and columns, in their order, by --image-ids FILE and --caption-ids FILE",
        ),
    )


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
