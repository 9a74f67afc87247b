"""Reading features: rows by image id, checked to be finite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
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
        array: ``[images, dim]`` or ``[images, regions, dim]``, float16 or float32, memory-mapped.
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
        """Return ``[images]`` the number of each image's row.

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

    def take(self, where: npt.NDArray[np.intp], out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
        """Copy some rows, given by number.

        Args:
            where: Numbers of the rows.
            out: Where they are copied to if they are stored as float32; others are converted to a new array.

        Raises:
            InputError: If a feature is NaN or infinite.
        """
        into = out if self.array.dtype == np.float32 else None
        if isinstance(self.array, PrecompRows):
            stored = self.array.take(where, into)
        else:  # "clip" copies straight into `out`; rows were looked up, so that none is outside
            stored = np.take(self.array, where, axis=0, out=into, mode="clip")
        rows = stored.astype(np.float32, copy=False)
        new = np.flatnonzero(~self._known_finite[where])
        for start in range(0, len(new), BLOCK):
            asked = new[start : start + BLOCK]
            finite = np.isfinite(rows[asked])
            if not finite.all():
                first, *place = (int(index) for index in np.argwhere(~finite)[0])
                row, value = int(where[asked[first]]), float(rows[(asked[first], *place)])
                raise InputError(
                    f"{self.path}: row {row} (image '{self.image_ids[row]}') holds {value} at {place}; "
                    "features must be finite: extract them again."
                )
        self._known_finite[where] = True
        return rows

    @cached_property
    def _known_finite(self) -> npt.NDArray[np.bool_]:
        """Rows that have been checked: an epoch reads each again for every caption."""
        return np.zeros(len(self.array), dtype=bool)


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
