"""Similarity matrices in and out: what is given is checked, read in blocks of rows, and written once.

This room stands left of the metrics, so nothing is imported from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.scoring import new_array
from fivesentences.storage import replacing

Direction = Literal["i2t", "t2i"]
Output = str | Path | NDArray[np.floating] | None


class NotFinite(InputError):
    """A value of a matrix is NaN or infinite; the sentence says where, and what to do.

    Attributes:
        name: Of the matrix: "similarity", "phi" or "phi" and its name, or another.
        image: Where it is.
        caption: Where it is.
        value: NaN or infinite.
    """

    def __init__(self, name: str, image: int, caption: int, value: float):
        self.name, self.image, self.caption, self.value = name, image, caption, value
        by_caption = name.startswith("phi")
        row, column = (caption, image) if by_caption else (image, caption)
        cure = "make it again" if by_caption else "score this pair again, or give it a score below all others"
        place = f"image {image}, caption {caption}"
        matrix = f"{name.removeprefix('phi ')}: phi" if name.startswith("phi ") else name  # as a file's name stands
        super().__init__(f"{matrix}[{row}, {column}] is {value} ({place}); every value must be finite: {cure}.")


ELEMENTS_PER_BLOCK = 500_000  # temporaries of this size stay near the processor
ROWS_PER_BLOCK = 16  # at least: a cache line of a column-major matrix holds this many float32
COLUMNS_PER_BLOCK = 64  # at least: with fewer, reading columns of a row-major file touches every page too often


def checked_direction(direction: str) -> Direction:
    """``direction``, if it is one.

    Raises:
        InputError: If it is not.
    """
    if direction == "i2t":
        return "i2t"
    if direction == "t2i":
        return "t2i"
    raise InputError(f"direction is {direction!r}; expected 'i2t' (images as queries) or 't2i' (captions as queries).")


def checked_count(name: str, value: int) -> int:
    """A whole number of at least 1, the argument ``name``.

    Raises:
        InputError: If it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} is {value!r}; it must be a whole number of at least 1.")
    return int(value)


def checked_matrix(values: ArrayLike, name: str = "similarity") -> NDArray:
    """A matrix of real numbers, not yet known to be finite.

    Raises:
        InputError: If it is none.
    """
    matrix = np.asarray(values)
    if matrix.ndim != 2 or matrix.size == 0 or matrix.dtype.kind not in "fiub":
        raise InputError(
            f"{name} is {matrix.dtype} of shape {list(matrix.shape)}; a matrix of real numbers is expected."
        )
    return matrix


def checked_similarity(similarity: ArrayLike) -> NDArray:
    """A similarity ``[images, captions]`` of unique images, not yet known to be finite.

    Raises:
        InputError: If it is no matrix of real numbers, has more images than captions (it is transposed), or repeats
            each image as often as it has captions.
    """
    matrix = checked_matrix(similarity)
    n_images, n_captions = matrix.shape
    if n_images > n_captions:
        raise InputError(
            f"similarity is {[n_images, n_captions]} and looks transposed: rows are images and columns captions; "
            "pass similarity.T."
        )
    if n_images == n_captions:  # only then can each image stand there once for each of its captions
        refuse_repeats(matrix, "similarity")
    return matrix


def finite(block: NDArray, start: int, name: str = "similarity", transposed: bool = False) -> NDArray:
    """``block`` itself, whose first row is row ``start`` of the matrix ``name`` (column, if ``transposed``).

    Raises:
        InputError: If a value is NaN or infinite; it says where.
    """
    good = np.isfinite(block)
    if not good.all():
        first, second = (int(index[0]) for index in np.nonzero(~good))
        row, column = (second, start + first) if transposed else (start + first, second)
        value = float(block[first, second])
        if name == "similarity":
            raise NotFinite(name, row, column, value)
        raise InputError(
            f"{name}[{row}, {column}] is {value}; every value must be finite: compute row {row} of {name} again."
        )
    return block


def blocks_of_rows(matrix: NDArray, dtype: type[np.floating] | None = np.float64) -> Iterator[tuple[slice, NDArray]]:
    """Consecutive rows of a similarity as C-ordered copies, checked to be finite.

    Args:
        matrix: Any real matrix.
        dtype: What to convert to; None keeps float32 and float64, and makes float32 of float16, float64 of integers.

    Raises:
        InputError: If a value is NaN or infinite.
    """
    step = max(ROWS_PER_BLOCK, ELEMENTS_PER_BLOCK // matrix.shape[1])
    for start in range(0, len(matrix), step):
        part = slice(start, min(len(matrix), start + step))
        yield part, finite(np.array(matrix[part], dtype=dtype or kept_type(matrix), order="C"), start)


def blocks_of_columns(matrix: NDArray) -> Iterator[tuple[slice, NDArray]]:
    """Consecutive columns of a similarity as rows of C-ordered copies ``[columns, rows]``, checked to be finite.

    Raises:
        InputError: If a value is NaN or infinite.
    """
    n_rows, n_columns = matrix.shape
    step = max(COLUMNS_PER_BLOCK, ELEMENTS_PER_BLOCK // n_rows)
    for start in range(0, n_columns, step):
        part = slice(start, min(n_columns, start + step))
        yield part, finite(np.array(matrix[:, part].T, dtype=kept_type(matrix), order="C"), start, transposed=True)


def kept_type(matrix: NDArray) -> type[np.floating]:
    """The floating type in which the values of ``matrix`` keep their order and ties."""
    return np.float32 if matrix.dtype.kind == "f" and matrix.dtype.itemsize <= 4 else np.float64


def filled(
    out: Output, shape: tuple[int, ...], fill: Callable[[NDArray], None], given: NDArray | None = None
) -> NDArray[np.floating]:
    """A new matrix, or ``out``, after ``fill`` wrote all of it.

    Args:
        out: None, a path of a ``.npy`` file (float32, memory-mapped, replaced when whole) or a floating array.
        shape: Of the matrix.
        fill: Writes into the array it is called with.
        given: What ``fill`` reads; ``out`` may be exactly this array, but not overlap it otherwise.

    Returns:
        float32, or what ``out`` names.

    Raises:
        InputError: If ``out`` does not fit, cannot be written, or the disk has no room.
    """
    if out is None:
        out = np.empty(shape, dtype=np.float32)
    if isinstance(out, np.ndarray):
        if out.shape != shape or out.dtype.kind != "f":
            raise InputError(f"out is {out.dtype} {list(out.shape)}; a floating array {list(shape)} is needed.")
        if not out.flags.writeable:
            raise InputError("out is read-only; open it for writing (mmap_mode='r+') or leave it out.")
        if given is not None and not _is_same(out, given) and np.may_share_memory(out, given):
            raise InputError("out overlaps the similarity without being the same array; pass another array.")
        fill(out)
        return out
    path = Path(out)
    if path.suffix != ".npy":
        raise InputError(f"out is '{path}'; the name of the matrix must end in .npy.")
    with replacing(path) as temporary:
        array = new_array(temporary, np.float32, shape)
        fill(array)
        array.flush()
    matrix: NDArray[np.floating] = np.load(path, mmap_mode="r", allow_pickle=False)
    return matrix


def _is_same(a: NDArray, b: NDArray) -> bool:
    return (a.ctypes.data, a.shape, a.strides, a.dtype) == (b.ctypes.data, b.shape, b.strides, b.dtype)


# --- repeated images ----------------------------------------------------------------------------------------


def refuse_repeats(matrix: NDArray, name: str) -> None:
    """Refuse a matrix whose rows come in equal blocks, as where an image stands once for each of its captions.

    VSE++ and its successors store image embeddings so. Rows that differ by rounding count as equal; one image alone,
    or rows that are all equal, are accepted.

    Raises:
        InputError: If every row is repeated equally often.
    """
    times = repeats(matrix)
    if times > 1:
        raise InputError(
            f"{name} has {len(matrix)} rows but they repeat {len(matrix) // times} images {times} times each; every "
            f"image counts once: keep one row per image, every {times}th (in Python unique_images({name}))."
        )


def repeats(matrix: NDArray) -> int:
    """How many consecutive rows are one image: 1, or the length of the equal blocks that all rows come in."""
    n_rows = len(matrix)
    if n_rows < 4 or not _nearly_equal(matrix[:1], matrix[1:2]):
        return 1
    times = 2
    while times < n_rows and _nearly_equal(matrix[:1], matrix[times : times + 1]):
        times += 1
    if times == n_rows or n_rows % times:
        return 1
    for start in range(0, n_rows, times):
        if not _nearly_equal(matrix[start : start + 1], matrix[start + 1 : start + times]):
            return 1
    return times


def _nearly_equal(row: NDArray, others: NDArray) -> bool:
    """Whether all ``others`` are ``row`` but for rounding: the same image encoded in another batch."""
    row, others = np.asarray(row, dtype=np.float64), np.asarray(others, dtype=np.float64)
    tolerance = 1e-4 * np.abs(row).max()
    return bool((np.abs(others - row) <= tolerance).all())
