"""``<split>_ims.npy`` of precomp folders (SCAN, VSRN, CVSE, SGRAF), and DAA's ``<split>.h5`` with the dataset ``feat``.

One row per image, or each image's row five times (as the releases do for dev and test). ``<split>_ids.txt`` beside
names the images, one line per image or per row; without it, ``<split>_caps.txt`` tells how many images there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fivesentences.documents import lines_of, read_bytes, text_of
from fivesentences.errors import InputError
from fivesentences.features.formats.hdf5_rows import Hdf5File, Hdf5Rows, writing_hdf5
from fivesentences.features.formats.npy_rows import SUFFIX, NpyRows, writing_npy
from fivesentences.features.formats.record import ImageFeatures, Outline, Source, check_count, check_ids, checked
from fivesentences.features.precomp import DATASET
from fivesentences.storage import replacing, write_lines

REPEATED = 5  # captions per image, and rows of an image in the releases
LONGEST_LIST = 1 << 30  # bytes of ids


class PrecompArray(Source):
    """The features of one split, open for reading.

    Raises:
        InputError: If the file is damaged, or does not agree with the ids or captions beside it.
    """

    def __init__(self, path: Path):
        self.path = path
        self._hdf5: Hdf5File | None = None
        self._rows: NpyRows | Hdf5Rows
        if path.suffix == ".npy":
            self._rows = NpyRows(path)
        else:
            self._hdf5 = Hdf5File(path)
            self._rows = self._hdf5.features(DATASET)
        try:
            ids, self._stride = _images(path, self._rows)
        except BaseException:
            self.close()
            raise
        shape = self._rows.shape
        counts = np.full(len(ids), shape[1], np.int64) if len(shape) == 3 else None
        self.outline = Outline(ids, counts, shape[-1], self._rows.dtype, frozenset())

    def read(self, row: int) -> ImageFeatures:
        """The features of one image, after checking that all its rows are equal."""
        rows = self._rows.read(row * self._stride, self._stride)
        image_id = self.outline.ids[row]
        if (rows != rows[:1]).any() and np.isfinite(rows).all():
            raise InputError(
                f"rows {row * self._stride} to {(row + 1) * self._stride - 1} should all be of image '{image_id}', but "
                "differ",
                where=self.path,
                cure=f"is {ids_beside(self.path).name} of the same release?",
            )
        return checked(ImageFeatures(image_id, rows[0]), self.outline, row, self.path)

    def files(self) -> list[Path]:
        """The array and the lists beside it."""
        return [path for path in (self.path, ids_beside(self.path)) if path.exists()]

    def close(self) -> None:
        """Close the file."""
        if self._hdf5 is not None:
            self._hdf5.close()
        elif isinstance(self._rows, NpyRows):
            self._rows.close()


def ids_beside(path: Path) -> Path:
    """Where the ids of an array are: ``train_ids.txt`` of ``train_ims.npy`` and of ``train.h5``."""
    return path.with_name(f"{path.stem.removesuffix(SUFFIX)}_ids.txt")


def read_ids(path: Path) -> list[str]:
    """Ids of images, one per line.

    Raises:
        InputError: If it is no such list.
    """
    ids = [line.strip() for line in lines_of(text_of(read_bytes(path, LONGEST_LIST), path))]
    if "" in ids:
        raise InputError(f"line {ids.index('') + 1} is empty; it must be an image id.", where=path)
    return ids


def once(ids: Sequence[str]) -> list[str]:
    """A list in which each id stands once, from one in which each may stand several times in a row."""
    return [image_id for place, image_id in enumerate(ids) if not place or image_id != ids[place - 1]]


def _images(path: Path, rows: NpyRows | Hdf5Rows) -> tuple[list[str], int]:
    """The ids of the images, and the rows of each."""
    beside, n = ids_beside(path), len(rows)
    if beside.exists():
        ids = once(read_ids(beside))
        check_ids(ids, beside)
        if n not in (len(ids), REPEATED * len(ids)):
            raise InputError(
                f"it has {n:,} rows, but {beside.name} names {len(ids):,} images; there must be one row per image, or "
                f"{REPEATED}.",
                where=path,
            )
        return ids, n // len(ids)
    split = path.stem.removesuffix(SUFFIX)
    stride = _stride(path, split, rows)
    check_count(n // stride, path)
    ids = [f"{split}-{image}" for image in range(n // stride)]
    check_ids(ids, path)
    return ids, stride


def _stride(path: Path, split: str, rows: NpyRows | Hdf5Rows) -> int:
    """Rows per image where there is no list of ids."""
    captions = path.with_name(f"{split}_caps.txt")
    n = len(rows)
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
    first = rows.read(0, REPEATED)
    return REPEATED if (first == first[:1]).all() else 1


class RowWriter:
    """Appends each image's row as often as asked for. Made by ``writing_precomp``."""

    def __init__(self, rows: Any, repeat: int):
        self._rows, self._repeat = rows, repeat

    def add(self, record: ImageFeatures) -> None:
        """Append one image."""
        for _ in range(self._repeat):
            self._rows.add(record.features)


@contextmanager
def writing_precomp(out: Path, outline: Outline, repeat: int = 1) -> Iterator[RowWriter]:
    """A writer of an array and of the list of ids beside it, which appear when the block ends without an error.

    Args:
        out: ``<split>_ims.npy``, or ``.h5`` for DAA's layout.
        outline: Of the images that will be added, in that order.
        repeat: Rows per image, and lines per image in the list.

    Raises:
        InputError: If a file cannot be written.
    """
    shape = (len(outline) * repeat, *outline.shape)
    with replacing(out) as temporary:
        if out.suffix == ".npy":
            with writing_npy(temporary, shape, outline.dtype) as rows:
                yield RowWriter(rows, repeat)
        else:
            with writing_hdf5(temporary) as file:
                yield RowWriter(file.rows(DATASET, shape, outline.dtype), repeat)
        out.unlink(missing_ok=True)  # no older array lies beside a newer list
        write_lines(ids_beside(out), np.repeat(np.array(outline.ids, object), repeat))
