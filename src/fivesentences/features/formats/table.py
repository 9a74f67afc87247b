"""Our own files: an array that training maps into memory, with tables of its images and regions beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.features.files import (
    images_beside,
    read_images,
    read_source,
    regions_beside,
    source_beside,
    write_images,
    write_source,
)
from fivesentences.features.formats.npy_rows import NpyRows, writing_npy
from fivesentences.features.formats.record import RECOGNISED, ImageFeatures, Outline, Source, check_ids, checked
from fivesentences.storage import replacing

CURE = "convert or extract the features again"
CORNERS = ("x1", "y1", "x2", "y2")
COLUMN_OF = dict(zip(RECOGNISED, ("score", "class", "attribute", "attribute_score"), strict=True))
OF_REGIONS = dict.fromkeys(("boxes", *RECOGNISED))  # what the table of regions holds, in order
IMAGES_AT_ONCE = 256  # whose regions make a group of rows on disk, and are read at once


class Table(Source):
    """Features written by ``writing_table`` or ``extract_features``, open for reading."""

    def __init__(self, path: Path):
        self.path = path
        check_file(images_beside(path), "features are a .npy with its .images.parquet beside")
        images = read_images(path)
        ids = [str(name) for name in images["image_id"]]
        check_ids(ids, images_beside(path))
        self._array = NpyRows(path)
        self._regions: _RegionRows | None = None
        try:
            shape = self._array.shape
            if shape[0] != len(ids):
                raise InputError(
                    f"it has {shape[0]} rows, but {images_beside(path).name} names {len(ids)} images",
                    where=path,
                    cure=CURE,
                )
            counts = None if len(shape) == 2 else self._counts(images, shape[1])
            facts = set()
            self._sizes = self._sizes_of(images)
            if self._sizes is not None:
                facts.add("sizes")
            self._filenames = [str(name) for name in images["filename"]] if "filename" in images.columns else ids
            if self._filenames != ids:
                facts.add("filenames")
            if counts is not None and regions_beside(path).exists():
                self._regions = _RegionRows(regions_beside(path), counts)
                facts |= self._regions.facts
        except BaseException:
            self.close()
            raise
        self.outline = Outline(ids, counts, shape[-1], self._array.dtype, frozenset(facts))

    def read(self, row: int) -> ImageFeatures:
        """The features of one image, without the zeros behind them."""
        features, image_id = self._array.read(row)[0], self.outline.ids[row]
        known: dict[str, Any] = {}
        if self.outline.counts is not None:
            features = features[: self.outline.counts[row]]
        if self._regions is not None:
            known = self._regions.read(row, image_id)
        if self._sizes is not None:
            known |= {"width": int(self._sizes[row, 0]), "height": int(self._sizes[row, 1])}
        record = ImageFeatures(image_id, features, self._filenames[row], **known)
        return checked(record, self.outline, row, self.path)

    def origin(self) -> dict[str, Any] | None:
        """What ``X.source.json`` says."""
        return read_source(self.path)

    def files(self) -> list[Path]:
        """The array and what lies beside it."""
        return [path for path in all_files(self.path) if path.exists()]

    def close(self) -> None:
        """Close the files."""
        self._array.close()
        if self._regions is not None:
            self._regions.close()

    def _counts(self, images: pd.DataFrame, most: int) -> NDArray[np.int64]:
        if "regions" not in images.columns:
            return np.full(len(images), most, np.int64)
        counts = _whole_numbers(images["regions"], images_beside(self.path))
        if counts.min() < 1 or counts.max() > most:
            raise InputError(
                f"its column 'regions' runs from {counts.min()} to {counts.max()}, but {self.path.name} has {most} "
                "rows per image",
                where=images_beside(self.path),
                cure=CURE,
            )
        return counts

    def _sizes_of(self, images: pd.DataFrame) -> NDArray[np.int64] | None:
        """``[images, 2]`` width and height; None where unknown."""
        if not {"width", "height"} <= set(images.columns):
            return None
        return np.stack([_whole_numbers(images[name], images_beside(self.path)) for name in ("width", "height")], 1)


def _whole_numbers(column: pd.Series, where: Path) -> NDArray[np.int64]:
    if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
        raise InputError(f"its column '{column.name}' lacks whole numbers", where=where, cure=CURE)
    return column.to_numpy(np.int64)


class _RegionRows:
    """``X.regions.parquet``, of which only the regions of a few images are in memory."""

    def __init__(self, path: Path, counts: NDArray[np.int64]):
        self.path = path
        self._ends = np.cumsum(counts)
        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from None
        names = self._file.schema_arrow.names
        self._corners = CORNERS if any(name in names for name in CORNERS) else ()
        if missing := [name for name in ("image_id", *self._corners) if name not in names]:
            self.close()
            raise InputError(f"it has no column '{missing[0]}'", where=path, cure=CURE)
        self._recognised = tuple(name for name, column in COLUMN_OF.items() if column in names)
        self.facts = frozenset({"boxes", *self._recognised} if self._corners else self._recognised)
        self._columns = ["image_id", *self._corners, *(COLUMN_OF[name] for name in self._recognised)]
        metadata = self._file.metadata
        self._groups = np.cumsum([metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)])
        if metadata.num_rows != self._ends[-1]:
            self.close()
            raise InputError(
                f"it has {metadata.num_rows:,} rows, but the images have {self._ends[-1]:,} regions",
                where=path,
                cure=CURE,
            )
        self._kept: tuple[int, pa.Table] | None = None

    def read(self, row: int, image_id: str) -> dict[str, Any]:
        """What is known of the regions of an image, by the names of ``ImageFeatures``."""
        end = int(self._ends[row])
        start = int(self._ends[row - 1]) if row else 0
        first, last = (int(np.searchsorted(self._groups, place, side="right")) for place in (start, end - 1))
        parts = []
        for group in range(first, last + 1):
            before = int(self._groups[group - 1]) if group else 0
            rows = self._group(group)
            parts.append(rows.slice(max(start - before, 0), end - max(start, before)))
        table = pa.concat_tables(parts)
        if set(table.column("image_id").to_pylist()) != {image_id}:
            raise InputError(
                f"rows {start} to {end - 1} are not those of image '{image_id}'", where=self.path, cure=CURE
            )
        known: dict[str, Any] = {}
        if self._corners:
            known["boxes"] = np.stack([self._numbers(table, name, np.float32) for name in CORNERS], axis=1)
        for name in self._recognised:
            kind = np.float32 if name.endswith("scores") else np.int64
            known[name] = self._numbers(table, COLUMN_OF[name], kind)
        return known

    def close(self) -> None:
        self._file.close()

    def _group(self, number: int) -> pa.Table:
        if self._kept is None or self._kept[0] != number:
            try:
                table = self._file.read_row_group(number, columns=self._columns, use_threads=False)
                table.validate(full=True)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise self._damaged(error) from None
            self._kept = number, table
        return self._kept[1]

    def _numbers(self, table: pa.Table, name: str, kind: type[np.generic]) -> NDArray[Any]:
        column = table.column(name)
        if column.type != pa.from_numpy_dtype(kind) or column.null_count:
            raise InputError(
                f"its column '{name}' is {column.type} with {column.null_count} gaps; it must be "
                f"{np.dtype(kind).name} without",
                where=self.path,
                cure=CURE,
            )
        return np.asarray(column.to_numpy())

    def _damaged(self, error: Exception) -> InputError:
        lines = str(error).splitlines() or [type(error).__name__]
        return InputError(f"{self.path} is not a readable parquet file ({lines[0][:200].rstrip('.')}); {CURE}.")


def all_files(path: Path) -> list[Path]:
    """The array and everything that may lie beside it."""
    return [path, images_beside(path), regions_beside(path), source_beside(path)]


class TableWriter:
    """Appends images to a table in the order of its outline. Made by ``writing_table``."""

    def __init__(self, array: Any, regions: pq.ParquetWriter | None, facts: frozenset[str]):
        self._array, self._regions, self._facts = array, regions, facts
        self._waiting: list[dict[str, Any]] = []  # without features, which are large
        self.filenames: list[str] = []
        self.sizes: list[tuple[int, int]] = []

    def add(self, record: ImageFeatures) -> None:
        """Append one image."""
        self._array.add(record.features)
        self.filenames.append(record.filename or record.image_id)
        if record.width is not None and record.height is not None:
            self.sizes.append((record.width, record.height))
        if self._regions is not None:
            names = [name for name in OF_REGIONS if name in self._facts]
            ids = {"image_id": [record.image_id] * len(record.features)}
            self._waiting.append(ids | {name: getattr(record, name) for name in names})
            if len(self._waiting) == IMAGES_AT_ONCE:
                self.flush()

    def flush(self) -> None:
        """Write the regions that wait."""
        if self._regions is None or not self._waiting:
            return
        together = {name: np.concatenate([one[name] for one in self._waiting]) for name in self._waiting[0]}
        columns: dict[str, Any] = {"image_id": together["image_id"].tolist()}
        if "boxes" in together:
            columns |= {name: together["boxes"][:, place] for place, name in enumerate(CORNERS)}
        columns |= {COLUMN_OF[name]: together[name] for name in RECOGNISED if name in together}
        self._regions.write_table(pa.table(columns, schema=_schema(self._facts)))
        self._waiting = []


def _schema(facts: frozenset[str]) -> pa.Schema:
    fields = [("image_id", pa.string())]
    if "boxes" in facts:
        fields += [(name, pa.float32()) for name in CORNERS]
    for name in RECOGNISED:
        if name in facts:
            fields.append((COLUMN_OF[name], pa.float32() if name.endswith("scores") else pa.int64()))
    return pa.schema(fields)


@contextmanager
def writing_table(out: Path, outline: Outline, source: Mapping[str, Any]) -> Iterator[TableWriter]:
    """A writer of our own files; they appear together when the block ends without an error.

    The array is given its name last: while it is not there, there are no features. Memory holds a few images at a time.

    Args:
        out: The ``.npy``.
        outline: Of the images that will be added, in that order.
        source: Where the features come from, see ``files.write_source``.

    Raises:
        InputError: If a file cannot be written.
        ValueError: If fewer or more images are added than announced.
    """
    with ExitStack() as stack:
        # The first that is entered is the last that is renamed.
        array = stack.enter_context(replacing(out))
        regions = None
        if outline.facts & OF_REGIONS.keys():
            temporary = stack.enter_context(replacing(regions_beside(out)))
            regions = stack.enter_context(pq.ParquetWriter(temporary, _schema(outline.facts)))
        rows = stack.enter_context(writing_npy(array, (len(outline), *outline.shape), outline.dtype))
        writer = TableWriter(rows, regions, outline.facts)
        yield writer
        writer.flush()
        if len(writer.filenames) != len(outline):
            raise ValueError(f"{len(writer.filenames)} images were added, not {len(outline)}")
        images = pd.DataFrame({"image_id": list(outline.ids), "filename": writer.filenames})
        if "sizes" in outline.facts:
            images[["width", "height"]] = np.array(writer.sizes, np.int64)
        if outline.counts is not None:
            images["regions"] = outline.counts
        out.unlink(missing_ok=True)  # from here to the end, no older array lies beside newer tables
        write_images(out, images)
        write_source(out, source)
