"""Checks of corpora and indices that callers pass: captions, the image of each caption, and indices of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import plain_array
from fivesentences.documents import check_text
from fivesentences.errors import InputError

PER_IMAGE = 5  # captions of an image in Flickr8k, Flickr30K and COCO, as the command line takes them to be
SMALLEST_PHI = 1e-6  # the released NCS adds 1e-10 to the mean of the ideal, which then changes nothing that is printed


def check_list(value: object, name: str, wanted: str) -> None:
    """Check that an argument is a list of some kind, and neither one string nor a mapping, whose keys would be read.

    Args:
        value: The argument.
        name: Its name, for the error.
        wanted: What to give.

    Raises:
        InputError: If it is something else.
    """
    if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
        kind = "one string" if isinstance(value, str) else f"of the type {type(value).__name__}"
        raise InputError(f"{name} is {kind}; give {wanted}.")


def checked_captions(captions: Sequence[str], name: str = "captions") -> list[str]:
    """Return ``captions`` as a list, after checking that it is not empty and that every item is a string of characters.

    Args:
        captions: The captions.
        name: Name of the argument, for the error.

    Raises:
        InputError: If there are no captions, or one of them is not a string or holds half of a surrogate pair.
    """
    check_list(captions, name, "a list of strings, one per caption")
    captions = list(captions)
    if not captions:
        raise InputError(f"{name} is empty; give at least one caption.")
    for index, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise InputError(f"{name}[{index}] is {repr(caption)[:60]}; every caption must be a string.")
        check_text(caption, f"{name}[{index}]")
    return captions


def checked_pairing(image_of_caption: ArrayLike, n_captions: int, n_images: int | None = None) -> NDArray[np.int64]:
    """Return ``image_of_caption`` as int64 ``[captions]``, after checking that it names an image for every caption.

    Args:
        image_of_caption: Index of each caption's image, counted from 0; in any order, with any number of captions per
            image.
        n_captions: Number of captions.
        n_images: Number of images; by default the largest index plus one.

    Raises:
        InputError: If the length is not ``n_captions``, an index is not a whole number or is out of range, or an
            image has no caption.
    """
    pairing = plain_array(image_of_caption, "image_of_caption")
    if pairing.ndim != 1 or len(pairing) != n_captions:
        what = f"image_of_caption has shape {list(pairing.shape)} but there are {n_captions} captions"
        raise InputError(f"{what}; give one image index per caption.")
    if n_captions == 0:
        raise InputError("there are no captions; give at least one caption.")
    is_float = pairing.dtype.kind == "f"
    if pairing.dtype.kind not in "iuf" or (
        is_float and not (np.isfinite(pairing) & (np.trunc(pairing) == pairing)).all()
    ):
        raise InputError("image_of_caption must hold whole numbers: the index of each caption's image, from 0.")
    pairing = pairing.astype(np.int64)
    lowest, highest = int(pairing.min()), int(pairing.max())
    gaps = "number the images without gaps" if lowest < 1 else f"number the images from 0, not from {lowest}"
    if lowest < 0 or (n_images is not None and highest >= n_images):
        wrong = lowest if lowest < 0 else highest
        limit = "start at 0" if n_images is None else f"run from 0 to {n_images - 1}"
        limit += f", and the smallest here is {lowest}" if lowest > 0 else ""
        where = int(np.flatnonzero(pairing == wrong)[0])
        raise InputError(f"image_of_caption[{where}] is {wrong}; image indices {limit}.")
    if n_images is None and highest >= n_captions:
        what = f"image_of_caption names image {highest} but there are only {n_captions} captions"
        raise InputError(f"{what}, so some images have none; {gaps}.")
    counts = np.bincount(pairing, minlength=highest + 1 if n_images is None else n_images)
    if not counts.all():
        missing = int(np.flatnonzero(counts == 0)[0])
        raise InputError(f"image {missing} has no caption in image_of_caption; {gaps}.")
    return pairing


def checked_corpus(captions: Sequence[str], image_of_caption: ArrayLike) -> tuple[list[str], NDArray[np.int64]]:
    """Return captions and the image of each, both checked.

    Raises:
        InputError: As ``checked_captions`` and ``checked_pairing``.
    """
    captions = checked_captions(captions)
    return captions, checked_pairing(image_of_caption, len(captions))


def given_or_five(image_of_caption: ArrayLike | None, captions: Sequence[object]) -> ArrayLike:
    """Return ``image_of_caption`` if it is given; otherwise five captions per image, those of an image adjacent.

    Raises:
        InputError: If it is not given and captions cannot be counted, or are not a multiple of five.
    """
    if image_of_caption is not None:
        return image_of_caption
    if not hasattr(captions, "__len__"):
        raise InputError(f"captions is of the type {type(captions).__name__}; give a list, with one item per caption.")
    if len(captions) % PER_IMAGE and not isinstance(captions, str):
        what = f"there are {len(captions):,} captions, which is not a multiple of {PER_IMAGE} captions per image"
        raise InputError(what, cure="pass image_of_caption, the image index of each caption")
    return np.arange(len(captions)) // PER_IMAGE


def checked_indices(name: str, indices: ArrayLike, limit: int) -> NDArray[np.int64]:
    """Return ``indices`` as int64 ``[indices]``, after checking that each lies in 0 to ``limit - 1``.

    Args:
        name: Name of the argument, for the error.
        indices: Whole numbers; the list may be empty.
        limit: Number of things that are indexed.

    Raises:
        InputError: If this is not a list of whole numbers, or an index is out of range.
    """
    given = plain_array(indices, name)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise InputError(f"{name} is {given.dtype} {list(given.shape)}; give a list of whole numbers.")
    wrong = np.flatnonzero((given < 0) | (given >= limit))
    if len(wrong):
        raise InputError(f"{name}[{wrong[0]}] is {given[wrong[0]]}; valid indices are 0 to {limit - 1}.")
    return given.astype(np.int64)


def checked_pairs(
    captions: ArrayLike, images: ArrayLike, shape: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (caption, image) pairs as two int64 arrays ``[pairs]``, of a matrix of this shape.

    Raises:
        InputError: If the two are not lists of whole numbers of one length, or an index is out of range.
    """
    checked = checked_indices("captions", captions, shape[0]), checked_indices("images", images, shape[1])
    if len(checked[0]) != len(checked[1]):
        raise InputError(f"there are {len(checked[0])} captions but {len(checked[1])} images; give as many of both.")
    return checked


def check_gains(phi: NDArray[np.generic], cell: str, extremes: tuple[float, float] | None = None) -> None:
    """Refuse a phi whose sums mean nothing: negative somewhere, the same everywhere, or too small for the released NCS.

    Args:
        phi: ``[captions, images]``, finite.
        cell: Name of its cells for errors.
        extremes: Its smallest and largest value, where they are known.

    Raises:
        InputError: If it is one of these.
    """
    lowest, highest = extremes or (float(phi.min()), float(phi.max()))
    if lowest < 0:
        caption, image = np.unravel_index(int(np.argmin(phi)), phi.shape)
        raise InputError(
            f"{cell}[{caption}, {image}] is {lowest:.4g} (caption {caption}, image {image}), and NCS, nDCG and "
            "semantic recall are shares of a sum, which need gains of at least 0",
            cure="count negative scores, such as cosines, as unrelated, numpy.maximum(phi, 0), or shift all of them, "
            "phi - phi.min(), which changes what is scored",
        )
    if highest == 0 or (lowest == highest and min(phi.shape) > 1):
        raise InputError(
            f"{cell} is {lowest:g} everywhere, so that no item is better than another",
            cure="check what it was made of (CIDEr is 0 for one image, and where all images have the same n-grams)",
        )
    if highest < SMALLEST_PHI:
        what = f"{cell} is at most {highest:.3g}, where the 1e-10 that the released NCS adds would count"
        raise InputError(what, cure="scale it, such as phi / phi.max()")
