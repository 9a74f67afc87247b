"""Scorers that prepare something for each caption length and score the captions of one length together."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fivesentences.semantics.scoring import Indices, Scorer

Value = TypeVar("Value")


class ByLengthScorer(Scorer):
    """A scorer whose subclass scores captions of one length at a time; it sets ``_length`` ``[captions]``."""

    _length: NDArray[np.int64]

    def groups(self, rows: int) -> list[Indices]:
        """Captions of one length together, the most frequent length first, at most ``rows`` per group."""
        _, frequency = np.unique(self._length, return_counts=True)
        by_length = np.split(np.argsort(self._length, kind="stable"), np.cumsum(frequency)[:-1])
        groups: list[Indices] = []
        for position in np.argsort(-frequency, kind="stable"):
            captions = by_length[position]
            groups.extend(captions[start : start + rows] for start in range(0, len(captions), rows))
        return groups

    def score(self, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64."""
        lengths = np.unique(self._length[captions])
        if len(lengths) == 1:
            return self._score_of_length(int(lengths[0]), captions)
        scores = np.empty((len(captions), self.shape[1]))
        for length in lengths.tolist():
            rows = np.flatnonzero(self._length[captions] == length)
            scores[rows] = self._score_of_length(length, captions[rows])
        return scores

    @abstractmethod
    def _score_of_length(self, length: int, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64 for captions that all have this length."""


class LruCache(Generic[Value]):
    """The values used last, for threads that need the same one at about the same time."""

    def __init__(self, most: int):
        self._most, self._kept, self._lock = most, OrderedDict[int, Value](), Lock()

    def get(self, key: int, make: Callable[[int], Value]) -> Value:
        """Return ``make(key)``, which is called only if the value is no longer in the cache."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        value = make(key)  # outside the lock: two threads may make the same value, which is harmless
        with self._lock:
            self._kept[key] = value
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return value
