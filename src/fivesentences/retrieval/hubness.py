"""Hubs: items of a gallery that are among the first k of very many queries, and items that never are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fivesentences.retrieval.arguments import checked_count, checked_direction
from fivesentences.retrieval.blocks import best_first, blocks_of_columns, blocks_of_rows
from fivesentences.retrieval.gallery import Similarity, checked_similarity


@dataclass(frozen=True, eq=False)
class Hubness:
    """k-occurrences N_k of a gallery: for how many queries each item is among the first k.

    Attributes:
        counts: ``[gallery]`` N_k of each item; they sum to ``n_queries * min(k, gallery)``.
        k: How many items of each ranking count.
        n_queries: Queries.
        numbers: Items with N_k of 0, 1, at least 2, at least 5 and at least 10, as in the paper's Table 5, by "0", "1",
            ">=2", ">=5" and ">=10".
        shares: The same in percent of the gallery.
        maximum: The largest N_k.
        skewness: Third standardised moment of N_k over the gallery (Radovanovic et al. 2010); 0 where all are equal.
        gini: Gini coefficient of N_k, 0 (all equal) to below 1 (all on one item).
    """

    counts: NDArray[np.int64]
    k: int
    n_queries: int
    numbers: dict[str, int]
    shares: dict[str, float]
    maximum: int
    skewness: float
    gini: float


def hubness(similarity: Similarity, direction: str = "i2t", k: int = 1) -> Hubness:
    """Return how often each item of the gallery is among the first k of a query (kNN-margin Table 5 with k = 1).

    Equal scores are ordered by index, lower first.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``.
        direction: ``"i2t"`` queries with images and counts captions, ``"t2i"`` the other way round.
        k: Items of each ranking that count, 1 in the paper; beyond the gallery all count.

    Raises:
        InputError: If ``similarity`` is transposed, repeats its images or is not finite, or k is below 1.
    """
    side = checked_direction(direction)
    matrix = checked_similarity(similarity)
    k = checked_count("k", k)
    n_queries, n_gallery = matrix.shape if side == "i2t" else matrix.shape[::-1]
    counts = np.zeros(n_gallery, dtype=np.int64)
    for _, block in blocks_of_rows(matrix, dtype=None) if side == "i2t" else blocks_of_columns(matrix):
        first = block.argmax(axis=1) if k == 1 else best_first(block, k)
        counts += np.bincount(first.ravel(), minlength=n_gallery)
    return _hubness_of_counts(counts, k, n_queries)


def hubness_of_ranking(items: NDArray[np.int64], n_gallery: int, k: int) -> Hubness:
    """Return the ``hubness`` of ``[queries, k or the whole gallery]`` gallery indices, best first."""
    return _hubness_of_counts(np.bincount(items[:, :k].ravel(), minlength=n_gallery), k, len(items))


def _hubness_of_counts(counts: NDArray[np.int64], k: int, n_queries: int) -> Hubness:
    chosen = {"0": counts == 0, "1": counts == 1, **{f">={least}": counts >= least for least in (2, 5, 10)}}
    numbers = {name: int(np.count_nonzero(items)) for name, items in chosen.items()}
    shares = {name: 100.0 * number / len(counts) for name, number in numbers.items()}
    deviation = counts - counts.mean()
    spread = float((deviation**2).mean()) ** 1.5
    skewness = float((deviation**3).mean()) / spread if counts.min() < counts.max() else 0.0
    # The Gini coefficient is the mean absolute difference between two items, over twice the mean.
    n = len(counts)
    weighted = int((np.sort(counts) * (2 * np.arange(1, n + 1) - n - 1)).sum())
    gini = weighted / (n * int(counts.sum()))
    return Hubness(counts, k, n_queries, numbers, shares, int(counts.max()), skewness, gini)
