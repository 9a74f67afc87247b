"""Retrieval against given lists of positives: CxC recall, ECCV Caption's R-precision and mAP@R.

A query has any number of positives, and those from images to captions need not be those from captions to images.
Queries without a positive are left out unless ``empty`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from fivesentences.errors import Cure, InputError
from fivesentences.metrics.chance import RandomRanking, any_found, summed_precision
from fivesentences.metrics.ranking import blocks_of_queries
from fivesentences.metrics.values import POLICIES, Scores, after_policy, percent
from fivesentences.retrieval.arguments import Direction, checked_choice, checked_cutoffs, checked_direction
from fivesentences.retrieval.blocks import best_first
from fivesentences.retrieval.gallery import Gallery, Similarity, checked_similarity


@dataclass(frozen=True, eq=False)
class Positives:
    """Which pairs of an image and a caption count as a match.

    Attributes:
        i2t: Sparse bool ``[images, captions]``, the captions that are correct for an image as a query.
        t2i: Sparse bool ``[images, captions]``, the images that are correct for a caption as a query.
        outside_i2t: ``[images]`` further positives of each image that are not in the gallery; they can never be
            retrieved but count in the number R of positives. Default none.
        outside_t2i: ``[captions]`` the same for captions as queries.
        own: Sparse bool ``[images, captions]``, pairs among which the lists have each caption with its own image: a
            gallery that gives the caption to another image is in another order, see ``check_owners``. Default t2i.
            Captions without a pair are not checked; a matrix without any is for lists that leave own images out.

    Raises:
        InputError: If shapes disagree.
    """

    i2t: scipy.sparse.csr_array
    t2i: scipy.sparse.csr_array
    outside_i2t: NDArray[np.int64] | None = None
    outside_t2i: NDArray[np.int64] | None = None
    own: scipy.sparse.csr_array | None = None

    def __post_init__(self) -> None:
        for name in ("i2t", "t2i", *(["own"] if self.own is not None else [])):
            matrix = _boolean(getattr(self, name), name)
            object.__setattr__(self, name, matrix)
            if matrix.shape != self.i2t.shape:
                raise InputError(
                    f"{name} is {list(matrix.shape)} but i2t {list(self.i2t.shape)}; both are [images, captions]."
                )
        for name, size in zip(("outside_i2t", "outside_t2i"), self.i2t.shape, strict=True):
            given = getattr(self, name)
            counts = np.zeros(size, dtype=np.int64) if given is None else np.asarray(given)
            if counts.shape != (size,) or counts.dtype.kind not in "iu" or counts.min(initial=0) < 0:
                raise InputError(f"{name} is {counts.dtype} {list(counts.shape)}; give {size} counts of at least 0.")
            object.__setattr__(self, name, counts.astype(np.int64))

    @classmethod
    def symmetric(cls, pairs: Any) -> Positives:
        """Take the same pairs in both directions: ``[images, captions]``, dense or sparse, true where it is a match."""
        matrix = _boolean(pairs, "pairs")
        return cls(matrix, matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Images and captions of the gallery."""
        return self.i2t.shape[0], self.i2t.shape[1]

    def of_queries(self, direction: Direction) -> scipy.sparse.csr_array:
        """Return ``[queries, gallery]``, columns of a row ascending."""
        if direction == "i2t":
            return self.i2t
        flipped = self.t2i.T.tocsr()
        flipped.sort_indices()
        return flipped

    def number(self, direction: Direction) -> NDArray[np.int64]:
        """Return ``[queries]`` R, the number of positives of each query, including those outside the gallery."""
        outside = self.outside_i2t if direction == "i2t" else self.outside_t2i
        return np.asarray(np.diff(self.of_queries(direction).indptr).astype(np.int64) + outside)

    def check(self, shape: tuple[int, ...], name: str = "the positives") -> None:
        """Refuse a similarity of another size.

        Args:
            shape: Shape of the similarity.
            name: Name of the positives for errors.

        Raises:
            InputError: If it is not ``[images, captions]`` of the gallery.
        """
        if shape != self.shape:
            raise InputError(
                f"{name} are of {self.shape[0]} images and {self.shape[1]} captions but similarity is {list(shape)}, "
                "which is of another gallery; score the whole split that the lists name, or leave them out."
            )

    def check_owners(self, image_of_caption: NDArray[np.int64], name: str = "the positives") -> None:
        """Refuse a gallery in another order than the lists: a caption's own image is among those they have for it.

        Args:
            image_of_caption: ``[captions]`` image index of each caption of the gallery, of the size of the lists.
            name: Name of the positives for errors.

        Raises:
            InputError: If the gallery gives a caption to another image.
        """
        by_caption = (self.t2i if self.own is None else self.own).T.tocsr()
        by_caption.sort_indices()
        checked = np.flatnonzero(np.diff(by_caption.indptr))
        wrong = checked[~_contains(by_caption, checked, image_of_caption[checked, None])[:, 0]]
        if not len(wrong):
            return
        caption = int(wrong[0])
        listed = by_caption.indices[by_caption.indptr[caption] : by_caption.indptr[caption + 1]]
        words = f"image{'s' * (len(listed) > 1)} {', '.join(map(str, listed[:3]))}{', ...' * (len(listed) > 3)}"
        own = "; Positives(..., own=...) is for lists that leave own images out" if self.own is None else ""
        ids = "the ids of the rows and columns in their own order"
        raise InputError(
            f"{name} have caption {caption} with {words}, but the similarity has it as a caption of image "
            f"{int(image_of_caption[caption])}, and so for {len(wrong):,} of {len(checked):,} captions: rows or "
            "columns are in another order than the lists",
            cure=Cure(
                f"name {ids}, and image_of_caption where it is not in blocks{own}",
                f"give {ids} by --image-ids FILE and --caption-ids FILE, and --image-of-caption FILE where captions do "
                "not follow in equal blocks",
            ),
        )


@dataclass(frozen=True, eq=False)
class Hits:
    """Which of the first items of every query that has a positive are positive.

    Attributes:
        direction: Which side the queries are.
        n_queries: All queries, including those without a positive.
        queries: ``[some]`` the queries that have one, ascending.
        hit: ``[some, depth]`` whether the item at this place of the ranking is positive.
        number: ``[some]`` R.
    """

    direction: Direction
    n_queries: int
    queries: NDArray[np.int64]
    hit: NDArray[np.bool_]
    number: NDArray[np.int64]

    def recall(self, k: int) -> NDArray[np.float64]:
        """Return ``[some]`` 1 where a positive is among the first k, else 0."""
        return np.asarray(self.hit[:, :k].any(axis=1), dtype=np.float64)

    def r_precision(self) -> NDArray[np.float64]:
        """Return ``[some]`` share of positives among the first R, which must have been looked at."""
        return np.asarray(np.count_nonzero(self._until_r(), axis=1) / self.number)

    def average_precision_at_r(self) -> NDArray[np.float64]:
        """Return ``[some]`` mean over the places 1 to R of the precision there, 0 at places without a positive."""
        counted = self._until_r()
        precision = np.cumsum(counted, axis=1) / np.arange(1, counted.shape[1] + 1)
        return np.asarray((precision * counted).sum(axis=1) / self.number)

    def _until_r(self) -> NDArray[np.bool_]:
        return self.hit & (np.arange(self.hit.shape[1]) < self.number[:, None])

    def scores(self, values: NDArray[np.float64], empty: str) -> Scores:
        """Return ``[queries]`` fractions of all queries, and which have no positive, from ``[some]`` fractions.

        Raises:
            InputError: If no query has a positive and ``empty`` leaves such queries out.
        """
        everyone, is_empty = np.zeros(self.n_queries), np.ones(self.n_queries, dtype=bool)
        everyone[self.queries] = values
        is_empty[self.queries] = False
        if not len(self.queries) and empty == "skip":
            raise InputError(f"no query of {self.direction} has a positive; do the ids of the lists fit the gallery?")
        return everyone, is_empty

    def mean(self, values: NDArray[np.float64], empty: str) -> float:
        """Return percent from ``[some]`` fractions.

        Raises:
            InputError: As the policy ``empty`` says.
        """
        return percent(after_policy(self.scores(values, empty), empty, self.direction))


@dataclass(frozen=True, eq=False)
class ExpectedHits(Hits):
    """The same of a random ranking: ``hit`` is empty, and values are expected ones.

    Attributes:
        inside: ``[some]`` positives that are in the gallery.
        n_gallery: Items of the gallery.
    """

    inside: NDArray[np.int64]
    n_gallery: int

    def recall(self, k: int) -> NDArray[np.float64]:
        """Return ``[some]`` the probability that a positive is among the first k."""
        return any_found(self.inside, self.n_gallery, k)

    def r_precision(self) -> NDArray[np.float64]:
        """Return ``[some]`` the expected share of positives among the first R."""
        return np.asarray(np.minimum(self.number, self.n_gallery) * self.inside / (self.n_gallery * self.number))

    def average_precision_at_r(self) -> NDArray[np.float64]:
        """Return ``[some]`` the expected mean over the places 1 to R of the precision there."""
        return summed_precision(self.inside, self.n_gallery, self.number) / self.number


def find_hits(similarity: Similarity, positives: Positives, direction: str, depth: int = 1, to_r: bool = False) -> Hits:
    """Rank the gallery for every query that has a positive, and look its first items up in the lists.

    Equal scores are ordered by index, lower first.

    Args:
        similarity: ``[images, captions]``, or a ``Gallery``, whose pairing is compared with the lists.
        positives: Lists for this gallery.
        direction: ``"i2t"`` or ``"t2i"``.
        depth: How many items to look at.
        to_r: Whether to look at as many items as the query with the most positives has positives, if that is more.

    Raises:
        InputError: If the shapes disagree, a value is not finite, or a gallery is in another order than the lists.
    """
    side = checked_direction(direction)
    matrix = checked_similarity(similarity, positives.shape)
    positives.check(matrix.shape)
    if isinstance(similarity, Gallery):
        positives.check_owners(similarity.image_of_caption)
    if to_r:
        depth = max(depth, int(positives.number(side).max()))
    items = [best_first(block, min(depth, block.shape[1])) for _, block in blocks_of_queries(matrix, side)]
    return hits_of_ranking(np.concatenate(items), positives, side)


def hits_of_ranking(items: NDArray[np.int64] | RandomRanking, positives: Positives, direction: Direction) -> Hits:
    """Find hits in ``[queries, depth]`` rankings of all queries, best first."""
    number, of_queries = positives.number(direction), positives.of_queries(direction)
    queries = np.flatnonzero(number)
    if isinstance(items, RandomRanking):
        none, inside = np.empty((len(queries), 0), dtype=bool), np.diff(of_queries.indptr)[queries].astype(np.int64)
        return ExpectedHits(direction, len(number), queries, none, number[queries], inside, items.n_gallery)
    hit = _contains(of_queries, queries, items[queries])
    return Hits(direction, len(number), queries, hit, number[queries])


def recall_of_positives(
    similarity: Similarity,
    positives: Positives,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    *,
    empty: str = "skip",
) -> dict[int, float]:
    """Return the share of queries with at least one positive among the first k: CxC recall, ECCV R@k.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        positives: Lists for the same images and captions.
        ks: Cut-offs, each at least 1; beyond the gallery the whole gallery counts.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        empty: A query without positives is left out (``"skip"``, as in CxC and ECCV Caption), counts 0 (``"zero"``) or
            is an error (``"error"``).

    Returns:
        Percent for each cut-off.

    Raises:
        InputError: If shapes disagree, a value is not finite, or no query has a positive.
    """
    cutoffs = checked_cutoffs(ks)
    checked_choice("empty", empty, POLICIES)
    hits = find_hits(similarity, positives, direction, max(cutoffs))
    return {k: hits.mean(hits.recall(k), empty) for k in cutoffs}


def map_at_r(similarity: Similarity, positives: Positives, direction: str = "i2t", *, empty: str = "skip") -> float:
    """Return the mean average precision at R (Musgrave et al. 2020; ECCV Caption, Chun et al. 2022).

    R is the number of positives of the query, including those outside the gallery; the average runs over the places 1
    to R, of the precision there if the item is positive and 0 if it is not. Arguments and errors as in
    ``recall_of_positives``.

    Returns:
        A fraction.
    """
    checked_choice("empty", empty, POLICIES)
    hits = find_hits(similarity, positives, direction, to_r=True)
    return hits.mean(hits.average_precision_at_r(), empty) / 100.0


def r_precision_of(
    similarity: Similarity, positives: Positives, direction: str = "i2t", *, empty: str = "skip"
) -> float:
    """Return the share of positives among the first R items, R being the number of positives of the query.

    Arguments and errors as in ``recall_of_positives``.

    Returns:
        A fraction.
    """
    checked_choice("empty", empty, POLICIES)
    hits = find_hits(similarity, positives, direction, to_r=True)
    return hits.mean(hits.r_precision(), empty) / 100.0


def _contains(
    wanted: scipy.sparse.csr_array, queries: NDArray[np.int64], items: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return ``[some, depth]`` whether ``items`` of ``queries`` are in their rows of ``wanted``."""
    n_gallery = wanted.shape[1]
    # One ascending list of numbers, row by row, in which every pair is looked up at once.
    rows = np.repeat(np.arange(wanted.shape[0]), np.diff(wanted.indptr))
    known = rows * n_gallery + wanted.indices
    if not len(known):
        return np.zeros(items.shape, dtype=bool)
    asked = queries[:, None] * n_gallery + items
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.asarray(known[place] == asked)


def _boolean(pairs: Any, name: str) -> scipy.sparse.csr_array:
    try:
        matrix = scipy.sparse.csr_array(pairs).astype(bool)
        if matrix.ndim != 2:
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"{name} is {type(pairs).__name__}; a matrix [images, captions] is expected.") from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix
