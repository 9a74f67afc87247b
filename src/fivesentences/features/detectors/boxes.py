"""Arithmetic of boxes x1, y1, x2, y2 in two conventions, ending on the last pixel (inclusive) or behind it; anchors.

torchvision's generator of anchors is of no use here: it orders shapes otherwise, rounds corners to integers, and takes
the stride from the size of the map, which gives 15 in place of 16 where pooling rounds up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchvision.ops import nms as torchvision_nms

from fivesentences.config.types import FlavourName

LARGEST_GROWTH = math.log(1000 / 16)  # of the logarithm of a side; a larger one would overflow
STRIDE = 16
RATIOS = (0.5, 1.0, 2.0)  # height over width
SIZES = (64.0, 128.0, 256.0, 512.0)  # d2: square root of the area
SCALES = (4, 8, 16, 32)  # Caffe: times a base of 16 pixels
BASE = 16


def decode(
    boxes: Tensor,
    deltas: Tensor,
    weights: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    inclusive: bool = False,
    largest_growth: float = LARGEST_GROWTH,
) -> Tensor:
    """Move and scale boxes by regressed deltas.

    With inclusive boxes the original code adds one to the width and height that it starts from, and takes nothing off
    the corners that it arrives at; so does this.

    Args:
        boxes: ``[n, 4]``.
        deltas: ``[n, 4 * k]``: dx, dy, dw, dh for each of k classes.
        weights: Divisors of dx, dy, dw and dh.
        inclusive: Whether boxes end on their last pixel.
        largest_growth: Limit of dw and dh.

    Returns:
        ``[n, 4 * k]``.
    """
    one = 1.0 if inclusive else 0.0
    width, height = boxes[:, 2] - boxes[:, 0] + one, boxes[:, 3] - boxes[:, 1] + one
    centre = torch.stack((boxes[:, 0] + 0.5 * width, boxes[:, 1] + 0.5 * height), dim=1)[:, None]  # [n, 1, 2]
    size = torch.stack((width, height), dim=1)[:, None]
    each = deltas.reshape(len(boxes), deltas.shape[1] // 4, 4) / deltas.new_tensor(list(weights))
    moved = each[..., :2] * size + centre
    half = 0.5 * torch.exp(each[..., 2:].clamp(max=largest_growth)) * size
    return torch.cat((moved - half, moved + half), dim=-1).reshape(deltas.shape)


def clip(boxes: Tensor, height: float, width: float, inclusive: bool = False) -> Tensor:
    """Cut boxes ``[..., 4]`` at the border of an image: 0 to its width, or to its last pixel if inclusive."""
    one = 1.0 if inclusive else 0.0
    x = boxes[..., 0::2].clamp(min=0, max=width - one)
    y = boxes[..., 1::2].clamp(min=0, max=height - one)
    return torch.stack((x[..., 0], y[..., 0], x[..., 1], y[..., 1]), dim=-1)


def large_enough(boxes: Tensor, smallest: float, inclusive: bool = False, strict: bool | None = None) -> Tensor:
    """Return which boxes ``[n, 4]`` have both sides of a size: ``[n]`` bool.

    Args:
        boxes: Clipped boxes.
        smallest: The size.
        inclusive: Whether boxes end on their last pixel.
        strict: Whether sides must be larger than that; default the original rule of each convention (inclusive boxes
            of exactly this size are kept, others are not).
    """
    one = 1.0 if inclusive else 0.0
    sides = boxes[:, 2:] - boxes[:, :2] + one
    strict = not inclusive if strict is None else strict
    return (sides > smallest).all(dim=1) if strict else (sides >= smallest).all(dim=1)


def nms(boxes: Tensor, scores: Tensor, threshold: float, inclusive: bool = False) -> Tensor:
    """Return the indices of the boxes that stay after greedy non-maximum suppression, best score first.

    A box is dropped if its overlap (intersection over union) with a better one is above the threshold; inclusive boxes
    also if it is equal to it, as in the original code.
    """
    if not inclusive:
        return torchvision_nms(boxes, scores, threshold)  # type: ignore[no-any-return]
    # One more pixel to the right and below makes widths of inclusive boxes; the next smaller threshold turns > into >=.
    least = np.dtype(str(boxes.dtype).removeprefix("torch.")).type(threshold)
    shifted = boxes + boxes.new_tensor([0.0, 0.0, 1.0, 1.0])
    below = float(np.nextafter(np.float64(least), 0.0))
    return torchvision_nms(shifted, scores, below)  # type: ignore[no-any-return]


def cell_anchors(flavour: FlavourName) -> NDArray[np.float64]:
    """Return the anchors of the cell at the origin: ``[12, 4]``, x1, y1, x2, y2.

    ``d2`` centres them on the origin, size by size. ``caffe`` has inclusive corners around (7.5, 7.5), ratio by ratio;
    its sides are rounded at the base of 16 pixels (23 x 12, 16 x 16, 11 x 22) and multiplied afterwards.
    """
    ratios = np.array(RATIOS)
    if flavour == "caffe":
        width = np.round(np.sqrt(BASE * BASE / ratios))
        sides = np.stack((width, np.round(width * ratios)), axis=1)[:, None] * np.array(SCALES)[:, None]
        centre, half = (BASE - 1) / 2, (sides.reshape(-1, 2) - 1) / 2
    else:
        width = np.array(SIZES)[:, None] / np.sqrt(ratios)
        centre, half = 0.0, np.stack((width, ratios * width), axis=-1).reshape(-1, 2) / 2
    return np.asarray(np.concatenate((centre - half, centre + half), axis=1), dtype=np.float64)


def grid(table: NDArray[Any], height: int, width: int, stride: int = STRIDE) -> NDArray[Any]:
    """Return the anchors of every cell of a map: ``[height * width * anchors, 4]``, row by row, anchors fastest.

    Args:
        table: ``[anchors, 4]`` of the cell at the origin.
        height: Height of the map, in cells.
        width: Width of the map, in cells.
        stride: Pixels per cell.
    """
    y, x = np.meshgrid(np.arange(height) * stride, np.arange(width) * stride, indexing="ij")
    shifts = np.stack((x, y, x, y), axis=-1).reshape(-1, 1, 4).astype(table.dtype)
    every: NDArray[Any] = shifts + table
    return every.reshape(-1, 4)
