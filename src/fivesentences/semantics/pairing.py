"""Which image a caption belongs to: one index per caption, every image at least once; and that alone as a phi."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.scoring import Indices, Scorer


def checked_pairing(image_of_caption: ArrayLike, n_captions: int, n_images: int | None = None) -> NDArray[np.int64]:
    """``image_of_caption`` as int64 ``[captions]``, after checking that it says whose caption each one is.

    Args:
        image_of_caption: Index of each caption's image, counted from 0; any order, any number of captions per image.
        n_captions: How many captions there are.
        n_images: How many images there are; default the largest index plus one.

    Raises:
        InputError: If the length is not ``n_captions``, an index is not a whole number or out of range, or an
            image has no caption.
    """
    pairing = np.asarray(image_of_caption)
    if pairing.ndim != 1 or len(pairing) != n_captions:
        raise InputError(
            f"image_of_caption has shape {list(pairing.shape)} but there are {n_captions} captions; "
            "give one image index per caption."
        )
    if n_captions == 0:
        raise InputError("there are no captions; give at least one caption.")
    whole = pairing.dtype.kind in "iu" or (pairing.dtype.kind == "f" and bool(np.all(np.mod(pairing, 1) == 0)))
    if not whole:
        raise InputError("image_of_caption must hold whole numbers: the index of each caption's image, from 0.")
    pairing = pairing.astype(np.int64)
    lowest, highest = int(pairing.min()), int(pairing.max())
    if lowest < 0 or (n_images is not None and highest >= n_images):
        wrong = lowest if lowest < 0 else highest
        where = int(np.flatnonzero(pairing == wrong)[0])
        limit = "from 0" if n_images is None else f"from 0 to {n_images - 1}"
        raise InputError(f"image_of_caption[{where}] is {wrong}; image indices run {limit}.")
    if n_images is None:
        n_images = highest + 1
        if n_images > n_captions:
            raise InputError(
                f"image_of_caption names image {highest} but there are only {n_captions} captions, so some images "
                "have none; number the images without gaps."
            )
    counts = np.bincount(pairing, minlength=n_images)
    if not counts.all():
        missing = int(np.flatnonzero(counts == 0)[0])
        raise InputError(f"image {missing} has no caption in image_of_caption; number the images without gaps.")
    return pairing


def checked_captions(captions: Sequence[str]) -> list[str]:
    """``captions`` as a list, after checking that there are some and that each is a string.

    Raises:
        InputError: If there is none, or one is not a string.
    """
    if isinstance(captions, str):
        raise InputError("captions is one string; give a list of strings, one per caption.")
    captions = list(captions)
    if not captions:
        raise InputError("the list of captions is empty; give at least one caption.")
    for index, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise InputError(f"captions[{index}] is {caption!r}; every caption must be a string.")
    return captions


class BinaryScorer(Scorer):
    """phi of the usual evaluation: 1 where the caption is one of the image's own, else 0.

    Args:
        image_of_caption: ``[captions]`` image index of each caption.

    Raises:
        InputError: If ``image_of_caption`` does not number the images.
    """

    def __init__(self, image_of_caption: ArrayLike):
        self._image_of_caption = checked_pairing(image_of_caption, np.size(image_of_caption))
        self._captions_of_image = np.bincount(self._image_of_caption)
        self.shape = (len(self._image_of_caption), len(self._captions_of_image))

    def score(self, captions: Indices) -> NDArray[np.float64]:
        """``[captions, images]`` dense float64, 0 or 1."""
        scores = np.zeros((len(captions), self.shape[1]))
        scores[np.arange(len(captions)), self._image_of_caption[captions]] = 1.0
        return scores

    def sparse(self, captions: Indices) -> scipy.sparse.csr_array:
        """The rows of ``score`` without their zeros."""
        row_start = np.arange(len(captions) + 1)
        image = self._image_of_caption[captions]
        return scipy.sparse.csr_array((np.ones(len(captions)), image, row_start), shape=(len(captions), self.shape[1]))

    def pairs(self, captions: Indices, images: Indices, without_own: bool = False) -> NDArray[np.float64]:
        """``[pairs]`` 0 or 1; a caption that is taken out of its image's own is foreign to it: 0."""
        captions, images = np.asarray(captions, dtype=np.int64), np.asarray(images, dtype=np.int64)
        own: NDArray[np.bool_] = self._image_of_caption[captions] == images
        if not without_own:
            return own.astype(np.float64)
        return np.where(own & (self._captions_of_image[images] == 1), np.nan, 0.0)
