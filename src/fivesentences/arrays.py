"""Arrays from ``.npy`` and ``.npz`` files that somebody else may have written. Python objects are never loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fivesentences.documents import check_file
from fivesentences.errors import InputError


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
        array: np.memmap[Any, Any] = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # the header is a Python literal: a hostile one ends its parser in any way
        if isinstance(error, OSError):
            raise InputError(f"it cannot be read ({error.strerror or error}).", where=path) from None
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
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


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
    except Exception:  # a damaged archive fails anywhere in zipfile, zlib or numpy
        raise InputError(f"this is not a complete .npz file of {what}", where=path, cure=otherwise) from None
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
