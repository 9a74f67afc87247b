"""Anchors: boxes of fixed shapes around every cell of the feature map.

torchvision's generator is of no use here: it orders shapes otherwise, rounds corners to integers, and takes the stride
from the size of the map, which gives 15 in place of 16 where pooling rounds up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.config.types import FlavourName

STRIDE = 16
RATIOS = (0.5, 1.0, 2.0)  # height over width
SIZES = (64.0, 128.0, 256.0, 512.0)  # d2: square root of the area
SCALES = (4, 8, 16, 32)  # Caffe: times a base of 16 pixels
BASE = 16


def cell_anchors(flavour: FlavourName) -> NDArray[np.float64]:
    """The anchors of the cell at the origin: ``[12, 4]``, x1, y1, x2, y2."""
    return caffe_table(SCALES) if flavour == "caffe" else d2_table(SIZES)


def d2_table(sizes: Sequence[float], ratios: Sequence[float] = RATIOS) -> NDArray[np.float64]:
    """Anchors centred on the origin, size by size: ``[sizes * ratios, 4]``."""
    rows = []
    for size in sizes:
        for ratio in ratios:
            width = size / np.sqrt(ratio)
            rows.append((-width / 2, -ratio * width / 2, width / 2, ratio * width / 2))
    return np.array(rows, dtype=np.float64)


def caffe_table(scales: Sequence[int], ratios: Sequence[float] = RATIOS) -> NDArray[np.float64]:
    """Anchors with inclusive corners around (7.5, 7.5), ratio by ratio: ``[ratios * scales, 4]``.

    Sides are rounded at the base of 16 pixels (23 x 12, 16 x 16, 11 x 22) and multiplied afterwards.
    """
    centre = (BASE - 1) / 2
    rows = []
    for ratio in ratios:
        width = np.round(np.sqrt(BASE * BASE / ratio))
        height = np.round(width * ratio)
        for scale in scales:
            half_width, half_height = (width * scale - 1) / 2, (height * scale - 1) / 2
            rows.append((centre - half_width, centre - half_height, centre + half_width, centre + half_height))
    return np.array(rows, dtype=np.float64)


def grid(table: NDArray[Any], height: int, width: int, stride: int = STRIDE) -> NDArray[Any]:
    """The anchors of every cell of a map: ``[height * width * anchors, 4]``, row by row, anchors fastest.

    Args:
        table: ``[anchors, 4]`` of the cell at the origin.
        height: Of the map, in cells.
        width: Likewise.
        stride: Pixels per cell.

    Returns:
        Of the dtype of the table.
    """
    y, x = np.meshgrid(np.arange(height) * stride, np.arange(width) * stride, indexing="ij")
    shifts = np.stack((x, y, x, y), axis=-1).reshape(-1, 1, 4).astype(table.dtype)
    every: NDArray[Any] = shifts + table
    return every.reshape(-1, 4)
