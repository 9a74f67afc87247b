"""``<split>_ims.npy`` of precomp folders (SCAN, VSRN, CVSE, SGRAF), and DAA's ``<split>.h5`` with the dataset ``feat``.

One row per image, or each image's row five times (as the releases do for dev and test). ``<split>_ids.txt`` beside
names the images, one line per image or per row; without it, ``<split>_caps.txt`` tells how many images there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.documents import lines_of, read_bytes, text_of
from fivesentences.errors import InputError, need
from fivesentences.features.files import DATASET, open_array, open_hdf5, writing_npy
from fivesentences.features.formats.record import Add, FeatureSource, ImageFeatures, Outline, check_ids
from fivesentences.storage import replacing, together, write_lines

SUFFIX = "_ims"  # at the end of the name of an array
REPEATED = 5  # captions per image, and rows of an image in the releases
LONGEST_LIST = 1 << 30  # bytes of ids


class PrecompArray(FeatureSource):
    """The features of one split, open for reading.

    Raises:
        InputError: If the file is damaged, or does not agree with the ids or captions beside it.
    """

    def __init__(self, path: Path):
        self.path = path
        self._rows: Any = open_array(path) if path.suffix == ".npy" else open_hdf5(path)
        try:
            ids, self._stride = _images(path, self._rows)
        except BaseException:
            self.close()
            raise
        shape = self._rows.shape
        counts = np.full(len(ids), shape[1], np.int64) if len(shape) == 3 else None
        self.outline = Outline(ids, counts, shape[-1], self._rows.dtype, frozenset())

    def read(self, row: int) -> ImageFeatures:
        """Read the features of one image, after checking that all its rows are equal."""
        start, image_id = row * self._stride, self.outline.ids[row]
        rows = _read(self._rows, start, self._stride, self.path)
        if (rows != rows[:1]).any() and np.isfinite(rows).all():
            raise InputError(
                f"rows {start} to {start + self._stride - 1} should all be of image '{image_id}', but differ",
                where=self.path,
                cure=f"is {ids_beside(self.path).name} of the same release?",
            )
        return self.outline.checked(ImageFeatures(image_id, rows[0]), row, self.path)

    def files(self) -> list[Path]:
        """Return the array and the list beside it."""
        return [path for path in (self.path, ids_beside(self.path)) if path.exists()]

    def close(self) -> None:
        """Close an HDF5 file."""
        if not isinstance(self._rows, np.ndarray):
            self._rows.file.close()


def ids_beside(path: Path) -> Path:
    """Path of the ids of an array: ``train_ids.txt`` of ``train_ims.npy`` and of ``train.h5``."""
    return path.with_name(f"{path.stem.removesuffix(SUFFIX)}_ids.txt")


def read_ids(path: Path) -> list[str]:
    """Read ids of images, one per line; an id that stands several times in a row counts once.

    Raises:
        InputError: If it is no such list.
    """
    ids = [line.strip() for line in lines_of(text_of(read_bytes(path, LONGEST_LIST), path))]
    once = [image_id for image_id, _ in itertools.groupby(ids)]
    check_ids(once, path)
    return once


def _read(rows: Any, start: int, count: int, path: Path) -> NDArray[Any]:
    try:
        return np.asarray(rows[start : start + count])
    except Exception as error:  # a damaged HDF5 file fails anywhere in the library
        raise InputError(
            f"row {start} cannot be read ({str(error)[:200]})", where=path, cure="fetch it again"
        ) from None


def _images(path: Path, rows: Any) -> tuple[list[str], int]:
    """Return the ids of the images, and the rows of each."""
    beside, n = ids_beside(path), len(rows)
    if beside.exists():
        ids = read_ids(beside)
        if n not in (len(ids), REPEATED * len(ids)):
            raise InputError(
                f"it has {n:,} rows, but {beside.name} names {len(ids):,} images; there must be one row per image, or "
                f"{REPEATED}.",
                where=path,
            )
        return ids, n // len(ids)
    split = path.stem.removesuffix(SUFFIX)
    stride = _stride(path, split, rows)
    ids = [f"{split}-{image}" for image in range(n // stride)]
    check_ids(ids, path)
    return ids, stride


def _stride(path: Path, split: str, rows: Any) -> int:
    """Return the rows per image where there is no list of ids."""
    captions, n = path.with_name(f"{split}_caps.txt"), len(rows)
    if captions.exists():
        n_captions = len(lines_of(text_of(read_bytes(captions, LONGEST_LIST), captions)))
        if n == n_captions and not n % REPEATED:
            return REPEATED
        if n * REPEATED == n_captions:
            return 1
        raise InputError(
            f"it has {n:,} rows, but {captions.name} has {n_captions:,} captions; there must be one row per caption, "
            f"or one for every {REPEATED}.",
            where=path,
        )
    if n % REPEATED:
        return 1
    first = _read(rows, 0, REPEATED, path)
    return REPEATED if (first == first[:1]).all() else 1


def padded(features: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Fill an image with fewer regions than ``shape`` up with rows of zeros."""
    if features.shape == shape:
        return features
    whole = np.zeros(shape, features.dtype)
    whole[: len(features)] = features
    return whole


@contextmanager
def writing_precomp(out: Path, outline: Outline, source: object, repeat: int) -> Iterator[Add]:
    """Yield what appends images to an array; it and the list of ids appear when the block ends without an error.

    Args:
        out: ``<split>_ims.npy``, or ``.h5`` for DAA's layout.
        outline: The outline of the images that will be added, in that order.
        source: Where the features come from, which this format does not say.
        repeat: Rows per image, and lines per image in the list.

    Raises:
        InputError: If a file cannot be written.
    """
    shape = (len(outline) * repeat, *outline.shape)
    writing = writing_npy if out.suffix == ".npy" else _writing_hdf5
    with together(), replacing(out) as temporary:
        with writing(temporary, shape, outline.dtype) as append:

            def add(record: ImageFeatures) -> None:
                row = padded(record.features, outline.shape)
                for _ in range(repeat):
                    append(row)

            yield add
        write_lines(ids_beside(out), np.repeat(np.array(outline.ids, object), repeat))


@contextmanager
def _writing_hdf5(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[Callable[[NDArray[Any]], None]]:
    need("h5py", "hdf5", "an HDF5 file")
    import h5py

    with h5py.File(path, "w") as file:
        dataset, places = file.create_dataset(DATASET, shape, dtype), itertools.count()
        yield lambda row: dataset.__setitem__(next(places), row)
