"""Our own files: an array that training maps into memory, with tables of its images and regions beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.corpus.parquet import read_frame
from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.features.files import (
    all_files,
    images_beside,
    open_array,
    read_images,
    read_source,
    regions_beside,
    write_beside,
    writing_npy,
)
from fivesentences.features.formats.precomp import padded
from fivesentences.features.formats.record import RECOGNISED, Add, FeatureSource, ImageFeatures, Outline, check_ids
from fivesentences.storage import replacing, together

CURE = "convert or extract the features again"
CORNERS = ("x1", "y1", "x2", "y2")
COLUMN_OF = dict(zip(RECOGNISED, ("score", "class", "attribute", "attribute_score"), strict=True))


class NpyTable(FeatureSource):
    """Features written by ``writing_table`` or ``extract_features``, open for reading."""

    def __init__(self, path: Path):
        self.path = path
        check_file(images_beside(path), "features are a .npy with its .images.parquet beside")
        images = read_images(path)
        ids = [str(name) for name in images["image_id"]]
        check_ids(ids, images_beside(path))
        self._array = open_array(path, CURE)
        shape = self._array.shape
        if shape[0] != len(ids):
            raise InputError(
                f"it has {shape[0]} rows, but {images_beside(path).name} names {len(ids)} images", where=path, cure=CURE
            )
        counts = None if len(shape) == 2 else self._counts(images, shape[1])
        facts = set()
        self._sizes: NDArray[np.int64] | None = None
        if {"width", "height"} <= set(images.columns):
            self._sizes = np.stack([self._whole_numbers(images[name]) for name in ("width", "height")], 1)
            facts.add("sizes")
        self._filenames = [str(name) for name in images["filename"]] if "filename" in images.columns else ids
        if self._filenames != ids:
            facts.add("filenames")
        self._regions: dict[str, NDArray[Any]] = {}
        if counts is not None and regions_beside(path).exists():
            self._starts = np.cumsum(counts) - counts
            self._regions = _read_regions(regions_beside(path), ids, counts)
            facts |= self._regions.keys()
        self.outline = Outline(ids, counts, shape[-1], self._array.dtype, frozenset(facts))

    def read(self, row: int) -> ImageFeatures:
        """Read the features of one image, without the zeros behind them."""
        features = np.array(self._array[row])
        known: dict[str, Any] = {}
        if self.outline.counts is not None:
            count = self.outline.counts[row]
            features = features[:count]
            if self._regions:
                start = self._starts[row]
                known = {name: values[start : start + count] for name, values in self._regions.items()}
        if self._sizes is not None:
            known |= {"width": int(self._sizes[row, 0]), "height": int(self._sizes[row, 1])}
        record = ImageFeatures(self.outline.ids[row], features, self._filenames[row], **known)
        return self.outline.checked(record, row, self.path)

    def origin(self) -> dict[str, Any] | None:
        """Return what ``X.source.json`` says."""
        return read_source(self.path)

    def files(self) -> list[Path]:
        """Return the array and what lies beside it."""
        return [path for path in all_files(self.path) if path.exists()]

    def _counts(self, images: pd.DataFrame, most: int) -> NDArray[np.int64]:
        if "regions" not in images.columns:
            return np.full(len(images), most, np.int64)
        counts = self._whole_numbers(images["regions"])
        if counts.min() < 1 or counts.max() > most:
            raise InputError(
                f"its column 'regions' runs from {counts.min()} to {counts.max()}, but {self.path.name} has {most} "
                "rows per image",
                where=images_beside(self.path),
                cure=CURE,
            )
        return counts

    def _whole_numbers(self, column: pd.Series) -> NDArray[np.int64]:
        if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
            raise InputError(
                f"its column '{column.name}' lacks whole numbers", where=images_beside(self.path), cure=CURE
            )
        return column.to_numpy(np.int64)


def _read_regions(path: Path, ids: list[str], counts: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Read what is known of the regions of all images, by the names of ``ImageFeatures``."""
    frame = read_frame(path, CURE, ["image_id"])
    if len(frame) != counts.sum() or (frame["image_id"].to_numpy() != np.repeat(np.array(ids, object), counts)).any():
        raise InputError(
            f"its {len(frame):,} rows are not the {counts.sum():,} regions of the images", where=path, cure=CURE
        )

    def numbers(name: str, kind: type[np.generic]) -> NDArray[Any]:
        if name not in frame.columns or frame[name].dtype != kind:
            raise InputError(f"its column '{name}' is missing or not {np.dtype(kind).name}", where=path, cure=CURE)
        return frame[name].to_numpy()

    found: dict[str, NDArray[Any]] = {}
    if not {*CORNERS}.isdisjoint(frame.columns):
        found["boxes"] = np.stack([numbers(name, np.float32) for name in CORNERS], axis=1)
    for name, column in COLUMN_OF.items():
        if column in frame.columns:
            found[name] = numbers(column, np.float32 if name.endswith("scores") else np.int64)
    return found


def _regions_of(records: list[ImageFeatures], outline: Outline) -> pd.DataFrame:
    assert outline.counts is not None
    columns: dict[str, Any] = {"image_id": np.repeat(np.array(outline.ids, object), outline.counts)}

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(record, name) for record in records])

    if "boxes" in outline.facts:
        columns |= dict(zip(CORNERS, joined("boxes").astype(np.float32, copy=False).T, strict=True))
    for name, column in COLUMN_OF.items():
        if name in outline.facts:
            columns[column] = joined(name).astype(np.float32 if name.endswith("scores") else np.int64, copy=False)
    return pd.DataFrame(columns)


@contextmanager
def writing_table(out: Path, outline: Outline, source: Mapping[str, Any], repeat: int = 1) -> Iterator[Add]:
    """Yield what appends images to our own files, which appear together when the block ends without an error.

    The array is given its name last: while it is not there, there are no features. Memory holds the tables of images
    and regions, but no features.

    Args:
        out: The ``.npy``.
        outline: The outline of the images that will be added, in that order.
        source: Where the features come from, see ``files.write_beside``.
        repeat: Rows per image, which is 1 in this format.

    Raises:
        InputError: If a file cannot be written.
        ValueError: If fewer or more images are added than announced.
    """
    records: list[ImageFeatures] = []  # without features, which are large
    with together(), replacing(out) as array:
        with writing_npy(array, (len(outline), *outline.shape), outline.dtype) as append:

            def add(record: ImageFeatures) -> None:
                append(padded(record.features, outline.shape))
                records.append(replace(record, features=np.empty(0)))

            yield add
        images = pd.DataFrame(
            {"image_id": list(outline.ids), "filename": [record.filename or record.image_id for record in records]}
        )
        if "sizes" in outline.facts:
            images[["width", "height"]] = np.array([(record.width, record.height) for record in records], np.int64)
        if outline.counts is not None:
            images["regions"] = outline.counts
        has_regions = outline.facts & {"boxes", *RECOGNISED}
        write_beside(out, array, images, source, _regions_of(records, outline) if has_regions else None)
