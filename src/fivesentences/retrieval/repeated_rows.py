"""Is each row an image? Loaders of VSE++ and its successors repeat every image once per caption.

Rows of one image are equal up to rounding: the image may have been encoded in another batch, or in half precision.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import Cure, InputError
from fivesentences.retrieval.products import Products

FEW_COLUMNS = 64  # rows that differ mostly do at the beginning
DIRECTIONS_OF_KEYS = 8
BY_RULE = 0.25  # share of rows with an equal one that cannot be chance: each image is repeated
ROUNDINGS = 4  # between two encodings of one image, in units of the last place
LEAST = 1e-4  # the same of float32, whose sums depend on the batch
MANTISSA = {np.dtype(np.float16): 10, np.dtype(np.float32): 23, np.dtype(np.float64): 52}


def tolerance(matrix: NDArray[Any]) -> float:
    """Return how far rows of one image may differ, relative to the largest number of a row.

    What counts is the precision that the numbers have, not that of their file: bfloat16 and float16 that were stored
    as float32 end in zeros.
    """
    sample = np.ascontiguousarray(matrix[:FEW_COLUMNS, : 4 * FEW_COLUMNS])
    if matrix.dtype.kind != "f":
        quantised = matrix.dtype.itemsize == 1 and matrix.dtype.kind in "iu" and np.abs(sample.astype(int)).max() > 64
        return 1 / 127 if quantised else 0.0
    if (sample == np.trunc(sample)).all():  # counts, such as distances of hash codes
        return 0.0
    bits = MANTISSA.get(matrix.dtype.newbyteorder("="), 52)
    if bits == 23:
        used = int(np.bitwise_or.reduce(sample.astype(np.float32).view(np.uint32), axis=None)) & 0x7FFFFF
        bits = next((kept for kept in (7, 10) if used % (1 << 23 - kept) == 0), bits)
    return float(max(LEAST, ROUNDINGS * 2.0**-bits))


def _same(row: NDArray[Any], others: NDArray[Any], relative: float) -> NDArray[np.bool_]:
    """Return ``[others]`` whether they equal a row up to rounding; ``row`` is one, or one for each."""
    step = 1.0 if relative and others.dtype.kind in "iu" else 0.0
    row, others = np.asarray(row, dtype=np.float64), np.asarray(others, dtype=np.float64)
    largest = np.abs(row).max(axis=-1, keepdims=True)
    return np.asarray((np.abs(others - row) <= np.maximum(relative * largest, step)).all(axis=-1))


def repeats(matrix: NDArray[Any]) -> int:
    """Return how many consecutive rows are one image: 1, or the length of the blocks of equal rows."""
    n_rows, relative, times = len(matrix), tolerance(matrix), 1
    while times < n_rows and _same(matrix[0], matrix[times], relative):
        times += 1
    blocks = n_rows >= 4 and 1 < times < n_rows and n_rows % times == 0
    equal = blocks and all(all_equal(matrix, relative, at, at + times) for at in range(0, n_rows, times))
    return times if equal else 1


def twins(matrix: NDArray[Any]) -> NDArray[np.int64]:
    """Return ``[rows]`` index of another row that equals each up to rounding; -1 where there is none."""
    relative, rows = tolerance(matrix), np.arange(len(matrix))
    found, near = np.full(len(matrix), -1), rows
    for columns in sorted({min(FEW_COLUMNS, matrix.shape[1]), matrix.shape[1]}):
        partner = _nearest(*_keys(matrix, rows, columns), relative)
        rows, near = rows[partner >= 0], rows[partner[partner >= 0]]
    for start in range(0, len(rows), FEW_COLUMNS):
        part = slice(start, start + FEW_COLUMNS)
        same = _same(matrix[rows[part]], matrix[near[part]], relative)
        found[rows[part][same]] = near[part][same]
    return found


def _keys(matrix: NDArray[Any], rows: NDArray[np.int64], columns: int) -> tuple[NDArray[np.float64], float]:
    """Return ``[rows, 8]`` projections of the first columns, and how far apart a unit of rounding can put two."""
    basis = np.random.default_rng(0).choice([-1.0, 1.0], size=(columns, DIRECTIONS_OF_KEYS))
    keys, largest = np.empty((len(rows), DIRECTIONS_OF_KEYS)), 0.0
    for start in range(0, len(rows), FEW_COLUMNS):
        part = slice(start, start + FEW_COLUMNS)
        block = np.asarray(matrix[rows[part], :columns], dtype=np.float64)
        keys[part], largest = block @ basis, max(largest, float(np.abs(block).max()))
    return keys, 2 * largest * np.sqrt(columns * DIRECTIONS_OF_KEYS)


def _nearest(keys: NDArray[np.float64], unit: float, relative: float) -> NDArray[np.int64]:
    """Return ``[rows]`` another row whose key is near, -1 where there is none."""
    partner = np.full(len(keys), -1)
    distinct, first, of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(distinct) > 1 and relative:
        from scipy.spatial import cKDTree  # takes a third of a second

        _, near = cKDTree(distinct).query(distinct, k=2, distance_upper_bound=relative * unit)
        other = np.where(near[:, 0] == np.arange(len(distinct)), near[:, 1], near[:, 0])
        has = np.flatnonzero(other < len(distinct))
        partner[first[has]] = first[other[has]]
    of = of.reshape(-1)
    order = np.argsort(of, kind="stable")
    again = np.flatnonzero(of[order][1:] == of[order][:-1])
    partner[order[again]], partner[order[again + 1]] = order[again + 1], order[again]
    return partner


def all_equal(matrix: NDArray[Any], relative: float, first: int = 0, stop: int | None = None) -> bool:
    """Return True if rows equal the first of them up to rounding."""
    stop = len(matrix) if stop is None else stop
    starts = range(first + 1, stop, FEW_COLUMNS)
    return all(_same(matrix[first], matrix[at : min(at + FEW_COLUMNS, stop)], relative).all() for at in starts)


def rows_behind(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the matrix, or the vectors of the images where the similarity is not held: equal ones score alike."""
    return matrix.vectors_of_images() if isinstance(matrix, Products) else matrix


def refuse_repeats(matrix: NDArray[Any], name: str | Path, in_columns: bool = False) -> None:
    """Refuse rows that repeat images: in equal blocks (a, a, b, b), in blocks of any length, or in another order.

    A single image, rows that are all equal, and a few equal rows among others are accepted.

    Args:
        matrix: ``[images, ...]``.
        name: Its name for errors.
        in_columns: True if it is the transpose of what has this name.

    Raises:
        InputError: If every row is repeated equally often, or a quarter of the rows have an equal one.
    """
    matrix = rows_behind(matrix)
    n_rows, rows_of, row_of = len(matrix), *(("columns", "column") if in_columns else ("rows", "row"))
    if (times := repeats(matrix)) > 1:
        variable = "matrix" if isinstance(name, Path) else name
        keep = f"every image counts once: keep one {row_of} per image, every {times}th"
        raise InputError(
            f"{name} has {n_rows} {rows_of} but they repeat {n_rows // times} images {times} times each",
            cure=Cure(
                f"{keep}: unique_images({variable})", f"{keep}, in Python {variable}[{':, ' * in_columns}::{times}]"
            ),
        )
    equal = twins(matrix)
    repeated = np.flatnonzero(equal >= 0)
    if n_rows < 4 or len(repeated) < BY_RULE * n_rows or all_equal(matrix, tolerance(matrix)):
        return
    rows = " and ".join(map(str, sorted((int(repeated[0]), int(equal[repeated[0]])))))
    raise InputError(
        f"{name} has {n_rows} {rows_of}, of which {len(repeated)} equal another one up to rounding ({rows_of} {rows} "
        "are the same image), as where images are repeated once per caption",
        cure=Cure(
            "pass image_of_caption, the image index of each caption, so that equal rows are merged",
            "give --image-of-caption FILE",
        ),
    )


def rows_of_images(
    matrix: NDArray[Any], image_of_caption: NDArray[np.int64], name: str | Path
) -> tuple[NDArray[Any], str]:
    """Return the first row of each image, of a matrix with one row per caption.

    Args:
        matrix: ``[captions, ...]`` embeddings or scores of the image of each caption.
        image_of_caption: ``[captions]`` image of each row.
        name: Name for errors.

    Returns:
        ``[images, ...]``, and a sentence on it.

    Raises:
        InputError: If two rows of one image differ by more than rounding.
    """
    images, first = np.unique(image_of_caption, return_index=True)
    own = first[np.searchsorted(images, image_of_caption)]
    relative = tolerance(matrix)
    for start in range(0, len(matrix), FEW_COLUMNS):
        part = slice(start, start + FEW_COLUMNS)
        same = _same(matrix[own[part]], matrix[part], relative)
        if not same.all():
            row = start + int(np.argmin(same))
            raise InputError(
                f"{name} has {len(matrix)} rows, one per caption, and image_of_caption gives rows {own[row]} and {row} "
                f"to image {image_of_caption[row]}, but they differ",
                cure=f"give one row for each of the {len(images)} images, or the rows in the order of the captions",
            )
    counts = set(np.bincount(image_of_caption).tolist())
    often = f"every image {counts.pop()} times" if len(counts) == 1 else "every image once per caption"
    return matrix[first], f"{name} has {often}; one of each was taken."
