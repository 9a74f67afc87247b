"""Preparation of features before a model reads them, with statistics of the training images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from fivesentences.errors import InputError
from fivesentences.features.table import StoredRows

How = Literal["as_stored", "standardise", "normalise"]
BLOCK = 1024  # rows that are converted to float64 at a time


@dataclass(frozen=True)
class Preparation:
    """How features are prepared, with the statistics that this needs.

    Attributes:
        how: ``as_stored`` changes nothing. ``standardise`` subtracts each dimension's mean and divides by its standard
            deviation (that of the population, over images and regions). ``normalise`` scales each row, or each region,
            to length 1.
        mean: ``[dim]`` for ``standardise``, otherwise None.
        deviation: ``[dim]`` for ``standardise``, otherwise None.
    """

    how: How
    mean: npt.NDArray[np.float32] | None = None
    deviation: npt.NDArray[np.float32] | None = None

    @classmethod
    def fit(cls, rows: npt.NDArray[np.floating] | StoredRows, how: How) -> Preparation:
        """Compute the statistics that ``how`` needs.

        Args:
            rows: Training features, ``[images, dim]`` or ``[images, regions, dim]``.
            how: ``as_stored``, ``standardise`` or ``normalise``.

        Raises:
            InputError: If there are no rows, ``how`` is unknown, or a statistic is not finite.
        """
        if how not in get_args(How):
            raise InputError(f"features cannot be prepared as '{how}'; it must be one of {', '.join(get_args(How))}.")
        if how != "standardise":
            return cls(how)
        if rows.size == 0:
            raise InputError("features cannot be standardised without training images; the training split is empty.")
        count = rows.size // rows.shape[-1]
        # Two passes in float64: with large means, sums of squares lose the deviation to rounding.
        mean = np.sum([block.sum(axis=0) for block in _blocks(rows)], axis=0) / count
        deviation = np.sqrt(np.sum([((block - mean) ** 2).sum(axis=0) for block in _blocks(rows)], axis=0) / count)
        if not (np.isfinite(mean).all() and np.isfinite(deviation).all()):
            raise InputError("features cannot be standardised: a training feature is NaN or infinite.")
        # A constant dimension carries no information; the rounding errors of float32 in it must not be scaled up.
        constant = deviation <= np.maximum(np.finfo(np.float32).eps * np.abs(mean), np.finfo(np.float32).tiny)
        deviation = np.where(constant, 1.0, deviation)
        return cls(how, mean.astype(np.float32), deviation.astype(np.float32))

    def apply(self, rows: npt.NDArray[np.floating], in_place: bool = False) -> npt.NDArray[np.float32]:
        """Prepare rows as float32.

        Args:
            rows: ``[..., dim]``.
            in_place: Whether the result may be the array itself, if that is float32; otherwise it is a new one.

        Raises:
            InputError: If the last dimension of the rows is not that of the rows given to ``fit``.
        """
        prepared = np.asarray(rows, np.float32) if in_place else np.array(rows, np.float32)
        if self.mean is not None and self.deviation is not None:
            if prepared.shape[-1:] != self.mean.shape:
                raise InputError(
                    f"features have {prepared.shape[-1] if prepared.ndim else 0} dimensions, but the training features "
                    f"had {len(self.mean)}; use the features that the model was trained with."
                )
            prepared -= self.mean
            prepared /= self.deviation
        elif self.how == "normalise":
            length = np.linalg.norm(prepared, axis=-1, keepdims=True)
            prepared /= np.where(length > 0, length, 1)
        return prepared

    def to_arrays(self) -> dict[str, npt.NDArray]:
        """Arrays that safetensors can store: ``how`` as bytes, and the statistics if there are any."""
        arrays: dict[str, npt.NDArray] = {"how": np.frombuffer(self.how.encode(), dtype=np.uint8).copy()}
        if self.mean is not None and self.deviation is not None:
            arrays |= {"mean": self.mean, "deviation": self.deviation}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray]) -> Preparation:
        """Return the inverse of ``to_arrays``.

        Raises:
            InputError: If the arrays do not describe a preparation.
        """
        how = bytes(np.asarray(arrays.get("how", []), dtype=np.uint8)).decode("utf-8", "replace")
        mean, deviation = arrays.get("mean"), arrays.get("deviation")
        if how not in get_args(How) or (how == "standardise") != (mean is not None and deviation is not None):
            raise InputError(f"stored feature preparation '{how}' with {sorted(arrays)} is unknown to this version.")
        return cls(how, mean, deviation)  # type: ignore[arg-type]


def _blocks(rows: npt.NDArray[np.floating] | StoredRows) -> Iterator[npt.NDArray[np.float64]]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK].astype(np.float64).reshape(-1, rows.shape[-1])
