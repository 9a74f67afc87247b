"""Instance recall and rank statistics: is the query's own item found, and how far down?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.metrics.ranking import (
    DIRECTIONS,
    Ranking,
    checked_choice,
    checked_cutoffs,
    checked_similarity,
    mean_over_queries,
    rank,
)
from fivesentences.retrieval.matrices import checked_direction

PerQuery = dict[int, NDArray[np.float64]]


class RankStatistics(NamedTuple):
    """Position of the best-placed ground-truth item, 1 is best."""

    median: float
    mean: float


def ranking_of(
    similarity: ArrayLike, direction: str, image_of_caption: ArrayLike | None, depth: int, empty: str = "zero"
) -> Ranking:
    """Check what a recall metric was given and rank.

    Raises:
        InputError: If something does not fit.
    """
    checked_choice("empty", empty, ("zero", "skip", "error"))
    side = checked_direction(direction)
    matrix, pairing = checked_similarity(similarity, image_of_caption)
    return rank(matrix, pairing, side, depth)


def recall_values(ranking: Ranking, k: int) -> NDArray[np.float64]:
    """``[queries]`` 1 where a ground-truth item is among the first ``k``, else 0."""
    return (ranking.ground_truth_rank < k).astype(np.float64)


def true_recall_values(ranking: Ranking, k: int) -> NDArray[np.float64]:
    """``[queries]`` share of the query's ground-truth items among the first ``k``."""
    return np.asarray(np.count_nonzero(ranking.own[:, :k], axis=1) / ranking.n_own)


def statistics_of(ranks: NDArray[np.int64]) -> RankStatistics:
    """Median and mean rank, counted from 1, of ranks counted from 0."""
    return RankStatistics(float(np.floor(np.median(ranks))) + 1.0, float(np.mean(ranks)) + 1.0)


@overload
def recall_at_k(
    similarity: ArrayLike,
    ks: Sequence[int] = ...,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[False] = ...,
) -> dict[int, float]: ...
@overload
def recall_at_k(
    similarity: ArrayLike,
    ks: Sequence[int] = ...,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[True],
) -> PerQuery: ...
def recall_at_k(
    similarity: ArrayLike,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
    per_query: bool = False,
) -> dict[int, float] | PerQuery:
    """Share of queries with at least one ground-truth item among the first k.

    Five Sentences eq. 2 (R^V), the "recall" of nearly every image-text matching paper. Equal scores are ordered by
    index, lower first.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite.
        ks: Cut-offs, each at least 1; beyond the gallery every query counts as found.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        empty: Accepted as by every metric; here no query can be empty.
        per_query: Return one value a query.

    Returns:
        Percent for each cut-off, or ``[queries]`` percent (0 or 100).

    Raises:
        InputError: If shapes disagree, a value is not finite, or an image has no caption.
    """
    cutoffs = checked_cutoffs(ks)
    ranking = ranking_of(similarity, direction, image_of_caption, depth=1, empty=empty)
    return _percent({k: recall_values(ranking, k) for k in cutoffs}, ranking, empty, per_query)


@overload
def true_recall_at_k(
    similarity: ArrayLike,
    ks: Sequence[int] = ...,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[False] = ...,
) -> dict[int, float]: ...
@overload
def true_recall_at_k(
    similarity: ArrayLike,
    ks: Sequence[int] = ...,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[True],
) -> PerQuery: ...
def true_recall_at_k(
    similarity: ArrayLike,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
    per_query: bool = False,
) -> dict[int, float] | PerQuery:
    """Share of a query's ground-truth items that are among the first k, mean over queries.

    Five Sentences eq. 1 (R). With five captions an image reaches at most 20 % at k = 1. From captions to images it
    equals ``recall_at_k``. Arguments and errors as there.

    Returns:
        Percent for each cut-off, or ``[queries]`` percent.
    """
    cutoffs = checked_cutoffs(ks)
    ranking = ranking_of(similarity, direction, image_of_caption, depth=max(cutoffs), empty=empty)
    return _percent({k: true_recall_values(ranking, k) for k in cutoffs}, ranking, empty, per_query)


@overload
def rank_statistics(
    similarity: ArrayLike,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[False] = ...,
) -> RankStatistics: ...
@overload
def rank_statistics(
    similarity: ArrayLike,
    direction: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[True],
) -> NDArray[np.int64]: ...
def rank_statistics(
    similarity: ArrayLike,
    direction: str = "i2t",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
    per_query: bool = False,
) -> RankStatistics | NDArray[np.int64]:
    """Median and mean rank of the best-placed ground-truth item, 1 is best.

    As in VSE++ and its successors: the median is rounded down (floor of the median of ranks counted from 0, plus 1).
    Arguments and errors as in ``recall_at_k``.

    Returns:
        ``(median, mean)``, or ``[queries]`` ranks.
    """
    ranking = ranking_of(similarity, direction, image_of_caption, depth=1, empty=empty)
    if per_query:
        return ranking.ground_truth_rank + 1
    return statistics_of(ranking.ground_truth_rank)


def rsum(similarity: ArrayLike, ks: Sequence[int] = (1, 5, 10), image_of_caption: ArrayLike | None = None) -> float:
    """Sum of ``recall_at_k`` over cut-offs and both directions; 0 to 600 for three cut-offs.

    Arguments and errors as in ``recall_at_k``.
    """
    return sum(sum(recall_at_k(similarity, ks, direction, image_of_caption).values()) for direction in DIRECTIONS)


def _percent(
    values: dict[int, NDArray[np.float64]], ranking: Ranking, empty: str, per_query: bool
) -> dict[int, float] | PerQuery:
    nothing = np.zeros(ranking.n_queries, dtype=bool)
    return {k: mean_over_queries(v, nothing, empty, per_query, ranking.direction) for k, v in values.items()}  # type: ignore[return-value]
