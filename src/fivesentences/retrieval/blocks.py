"""A checked similarity matrix read in blocks of rows or columns, and a new one written once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import new_array, new_npy
from fivesentences.errors import InputError
from fivesentences.retrieval.gallery import first_not_finite
from fivesentences.storage import check_npy, replacing

Output = str | Path | NDArray[np.floating] | None

ELEMENTS_PER_BLOCK = 500_000  # temporaries of this size stay near the processor
ROWS_PER_BLOCK = 16  # at least: a cache line of a column-major matrix holds this many float32
ROWS_AT_ONCE = 256
COLUMNS_PER_BLOCK = 64  # at least: with fewer, reading columns of a row-major file touches every page too often
CELLS_IN_CACHE = 65_536
INTEGERS: dict[Any, Any] = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}  # of as many bits
FEW = 40  # up to this k the values of a column are laid out so that their mean adds the largest first


def blocks_of_rows(
    matrix: NDArray[Any], dtype: type[np.floating] | None = np.float64
) -> Iterator[tuple[slice, NDArray]]:
    """Yield consecutive rows of a matrix as C-ordered copies.

    Args:
        matrix: Any real matrix.
        dtype: Type to convert to; None keeps float32 and float64, and makes float32 of float16, float64 of integers.
    """
    step = max(ROWS_PER_BLOCK, ELEMENTS_PER_BLOCK // matrix.shape[1])
    for start in range(0, len(matrix), step):
        part = slice(start, min(len(matrix), start + step))
        with np.errstate(over="ignore"):  # of long doubles; what becomes infinite is refused where it is used
            block = np.array(matrix[part], dtype=dtype or kept_type(matrix), order="C")
        yield part, block


def blocks_of_columns(matrix: NDArray[Any]) -> Iterator[tuple[slice, NDArray]]:
    """Yield consecutive columns of a matrix as the rows of C-ordered copies ``[columns, rows]``."""
    n_rows, n_columns = matrix.shape
    step = max(COLUMNS_PER_BLOCK, ELEMENTS_PER_BLOCK // n_rows)
    for start in range(0, n_columns, step):
        part = slice(start, min(n_columns, start + step))
        yield part, transposed(matrix[:, part], kept_type(matrix))


def kept_type(matrix: NDArray[Any]) -> type[np.floating]:
    """Return the floating type in which the values of ``matrix`` keep their order and ties."""
    return np.float32 if matrix.dtype.kind == "f" and matrix.dtype.itemsize <= 4 else np.float64


def whole_order(scores: NDArray) -> NDArray[np.int64]:
    """Return indices ``[rows, items]`` of all floating scores of each row, largest first, equal ones by index.

    Rows are sorted by 16 bits of the scores after 16 bits, the last ones first: of so few bits numpy's stable sort is a
    radix sort, which is faster than sorts by comparison, and as fast on every processor. Where most scores of a row are
    its lowest, as in a phi with many zeros, only the others are sorted.
    """
    if scores.dtype not in INTEGERS:
        return np.argsort(-scores, axis=1, kind="stable")
    orders = np.empty(scores.shape, dtype=np.int64)
    step = max(1, CELLS_IN_CACHE // scores.shape[1])
    for start in range(0, len(scores), step):
        part = scores[start : start + step]
        digits = _digits(part)
        is_above = part > part.min(axis=1, keepdims=True)
        for row, order in enumerate(orders[start : start + step]):
            last, *others = (digit[row] for digit in digits)
            n_above = np.count_nonzero(is_above[row])
            if 2 * n_above < len(order):
                order[n_above:] = np.flatnonzero(~is_above[row])
                order[:n_above] = _in_order(np.flatnonzero(is_above[row]), last, *others)
            else:
                order[:] = _in_order(np.argsort(last, kind="stable"), *others)
    return orders


def _in_order(items: NDArray[np.int64], *digits: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return items sorted by each of the digits ``[all items]``, by the last one in the end."""
    for digit in digits:
        items = items.take(np.argsort(digit.take(items), kind="stable"))
    return items


def _digits(scores: NDArray) -> list[NDArray[np.integer]]:
    """Return 16 bits each, the last ones first, of integers whose order is that of the scores, the largest first.

    Bits in which no two scores differ, such as those of float32 stored as float64, are left out.
    """
    kind = INTEGERS[scores.dtype]
    bits = (scores.dtype.type(0) - scores).view(kind)  # both zeros become one
    bits ^= (bits >> (8 * bits.itemsize - 1)) & np.iinfo(kind).max  # negative floats as integers in their order
    digits: list[NDArray[np.integer]] = []
    for _ in range(bits.itemsize // 2 - 1):
        digits.append(bits.astype(np.uint16))
        bits >>= 16
    digits.append(bits.astype(np.int16))
    return [one for one in digits if (one != one[0, 0]).any()] or digits[:1]


def transposed(matrix: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return a C-ordered copy of the transpose, some rows at a time, which stay in the processor's cache."""
    copy = np.empty(matrix.shape[::-1], dtype=dtype)
    for start in range(0, len(matrix), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        copy[:, rows] = matrix[rows].T
    return copy


def best_first(scores: NDArray, depth: int) -> NDArray[np.int64]:
    """Return indices of the ``depth`` largest scores of each row, largest first, equal ones by index.

    Args:
        scores: ``[rows, items]``; minus infinity is allowed.
        depth: How many; all items if there are fewer.

    Returns:
        ``[rows, min(depth, items)]``.
    """
    n_rows, n_items = scores.shape
    if 4 * depth >= n_items:
        return whole_order(scores)[:, :depth]
    # Selection in numpy becomes twenty times slower where most scores are equal, as in a phi with many zeros, so it
    # only sees maxima of groups: at least `depth` scores reach the depth-th largest of these.
    n_groups = min(n_items, max(64, 4 * depth))
    whole = n_items // n_groups * n_groups
    maxima = scores[:, :whole].reshape(n_rows, -1, n_groups).max(axis=1)
    np.maximum(maxima[:, : n_items - whole], scores[:, whole:], out=maxima[:, : n_items - whole])
    bound = np.partition(maxima, n_groups - depth, axis=1)[:, n_groups - depth, None]
    candidate = scores >= bound
    often = np.count_nonzero(candidate, axis=1)
    crowded = np.flatnonzero(often > 2 * depth)
    if len(crowded):  # mostly scores equal to the bound: of these only the ones with the lowest index
        above, equal = scores[crowded] > bound[crowded], candidate[crowded]
        equal ^= above
        missing = depth - np.count_nonzero(above, axis=1)
        early = np.cumsum(equal, axis=1, dtype=np.int32) <= missing[:, None]
        candidate[crowded] = above | (equal & early)
        often[crowded] = np.count_nonzero(candidate[crowded], axis=1)
    row, item = np.divmod(np.flatnonzero(candidate), n_items)
    # The candidates of a row, by index, and then minus infinity: a stable sort leaves the padding at the end.
    place = np.arange(len(row)) - np.repeat(np.cumsum(often) - often, often)
    values = np.full((n_rows, int(often.max())), -np.inf, dtype=scores.dtype)
    items = np.zeros(values.shape, dtype=np.int64)
    values[row, place], items[row, place] = scores[row, item], item
    in_order = np.argsort(-values, axis=1, kind="stable")[:, :depth]
    return np.take_along_axis(items, in_order, axis=1)


def largest_of_rows(block: NDArray, k: int) -> NDArray:
    """Return ``[k, rows]`` the k largest values of each row of a floating ``block``, largest first."""
    width = block.shape[1]
    return np.sort(np.partition(block, width - k, axis=1)[:, width - k :], axis=1)[:, ::-1].T


def largest_of_columns(matrix: NDArray, k: int) -> Iterator[tuple[slice, NDArray]]:
    """Yield ``[k, columns]`` the k largest values of each column, some columns at a time, largest first."""
    for part, block in blocks_of_columns(matrix):
        top = largest_of_rows(block, k)
        yield part, np.ascontiguousarray(top) if k <= FEW else top


def range_of(matrix: NDArray[Any]) -> float:
    """Return the largest value minus the smallest."""
    blocks = [(float(block.min()), float(block.max())) for _, block in blocks_of_rows(matrix, dtype=None)]
    return max(high for _, high in blocks) - min(low for low, _ in blocks)


def filled(
    out: Output,
    shape: tuple[int, ...],
    fill: Callable[[NDArray], None],
    given: NDArray | None = None,
    name: str | Path = "similarity",
    dtype: type[np.floating] | None = None,
) -> NDArray[np.floating]:
    """Return a new matrix, or ``out``, after ``fill`` has written all of it.

    Args:
        out: None, the path of a ``.npy`` file (memory-mapped, replaced when complete) or a floating array.
        shape: Shape of the matrix.
        fill: Writes into the array that it is called with.
        given: Matrix that ``fill`` reads; ``out`` may be exactly this array, but must not overlap it otherwise.
        name: Name of the given matrix for errors.
        dtype: Type of a new matrix; default that in which the values of ``given`` keep their order.

    Returns:
        A new matrix (as ``new_array``), or the array or file that ``out`` names.

    Raises:
        InputError: If ``out`` does not fit, cannot be written, the disk has no room, or a result is beyond the range of
            its type; a file is then not written.
    """
    dtype = dtype or (np.float32 if given is None else kept_type(given))
    if out is None:
        out = new_array(shape, dtype, name)
    if isinstance(out, np.ndarray):
        if out.shape != shape or out.dtype.kind != "f":
            raise InputError(f"out is {out.dtype} {list(out.shape)}; a floating array {list(shape)} is needed.")
        if not out.flags.writeable:
            raise InputError("out is read-only; open it for writing (mmap_mode='r+') or leave it out.")
        if given is not None and not _is_same(out, given) and np.may_share_memory(out, given):
            raise InputError("out overlaps the similarity without being the same array; pass another array.")
        _fill(fill, out, name)
        return out
    check_npy(out, "a matrix")
    with replacing(out) as temporary:
        array = new_npy(temporary, dtype, shape)
        _fill(fill, array, name)
        array.flush()
        del array  # Windows renames no file that is mapped
    matrix: NDArray[np.floating] = np.load(out, mmap_mode="r", allow_pickle=False)
    return matrix


def _fill(fill: Callable[[NDArray], None], result: NDArray, name: str | Path) -> None:
    """Fill an array without numpy's warnings, and refuse results that it cannot hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        fill(result)
    if place := first_not_finite(result):
        raise InputError(
            f"{name}: the result at image {place[0]}, caption {place[1]} is {float(result[place])}, beyond the range "
            f"of {result.dtype}; scale the scores down, such as to -1 to 1, or choose a smaller beta if there is one."
        )


def _is_same(a: NDArray, b: NDArray) -> bool:
    return (a.ctypes.data, a.shape, a.strides, a.dtype) == (b.ctypes.data, b.shape, b.strides, b.dtype)
