"""The k largest values of rows or columns, at a cost that does not depend on the values.

``numpy.partition`` takes fifteen times as long where most values are equal; here the values for a small k are found by
inserting whole vectors, those for a large k by sorting.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fivesentences.retrieval.blocks import blocks_of_columns, blocks_of_rows, kept_type

INSERTED = 40  # up to this k, insertion is faster
LANES = 64


def insert(top: NDArray, values: NDArray) -> None:
    """Insert ``values`` ``[...]`` into ``top`` ``[k, ...]`` in place: largest first, and the smallest drops out."""
    rest = values
    for place in top:
        smaller = np.minimum(place, rest)
        np.maximum(place, rest, out=place)
        rest = smaller


def largest_of_rows(block: NDArray, k: int) -> NDArray:
    """``[k, rows]`` the k largest values of each row of a floating ``block``, largest first.

    Args:
        block: ``[rows, width]``.
        k: How many values, at most ``width``.
    """
    n_rows, width = block.shape
    if k == 1:
        return np.asarray(block.max(axis=1)[None])
    if k > INSERTED or width < 4 * LANES:
        return np.sort(block, axis=1)[:, : -k - 1 : -1].T
    # Each lane keeps its own k largest; the k largest of the row are among them.
    top = np.full((k, n_rows, LANES), -np.inf, dtype=block.dtype)
    whole = width // LANES * LANES
    for start in range(0, whole, LANES):
        insert(top, block[:, start : start + LANES])
    insert(top[:, :, : width - whole], block[:, whole:])
    candidates = np.moveaxis(top, 0, 1).reshape(n_rows, -1)
    return np.sort(candidates, axis=1)[:, : -k - 1 : -1].T


def largest_of_columns(matrix: NDArray, k: int) -> Iterator[tuple[slice, NDArray]]:
    """``[k, columns]`` the k largest values of each column, some columns at a time, largest first.

    Args:
        matrix: Any matrix of finite real numbers; read in blocks.
        k: How many values, at most as many as there are rows.
    """
    if k > INSERTED:
        for part, block in blocks_of_columns(matrix):
            yield part, largest_of_rows(block, k)
        return
    top = np.full((k, matrix.shape[1]), -np.inf, dtype=kept_type(matrix))
    for _, block in blocks_of_rows(matrix, dtype=None):
        for row in block:
            insert(top, row)
    yield slice(0, matrix.shape[1]), top
