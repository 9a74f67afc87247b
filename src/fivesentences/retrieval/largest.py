"""The k largest values of rows or columns, at a cost that does not depend on the values.

``numpy.partition`` takes fifteen times as long where most values are equal; here a small k is found by insertion of
whole vectors, a large one by sorting.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fivesentences.retrieval.matrices import blocks_of_columns, blocks_of_rows, kept_type

INSERTED = 40  # up to this k insertion is the faster one
LANES = 64


def insert(top: NDArray, values: NDArray) -> None:
    """Put ``values`` ``[...]`` into ``top`` ``[k, ...]``, in place: largest first, the smallest falls out."""
    rest = values
    for place in top:
        smaller = np.minimum(place, rest)
        np.maximum(place, rest, out=place)
        rest = smaller


def largest_of_rows(block: NDArray, k: int) -> NDArray:
    """``[k, rows]`` the k largest values of each row of a floating ``block``, largest first; k at most its width."""
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
    """``[k, columns]`` the k largest values of some columns after the other, largest first; k at most the rows.

    Args:
        matrix: Any real matrix; read in blocks.
        k: How many values.

    Raises:
        InputError: If a value is not finite.
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
