"""Hubs: items of a gallery that are among the first k of very many queries, and items that never are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.retrieval.arguments import checked_count, checked_direction
from fivesentences.retrieval.blocks import blocks_of_rows, kept_type
from fivesentences.retrieval.gallery import Similarity, checked_similarity
from fivesentences.retrieval.largest import largest_of_columns, largest_of_rows


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
    """How often each item of the gallery is among the first k of a query (kNN-margin Table 5 with k = 1).

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
    counts = _counts_of_captions(matrix, k) if side == "i2t" else _counts_of_images(matrix, k)
    return hubness_of_counts(counts, k, n_queries=matrix.shape[0 if side == "i2t" else 1])


def hubness_of_ranking(items: ArrayLike, n_gallery: int, k: int = 1) -> Hubness:
    """``hubness`` of rankings that have been made already.

    Args:
        items: ``[queries, k or more]`` gallery indices, best first.
        n_gallery: Items of the gallery.
        k: Items of each ranking that count; beyond the gallery all count.

    Raises:
        InputError: If the rankings are shorter than k or name an item that is not in the gallery.
    """
    k = checked_count("k", k)
    ranked = np.asarray(items)
    depth = min(k, n_gallery)
    if ranked.ndim != 2 or ranked.dtype.kind not in "iu" or ranked.shape[1] < depth or not len(ranked):
        raise InputError(
            f"items is {ranked.dtype} {list(ranked.shape)}; [queries, {depth} or more] gallery indices are needed."
        )
    first = ranked[:, :depth]
    if first.min() < 0 or first.max() >= n_gallery:
        wrong = int(first.min() if first.min() < 0 else first.max())
        raise InputError(f"items holds {wrong}; the gallery has items 0 to {n_gallery - 1}.")
    return hubness_of_counts(np.bincount(first.ravel(), minlength=n_gallery), k, len(ranked))


def hubness_of_counts(counts: NDArray[np.int64], k: int, n_queries: int) -> Hubness:
    """Statistics of the k-occurrences ``[gallery]``."""
    numbers = {
        "0": int(np.count_nonzero(counts == 0)),
        "1": int(np.count_nonzero(counts == 1)),
        ">=2": int(np.count_nonzero(counts >= 2)),
        ">=5": int(np.count_nonzero(counts >= 5)),
        ">=10": int(np.count_nonzero(counts >= 10)),
    }
    shares = {name: 100.0 * number / len(counts) for name, number in numbers.items()}
    return Hubness(counts, k, n_queries, numbers, shares, int(counts.max()), _skewness(counts), _gini(counts))


def _skewness(counts: NDArray[np.int64]) -> float:
    deviation = counts - counts.mean()
    variance = float((deviation**2).mean())
    return float((deviation**3).mean()) / variance**1.5 if counts.min() < counts.max() else 0.0


def _gini(counts: NDArray[np.int64]) -> float:
    """Mean absolute difference between two items, over twice the mean."""
    n, total = len(counts), int(counts.sum())
    weighted = int((np.sort(counts) * (2 * np.arange(1, n + 1) - n - 1)).sum())
    return weighted / (n * total)


def _counts_of_captions(matrix: NDArray, k: int) -> NDArray[np.int64]:
    """``[captions]`` for how many images each caption is among the first k."""
    n_captions = matrix.shape[1]
    counts = np.zeros(n_captions, dtype=np.int64)
    for _, block in blocks_of_rows(matrix, dtype=None):
        if k == 1:
            counts += np.bincount(block.argmax(axis=1), minlength=n_captions)
            continue
        bound = largest_of_rows(block, min(k, n_captions))[-1][:, None]
        above, equal = block > bound, block == bound
        left = min(k, n_captions) - np.count_nonzero(above, axis=1)  # places for scores equal to the last one
        tied = np.flatnonzero(np.count_nonzero(equal, axis=1) > left)
        equal[tied] &= np.cumsum(equal[tied], axis=1, dtype=np.int32) <= left[tied, None]
        counts += np.count_nonzero(above | equal, axis=0)
    return counts


def _counts_of_images(matrix: NDArray, k: int) -> NDArray[np.int64]:
    """``[images]`` for how many captions each image is among the first k."""
    n_images, n_captions = matrix.shape
    k = min(k, n_images)
    bound = np.empty(n_captions, dtype=kept_type(matrix))
    left = np.empty(n_captions, dtype=np.int64)  # places for scores equal to the last one
    for part, top in largest_of_columns(matrix, k):
        bound[part] = top[-1]
        left[part] = k - np.count_nonzero(top > top[-1], axis=0)
    counts = np.zeros(n_images, dtype=np.int64)
    for part, block in blocks_of_rows(matrix, dtype=None):
        for image, row in zip(range(part.start, part.stop), block, strict=True):
            equal = (row == bound) & (left > 0)
            left -= equal
            counts[image] = np.count_nonzero(row > bound) + np.count_nonzero(equal)
    return counts
