"""Rows of sparse matrices: products of chosen pairs of rows in bounded memory, and the index arithmetic around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

ENTRIES_PER_CHUNK = 2_000_000


def dot_of_rows(
    left: Any, left_rows: NDArray[np.int64], right: Any, right_rows: NDArray[np.int64]
) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return ``sum(left[left_rows[i]] * right[right_rows[i]])`` for every i.

    Args:
        left: ``scipy.sparse.csr_array`` ``[a, columns]`` with ascending columns in each row.
        left_rows: ``[pairs]``.
        right: ``scipy.sparse.csr_array`` ``[b, columns]`` with ascending columns in each row.
        right_rows: ``[pairs]``.

    Returns:
        ``[pairs]``.
    """
    dots = np.zeros(len(left_rows), dtype=np.result_type(left.dtype, right.dtype))
    entries = np.diff(left.indptr)[left_rows].astype(np.int64) + np.diff(right.indptr)[right_rows]
    for chunk in chunks(entries):
        product = left[left_rows[chunk]].multiply(right[right_rows[chunk]])
        dots[chunk] = np.asarray(product.sum(axis=1)).ravel()
    return dots


def chunks(cost: NDArray[np.int64], most: int = ENTRIES_PER_CHUNK) -> Iterator[slice]:
    """Yield consecutive slices of items with these costs; each costs at most ``most`` or holds a single item."""
    end = np.cumsum(cost)
    start = 0
    while start < len(cost):
        spent = int(end[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(end, spent + most, side="right")))
        yield slice(start, stop)
        start = stop


def ranges(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``start[0], start[0] + 1, ... (count[0] numbers), start[1], ...`` as one array."""
    end = np.cumsum(count)
    return np.asarray(np.repeat(start - end + count, count) + np.arange(end[-1] if len(end) else 0))


def sorted_rows(data: NDArray[Any], column: NDArray[np.int64], start: NDArray[np.int64], n_columns: int) -> Any:
    """Return a ``scipy.sparse.csr_array`` with ascending columns in each row and the smallest possible index type."""
    index_type = np.int32 if len(data) < 2**31 and n_columns < 2**31 else np.int64
    matrix = scipy.sparse.csr_array(
        (data, column.astype(index_type), start.astype(index_type)), shape=(len(start) - 1, n_columns)
    )
    matrix.sort_indices()
    return matrix
