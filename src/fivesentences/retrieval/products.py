"""The similarity of embeddings that is not held: cosines computed block by block, where they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import Unheld

IMAGES_PER_BLOCK, CAPTIONS_PER_BLOCK = 1024, 4096
PAIRS_AT_ONCE = 4_096  # whose vectors take as much as those of a block


@dataclass(frozen=True)
class Block:
    """Some cells of a similarity.

    Attributes:
        images: Which rows these are.
        captions: Which columns.
        scores: ``[images, captions]``.
    """

    images: slice
    captions: slice
    scores: NDArray[np.floating]


class Products(Unheld):
    """Cosines, or dot products, of every image with every caption, ``[images, captions]``.

    A cell has the same bits in whichever part of the matrix it is computed: blocks begin at multiples of their size,
    since the order in which a library of linear algebra adds products depends on a block's shape.

    Args:
        images: ``[images, dim]`` embeddings that have been checked.
        captions: ``[captions, dim]``.
        normalise: Whether vectors are first scaled to length 1.
        rows: ``[rows]`` which images, ascending where blocks are read; default all.
        columns: ``[columns]`` which captions, likewise; default all.
        device: Device of torch on which rankings are read; default none, so that numpy reads them.
    """

    def __init__(
        self,
        images: NDArray[Any],
        captions: NDArray[Any],
        normalise: bool = True,
        rows: NDArray[np.int64] | None = None,
        columns: NDArray[np.int64] | None = None,
        device: str | None = None,
    ):
        exact = any(side.dtype.kind != "f" or side.dtype.itemsize > 4 for side in (images, captions))
        shape = (len(images) if rows is None else len(rows), len(captions) if columns is None else len(columns))
        super().__init__(shape, np.float64 if exact else np.float32)
        self.images, self.captions, self._normalise = images, captions, normalise
        self._rows, self._columns = rows, columns
        self.device = device
        self.ranked: Any = None  # what ``metrics.ranking`` found in one reading

    def part(self, rows: NDArray[np.int64] | None, columns: NDArray[np.int64] | None) -> Products:
        """Return some rows and columns; None stands for all."""
        chosen = (_of_chosen(self._rows, rows), _of_chosen(self._columns, columns))
        return Products(self.images, self.captions, self._normalise, *chosen, device=self.device)

    def cells(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[Any]:
        """Compute ``[pairs]`` cells, whose last digits may differ from those of blocks."""
        found = np.empty(len(rows), dtype=self.dtype)
        for start in range(0, len(rows), PAIRS_AT_ONCE):
            some = slice(start, start + PAIRS_AT_ONCE)
            left = self._prepared(self.images[_at(self._rows, rows[some])])
            right = self._prepared(self.captions[_at(self._columns, columns[some])])
            found[some] = np.einsum("pd,pd->p", left, right)
        return found

    def computed(self) -> NDArray[Any]:
        """Compute all cells, whose last digits may differ from those of blocks."""
        result = np.empty(self.shape, dtype=self.dtype)
        rows, columns = _at(self._rows, np.arange(self.shape[0])), _at(self._columns, np.arange(self.shape[1]))
        for first in range(0, len(columns), CAPTIONS_PER_BLOCK):
            right = self._prepared(self.captions[columns[first : first + CAPTIONS_PER_BLOCK]]).T
            for start in range(0, len(rows), IMAGES_PER_BLOCK):
                left = self._prepared(self.images[rows[start : start + IMAGES_PER_BLOCK]])
                result[start : start + IMAGES_PER_BLOCK, first : first + CAPTIONS_PER_BLOCK] = left @ right
        return result

    def vectors_of_images(self) -> NDArray[Any]:
        """Return ``[images, dim]`` vectors as they are multiplied."""
        rows = _at(self._rows, np.arange(self.shape[0]))
        starts = range(0, len(rows), IMAGES_PER_BLOCK)
        return np.concatenate([self._prepared(self.images[rows[at : at + IMAGES_PER_BLOCK]]) for at in starts])

    def vectors_of_captions(self, columns: NDArray[np.int64]) -> NDArray[Any]:
        """Return ``[columns, dim]`` vectors as they are multiplied."""
        return self._prepared(self.captions[_at(self._columns, columns)])

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(_starts(self._rows, len(self.images), IMAGES_PER_BLOCK)) * len(self._starts_of_captions())

    def blocks(self) -> Iterator[Block]:
        """Yield all cells: the blocks of the first captions with every image, then of the next captions."""
        for captions, first in self._starts_of_captions():
            texts = slice(first, first + CAPTIONS_PER_BLOCK)
            right = self._prepared(self.captions[texts])
            for images, start in _starts(self._rows, len(self.images), IMAGES_PER_BLOCK):
                yield self._block(images, captions, start, first, right)

    def blocks_of(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Iterator[Block]:
        """Yield the blocks that hold one of some pairs of rows and columns."""
        of_images = _starts(self._rows, len(self.images), IMAGES_PER_BLOCK)
        of_captions = self._starts_of_captions()
        row = np.searchsorted([part.start for part, _ in of_images], rows, side="right") - 1
        column = np.searchsorted([part.start for part, _ in of_captions], columns, side="right") - 1
        right, before = np.zeros(0), -1
        for place in np.unique(column * len(of_images) + row).tolist():
            (captions, first), (images, start) = of_captions[place // len(of_images)], of_images[place % len(of_images)]
            if first != before:
                right, before = self._prepared(self.captions[first : first + CAPTIONS_PER_BLOCK]), first
            yield self._block(images, captions, start, first, right)

    def _starts_of_captions(self) -> list[tuple[slice, int]]:
        return _starts(self._columns, len(self.captions), CAPTIONS_PER_BLOCK)

    def _block(self, images: slice, captions: slice, start: int, first: int, right: NDArray[Any]) -> Block:
        scores = self._prepared(self.images[start : start + IMAGES_PER_BLOCK]) @ right.T
        if self._rows is not None:
            scores = scores[self._rows[images] - start]
        if self._columns is not None:
            scores = scores[:, self._columns[captions] - first]
        return Block(images, captions, scores)

    def _prepared(self, vectors: NDArray[Any]) -> NDArray[Any]:
        return prepared(vectors, self._normalise, self.dtype)


def prepared(block: NDArray[Any], normalise: bool, dtype: Any) -> NDArray[Any]:
    """Return vectors as they are multiplied, of length 1 if they are normalised."""
    vectors = np.asarray(block, dtype=dtype)
    if not normalise:
        return vectors
    largest = np.abs(vectors).max(axis=1, keepdims=True).astype(np.float64)
    scaled = vectors / np.where(largest == 0, 1.0, largest)  # so that squares neither overflow nor vanish
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: NDArray[Any] = (scaled / np.where(length == 0, 1.0, length)).astype(dtype)
    return unit


def _of_chosen(chosen: NDArray[np.int64] | None, some: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    return chosen if some is None else _at(chosen, some)


def _at(chosen: NDArray[np.int64] | None, some: NDArray[np.int64]) -> NDArray[np.int64]:
    return some if chosen is None else chosen[some]


def _starts(chosen: NDArray[np.int64] | None, size: int, step: int) -> list[tuple[slice, int]]:
    """Return which chosen rows lie in each block, and where that begins; blocks without any are left out."""
    starts = range(0, size, step)
    if chosen is None:
        return [(slice(start, min(start + step, size)), start) for start in starts]
    edges = np.searchsorted(chosen, [*starts, size]).tolist()
    parts = zip(edges, edges[1:], starts, strict=False)
    return [(slice(low, high), start) for low, high, start in parts if low < high]
