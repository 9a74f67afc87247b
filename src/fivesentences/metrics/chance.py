"""What a ranking in random order reaches: every order of the gallery is equally likely for every query.

Each metric's expected value is a closed form of how many items are relevant, how many there are and, by phi, of the
sum over the gallery; it stands beside the metric. Medians, and statistics of hubs, have none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.retrieval.arguments import Direction
from fivesentences.semantics.references import References


@dataclass(frozen=True)
class RandomRanking:
    """The gallery in random order, in place of a ``Ranking``.

    Attributes:
        direction: Which side the queries are.
        n_own: ``[queries]`` ground-truth items of each query in the gallery.
        n_gallery: Items of the gallery.
    """

    direction: Direction
    n_own: NDArray[np.int64]
    n_gallery: int

    @classmethod
    def of(cls, pairing: NDArray[np.int64], n_images: int, direction: Direction) -> RandomRanking:
        """Return that of a gallery, by ``[captions]`` image of each caption."""
        if direction == "i2t":
            return cls(direction, References(pairing).count, len(pairing))
        return cls(direction, np.ones(len(pairing), dtype=np.int64), n_images)

    def n_items(self, keep_ground_truth: bool) -> NDArray[np.int64]:
        """Return ``[queries]`` items that are ranked, with the query's own items or without them."""
        every = np.full(len(self.n_own), self.n_gallery, dtype=np.int64)
        return every if keep_ground_truth else every - self.n_own

    def share(self, k: int, keep_ground_truth: bool = True) -> NDArray[np.float64]:
        """Return ``[queries]`` the probability that an item is among the first ``k``."""
        return np.asarray(np.minimum(1.0, k / np.maximum(1, self.n_items(keep_ground_truth))))


def any_found(relevant: ArrayLike, items: ArrayLike, k: int) -> NDArray[np.float64]:
    """Return the probability that one of the relevant items is among the first ``k`` of all: 1 - C(N - R, k) / C(N, k).

    Args:
        relevant: ``[queries]`` relevant items, R.
        items: ``[queries]`` or one number, N.
        k: Cut-off.
    """
    every = np.asarray(items, dtype=np.float64)
    others = every - np.asarray(relevant, dtype=np.float64)
    none = np.ones(np.broadcast_shapes(others.shape, every.shape))
    for place in range(min(k, int(every.max(initial=0)))):
        none = none * np.maximum(0.0, others - place) / np.maximum(1.0, every - place)
    return np.asarray(1.0 - none)


def harmonic_numbers(n: int) -> NDArray[np.float64]:
    """Return ``[n + 1]`` the sums of 1 / i up to each number, from 0."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])


def summed_precision(relevant: ArrayLike, items: int, places: ArrayLike) -> NDArray[np.float64]:
    """Return the expected sum of the precision at every relevant item within the first places (Bestgen 2015).

    At place i an item is relevant with a probability of R / N; the precision there is then
    (1 + (i - 1) (R - 1) / (N - 1)) / i. With H the harmonic number of M places, the sum is
    R / N (H + (M - H) (R - 1) / (N - 1)).

    Args:
        relevant: ``[queries]`` relevant items in the gallery, R.
        items: Items of the gallery, N, at least 1.
        places: ``[queries]`` or one number, M; beyond the gallery it ends with it.
    """
    count, until = np.asarray(relevant, dtype=np.float64), np.minimum(places, items)
    harmonic = harmonic_numbers(items)[until]
    return np.asarray(count / items * (harmonic + (until - harmonic) * (count - 1) / max(1, items - 1)))
