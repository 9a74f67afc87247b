"""Scorers: a metric prepared for one corpus, its single cells, and the matrix that it fills block by block."""

from __future__ import annotations

import errno
import itertools
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import new_npy
from fivesentences.console import Bar
from fivesentences.errors import Cure, InputError
from fivesentences.machine import processors
from fivesentences.semantics.validation import checked_pairs
from fivesentences.storage import check_npy, replacing

CELLS_PER_BLOCK = 256 * 5000  # of float64: 10 MB per thread
SECONDS_WITHOUT_BAR = 3.0

Indices = NDArray[np.int64]
Result = TypeVar("Result")


class Scorer(ABC):
    """A metric prepared for one corpus; read-only after construction, so that several threads may share one object.

    Attributes:
        shape: Number of captions, number of images.
    """

    shape: tuple[int, int]

    def groups(self, rows: int) -> list[Indices]:
        """Divide all captions into groups of at most ``rows``, in an order that is cheap to score."""
        n_captions = self.shape[0]
        return [np.arange(start, min(start + rows, n_captions)) for start in range(0, n_captions, rows)]

    @abstractmethod
    def score(self, captions: Indices) -> NDArray[np.floating]:
        """Score some captions against all images, ``[len(captions), images]`` float64."""

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

    @abstractmethod
    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        """``pairs`` of indices that have been checked."""


def rows_of_block(n_images: int) -> int:
    """Number of rows of ``n_images`` that keep a dense float64 block small."""
    return max(1, min(1024, CELLS_PER_BLOCK // max(1, n_images)))


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


def fill(scorer: Scorer, out: NDArray[np.floating], description: str = "phi") -> None:
    """Write every row of ``out`` ``[captions, images]``; if that takes long, a bar labelled ``description`` appears."""

    def write(group: Indices) -> int:
        out[group] = scorer.score(group)  # each row is written by one thread only
        return len(group)

    with Bar(description, scorer.shape[0], delay=SECONDS_WITHOUT_BAR) as bar:
        for _, rows in ahead(write, scorer.groups(rows_of_block(scorer.shape[1]))):
            bar.advance(rows)


def write_matrix(scorer: Scorer, path: Path, description: str = "phi") -> None:
    """Write the whole matrix as float32 ``.npy``, block by block; on failure the half-written file is left behind.

    Raises:
        InputError: If the disk has too little room.
    """
    rows = new_array(path, np.float32, scorer.shape)
    fill(scorer, rows, description)
    rows.flush()


def new_array(path: Path, dtype: type[np.generic], shape: tuple[int, ...]) -> np.memmap[Any, Any]:
    """Create a memory-mapped ``.npy`` of zeros whose disk space is allocated at once.

    Raises:
        InputError: If the disk has too little room.
    """
    try:
        return new_npy(path, dtype, shape)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        size = np.dtype(dtype).itemsize * math.prod(shape) / 1e9
        raise InputError(
            f"{path.parent} has no room for the {size:.1f} GB of a {list(shape)} matrix ({error.strerror})",
            cure=Cure(
                python="make room, or keep only the best images of each caption (write_top_k)",
                shell="make room, or keep only the best images of each caption (fivesentences phi ... --top-k 100)",
            ),
        ) from None


def matrix_of(
    scorer: Scorer, out: str | Path | NDArray[np.floating] | None = None, description: str = "phi"
) -> NDArray[np.floating]:
    """Score the whole matrix.

    Args:
        scorer: The scorer.
        out: Where to put the matrix: the path of a ``.npy`` file (float32, memory-mapped, replaced once complete) or
            a floating-point array ``[captions, images]`` such as a memory map.
        description: Label of the progress bar.

    Returns:
        ``[captions, images]``, float64, or the array or file that ``out`` names.

    Raises:
        InputError: If ``out`` does not fit.
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
    path = Path(out)
    check_npy(path, "a matrix")
    with replacing(path) as temporary:
        write_matrix(scorer, temporary, description)
    matrix: NDArray[np.floating] = np.load(path, mmap_mode="r")
    return matrix


def threads() -> int:
    """Number of processors that this process may use, at most four: beyond that, memory bandwidth is the limit."""
    return min(4, processors())
