"""The files of a set of features: an array with one row per image, and what lies beside it.

``X.npy`` ``[images, dim]`` or ``[images, regions, dim]`` and ``X.images.parquet`` (image_id, filename) are all that
training reads. Where they are known there are also width, height and ``regions`` (how many rows of an image count;
those behind them are zero) in ``X.images.parquet``, ``X.regions.parquet`` (boxes and what was recognised, one row per
region, image by image), and ``X.source.json`` (where the features come from).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fivesentences.arrays import read_npy
from fivesentences.corpus.parquet import frame_of, read_parquet, write_frame
from fivesentences.documents import check_file, read_formatted
from fivesentences.errors import InputError, need
from fivesentences.seals import check_content
from fivesentences.storage import remove, sha256_of, write_json

SOURCE = "fivesentences.feature_source 1"
_ARRAY = b"fivesentences.array"  # in the table of images: SHA-256 of the array that it was written for
DATASET = "feat"  # in DAA's HDF5 files
MOST_ROWS = 50_000_000
MOST_NUMBERS = 1 << 28  # of one image: 1 GB of float32; 100 regions of 2,048 numbers are a thousandth of it


def images_beside(path: Path) -> Path:
    """Path of the table of images that belongs to an array of features."""
    return path.with_suffix(".images.parquet")


def regions_beside(path: Path) -> Path:
    """Path of the table of regions that belongs to an array of features, where they have boxes."""
    return path.with_suffix(".regions.parquet")


def source_beside(path: Path) -> Path:
    """Path of the note on where an array of features comes from."""
    return path.with_suffix(".source.json")


def all_files(path: Path) -> list[Path]:
    """Return an array of features and everything that may lie beside it."""
    return [path, images_beside(path), regions_beside(path), source_beside(path)]


def read_source(path: Path) -> dict[str, Any] | None:
    """Where an array of features comes from; None if it has no such note.

    Raises:
        InputError: If the note is damaged.
    """
    beside = source_beside(path)
    if not beside.exists():
        return None
    found = read_formatted(beside, SOURCE, "it does not say where features come from; extract them again.")
    return {name: value for name, value in found.items() if name != "format"}


def write_beside(
    path: Path,
    array: Path,
    images: pd.DataFrame,
    source: Mapping[str, Any] | None = None,
    regions: pd.DataFrame | None = None,
) -> None:
    """Write what lies beside an array of features, each file whole or not at all; what older features had is removed.

    Args:
        path: The array.
        array: The file that will get this name, already complete; the table of images keeps its checksum.
        images: ``image_id`` and ``filename``, one row per image.
        source: Everything that the numbers depend on, as JSON: the extractor, the weights' SHA-256, how images are
            prepared, versions; or the file that they were converted from.
        regions: One row per region, image by image.
    """
    write_frame(images, images_beside(path), {_ARRAY: sha256_of(array).encode()})
    if source is None:
        remove(source_beside(path))
    else:
        write_json(source_beside(path), {**source, "format": SOURCE})
    if regions is None:
        remove(regions_beside(path))
    else:
        write_frame(regions, regions_beside(path))


def read_images(path: Path) -> pd.DataFrame:
    """Read the table of images beside an array of features.

    Raises:
        InputError: If it is missing or damaged, or has no column ``image_id``; or if the array is not the one that it
            was written for (tables of others do not say, and nothing is compared).
    """
    beside, cure = images_beside(path), "extract the features again"
    stored = read_parquet(beside, cure)
    if "image_id" not in stored.column_names:
        raise InputError("the column 'image_id' is missing", where=beside, cure=cure)
    noted = (stored.schema.metadata or {}).get(_ARRAY)
    what = f"it is damaged, or not what {beside.name} was written for"
    check_content(path, noted.decode("ascii", "replace") if noted else None, what, cure)
    return frame_of(stored, beside, cure)


@contextmanager
def writing_npy(
    path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike
) -> Iterator[Callable[[npt.NDArray[Any]], None]]:
    """Yield a function that appends rows to a new ``.npy``; a memory map would fill the memory with its pages.

    Args:
        path: The file, to be used within ``storage.replacing``.
        shape: ``[rows, ...]``.
        dtype: Type of the numbers.

    Raises:
        ValueError: If there are fewer or more rows.
    """
    kind = np.dtype(dtype)
    with path.open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)  # type: ignore[no-untyped-call]
        start = file.tell()

        def append(rows: npt.NDArray[Any]) -> None:
            file.write(np.ascontiguousarray(rows, kind).data)

        yield append
        if file.tell() - start != math.prod(shape) * kind.itemsize:
            raise ValueError(f"{file.tell() - start} bytes were written for {list(shape)} {kind}")


def open_array(path: Path, cure: str = "fetch it again") -> npt.NDArray[Any]:
    """Map features ``[rows, dim]`` or ``[rows, regions, dim]`` of a ``.npy`` into memory, without reading them.

    Raises:
        InputError: If the file is missing or damaged, or holds something else; the sentence ends with the cure.
    """
    array = read_npy(path, cure)
    check_kind(array, str(path), images=True)
    _check_size(array.shape, path)
    return array


def open_hdf5(path: Path) -> Any:
    """Open the features ``[rows, dim]`` or ``[rows, regions, dim]`` of DAA's HDF5, without reading them.

    Returns:
        The ``h5py.Dataset``; ``.file.close()`` closes it.

    Raises:
        InputError: If h5py is missing, the file is not HDF5, or ``feat`` is missing, something else, or in other files.
    """
    check_file(path)
    need("h5py", "hdf5", "an HDF5 file")
    import h5py

    try:
        file = h5py.File(path, "r")
        link = file.get(DATASET, getlink=True)
        found: Any = file[DATASET] if isinstance(link, h5py.HardLink) else None
        strange = found is None or not isinstance(found, h5py.Dataset) or found.external or found.is_virtual
        chunk = 0 if strange else math.prod(found.chunks or (1,))
    except Exception as error:  # a damaged file fails anywhere in the library
        raise InputError(
            f"it is not a readable HDF5 file ({str(error)[:200]})", where=path, cure="fetch it again"
        ) from None
    if strange:
        raise InputError(
            f"it has no dataset '{DATASET}', or one that lies in other files", where=path, cure="fetch it again"
        )
    check_kind(found, f"{path}: {DATASET}", images=True)
    _check_size(found.shape, path, chunk)
    return found


def _check_size(shape: tuple[int, ...], path: Path, chunk: int = 0) -> None:
    row = math.prod(shape[1:])
    if not 0 < shape[0] <= MOST_ROWS or not 0 < row <= MOST_NUMBERS or chunk > MOST_NUMBERS:
        raise InputError(f"its shape is {list(shape)}; it holds no features that fit here.", where=path)


def check_kind(array: npt.NDArray[Any] | Any, what: str, images: bool) -> None:
    """Check that an array can hold features: float16 or float32, with one vector or several per image.

    Args:
        array: The array, or anything with its ``dtype``, ``ndim`` and ``shape``.
        what: Its name in an error.
        images: Whether its first dimension is that of the images.

    Raises:
        InputError: If it cannot.
    """
    if array.dtype not in (np.float16, np.float32) or array.ndim - images not in (1, 2):
        first = "images, " if images else ""
        raise InputError(
            f"{what} is {array.dtype} of shape {list(array.shape)}; features must be float16 or float32, "
            f"[{first}dim] or [{first}regions, dim]."
        )
