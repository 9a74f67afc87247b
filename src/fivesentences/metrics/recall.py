"""Instance recall and rank statistics: is the query's own item found, and how far down?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.metrics.chance import RandomRanking, any_found
from fivesentences.metrics.ranking import Ranking, ranking_of
from fivesentences.metrics.values import percent
from fivesentences.retrieval.arguments import DIRECTIONS, checked_cutoffs, checked_direction
from fivesentences.retrieval.gallery import Gallery, Similarity


class RankStatistics(NamedTuple):
    """Rank of the best-placed ground-truth item, 1 is best.

    Attributes:
        median: Median over queries, rounded down.
        mean: Mean over queries.
    """

    median: float
    mean: float


def recall_values(ranking: Ranking, k: int) -> NDArray[np.float64]:
    """Return ``[queries]`` 1 where a ground-truth item is among the first ``k``, else 0."""
    return (ranking.ground_truth_rank < k).astype(np.float64)


def true_recall_values(ranking: Ranking, k: int) -> NDArray[np.float64]:
    """Return ``[queries]`` share of the query's ground-truth items among the first ``k``."""
    return np.asarray(np.count_nonzero(ranking.own[:, :k], axis=1) / ranking.n_own)


def recall_by_chance(ranking: RandomRanking, k: int) -> NDArray[np.float64]:
    """Return ``[queries]`` expected ``recall_values`` of a random ranking."""
    return any_found(ranking.n_own, ranking.n_gallery, k)


def true_recall_by_chance(ranking: RandomRanking, k: int) -> NDArray[np.float64]:
    """Return ``[queries]`` expected ``true_recall_values`` of a random ranking."""
    return ranking.share(k)


def statistics_of(ranks: NDArray[np.int64]) -> RankStatistics:
    """Return the median and mean rank, counted from 1, of ranks counted from 0."""
    return RankStatistics(float(np.floor(np.median(ranks))) + 1.0, float(np.mean(ranks)) + 1.0)


def recall_at_k(
    similarity: Similarity,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    image_of_caption: ArrayLike | None = None,
) -> dict[int, float]:
    """Return the share of queries with at least one ground-truth item among the first k.

    Five Sentences eq. 2 (R^V), the "recall" of nearly every image-text matching paper. Equal scores are ordered by
    index, lower first.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        ks: Cut-offs, each at least 1; beyond the gallery every query counts as found.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.

    Returns:
        Percent for each cut-off.

    Raises:
        InputError: If shapes disagree, a value is not finite, or an image has no caption.
    """
    cutoffs, side = checked_cutoffs(ks), checked_direction(direction)
    ranking = ranking_of(Gallery.of(similarity, image_of_caption), side, depth=1)
    return {k: percent(recall_values(ranking, k)) for k in cutoffs}


def true_recall_at_k(
    similarity: Similarity,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    image_of_caption: ArrayLike | None = None,
) -> dict[int, float]:
    """Return the share of a query's ground-truth items that are among the first k, mean over queries.

    Five Sentences eq. 1 (R). With five captions, an image reaches at most 20 % at k = 1. From captions to images it
    equals ``recall_at_k``. Arguments, result and errors as there.
    """
    cutoffs, side = checked_cutoffs(ks), checked_direction(direction)
    ranking = ranking_of(Gallery.of(similarity, image_of_caption), side, depth=max(cutoffs))
    return {k: percent(true_recall_values(ranking, k)) for k in cutoffs}


def rank_statistics(
    similarity: Similarity, direction: str = "i2t", image_of_caption: ArrayLike | None = None
) -> RankStatistics:
    """Compute the median and mean rank of the best-placed ground-truth item, 1 is best.

    As in VSE++ and its successors: the median is rounded down (floor of the median of ranks counted from 0, plus 1).
    Arguments and errors as in ``recall_at_k``.

    Returns:
        ``(median, mean)``.
    """
    side = checked_direction(direction)
    return statistics_of(ranking_of(Gallery.of(similarity, image_of_caption), side, depth=1).ground_truth_rank)


def rsum(similarity: Similarity, ks: Sequence[int] = (1, 5, 10), image_of_caption: ArrayLike | None = None) -> float:
    """Return the sum of ``recall_at_k`` over cut-offs and both directions; 0 to 600 for three cut-offs.

    Arguments and errors as in ``recall_at_k``.
    """
    gallery = Gallery.of(similarity, image_of_caption)
    return sum(sum(recall_at_k(gallery, ks, direction).values()) for direction in DIRECTIONS)
