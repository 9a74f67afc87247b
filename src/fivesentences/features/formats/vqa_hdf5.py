"""The HDF5 files of VQA models (Teney et al.'s model by Hu, BAN): 36 regions per image, or as many as there are.

``image_features`` ``[images, regions, dim]``, ``image_bb`` ``[images, regions, 4]`` and ``spatial_features`` ``[images,
regions, 6]`` (x1, y1, x2, y2, width, height as shares of the image); with ``pos_boxes`` ``[images, 2]`` the regions of
all images follow each other, and each row holds an image's first region and the one behind its last. Which image has
which row is in a pickle beside, ``<name>_imgid2idx.pkl``, which is read without being run.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.console import Bar
from fivesentences.documents import read_bytes
from fivesentences.errors import InputError
from fivesentences.features.formats.hdf5_rows import CURE, Hdf5File, writing_hdf5
from fivesentences.features.formats.plain_pickles import plain_pickle
from fivesentences.features.formats.precomp_arrays import ids_beside, read_ids
from fivesentences.features.formats.record import (
    MOST_IMAGES,
    MOST_NUMBERS,
    ImageFeatures,
    Outline,
    Source,
    check_ids,
    checked,
)
from fivesentences.features.regions import BOX
from fivesentences.storage import replacing

FEATURES, BOXES, SHARES, PLACES = "image_features", "image_bb", "spatial_features", "pos_boxes"
LARGEST_PICKLE = 1 << 28  # bytes; ids of 123,287 images take 2 million
LARGEST_IMAGE = 1_000_000  # pixels along a side
_WIDTH_AND_HEIGHT = 2


class VqaHdf5(Source):
    """Features of a VQA model's HDF5 file, open for reading.

    Sizes of images are recovered from boxes and their shares of the image, where all of them agree.

    Raises:
        InputError: If the file is damaged, its arrays do not agree, or the list of images is missing.
    """

    def __init__(self, path: Path):
        self.path = path
        self._file = Hdf5File(path)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        names = self._file.names()
        self._features = self._file.features(FEATURES)
        self._boxes = self._file.rows(BOXES) if BOXES in names else None
        self._shares = self._file.rows(SHARES) if SHARES in names and self._boxes else None
        shape = self._features.shape
        self._flat = PLACES in names
        if self._flat:
            if len(shape) != 2:
                raise self._wrong(FEATURES, shape, f"[regions, dim], since there is {PLACES}")
            places = self._file.rows(PLACES)
            if places.shape[1:] != (2,) or len(places) > MOST_IMAGES or places.dtype.kind not in "iu":
                raise self._wrong(PLACES, places.shape, "[images, 2] whole numbers")
            starts_and_ends = places.read(0, len(places)).astype(np.int64)
        elif len(shape) != 3 or len(self._features) > MOST_IMAGES:
            raise self._wrong(FEATURES, shape, f"[images, regions, dim], or [regions, dim] with {PLACES}")
        else:
            starts_and_ends = np.stack([np.arange(len(self._features)), np.arange(1, len(self._features) + 1)], axis=1)
        for rows, last in ((self._boxes, BOX), (self._shares, 6)):
            if rows is not None and rows.shape != (*shape[:-1], last):
                raise self._wrong(rows.name, rows.shape, str([*shape[:-1], last]))
        ids, rows_of = _images(self.path, len(starts_and_ends))
        self._places = starts_and_ends[rows_of]
        starts, ends = self._places.T
        most = MOST_NUMBERS // shape[-1]
        if self._flat and ((starts < 0) | (ends <= starts) | (ends - starts > most) | (ends > shape[0])).any():
            raise InputError(
                f"'{PLACES}' does not say where the regions of every image are in {shape[0]:,} rows",
                where=self.path,
                cure=CURE,
            )
        counts = ends - starts if self._flat else np.full(len(ids), shape[1], np.int64)
        facts = {"boxes"} if self._boxes else set()
        self.outline = Outline(ids, counts, shape[-1], self._features.dtype, frozenset(facts))
        if self._shares and self._tell_sizes():
            self.outline = Outline(ids, counts, shape[-1], self._features.dtype, frozenset(facts | {"sizes"}))

    def read(self, row: int) -> ImageFeatures:
        """The features of one image."""
        boxes = None
        if self._boxes is not None:
            boxes = np.asarray(self._of(self._boxes, row), np.float32)
        width, height = (self._size(row) or (None, None)) if "sizes" in self.outline.facts else (None, None)
        features = self._of(self._features, row)
        record = ImageFeatures(self.outline.ids[row], features, boxes=boxes, width=width, height=height)
        return checked(record, self.outline, row, self.path)

    def files(self) -> list[Path]:
        """The file and the list of images beside it."""
        return [path for path in (self.path, pickle_beside(self.path), ids_beside(self.path)) if path.exists()]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _of(self, rows: Any, row: int) -> NDArray[Any]:
        start, end = (int(place) for place in self._places[row])
        found: NDArray[Any] = rows.read(start, end - start)
        return found if self._flat else found[0]

    def _tell_sizes(self) -> bool:
        """Whether boxes and shares tell the size of every image."""
        n = len(self.outline)
        with Bar(f"sizes of images in {self.path.name}", n) as bar:
            for row in range(n):
                if self._size(row) is None:
                    return False
                bar.advance()
        return True

    def _size(self, row: int) -> tuple[int, int] | None:
        """Width and height of an image; None if boxes and shares do not tell them."""
        boxes = np.asarray(self._of(self._boxes, row), np.float32)
        shares = np.asarray(self._of(self._shares, row), np.float32)
        sides = []
        for side in range(_WIDTH_AND_HEIGHT):
            place = int(boxes[:, 2 + side].argmax())
            with np.errstate(all="ignore"):
                length = float(boxes[place, 2 + side]) / float(shares[place, 2 + side] or np.nan)
                if not 0.5 <= length <= LARGEST_IMAGE:
                    return None
                for corner in (side, 2 + side):
                    if not np.allclose(boxes[:, corner] / np.float32(round(length)), shares[:, corner], 1e-6, 1e-6):
                        return None
            sides.append(round(length))
        return sides[0], sides[1]

    def _wrong(self, name: str, shape: tuple[int, ...], expected: str) -> InputError:
        return InputError(f"'{name}' is {list(shape)}; it must be {expected}", where=self.path, cure=CURE)


def pickle_beside(path: Path) -> Path:
    """Where the released converters say which image has which row: ``train36_imgid2idx.pkl`` of ``train36.hdf5``."""
    return path.with_name(f"{path.stem}_imgid2idx.pkl")


def _images(path: Path, n: int) -> tuple[list[str], NDArray[np.intp]]:
    """Ids of the images in the order of the rows, and the row of each."""
    beside, listed = pickle_beside(path), ids_beside(path)
    if listed.exists() and not beside.exists():
        ids = read_ids(listed)
        check_ids(ids, listed)
        if len(ids) != n:
            raise InputError(f"it has {n:,} images, but {listed.name} names {len(ids):,}.", where=path)
        return ids, np.arange(n)
    if not beside.exists():
        raise InputError(
            f"there is neither {beside.name} nor {listed.name} beside, so nothing says which image has which row",
            where=path,
            cure="fetch it, or write the ids into it, one per line in the order of the rows",
        )
    row_of = plain_pickle(read_bytes(beside, LARGEST_PICKLE), beside)
    if not isinstance(row_of, dict) or not all(map(_is_entry, row_of.items())):
        raise InputError("it does not say which image has which row", where=beside, cure=CURE)
    ids = [str(image_id) for image_id in sorted(row_of, key=row_of.__getitem__)]
    rows = np.sort(np.array(list(row_of.values()), np.int64)) if len(row_of) else np.zeros(0, np.int64)
    if not len(rows) or rows[0] < 0 or rows[-1] >= n or (np.diff(rows) == 0).any():
        raise InputError(f"its rows are not {n:,} different ones from 0", where=beside, cure=CURE)
    check_ids(ids, beside)
    return ids, rows.astype(np.intp)


def _is_entry(entry: tuple[Any, Any]) -> bool:
    """Whether this can be an image and its row; numbers that numpy cannot hold are neither."""
    image_id, row = entry
    return type(row) is int and all(number.bit_length() < 64 for number in (image_id, row) if isinstance(number, int))


class VqaWriter:
    """Appends images to a VQA model's HDF5 file. Made by ``writing_vqa_hdf5``."""

    def __init__(self, file: Any, outline: Outline):
        counts = outline.counts
        assert counts is not None
        self._flat, total = outline.varies, int(counts.sum())
        first = (total,) if self._flat else (len(outline), int(counts[0]))
        self._features = file.rows(FEATURES, (*first, outline.dim), outline.dtype)
        self._boxes = file.rows(BOXES, (*first, BOX), np.float32)
        self._shares = file.rows(SHARES, (*first, 6), np.float32)
        if self._flat:
            ends = np.cumsum(counts)
            file.rows(PLACES, (len(outline), 2), np.int32).extend(np.stack([ends - counts, ends], axis=1))

    def add(self, record: ImageFeatures) -> None:
        """Append one image, which must have boxes and a size."""
        boxes = record.boxes
        assert boxes is not None and record.width is not None and record.height is not None
        size = np.array([record.width, record.height], np.float32)
        corners = boxes / np.tile(size, 2)
        shares = np.concatenate([corners, (boxes[:, 2:] - boxes[:, :2]) / size], axis=1)
        for rows, values in ((self._features, record.features), (self._boxes, boxes), (self._shares, shares)):
            if self._flat:
                rows.extend(values)
            else:
                rows.add(values)


@contextmanager
def writing_vqa_hdf5(out: Path, outline: Outline) -> Iterator[VqaWriter]:
    """A writer of a VQA model's HDF5 file and of the list of images beside it, which appear when the block ends.

    Args:
        out: The ``.h5`` or ``.hdf5``.
        outline: Of the images that will be added, in that order; with ``pos_boxes`` if they differ in regions.

    Raises:
        InputError: If a file cannot be written.
    """
    with replacing(out) as temporary:
        with writing_hdf5(temporary) as file:
            yield VqaWriter(file, outline)
        out.unlink(missing_ok=True)  # no older file lies beside a newer list
        numbers = all(
            image_id.isascii() and image_id.isdecimal() and str(int(image_id)) == image_id for image_id in outline.ids
        )
        row_of = {int(image_id) if numbers else image_id: row for row, image_id in enumerate(outline.ids)}
        with replacing(pickle_beside(out)) as beside:
            beside.write_bytes(pickle.dumps(row_of, protocol=2))
