"""Reading features back: rows by image id, prepared with statistics of the training images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow

from fivesentences.errors import InputError
from fivesentences.features.precomp import PrecompRows, read_precomp

How = Literal["as_stored", "standardise", "normalise"]
BLOCK = 1024  # rows that are turned into float64 at a time


@dataclass(frozen=True)
class FeatureTable:
    """Features of a dataset, one row an image.

    Attributes:
        path: Where they came from, for messages.
        array: ``[images, dim]`` or ``[images, regions, dim]``, float16 or float32, mapped and not read; an array of
            row numbers takes rows.
        image_ids: Of each row.
    """

    path: Path
    array: npt.NDArray[np.floating] | PrecompRows
    image_ids: list[str]

    @classmethod
    def open(cls, path: Path | str) -> FeatureTable:
        """Open what ``extract_features`` (or anything that writes the same two files) or ``describe_precomp`` wrote.

        Raises:
            InputError: If a file is missing or damaged, or the two do not belong together.
        """
        path = Path(path)
        beside = path.with_suffix(".images.parquet")
        for file in (path, beside):
            if not file.is_file():
                raise InputError(f"{file}: there is no such file; features are a .npy with its .images.parquet beside.")
        array: npt.NDArray[np.floating] | PrecompRows
        try:
            array = read_precomp(path) if path.suffix == ".json" else np.load(path, mmap_mode="r", allow_pickle=False)
        except InputError:
            raise
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{path} is not a whole .npy array ({error}); extract it again.") from None
        if array.ndim not in (2, 3) or array.dtype not in (np.float16, np.float32):
            raise InputError(
                f"{path} is {array.dtype} of shape {list(array.shape)}; features are float16 or float32, "
                "[images, dim] or [images, regions, dim]."
            )
        try:
            ids = [str(name) for name in pd.read_parquet(beside, columns=["image_id"])["image_id"]]
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{beside} is not a parquet table with image_id ({reason}); extract it again.") from None
        if len(ids) != len(array):
            raise InputError(
                f"{path} has {len(array)} rows, but {beside.name} names {len(ids)} images; extract it again."
            )
        if len(set(ids)) < len(ids):
            raise InputError(f"{beside} names an image twice; features have one row an image.")
        return cls(path, array, ids)

    def rows(self, image_ids: Sequence[str]) -> npt.NDArray[np.float32]:
        """Copy the rows of some images, in the order asked for.

        Raises:
            InputError: If an image has no features, or one of its features is NaN or infinite.
        """
        return self.take(self.where(image_ids))

    def where(self, image_ids: Sequence[str]) -> npt.NDArray[np.intp]:
        """``[images]`` the row of each image.

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
        """Copy some rows.

        Raises:
            InputError: If one of their features is NaN or infinite.
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
                    "features must be finite: extract or mend it again."
                )
        return rows


@dataclass(frozen=True)
class StoredRows:
    """Rows of a table that are read when they are asked for, by slices; what ``Preparation.fit`` walks over.

    Attributes:
        table: Where they are.
        where: ``[images]`` which rows.
    """

    table: FeatureTable
    where: npt.NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array of all the rows."""
        return (len(self.where), *self.table.array.shape[1:])

    @property
    def size(self) -> int:
        """Numbers in all the rows."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, rows: slice) -> npt.NDArray[np.float32]:
        return self.table.take(self.where[rows])


@dataclass(frozen=True)
class Preparation:
    """What is done to features before a model reads them, with statistics of the training images.

    ``as_stored`` changes nothing. ``standardise`` subtracts each dimension's mean and divides by its deviation
    (that of the population; over images and regions). ``normalise`` gives each row, or each region, length 1.
    """

    how: How
    mean: npt.NDArray[np.float32] | None = None
    deviation: npt.NDArray[np.float32] | None = None

    @classmethod
    def fit(cls, rows: npt.NDArray[np.floating] | StoredRows, how: How) -> Preparation:
        """Take the statistics that ``how`` needs.

        Args:
            rows: Training features, ``[images, dim]`` or ``[images, regions, dim]``.
            how: ``as_stored``, ``standardise`` or ``normalise``.

        Raises:
            InputError: If there are no rows, ``how`` is unknown, or a statistic is not finite.
        """
        if how not in get_args(How):
            raise InputError(f"features cannot be prepared as '{how}'; it is one of {', '.join(get_args(How))}.")
        if how != "standardise":
            return cls(how)
        if rows.size == 0:
            raise InputError("features cannot be standardised without training images; the training split is empty.")
        count = rows.size // rows.shape[-1]
        # Two passes in float64: sums of squares lose what they should measure where means are large.
        mean = np.sum([block.sum(axis=0) for block in _blocks(rows)], axis=0) / count
        deviation = np.sqrt(np.sum([((block - mean) ** 2).sum(axis=0) for block in _blocks(rows)], axis=0) / count)
        if not (np.isfinite(mean).all() and np.isfinite(deviation).all()):
            raise InputError("features cannot be standardised: a training feature is NaN or infinite.")
        # A dimension that never changes carries nothing; what float32 rounding leaves of it must not be blown up.
        constant = deviation <= np.maximum(np.finfo(np.float32).eps * np.abs(mean), np.finfo(np.float32).tiny)
        deviation = np.where(constant, 1.0, deviation)
        return cls(how, mean.astype(np.float32), deviation.astype(np.float32))

    def apply(self, rows: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Prepare rows of the same last dimension; the result is a new float32 array.

        Raises:
            InputError: If the rows have another dimension than those of ``fit``.
        """
        prepared = np.array(rows, dtype=np.float32)
        if self.mean is not None and self.deviation is not None:
            if prepared.shape[-1:] != self.mean.shape:
                raise InputError(
                    f"features have {prepared.shape[-1] if prepared.ndim else 0} dimensions, but those of training had "
                    f"{len(self.mean)}; use the features that the model was trained with."
                )
            prepared -= self.mean
            prepared /= self.deviation
        elif self.how == "normalise":
            length = np.linalg.norm(prepared, axis=-1, keepdims=True)
            prepared /= np.where(length > 0, length, 1)
        return prepared

    def to_arrays(self) -> dict[str, npt.NDArray]:
        """As arrays that safetensors can store: ``how`` as bytes, and the statistics where there are any."""
        arrays: dict[str, npt.NDArray] = {"how": np.frombuffer(self.how.encode(), dtype=np.uint8).copy()}
        if self.mean is not None and self.deviation is not None:
            arrays |= {"mean": self.mean, "deviation": self.deviation}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray]) -> Preparation:
        """The inverse of ``to_arrays``.

        Raises:
            InputError: If the arrays are not those of a preparation.
        """
        how = bytes(np.asarray(arrays.get("how", []), dtype=np.uint8)).decode("utf-8", "replace")
        mean, deviation = arrays.get("mean"), arrays.get("deviation")
        if how not in get_args(How) or (how == "standardise") != (mean is not None and deviation is not None):
            raise InputError(f"stored feature preparation '{how}' with {sorted(arrays)} is not one this version knows.")
        return cls(how, mean, deviation)  # type: ignore[arg-type]


def _blocks(rows: npt.NDArray[np.floating] | StoredRows) -> Iterator[npt.NDArray[np.float64]]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK].astype(np.float64).reshape(-1, rows.shape[-1])
