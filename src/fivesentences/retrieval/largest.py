"""The k largest values of each row or column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fivesentences.retrieval.blocks import blocks_of_columns

FEW = 40  # up to this k the values of a column are laid out so that their mean adds the largest first


def largest_of_rows(block: NDArray, k: int) -> NDArray:
    """``[k, rows]`` the k largest values of each row of a floating ``block``, largest first.

    Args:
        block: ``[rows, width]``.
        k: How many values, at most ``width``.
    """
    width = block.shape[1]
    return np.sort(np.partition(block, width - k, axis=1)[:, width - k :], axis=1)[:, ::-1].T


def largest_of_columns(matrix: NDArray, k: int) -> Iterator[tuple[slice, NDArray]]:
    """``[k, columns]`` the k largest values of each column, some columns at a time, largest first.

    Args:
        matrix: Any matrix of finite real numbers; read in blocks.
        k: How many values, at most as many as there are rows.
    """
    for part, block in blocks_of_columns(matrix):
        top = largest_of_rows(block, k)
        yield part, np.ascontiguousarray(top) if k <= FEW else top
