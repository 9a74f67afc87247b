"""Arrays from ``.npy`` files that somebody else may have written; the header is checked before it is believed."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fivesentences.documents import check_file
from fivesentences.errors import InputError

_MAGIC = np.lib.format.MAGIC_PREFIX


def read_npy(path: Path | str, otherwise: str = "save an array of numbers with numpy.save") -> NDArray[Any]:
    """Map a ``.npy`` file into memory, read-only and without reading it. Python objects are never loaded.

    Args:
        path: The file.
        otherwise: What to do about a damaged file.

    Returns:
        The array, of any dtype but objects and of any shape.

    Raises:
        InputError: If it is no file, is not a ``.npy`` file, holds Python objects, or its size is not what its header
            says.
    """
    path = Path(path)
    check_file(path)
    try:
        with path.open("rb") as file:
            shape, fortran_order, dtype = npy_header(file, path, otherwise)
            start, size = file.tell(), path.stat().st_size
    except OSError as error:
        raise InputError(f"it cannot be read ({error.strerror or error}).", where=path) from None
    expected = start + math.prod(shape) * dtype.itemsize
    if size != expected:
        excess = f"{size - expected:,} bytes follow the array {list(shape)} that its header announces"
        raise _not_npy(path, "it is cut" if size < expected else excess, otherwise)
    if not math.prod(shape) or not dtype.itemsize:  # nothing to map
        return np.empty(shape, dtype, order="F" if fortran_order else "C")
    return np.memmap(path, dtype, mode="r", offset=start, shape=shape, order="F" if fortran_order else "C")


def new_npy(path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> np.memmap[Any, Any]:
    """Create a memory-mapped ``.npy`` of zeros whose disk space is allocated at once.

    Otherwise a disk that fills up later would kill the process with a bus error instead of raising an error.

    Raises:
        OSError: If the disk has too little room.
    """
    array: np.memmap[Any, Any] = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def read_npz(path: Path | str, names: Sequence[str], what: str, otherwise: str) -> list[NDArray[Any]]:
    """Arrays of an ``.npz`` file by their names. Python objects are never loaded.

    Args:
        path: The file.
        names: Of the arrays that are wanted.
        what: What the file should hold, such as "prepared CIDEr".
        otherwise: What to do about a damaged file.

    Raises:
        InputError: If it is no file, is damaged, or lacks one of the arrays.
    """
    check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            missing = [name for name in names if f"{name}.npy" not in archive.namelist()]
        if missing:
            raise InputError(f"it holds no {missing[0]}, so it is not {what}", where=path, cure=otherwise)
        with np.load(path, allow_pickle=False) as file:
            return [file[name] for name in names]
    except InputError:
        raise
    # A damaged archive fails anywhere in zipfile, zlib or numpy, whose words advise to load pickles.
    except Exception:
        raise InputError(f"this is not a complete .npz file of {what}", where=path, cure=otherwise) from None


def npy_header(file: IO[bytes], where: Path | str, otherwise: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and dtype of an array, from the beginning of a ``.npy`` file; leaves the file where the data begins.

    Args:
        file: At its beginning.
        where: What to call it in an error.
        otherwise: What to do about a damaged file.

    Raises:
        InputError: As ``read_npy``.
    """
    first = file.read(len(_MAGIC))
    file.seek(0)
    if first != _MAGIC:
        begins = f"it begins with {first!r}" if first else "it is empty"
        raise _not_npy(where, begins, otherwise)
    try:
        version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read(file)  # type: ignore[no-untyped-call]
        whole = all(type(length) is int and length >= 0 for length in shape) and math.prod(shape) < 1 << 62
    except Exception:  # the header is a Python literal: one that was made to break the parser ends it in any way
        raise _not_npy(where, "its header is damaged", otherwise) from None
    if not whole:
        raise _not_npy(where, f"its shape is {str(shape)[:60]}", otherwise)
    if dtype.hasobject:
        raise _not_npy(where, "it holds Python objects, which are never loaded", otherwise)
    return shape, fortran_order, dtype


def _not_npy(where: Path | str, why: str, otherwise: str) -> InputError:
    return InputError(f"this is not a complete .npy file of numbers ({why})", where=where, cure=otherwise)


def plain_array(values: Any, name: str = "the array") -> NDArray[Any]:
    """``numpy.asarray``, which would drop a mask and count the values behind it.

    Args:
        values: An array, or lists.
        name: What a message calls it.

    Raises:
        InputError: If a mask hides a value, or rows differ in length.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        hidden = np.flatnonzero(np.ma.getmaskarray(values).ravel())
        first = [int(index) for index in np.unravel_index(hidden[0], values.shape)]
        raise InputError(
            f"{name} is a masked array that hides {len(hidden):,} of {values.size:,} values, the first at {first}; "
            "nothing here reads masks: fill them with a score of your choice by .filled(value), or pass .data."
        )
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        kind = type(values).__name__
        raise InputError(f"{name} is {kind} whose rows differ in length or hold no numbers; give an array.") from None
