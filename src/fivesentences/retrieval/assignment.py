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
from fivesentences.retrieval.arguments import checked_choice, checked_count
from fivesentences.retrieval.auction import Auction, best_possible
from fivesentences.retrieval.blocks import Output, blocks_of_rows, filled, range_of
from fivesentences.retrieval.gallery import Gallery, Similarity, checked_similarity, name_of
from fivesentences.semantics.validation import checked_pairing

SOLVERS = ("auto", "exact", "auction")
LARGEST_EXACT = 2_000  # places: a dense problem of this size is solved in about a second, and time grows cubically
FIRST_EPSILON = 1 / 20  # of the range of the scores
LAST_EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class Assignment:
    """An image for every caption.

    Attributes:
        image_of_caption: ``[captions]`` image that each caption is assigned to.
        places: ``[images]`` how many captions each image could have.
        total: Sum of the similarities of the assigned pairs.
        bound: A total that no assignment exceeds (linear programming duality, over the whole matrix); ``total``
            itself where the solver is exact.
        solver: ``"exact"`` (scipy's ``linear_sum_assignment``) or ``"auction"``.
    """

    image_of_caption: NDArray[np.int64]
    places: NDArray[np.int64]
    total: float
    bound: float
    solver: str

    @property
    def gap(self) -> float:
        """An upper bound on how far the mean similarity of the assigned pairs is below the best possible one."""
        return max(0.0, self.bound - self.total) / len(self.image_of_caption)


def assignment(
    similarity: Similarity,
    captions_per_image: int | None = None,
    out: Output = None,
    image_of_caption: ArrayLike | None = None,
    solver: str = "auto",
) -> NDArray[np.floating]:
    """The similarity with the assigned pairs in front: the assigned image leads its caption's ranking, and vice versa.

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
        solver: As in ``best_assignment``.

    Returns:
        ``[images, captions]`` float32 (or what ``out`` names); it serves both directions.

    Raises:
        InputError: As ``best_assignment``, or if ``out`` does not fit.
    """
    found, matrix, span = _assigned(similarity, captions_per_image, image_of_caption, solver)
    lift = 1.25 * span or 1.0
    order = np.argsort(found.image_of_caption, kind="stable")
    begin = np.searchsorted(found.image_of_caption[order], np.arange(len(matrix) + 1))

    def fill(result: NDArray) -> None:
        for part, block in blocks_of_rows(matrix):
            captions = order[begin[part.start] : begin[part.stop]]
            block[found.image_of_caption[captions] - part.start, captions] += lift
            result[part] = block

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))


def best_assignment(
    similarity: Similarity,
    captions_per_image: int | None = None,
    image_of_caption: ArrayLike | None = None,
    solver: str = "auto",
) -> Assignment:
    """An image for every caption with the largest total similarity, no image more often than it has places.

    ``"exact"`` repeats every image for each of its places and solves the dense problem with scipy; memory grows with
    the square of the number of places (5 GB and hours for 25,000), so ``"auto"`` uses it for up to 2,000 places.
    ``"auction"`` is nearly exact: the mean similarity of its pairs is at most a hundred-millionth of the range of the
    scores below the best one, and ``Assignment.bound`` proves it for the matrix at hand.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``, each image of which may have as many captions as it has.
        captions_per_image: How many captions an image may have. Default: captions over images, if that is a whole
            number.
        image_of_caption: ``[captions]`` image index, of which only the number of captions of each image is read.
        solver: ``"auto"``, ``"exact"`` or ``"auction"``.

    Raises:
        InputError: If ``similarity`` is transposed, repeats its images or is not finite, the number of places does not
            follow from the arguments or is too small for the captions, or the solver is unknown.
    """
    return _assigned(similarity, captions_per_image, image_of_caption, solver)[0]


def _assigned(
    similarity: Similarity, captions_per_image: int | None, image_of_caption: ArrayLike | None, solver: str
) -> tuple[Assignment, NDArray, float]:
    """The assignment, the checked matrix, and the range of its scores; arguments as in ``best_assignment``."""
    checked_choice("solver", solver, SOLVERS)
    matrix = checked_similarity(similarity)
    if isinstance(similarity, Gallery) and captions_per_image is None and image_of_caption is None:
        image_of_caption = similarity.image_of_caption
    places = _places(matrix.shape, captions_per_image, image_of_caption)
    span = range_of(matrix)
    if not np.isfinite(2 * span):
        raise InputError(f"{name_of(similarity)}: the scores range over {span:.2g}, too far to add up; scale them.")
    exact = solver == "exact" or (solver == "auto" and places.sum() <= LARGEST_EXACT)
    bound = None
    if exact:
        image_of_place = np.repeat(np.arange(len(matrix)), places)
        place, caption = scipy.optimize.linear_sum_assignment(matrix.astype(np.float64)[image_of_place], maximize=True)
        image = np.empty(matrix.shape[1], dtype=np.int64)
        image[caption] = image_of_place[place]
    elif span == 0:  # all assignments are equally good
        image = np.repeat(np.arange(len(matrix)), places)[: matrix.shape[1]]
    else:
        image, prices = Auction(matrix, places).run(FIRST_EPSILON * span, LAST_EPSILON * span)
        bound = best_possible(matrix, places, prices)
    total = float(matrix[image, np.arange(len(image))].astype(np.float64).sum())
    solved_by = "exact" if exact else "auction"
    return Assignment(image, places, total, total if bound is None else bound, solved_by), matrix, span


def _places(
    shape: tuple[int, ...], captions_per_image: int | None, image_of_caption: ArrayLike | None
) -> NDArray[np.int64]:
    """``[images]`` how many captions each image may have."""
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
