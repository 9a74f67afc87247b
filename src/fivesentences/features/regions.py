"""Regions of one image as a detector returns them: features, boxes and what was recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError

BOX = 4  # x1, y1, x2, y2


@dataclass(frozen=True)
class Regions:
    """The regions of one image, all arrays in the same order.

    Attributes:
        features: ``[regions, dim]`` float32.
        boxes: ``[regions, 4]`` float32, x1, y1, x2, y2 in pixels of the original image.
        width: Of the original image, in pixels.
        height: Likewise.
        scores: ``[regions]`` float32 in [0, 1], of the most probable class; None where unknown.
        classes: ``[regions]`` int64, from 0, without background; None where unknown.
        attributes: ``[regions]`` int64, from 0, without "no attribute"; None where unknown.
        attribute_scores: ``[regions]`` float32 in [0, 1]; None where unknown.

    Raises:
        InputError: If shapes or types disagree, or the image has no size.
    """

    features: NDArray[np.float32]
    boxes: NDArray[np.float32]
    width: int
    height: int
    scores: NDArray[np.float32] | None = None
    classes: NDArray[np.int64] | None = None
    attributes: NDArray[np.int64] | None = None
    attribute_scores: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if self.features.ndim != 2:
            raise InputError(f"features of regions are {list(self.features.shape)}; they must be [regions, dim].")
        _check("features", self.features, self.features.shape, np.float32)
        n = len(self.features)
        _check("boxes", self.boxes, (n, BOX), np.float32)
        for name, array in self.recognised().items():
            _check(name, array, (n,), np.float32 if name.endswith("scores") else np.int64)
        if self.width < 1 or self.height < 1:
            raise InputError(f"the image of these regions is {self.width} x {self.height}; it must have pixels.")

    def __len__(self) -> int:
        return len(self.features)

    def recognised(self) -> dict[str, Any]:
        """The optional arrays that are known, by name."""
        names = ("scores", "classes", "attributes", "attribute_scores")
        known = {name: getattr(self, name) for name in names}
        return {name: array for name, array in known.items() if array is not None}


def _check(name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: type[np.generic]) -> None:
    if array.shape != shape or array.dtype != dtype:
        raise InputError(
            f"{name} of regions are {array.dtype} {list(array.shape)}; they must be {np.dtype(dtype).name} "
            f"{list(shape)}."
        )
