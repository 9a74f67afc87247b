"""Retrieval by category: every item of the query's category is relevant (mAP, mAP@R, R-precision; fractions)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.choices import each_once
from fivesentences.errors import InputError
from fivesentences.metrics.chance import any_found, summed_precision
from fivesentences.metrics.ranking import QueryBlock, parts, read_rankings
from fivesentences.metrics.values import POLICIES, Scores, after_policy, percent
from fivesentences.retrieval.arguments import Direction, checked_choice, checked_cutoffs, checked_direction
from fivesentences.retrieval.gallery import Gallery, Similarity, as_array, checked_similarity

Cutoff = int | Literal["R"] | None
DIVISORS = ("found", "possible", "relevant")

Codes = NDArray[np.int32]


class CategoryReader:
    """Average precision and R-precision of every query, filled block by block as ``read_rankings`` shows them.

    Args:
        codes: Categories of the images and of the captions, as ``category_codes`` returns them.
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
        # An item without a category (-1) matches nothing, not even another item without one.
        self.queries = np.where(queries < 0, -2, queries).astype(np.int32)
        self.cutoffs, self.divide_by = tuple(cutoffs), divide_by
        self.average_precision: dict[Cutoff, NDArray[np.float64]] = {k: np.zeros(len(queries)) for k in self.cutoffs}
        self.r_precision = np.zeros(len(queries))
        self.n_relevant = np.zeros(len(queries), dtype=np.int64)

    def scores(self, cutoff: Cutoff) -> Scores:
        """Return the average precision at one of the cut-offs."""
        return self.average_precision[cutoff], self.n_relevant == 0

    def by_chance(self, cutoff: Cutoff) -> Scores:
        """Return the expected average precision of a random ranking at one of the cut-offs."""
        size, relevant = len(self.gallery), self._relevant_by_count()
        if cutoff == "R":
            expected = summed_precision(relevant, size, relevant) / np.maximum(1, relevant)
        elif cutoff is None or cutoff >= size:
            expected = expected_average_precision(relevant, size)
        else:  # by the number h of hits: the precision of h items among so many, in random order
            found = any_found(relevant, size, cutoff)
            harmonic = float((1 / np.arange(1, cutoff + 1)).sum())
            further = (cutoff * relevant / size - found) / max(1, cutoff - 1)
            expected = (harmonic * found + (cutoff - harmonic) * further) / cutoff
        return np.where(relevant > 0, expected, 0.0), relevant == 0

    def r_precision_by_chance(self) -> Scores:
        """Return the expected R-precision of a random ranking."""
        relevant = self._relevant_by_count()
        return relevant / len(self.gallery), relevant == 0

    def _relevant_by_count(self) -> NDArray[np.int64]:
        count = np.bincount(self.gallery[self.gallery >= 0], minlength=int(self.queries.max(initial=0)) + 1)
        return np.where(self.queries >= 0, count[np.maximum(0, self.queries)], 0)

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
                end = len(self.gallery) if cutoff is None else cutoff
                limit = n_relevant if end == "R" else np.full(n_rows, end)
                inside = place < limit[row]
                total = np.bincount(row[inside], weights=precision[inside], minlength=n_rows)
                rule = self.divide_by or ("relevant" if cutoff == "R" else "found")
                if rule == "found":
                    divisor = np.bincount(row[inside], minlength=n_rows)
                else:
                    divisor = n_relevant if rule == "relevant" else np.minimum(n_relevant, limit)
                self.average_precision[cutoff][queries] = total / np.maximum(1, divisor)


def category_codes(
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None,
    shape: tuple[int, ...],
    pairing: NDArray[np.int64] | None,
) -> tuple[Codes, Codes]:
    """Return categories as numbers, the same for images and captions; -1 where there is none (None or NaN).

    Args:
        image_categories: ``[images]`` numbers or strings.
        caption_categories: ``[captions]``; default that of the caption's image.
        shape: How many images and captions there are.
        pairing: ``[captions]`` image of each caption, if captions have no categories of their own.

    Raises:
        InputError: If a length does not fit, or no image has the category of any caption.
    """
    import pandas as pd  # a second at the start of every program that imports the metrics

    given = {"image": image_categories, "caption": caption_categories}
    found = {}
    for (what, categories), size in zip(given.items(), shape, strict=True):
        if categories is None:
            continue
        found[what] = values = as_array(categories, "categories").astype(object)
        if values.ndim != 1:
            raise InputError(f"{what}_categories is {list(values.shape)}; give one category per {what}.")
        if len(values) != size:
            raise InputError(f"{what}_categories has {len(values)} values but there are {size} {what}s.")
    codes = pd.factorize(np.concatenate(list(found.values())))[0].astype(np.int32)
    of_images = codes[: shape[0]]
    of_captions = of_images[pairing] if caption_categories is None else codes[shape[0] :]
    if not np.intersect1d(of_images[of_images >= 0], of_captions).size:
        raise InputError(
            "no caption has the category of any image, so nothing is relevant; give both in the same words or numbers."
        )
    return of_images, of_captions


def checked_category_cutoffs(cutoffs: Sequence[Cutoff]) -> tuple[Cutoff, ...]:
    """Return cut-offs of mAP, each once: None, "R" or a whole number of at least 1; there may be none.

    Raises:
        InputError: If one is something else, or they are not a list.
    """
    if isinstance(cutoffs, str) or not isinstance(cutoffs, Sequence):
        raise InputError(f"the cut-offs of mAP are {cutoffs!r}; give a list such as (None, 'R', 100).")
    return each_once(k if k is None or k == "R" else checked_cutoffs((k,), "cutoff")[0] for k in cutoffs)


def category_map(
    similarity: Similarity,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = None,
    direction: str = "i2t",
    cutoff: Cutoff = None,
    image_of_caption: ArrayLike | None = None,
    *,
    divide_by: str | None = None,
    empty: str = "zero",
) -> float:
    """Return the mean average precision where every item of the query's category is relevant.

    Average precision is the sum of the precision at every relevant item within the cut-off, divided by a number of
    relevant items. Over the whole ranking (``cutoff=None``) that is scheduled adaptive margin's mAP, as in the
    released code of DSCMR. Equal scores are ordered by index, lower first.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        image_categories: ``[images]`` numbers or strings; an item without one (None, NaN) is relevant to nothing.
        caption_categories: ``[captions]``; default that of the caption's image.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        cutoff: None for the whole ranking; ``"R"`` for as many items as are relevant (mAP@R, Musgrave et al. 2020); a
            whole number k for the first k.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks. Not needed, and
            any number of captions is accepted, if ``caption_categories`` are given.
        divide_by: ``"found"``, relevant items within the cut-off (DSCMR; torchmetrics); ``"possible"``, as many as
            could be: min(R, cut-off); ``"relevant"``, all R (trec_eval). Default ``"found"``, and ``"relevant"`` for
            ``"R"``. All three agree on the whole ranking.
        empty: A query without relevant items counts 0 (``"zero"``), is left out (``"skip"``) or is an error
            (``"error"``).

    Returns:
        A fraction.

    Raises:
        InputError: If shapes disagree, a value is not finite, no category is shared, or an argument is unknown.
    """
    checked_choice("divide_by", divide_by, (None, *DIVISORS))
    given = image_categories, caption_categories, image_of_caption
    reader, side = _read(similarity, *given, direction, checked_category_cutoffs((cutoff,)), divide_by, empty)
    return percent(after_policy(reader.scores(cutoff), empty, side)) / 100.0


def r_precision(
    similarity: Similarity,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None = None,
    direction: str = "i2t",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
) -> float:
    """Compute the share of relevant items among the first R, the number of items that have the query's category.

    Arguments, result and errors as in ``category_map``.
    """
    given = image_categories, caption_categories, image_of_caption
    reader, side = _read(similarity, *given, direction, (), None, empty)
    return percent(after_policy((reader.r_precision, reader.n_relevant == 0), empty, side)) / 100.0


def _read(
    similarity: Similarity,
    image_categories: ArrayLike,
    caption_categories: ArrayLike | None,
    image_of_caption: ArrayLike | None,
    direction: str,
    cutoffs: Sequence[Cutoff],
    divide_by: str | None,
    empty: str,
) -> tuple[CategoryReader, Direction]:
    """Rank the gallery and read every query's categories."""
    checked_choice("empty", empty, POLICIES)
    side = checked_direction(direction)
    if caption_categories is None or image_of_caption is not None:
        gallery = Gallery.of(similarity, image_of_caption)
        matrix, pairing = gallery.similarity, gallery.image_of_caption
    else:  # Any texts may be retrieved by category, whether or not they are an image's own.
        wanted = np.shape(as_array(image_categories))[:1] + np.shape(as_array(caption_categories))[:1]
        matrix, pairing = checked_similarity(similarity, wanted), None
    codes = category_codes(image_categories, caption_categories, matrix.shape, pairing)
    reader = CategoryReader(codes, side, cutoffs, divide_by)
    read_rankings(matrix, side, reader)
    return reader, side


def expected_average_precision(relevant: ArrayLike, gallery: int) -> NDArray[np.float64]:
    """Return the expected average precision over a whole ranking in random order (Bestgen 2015).

    With R relevant items among N, and H the N-th harmonic number, it is
    ``(R - 1) / (N - 1) * (1 - H / N) + H / N``: a little above R / N.

    Args:
        relevant: ``[queries]`` relevant items of each query, 0 to ``gallery``.
        gallery: How many items are ranked, at least 1.

    Returns:
        ``[queries]`` fractions; 0 for a query without relevant items.
    """
    counts = np.asarray(relevant, dtype=np.float64)
    harmonic = float((1 / np.arange(1, gallery + 1)).sum()) / gallery
    expected: NDArray[np.float64] = (counts - 1) / max(1, gallery - 1) * (1 - harmonic) + harmonic
    return np.where(counts > 0, expected, 0.0)
