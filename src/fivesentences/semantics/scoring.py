"""Scorers: a metric prepared for one corpus, its single cells, and the matrix that it fills block by block."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import new_npy
from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.machine import threads
from fivesentences.semantics.references import References
from fivesentences.semantics.validation import checked_corpus, checked_pairs
from fivesentences.storage import check_npy, replacing

CELLS_PER_BLOCK = 256 * 5000  # of float64: 10 MB per thread
SECONDS_WITHOUT_BAR = 3.0

Indices = NDArray[np.int64]
Output = str | Path | NDArray[np.floating] | None  # where a matrix goes; see ``matrix_of``
Result = TypeVar("Result")


class Scorer(ABC):
    """A metric prepared for one corpus; read-only after construction, so that several threads may share one object.

    Attributes:
        shape: Number of captions, number of images.
        facts: Further facts that the scores depend on, for the note beside a matrix.
        scores_rows_alone: Whether a row has the same digits whichever rows are scored with it; a dense product's
            depend on its shape.
    """

    scores_rows_alone = True
    shape: tuple[int, int]
    facts: Mapping[str, Any] = MappingProxyType({})

    def groups(self, rows: int) -> list[Indices]:
        """Divide all captions into groups of at most ``rows``, in an order that is cheap to score."""
        n_captions = self.shape[0]
        return [np.arange(start, min(start + rows, n_captions)) for start in range(0, n_captions, rows)]

    # A subclass defines one of these two.
    def score(self, captions: Indices) -> NDArray[np.floating]:
        """Score some captions against all images, ``[len(captions), images]`` float64."""
        return np.asarray(self.sparse(captions).toarray())

    def sparse(self, captions: Indices) -> scipy.sparse.csr_array:
        """Return the rows of ``score`` without their zeros; cheaper where a metric can keep them sparse."""
        return scipy.sparse.csr_array(self.score(captions))

    def pairs(self, captions: ArrayLike, images: ArrayLike, without_own: bool = False) -> NDArray[np.float64]:
        """Score single (caption, image) pairs, without scoring whole rows.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image indices.
            without_own: Leave a caption out of the references of its own image. Document frequencies remain those of
                the whole corpus.

        Returns:
            ``[pairs]`` cells as in ``score``; NaN where ``without_own`` leaves an image without references.

        Raises:
            InputError: If an index is out of range or the two lists differ in length.
        """
        return self._pairs(*checked_pairs(captions, images, self.shape), without_own)

    def block(self, captions: Indices, images: Indices) -> NDArray[np.float64]:
        """Score some captions against some images, ``[captions, images]`` cells as in ``score``; either may repeat."""
        size = len(captions), len(images)
        return self.pairs(np.repeat(captions, size[1]), np.tile(images, size[0])).reshape(size)

    @abstractmethod
    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        """``pairs`` of indices that have been checked."""


class BinaryScorer(Scorer):
    """phi of conventional evaluation: 1 where the caption is one of the image's own, else 0.

    A caption that is left out of its image's references counts as a caption of another image: 0.

    Args:
        captions: Raw captions; their words do not matter.
        image_of_caption: ``[captions]`` image index of each caption.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike):
        self._references = References(checked_corpus(captions, image_of_caption)[1])
        self.shape = self._references.shape

    def sparse(self, captions: Indices) -> scipy.sparse.csr_array:
        """Return the rows of ``score`` without their zeros."""
        row_start = np.arange(len(captions) + 1)
        image = self._references.image_of_caption[captions]
        return scipy.sparse.csr_array((np.ones(len(captions)), image, row_start), shape=(len(captions), self.shape[1]))

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        own = self._references.own(captions, images)
        if not without_own:
            return own.astype(np.float64)
        return np.where(own & (self._references.count[images] == 1), np.nan, 0.0)


class TruthScorer(Scorer):
    """phi that is known: how much of a caption holds in a drawn scene, or what somebody scored, whatever captions say.

    Args:
        captions: Raw captions; their words do not matter.
        image_of_caption: ``[captions]`` image index of each caption.
        truth: ``[captions, images]``, at least 0; see ``scenes.generation.truth_matrix`` and ``judged.read_judged``.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` or ``truth`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, truth: NDArray[np.floating]):
        self.shape = References(checked_corpus(captions, image_of_caption)[1]).shape
        if truth.shape != self.shape:
            raise InputError(f"truth is {list(truth.shape)}; these captions and images need {list(self.shape)}.")
        self._truth = truth

    def score(self, captions: Indices) -> NDArray[np.floating]:
        """Return ``[captions, images]`` as drawn."""
        return self._truth[captions]

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        return self._truth[captions, images].astype(np.float64)


class ByLengthScorer(Scorer):
    """A scorer whose subclass scores captions of one length at a time; it sets ``_length`` ``[captions]``."""

    _length: NDArray[np.int64]

    def groups(self, rows: int) -> list[Indices]:
        """Captions of one length together, the most frequent length first, at most ``rows`` per group."""
        _, frequency = np.unique(self._length, return_counts=True)
        by_length = np.split(np.argsort(self._length, kind="stable"), np.cumsum(frequency)[:-1])
        ordered = [by_length[position] for position in np.argsort(-frequency, kind="stable")]
        return [captions[start : start + rows] for captions in ordered for start in range(0, len(captions), rows)]

    def score(self, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64."""
        scores = np.empty((len(captions), self.shape[1]))
        for length in np.unique(self._length[captions]).tolist():
            rows = np.flatnonzero(self._length[captions] == length)
            scores[rows] = self._score_of_length(length, captions[rows])
        return scores

    @abstractmethod
    def _score_of_length(self, length: int, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64 for captions that all have this length."""


def ahead(work: Callable[[Indices], Result], groups: Iterable[Indices]) -> Iterator[tuple[Indices, Result]]:
    """Yield each group and ``work(group)`` in order, while threads work on the next few groups.

    numpy and scipy release the interpreter lock in large products, so threads suffice; few results are held at a time.
    """
    coming = iter(groups)
    waiting: deque[tuple[Indices, Future[Result]]] = deque()
    pool = ThreadPoolExecutor(threads())
    try:
        for group in itertools.islice(coming, threads() + 1):
            waiting.append((group, pool.submit(work, group)))
        while waiting:
            group, future = waiting.popleft()
            result = future.result()
            waiting.extend((later, pool.submit(work, later)) for later in itertools.islice(coming, 1))
            yield group, result
    finally:
        pool.shutdown(cancel_futures=True)


def rows_at_once(n_images: int) -> int:
    """Return how many rows are scored together, so that a dense block stays small."""
    return max(1, min(1024, CELLS_PER_BLOCK // max(1, n_images)))


def fill(scorer: Scorer, out: NDArray[np.floating], description: str = "phi") -> None:
    """Write every row of ``out`` ``[captions, images]``; if that takes long, a bar labelled ``description`` appears."""

    def write(group: Indices) -> int:
        out[group] = scorer.score(group)  # each row is written by one thread only
        return len(group)

    with Bar(description, scorer.shape[0], delay=SECONDS_WITHOUT_BAR) as bar:
        for _, written in ahead(write, scorer.groups(rows_at_once(scorer.shape[1]))):
            bar.advance(written)


def matrix_of(scorer: Scorer, out: Output = None, description: str = "phi") -> NDArray[np.floating]:
    """Score the whole matrix.

    Args:
        scorer: The scorer.
        out: Where to put the matrix: the path of a ``.npy`` file (float32, memory-mapped, replaced once complete) or
            a floating-point array ``[captions, images]`` such as a memory map.
        description: Label of the progress bar.

    Returns:
        ``[captions, images]``, float64, or the array or file that ``out`` names.

    Raises:
        InputError: If ``out`` does not fit, or the disk has too little room.
    """
    shape = scorer.shape
    if out is None:
        out = np.empty(shape, dtype=np.float64)
    if isinstance(out, np.ndarray):
        if out.shape != shape or out.dtype.kind != "f":
            raise InputError(
                f"out is {out.dtype} {list(out.shape)}; these captions need a floating-point array {list(shape)}."
            )
        fill(scorer, out, description)
        return out
    check_npy(out, "a matrix")
    with replacing(out) as temporary:
        rows = new_npy(temporary, np.float32, shape)
        fill(scorer, rows, description)
        rows.flush()
        del rows  # Windows renames no file that is mapped
    matrix: NDArray[np.floating] = np.load(out, mmap_mode="r")
    return matrix
