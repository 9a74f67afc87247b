"""One image for every caption, no image more often than it has captions, with the largest total similarity.

The Hungarian inference that the kNN-margin paper suggests but does not try, in which each image has as many places as
it has captions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import Argument, Cure, InputError
from fivesentences.retrieval.arguments import checked_count
from fivesentences.retrieval.blocks import Output, blocks_of_rows, filled, range_of
from fivesentences.retrieval.gallery import Gallery, Similarity, checked_similarity, name_of
from fivesentences.semantics.validation import checked_pairing


@dataclass(frozen=True, eq=False)
class Assignment:
    """An image for every caption.

    Attributes:
        image_of_caption: ``[captions]`` image that each caption is assigned to.
        places: ``[images]`` how many captions each image could have.
        total: Sum of the similarities of the assigned pairs.
    """

    image_of_caption: NDArray[np.int64]
    places: NDArray[np.int64]
    total: float


def assignment(
    similarity: Similarity,
    captions_per_image: int | None = None,
    out: Output = None,
    image_of_caption: ArrayLike | None = None,
) -> NDArray[np.floating]:
    """Raise the assigned pairs to the front: the assigned image leads its caption's ranking, and vice versa.

    Transductive, and more so than inverted softmax or CSLS: it reads all queries and the whole gallery, and it knows
    how many captions each image has (not which); say so beside the numbers. Assigned pairs are raised by five
    quarters of the range of all scores, so that they lead their rows and columns and keep their order among
    themselves; all other scores stay.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``, each image of which may have as many captions as it has.
        captions_per_image: How many captions an image may have. Default: captions over images, if that is a whole
            number.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill (``similarity``
            itself is allowed).
        image_of_caption: ``[captions]`` image index, of which only the number of captions of each image is read;
            instead of ``captions_per_image``.

    Returns:
        ``[images, captions]`` float32, float64 from float64 (or what ``out`` names); it serves both directions.

    Raises:
        InputError: As ``best_assignment``, or if ``out`` does not fit.
    """
    matrix, found = checked_similarity(similarity), best_assignment(similarity, captions_per_image, image_of_caption)
    lift = 1.25 * range_of(matrix) or 1.0
    order = np.argsort(found.image_of_caption, kind="stable")
    begin = np.searchsorted(found.image_of_caption[order], np.arange(len(matrix) + 1))

    def fill(result: NDArray) -> None:
        for part, block in blocks_of_rows(matrix):
            captions = order[begin[part.start] : begin[part.stop]]
            block[found.image_of_caption[captions] - part.start, captions] += lift
            result[part] = block

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))


def best_assignment(
    similarity: Similarity, captions_per_image: int | None = None, image_of_caption: ArrayLike | None = None
) -> Assignment:
    """Find an image for every caption with the largest total similarity, no image more often than it has places.

    Every image is repeated once per place, and scipy's ``linear_sum_assignment`` solves the dense problem exactly, in 8
    bytes per place and caption: 5 GB and some two minutes for 25,000.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``, each image of which may have as many captions as it has.
        captions_per_image: How many captions an image may have. Default: captions over images, if that is a whole
            number.
        image_of_caption: ``[captions]`` image index of each caption, of which only the number of captions of each image
            is read.

    Raises:
        InputError: If ``similarity`` is transposed, repeats its images or is not finite, or the number of places does
            not follow from the arguments or is too small for the captions.
    """
    matrix = checked_similarity(similarity)
    if isinstance(similarity, Gallery) and captions_per_image is None and image_of_caption is None:
        image_of_caption = similarity.image_of_caption
    places = _places(matrix.shape, captions_per_image, image_of_caption)
    span = range_of(matrix)
    if not np.isfinite(2 * span):
        raise InputError(f"{name_of(similarity)}: the scores range over {span:.2g}, too far to add up; scale them.")
    image_of_place = np.repeat(np.arange(len(matrix)), places)
    costs = np.repeat(-matrix.astype(np.float64), places, axis=0)  # scipy would copy them to maximise
    place, caption = scipy.optimize.linear_sum_assignment(costs)
    image = np.empty(matrix.shape[1], dtype=np.int64)
    image[caption] = image_of_place[place]
    return Assignment(image, places, -float(costs[place, caption].sum()))


def _places(
    shape: tuple[int, ...], captions_per_image: int | None, image_of_caption: ArrayLike | None
) -> NDArray[np.int64]:
    """Return ``[images]`` how many captions each image may have."""
    n_images, n_captions = shape
    if image_of_caption is not None:
        if captions_per_image is not None:
            raise InputError("captions_per_image and image_of_caption are both given; pass one of them.")
        return np.bincount(checked_pairing(image_of_caption, n_captions, n_images), minlength=n_images)
    if captions_per_image is None:
        if n_captions % n_images:
            what = f"similarity is {[n_images, n_captions]}: no equal shares of captions for {n_images} images"
            options = "give --captions-per-image N or --image-of-caption FILE"
            raise InputError(what, cure=Cure("pass captions_per_image, or image_of_caption", options))
        captions_per_image = n_captions // n_images
    each = checked_count("captions_per_image", captions_per_image)
    if each * n_images < n_captions:
        least = f"it must be at least {-(-n_captions // n_images)}"
        what = f"is {each}, but there are {n_captions} captions for {n_images} images; {least}."
        raise InputError(what, where=Argument("captions_per_image"))
    return np.full(n_images, min(each, n_captions))
