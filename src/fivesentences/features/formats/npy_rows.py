"""Rows of a ``.npy`` file, read and written one after the other: a memory map would fill the memory with its pages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import npy_header, read_npy
from fivesentences.errors import InputError
from fivesentences.features.files import check_kind
from fivesentences.features.formats.record import MOST_NUMBERS

CURE = "fetch it again"
SUFFIX = "_ims"  # of the name of an array of a precomp folder


class NpyRows:
    """An array of features ``[rows, dim]`` or ``[rows, regions, dim]`` on disk, open for reading.

    Raises:
        InputError: If the file is missing or damaged, or holds something else than features.
    """

    def __init__(self, path: Path):
        array = read_npy(path, CURE)  # which checks the header against the size, and reads nothing
        check_kind(array, str(path), images=True)
        self.shape: tuple[int, ...] = array.shape
        self.dtype: np.dtype[Any] = array.dtype.newbyteorder("=")
        self._row = math.prod(array.shape[1:])
        if not len(array) or not self._row or self._row > MOST_NUMBERS:
            raise InputError(f"its shape is {list(array.shape)}; it holds no features that fit here.", where=path)
        del array
        self.path, self._file = path, path.open("rb")
        _, self._fortran, self._stored = npy_header(self._file, path, CURE)
        self._start = self._file.tell()
        if self._fortran:
            self.close()
            raise InputError(
                "it is stored column by column", where=path, cure="save it with numpy.ascontiguousarray first"
            )

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, row: int, count: int = 1) -> NDArray[Any]:
        """Copy ``count`` rows from ``row`` on.

        Raises:
            InputError: If the file has become shorter.
        """
        self._file.seek(self._start + row * self._row * self._stored.itemsize)
        size = count * self._row * self._stored.itemsize
        data = self._file.read(size)
        if len(data) != size:
            raise InputError(f"it ends within row {row}", where=self.path, cure=CURE)
        return np.frombuffer(data, self._stored).astype(self.dtype).reshape(count, *self.shape[1:])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class NpyWriter:
    """Writes a ``.npy`` file row by row. Made by ``writing_npy``."""

    def __init__(self, file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]):
        self._file, self.shape, self.dtype, self.rows = file, shape, dtype, 0
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)  # type: ignore[no-untyped-call]

    def add(self, row: NDArray[Any]) -> None:
        """Append a row; one with fewer regions than the array is filled up with zeros."""
        if row.shape != self.shape[1:]:
            padded = np.zeros(self.shape[1:], self.dtype)
            padded[: len(row)] = row
            row = padded
        self._file.write(np.ascontiguousarray(row, self.dtype).data)
        self.rows += 1


@contextmanager
def writing_npy(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[NpyWriter]:
    """A writer of an array whose shape is known, ``shape[0]`` rows of it.

    Raises:
        ValueError: If there are fewer or more rows.
    """
    with path.open("wb") as file:
        writer = NpyWriter(file, shape, dtype)
        yield writer
    if writer.rows != shape[0]:
        raise ValueError(f"{writer.rows} rows were written, not {shape[0]}")
