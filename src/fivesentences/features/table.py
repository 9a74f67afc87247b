"""Reading features: rows by image id, checked to be finite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.features.files import images_beside, open_array, read_images
from fivesentences.features.precomp import PrecompRows, read_precomp

BLOCK = 1024  # rows that are checked at a time


@dataclass(frozen=True)
class FeatureTable:
    """Features of a dataset, one row per image.

    Attributes:
        path: Where they came from, for messages.
        array: ``[images, dim]`` or ``[images, regions, dim]``, float16 or float32, memory-mapped; indexing with an
            array of row numbers reads those rows.
        image_ids: The image of each row.
    """

    path: Path
    array: npt.NDArray[np.floating] | PrecompRows
    image_ids: list[str]

    @classmethod
    def open(cls, path: Path | str) -> FeatureTable:
        """Open features written by ``extract_features`` (or anything that writes the same files) or
        ``describe_precomp``.

        Raises:
            InputError: If a file is missing or damaged, or the two do not belong together.
        """
        path, what = Path(path), "features are a .npy with its .images.parquet beside"
        check_file(path, what)
        check_file(images_beside(path), what)
        array = read_precomp(path) if path.suffix == ".json" else open_array(path, "extract the features again")
        ids = [str(name) for name in read_images(path)["image_id"]]
        if len(ids) != len(array):
            raise InputError(
                f"{path} has {len(array)} rows, but {images_beside(path).name} names {len(ids)} images; extract the "
                "features again."
            )
        if len(set(ids)) < len(ids):
            raise InputError(f"{images_beside(path)} names an image twice; features have one row per image.")
        return cls(path, array, ids)

    def rows(self, image_ids: Sequence[str]) -> npt.NDArray[np.float32]:
        """Copy the rows of some images, in the requested order.

        Raises:
            InputError: If an image has no features, or a feature is NaN or infinite.
        """
        return self.take(self.where(image_ids))

    def where(self, image_ids: Sequence[str]) -> npt.NDArray[np.intp]:
        """``[images]`` the number of each image's row.

        Raises:
            InputError: If an image has no features.
        """
        position = {name: row for row, name in enumerate(self.image_ids)}
        unknown = [name for name in image_ids if name not in position]
        if unknown:
            raise InputError(
                f"{self.path} has no features of image '{unknown[0]}' ({len(unknown)} of {len(image_ids)} images are "
                "missing); extract them from the corpus that is used here."
            )
        return np.array([position[name] for name in image_ids], dtype=np.intp)

    def take(self, where: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        """Copy some rows, given by number.

        Raises:
            InputError: If a feature is NaN or infinite.
        """
        rows = self.array[where].astype(np.float32)  # indexing with an array reads only these rows
        for start in range(0, len(rows), BLOCK):
            finite = np.isfinite(rows[start : start + BLOCK])
            if not finite.all():
                asked, *place = (int(index) for index in np.argwhere(~finite)[0])
                row = int(where[start + asked])
                value = float(rows[(start + asked, *place)])
                raise InputError(
                    f"{self.path}: row {row} (image '{self.image_ids[row]}') holds {value} at {place}; "
                    "features must be finite: extract them again."
                )
        return rows


@dataclass(frozen=True)
class StoredRows:
    """Some rows of a table, read only when a slice of them is requested; ``Preparation.fit`` iterates over them.

    Attributes:
        table: The table.
        where: ``[images]`` the numbers of the rows.
    """

    table: FeatureTable
    where: npt.NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array of all these rows."""
        return (len(self.where), *self.table.array.shape[1:])

    @property
    def size(self) -> int:
        """How many numbers all these rows hold."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, rows: slice) -> npt.NDArray[np.float32]:
        return self.table.take(self.where[rows])
