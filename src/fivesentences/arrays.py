"""Arrays from ``.npy`` and ``.npz`` files, whose Python objects are never loaded, and matrices that are not held."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fivesentences.documents import check_file
from fivesentences.errors import InputError, shortage
from fivesentences.machine import available_memory

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}  # by version
SMALL = 1 << 27  # bytes that are taken without asking how much memory is left
CELLS_HELD = 150_000_000  # of a matrix that is computed: 600 MB of float32, and as much for each phi
Index: TypeAlias = "slice | NDArray[Any]"


def read_npy(path: Path | str, otherwise: str = "save an array of numbers with numpy.save") -> NDArray[Any]:
    """Map a ``.npy`` file into memory, read-only and without reading it.

    Args:
        path: The file.
        otherwise: Cure of a damaged file.

    Returns:
        The array, of any dtype but objects and of any shape.

    Raises:
        InputError: If it is not a file or not a ``.npy`` file, holds Python objects, or its size differs from what its
            header says.
    """
    path = Path(path)
    check_file(path)
    try:
        # As numpy's open_memmap, which opens the file twice.
        with path.open("rb") as file, np.errstate(over="raise"):  # of a shape beyond every memory
            shape, in_columns, dtype = HEADERS[np.lib.format.read_magic(file)](file)
            if dtype.hasobject:
                raise _not_npy(path, otherwise)
            order: Literal["F", "C"] = "F" if in_columns else "C"
            array: np.memmap[Any, Any] = np.memmap(file, dtype, "r", file.tell(), shape, order)
    except Exception as error:  # the header is a Python literal: a hostile one ends its parser in any way
        if isinstance(error, OSError):
            raise shortage(error, path) or InputError(
                f"it cannot be read ({error.strerror or error}).", where=path
            ) from None
        raise _not_npy(path, otherwise) from None
    if array.offset + array.nbytes != path.stat().st_size:
        raise _not_npy(path, otherwise)
    return array


def new_npy(path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> np.memmap[Any, Any]:
    """Create a memory-mapped ``.npy`` of zeros whose disk space is allocated at once.

    Otherwise a disk that fills up later would kill the process with a bus error instead of raising an error.

    Raises:
        OSError: If the disk has too little room.
    """
    array: np.memmap[Any, Any] = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
    with path.open("r+b") as file:
        _allocate(file, path.stat().st_size)
    return array


def _allocate(file: IO[bytes], size: int) -> None:
    """Take the room of a file on the disk, where the system can (macOS and Windows cannot)."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)


def new_array(shape: tuple[int, ...], dtype: npt.DTypeLike, name: str | Path) -> NDArray[Any]:
    """Return a new array to be filled: in memory, or where it would take more than half of what is left, on the disk.

    There it is a memory map of a file without a name (below TMPDIR, or else /var/tmp, since /tmp often lies in memory),
    which the system removes with the process however that ends. Its size is said on standard error.

    Args:
        shape: Shape of the array.
        dtype: Type of its values.
        name: What it holds, for messages.

    Raises:
        InputError: If neither the memory nor the disk has room; how much is needed.
    """
    size, left = math.prod(shape) * np.dtype(dtype).itemsize, available_memory()
    if size < SMALL or left is None or size <= left // 2:
        return np.empty(shape, dtype)
    places = (path for path in (os.environ.get("TMPDIR"), "/var/tmp", "/tmp") if path and os.access(path, os.W_OK))
    folder = next(places, ".")
    what = f"{name}: {np.dtype(dtype)} {list(shape)} take {size:,} bytes, and {left:,} of memory are left"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _allocate(file, size)  # otherwise a full disk would kill the process later
            found = np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:
        room = f"{os.strerror(error.errno or 0)}, {shutil.disk_usage(folder).free:,} bytes are free"
        what += f"; a temporary file in {folder} has no room ({room})"
        raise InputError(what, cure="set TMPDIR to a folder with room, or ask for more memory") from None
    print(f"{what}; they are kept in a temporary file in {folder}.", file=sys.stderr, flush=True)
    return found


def check_memory(size: int, where: Path | str) -> None:
    """Check that so many bytes of a file can be read into memory, before they are.

    Raises:
        InputError: If fewer are left.
    """
    if (left := available_memory()) is not None and size > left:
        what = f"it takes {size:,} bytes of memory, and {left:,} are left"
        raise InputError(
            what, where=where, cure="save one array as .npy, which is read in parts, or ask for more memory"
        )


def read_npz(path: Path | str, names: Sequence[str], what: str, otherwise: str) -> list[NDArray[Any]]:
    """Read arrays of an ``.npz`` file.

    Args:
        path: The file.
        names: Names of the wanted arrays.
        what: Expected content, such as "prepared CIDEr".
        otherwise: Cure of a damaged file.

    Raises:
        InputError: If it is not a file, is damaged, or lacks one of the arrays.
    """
    check_file(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in names if name not in file.files]
            arrays = [] if missing else [file[name] for name in names]
    except Exception as error:  # a damaged archive fails anywhere in zipfile, zlib or numpy
        raise shortage(error, path) or InputError(
            f"this is not a complete .npz file of {what}", where=path, cure=otherwise
        ) from None
    if missing:
        raise InputError(f"it holds no {missing[0]}, so it is not {what}", where=path, cure=otherwise)
    return arrays


def _not_npy(where: Path | str, otherwise: str) -> InputError:
    what = "this is not a complete .npy file of numbers (it is cut or damaged, or holds Python objects)"
    return InputError(what, where=where, cure=otherwise)


def plain_array(values: Any, name: str = "the array") -> NDArray[Any]:
    """Apply ``numpy.asarray``, but refuse a mask, which it would drop and so count the values behind it.

    Args:
        values: An array, or lists.
        name: Name of the array for errors.

    Raises:
        InputError: If a mask hides a value, or rows differ in length.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(
            f"{name} is a masked array that hides {np.ma.getmaskarray(values).sum():,} of {values.size:,} values; "
            "nothing here reads masks: fill them with a score of your choice by .filled(value), or pass .data."
        )
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        kind = type(values).__name__
        raise InputError(f"{name} is {kind} whose rows differ in length or hold no numbers; give an array.") from None


class Unheld(ABC):
    """A matrix whose cells are computed where they are read; it is indexed as an array is.

    ``matrix[rows]``, ``matrix[:, columns]`` and ``matrix[rows, columns]`` of a slice are such matrices, and
    ``numpy.asarray`` of one computes all of it. Two arrays of indices give the cells of these pairs.

    Attributes:
        shape: Rows and columns.
        dtype: Type of its cells.
    """

    ndim = 2

    def __init__(self, shape: tuple[int, int], dtype: npt.DTypeLike):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.size = shape[0] * shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Index | tuple[Index, Index]) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, np.ndarray) and isinstance(columns, np.ndarray):
            return self.cells(rows, columns)
        chosen = _indices(rows, self.shape[0]), _indices(columns, self.shape[1])
        return self if all(one is None for one in chosen) else self.part(*chosen)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.computed().astype(dtype or self.dtype, copy=False)

    @property
    def T(self) -> Unheld:  # as numpy calls it
        """The transpose."""
        return _Transposed(self)

    @abstractmethod
    def cells(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[Any]:
        """Compute ``[pairs]`` the cells of pairs of rows and columns."""

    @abstractmethod
    def part(self, rows: NDArray[np.int64] | None, columns: NDArray[np.int64] | None) -> Unheld:
        """Return some rows and columns; None stands for all."""

    @abstractmethod
    def computed(self) -> NDArray[Any]:
        """Compute all cells."""


class _Transposed(Unheld):
    def __init__(self, of: Unheld):
        super().__init__((of.shape[1], of.shape[0]), of.dtype)
        self._of = of

    def cells(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[Any]:
        return self._of.cells(columns, rows)

    def part(self, rows: NDArray[np.int64] | None, columns: NDArray[np.int64] | None) -> Unheld:
        return _Transposed(self._of.part(columns, rows))

    def computed(self) -> NDArray[Any]:
        return self._of.computed().T


def _indices(key: Index, size: int) -> NDArray[np.int64] | None:
    if isinstance(key, slice):
        return None if key.indices(size) == (0, size, 1) else np.arange(size)[key]
    return np.flatnonzero(key) if key.dtype == bool else key
