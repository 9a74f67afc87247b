"""Datasets of HDF5 files that somebody else may have written, row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.documents import check_file
from fivesentences.errors import InputError, need
from fivesentences.features.files import check_kind
from fivesentences.features.formats.record import MOST_NUMBERS

CURE = "fetch it again"


class Hdf5File:
    """An HDF5 file, open for reading; datasets that lie in other files are refused.

    Raises:
        InputError: If h5py is missing, or the file is not HDF5.
    """

    def __init__(self, path: Path):
        check_file(path)
        need("h5py", "hdf5", "an HDF5 file")
        import h5py

        self.path = path
        try:
            self._file = h5py.File(path, "r")
        except (OSError, ValueError, RuntimeError) as error:
            raise self._damaged(error) from None

    def names(self) -> list[str]:
        """Of what is in its root."""
        try:
            return list(self._file)
        except (OSError, ValueError, RuntimeError) as error:
            raise self._damaged(error) from None

    def features(self, name: str) -> Hdf5Rows:
        """A dataset of features ``[rows, dim]`` or ``[rows, regions, dim]``.

        Raises:
            InputError: If it is missing or something else.
        """
        rows = self.rows(name)
        check_kind(rows, f"{self.path}: {name}", images=True)
        return rows

    def rows(self, name: str) -> Hdf5Rows:
        """A dataset of numbers, which is not read yet.

        Raises:
            InputError: If it is missing, is no dataset of numbers, lies in another file or has huge rows.
        """
        import h5py

        try:
            link = self._file.get(name, getlink=True)
            if link is None:
                raise InputError(f"it has no dataset '{name}'", where=self.path, cure=CURE)
            if not isinstance(link, h5py.HardLink):
                raise InputError(f"'{name}' is a link, which may lead anywhere; it is refused.", where=self.path)
            found = self._file[name]
            if not isinstance(found, h5py.Dataset) or found.dtype.kind not in "fiu" or not 1 <= found.ndim <= 3:
                raise InputError(f"'{name}' is no array of numbers", where=self.path, cure=CURE)
            if found.external or found.is_virtual:
                raise InputError(f"the numbers of '{name}' are in other files; it is refused.", where=self.path)
            chunk = math.prod(found.chunks or (1,))
        except InputError:
            raise
        except Exception as error:  # a damaged file fails anywhere in the library
            raise self._damaged(error) from None
        if not len(found) or max(math.prod(found.shape[1:]), chunk) > MOST_NUMBERS or not math.prod(found.shape[1:]):
            raise InputError(f"'{name}' is {list(found.shape)}; it holds no features that fit here.", where=self.path)
        return Hdf5Rows(found, name, self.path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"it is not a readable HDF5 file ({str(error)[:200]})", where=self.path, cure=CURE)


class Hdf5Rows:
    """A dataset, of which single rows are read. Made by ``Hdf5File``."""

    def __init__(self, dataset: Any, name: str, path: Path):
        self._dataset, self.name, self.path = dataset, name, path
        self.shape: tuple[int, ...] = dataset.shape
        self.dtype: np.dtype[Any] = dataset.dtype.newbyteorder("=")

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, row: int, count: int = 1) -> NDArray[Any]:
        """Copy ``count`` rows from ``row`` on.

        Raises:
            InputError: If they are damaged.
        """
        try:
            rows = np.asarray(self._dataset[row : row + count], dtype=self.dtype)
        except Exception as error:  # as above
            raise InputError(
                f"row {row} of '{self.name}' cannot be read ({str(error)[:200]})", where=self.path, cure=CURE
            ) from None
        return rows


class Hdf5Writer:
    """An HDF5 file that is being written. Made by ``writing_hdf5``."""

    def __init__(self, file: Any):
        self._file = file

    def rows(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.generic]) -> Hdf5RowWriter:
        """A new dataset whose rows are appended one after the other."""
        return Hdf5RowWriter(self._file.create_dataset(name, shape, np.dtype(dtype)))


class Hdf5RowWriter:
    """Appends rows to a dataset. Made by ``Hdf5Writer``."""

    def __init__(self, dataset: Any):
        self._dataset, self._done = dataset, 0

    def add(self, row: NDArray[Any]) -> None:
        """Append one row; one with fewer regions than the others is filled up with zeros."""
        if row.shape != self._dataset.shape[1:]:
            whole = np.zeros(self._dataset.shape[1:], row.dtype)
            whole[: len(row)] = row
            row = whole
        self._dataset[self._done] = row
        self._done += 1

    def extend(self, rows: NDArray[Any]) -> None:
        """Append several rows."""
        self._dataset[self._done : self._done + len(rows)] = rows
        self._done += len(rows)


@contextmanager
def writing_hdf5(path: Path) -> Iterator[Hdf5Writer]:
    """A writer of an HDF5 file; to be used within ``storage.replacing``.

    Raises:
        InputError: If h5py is missing.
    """
    need("h5py", "hdf5", "an HDF5 file")
    import h5py

    with h5py.File(path, "w") as file:
        yield Hdf5Writer(file)
