"""Retrieval by category: every item of the query's category is relevant (mAP, mAP@R, R-precision; fractions)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.ncs import Scores
from fivesentences.metrics.ranking import (
    DIRECTIONS,
    QueryBlock,
    as_array,
    checked_choice,
    checked_cutoffs,
    checked_similarity,
    mean_over_queries,
)
from fivesentences.metrics.stable_order import parts
from fivesentences.metrics.whole_rankings import read_rankings
from fivesentences.retrieval.matrices import Direction, checked_direction

Cutoff = int | Literal["R"] | None
DIVISORS = ("found", "possible", "relevant")

Codes = NDArray[np.int32]


class CategoryReader:
    """Average precision and R-precision of every query, filled block by block as ``read_rankings`` shows them.

    Args:
        codes: Of the images and of the captions, as ``category_codes`` returns them.
        direction: Which side the queries are.
        cutoffs: Where rankings end for average precision, as in ``category_map``.
        divide_by: As in ``category_map``.

    Attributes:
        average_precision: For each cut-off ``[queries]`` fractions.
        r_precision: ``[queries]`` fractions.
        n_relevant: ``[queries]`` relevant items of the gallery.
    """

    def __init__(
        self,
        codes: tuple[Codes, Codes],
        direction: Direction,
        cutoffs: Sequence[Cutoff] = (None, "R"),
        divide_by: str | None = None,
    ):
        queries, self.gallery = codes if direction == "i2t" else codes[::-1]
        # An item without a category (-1) is like no other, and not like another item without one either.
        self.queries = np.where(queries < 0, -2, queries).astype(np.int32)
        self.cutoffs, self.divide_by = tuple(cutoffs), divide_by
        self.average_precision: dict[Cutoff, NDArray[np.float64]] = {k: np.zeros(len(queries)) for k in self.cutoffs}
        self.r_precision = np.zeros(len(queries))
        self.n_relevant = np.zeros(len(queries), dtype=np.int64)

    def __call__(self, block: QueryBlock) -> None:
        """Read one block."""
        for rows in parts(block.order):
            queries = slice(block.part.start + rows.start, block.part.start + rows.stop)
            row, place = np.nonzero(self.gallery[block.order[rows]] == self.queries[queries, None])
            n_rows = rows.stop - rows.start
            n_relevant = np.bincount(row, minlength=n_rows)
            nth = np.arange(1, len(row) + 1) - np.repeat(np.cumsum(n_relevant) - n_relevant, n_relevant)
            precision = nth / (place + 1.0)
            self.n_relevant[queries] = n_relevant
            hits = np.bincount(row[place < n_relevant[row]], minlength=n_rows)
            self.r_precision[queries] = hits / np.maximum(1, n_relevant)
            for cutoff in self.cutoffs:
                limit = np.full(n_rows, len(self.gallery)) if cutoff is None else n_relevant
                limit = np.full(n_rows, cutoff) if isinstance(cutoff, int) else limit
                inside = place < limit[row]
                total = np.bincount(row[inside], weights=precision[inside], minlength=n_rows)
                rule = self.divide_by or ("relevant" if cutoff == "R" else "found")
                if rule == "found":
                    divisor = np.bincount(row[inside], minlength=n_rows)
                else:
                    divisor = n_relevant if rule == "relevant" else np.minimum(n_relevant, limit)
                self.average_precision[cutoff][queries] = total / np.maximum(1, divisor)


def category_codes(
    image_categories: ArrayLike, caption_categories: ArrayLike | None, n_images: int, pairing: NDArray[np.int64] | None
) -> tuple[Codes, Codes]:
    """Categories as numbers, the same for images and captions; -1 where there is none (None or NaN).

    Args:
        image_categories: ``[images]`` numbers or strings.
        caption_categories: ``[captions]``; default that of the caption's image.
        n_images: How many images there are.
        pairing: ``[captions]`` image of each caption, where captions have no categories of their own.

    Raises:
        InputError: If a length does not fit, or no image has the category of any caption.
    """
    images = _checked_categories(image_categories, "image_categories")
    if len(images) != n_images:
        raise InputError(f"image_categories has {len(images)} values but there are {n_images} images.")
    captions = _checked_categories(caption_categories, "caption_categories") if caption_categories is not None else None
    joined = images if captions is None else np.concatenate([images, captions])
    codes = pd.factorize(joined)[0].astype(np.int32)
    of_images = codes[:n_images]
    of_captions = codes[n_images:] if captions is not None else of_images[pairing]
    if not np.intersect1d(of_images[of_images >= 0], of_captions).size:
        raise InputError(
            "no caption has the category of any image, so nothing is relevant; give both in the same words or numbers."
        )
    return of_images, of_captions


def _checked_categories(categories: ArrayLike, name: str) -> NDArray[np.object_]:
    values = as_array(categories)
    if values.ndim != 1:
        raise InputError(f"{name} is {list(values.shape)}; give one category an item.")
    return values.astype(object)


def checked_category_cutoffs(cutoffs: Sequence[Cutoff]) -> tuple[Cutoff, ...]:
    """Cut-offs of mAP: each None, "R" or a whole number of at least 1; there may be none.

    Raises:
        InputError: If one is something else, or they are no list.
    """
    if isinstance(cutoffs, str) or not isinstance(cutoffs, Sequence):
        raise InputError(f"cut-offs of mAP are {cutoffs!r}; give a list such as (None, 'R', 100).")
    return tuple(k if k is None or k == "R" else checked_cutoffs((k,), "cutoff")[0] for k in cutoffs)


def category_values(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = None,
    cutoffs: Sequence[Cutoff] = (None, "R"),
    image_of_caption: ArrayLike | None = None,
    directions: Sequence[str] = DIRECTIONS,
    divide_by: str | None = None,
) -> dict[tuple[str, Direction], Scores]:
    """Every category number of every query; the similarity is ordered once for each direction.

    Arguments and errors as in ``category_map``.

    Returns:
        By metric (``"mAP"``, ``"mAP@R"``, ``"mAP@100"`` for a cut-off of 100, ``"R-P"``) and direction: ``[queries]``
        fractions, and ``[queries]`` whether nothing is relevant.
    """
    sides = [checked_direction(direction) for direction in directions]
    checked_choice("divide_by", divide_by, (None, *DIVISORS))
    known = checked_category_cutoffs(cutoffs)
    matrix, codes = _checked(similarity, image_categories, caption_categories, image_of_caption)
    found: dict[tuple[str, Direction], Scores] = {}
    for side in sides:
        reader = CategoryReader(codes, side, known, divide_by)
        read_rankings(matrix, side, reader)
        nothing = reader.n_relevant == 0
        for k, values in reader.average_precision.items():
            found["mAP" if k is None else f"mAP@{k}", side] = values, nothing
        found["R-P", side] = reader.r_precision, nothing
    return found


def _checked(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None,
    image_of_caption: ArrayLike | None,
) -> tuple[NDArray, tuple[Codes, Codes]]:
    matrix = as_array(similarity)
    if caption_categories is None or image_of_caption is not None or matrix.ndim != 2:
        matrix, pairing = checked_similarity(similarity, image_of_caption)
        codes = category_codes(image_categories, caption_categories, len(matrix), pairing)
    else:  # Any texts may be retrieved by category, whether or not they are an image's own.
        if matrix.size == 0 or matrix.dtype.kind not in "fiub":
            raise InputError(
                f"similarity is {matrix.dtype} of shape {list(matrix.shape)}; a matrix of real numbers is expected."
            )
        shape = len(as_array(image_categories)), len(as_array(caption_categories))
        if shape != matrix.shape and shape == matrix.shape[::-1]:
            raise InputError(
                f"similarity is {list(matrix.shape)} but there are {shape[0]} image_categories and {shape[1]} "
                "caption_categories: similarity looks transposed; pass similarity.T."
            )
        codes = category_codes(image_categories, caption_categories, len(matrix), None)
    if len(codes[1]) != matrix.shape[1]:
        raise InputError(f"caption_categories has {len(codes[1])} values but there are {matrix.shape[1]} captions.")
    return matrix, codes


@overload
def category_map(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = ...,
    direction: str = ...,
    cutoff: Cutoff = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    divide_by: str | None = ...,
    empty: str = ...,
    per_query: Literal[False] = ...,
) -> float: ...
@overload
def category_map(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = ...,
    direction: str = ...,
    cutoff: Cutoff = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    divide_by: str | None = ...,
    empty: str = ...,
    per_query: Literal[True],
) -> NDArray[np.float64]: ...
def category_map(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = None,
    direction: str = "i2t",
    cutoff: Cutoff = None,
    image_of_caption: ArrayLike | None = None,
    *,
    divide_by: str | None = None,
    empty: str = "zero",
    per_query: bool = False,
) -> float | NDArray[np.float64]:
    """Mean average precision where every item of the query's category is relevant.

    Average precision is the sum of the precision at every relevant item within the cut-off, divided by a number of
    relevant items. Over the whole ranking (``cutoff=None``) that is scheduled adaptive margin's mAP, as in the
    released code of DSCMR. Equal scores are ordered by index, lower first.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite.
        image_categories: ``[images]`` numbers or strings; an item without one (None, NaN) is relevant to nothing.
        caption_categories: ``[captions]``; default that of the caption's image.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        cutoff: None for the whole ranking; ``"R"`` for as many items as are relevant (mAP@R, Musgrave et al. 2020); a
            whole number k for the first k.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks. Not needed, and
            any number of captions fits, where ``caption_categories`` are given.
        divide_by: ``"found"``, relevant items within the cut-off (DSCMR; torchmetrics); ``"possible"``, as many as
            could be: min(R, cut-off); ``"relevant"``, all R (trec_eval). Default ``"found"``, and ``"relevant"`` for
            ``"R"``. All three agree on the whole ranking.
        empty: A query without relevant items counts 0 (``"zero"``), is left out (``"skip"``; NaN per query) or is an
            error (``"error"``).
        per_query: Return one value a query.

    Returns:
        A fraction, or ``[queries]`` fractions.

    Raises:
        InputError: If shapes disagree, a value is not finite, no category is shared, or an argument is unknown.
    """
    checked_choice("empty", empty, ("zero", "skip", "error"))
    given = similarity, image_categories, caption_categories, (cutoff,), image_of_caption, (direction,), divide_by
    name = "mAP" if cutoff is None else f"mAP@{cutoff}"
    side = checked_direction(direction)
    return mean_over_queries(*category_values(*given)[name, side], empty, per_query, side) / 100.0


@overload
def r_precision(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = ...,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[False] = ...,
) -> float: ...
@overload
def r_precision(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = ...,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[True],
) -> NDArray[np.float64]: ...
def r_precision(
    similarity: ArrayLike,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = None,
    direction: str = "i2t",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
    per_query: bool = False,
) -> float | NDArray[np.float64]:
    """Share of relevant items among the first R, R being how many items of the gallery have the query's category.

    Arguments and errors as in ``category_map``.

    Returns:
        A fraction, or ``[queries]`` fractions.
    """
    checked_choice("empty", empty, ("zero", "skip", "error"))
    side = checked_direction(direction)
    values = category_values(similarity, image_categories, caption_categories, (), image_of_caption, (side,))
    return mean_over_queries(*values["R-P", side], empty, per_query, side) / 100.0
