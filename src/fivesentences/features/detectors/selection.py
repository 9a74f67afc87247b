"""Which proposals become regions: the rule of the original extraction, and that of its conversions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from fivesentences.features.detectors.boxes import nms

FLOOR = 0.2  # confidence that a region needs, unless there are too few


def select_per_class(
    boxes: NDArray[np.floating],
    scores: NDArray[np.floating],
    least: int,
    most: int,
    threshold: float = 0.3,
    floor: float = FLOOR,
    inclusive: bool = True,
) -> NDArray[np.intp]:
    """The rule of the original extraction: proposals that are not suppressed in a class of which they are confident.

    Proposals of at least ``floor`` stay, in their own order. If these are fewer than ``least``, or more than ``most``,
    that many of the most confident proposals are taken instead, best first; of equals the earlier one.

    Args:
        boxes: ``[n, 4]`` proposals in pixels of the original image.
        scores: ``[n, classes]`` probabilities without background.
        least: Number of regions.
        most: Number of regions.
        threshold: Overlap at which the less probable box of a class is suppressed.
        floor: Confidence, see ``confidence``.
        inclusive: Whether boxes end on their last pixel, as in the original code.

    Returns:
        Indices of proposals; fewer than ``least`` if there are fewer proposals.
    """
    best = confidence(boxes, scores, threshold, inclusive)
    keep = np.flatnonzero(best >= floor)
    if least <= len(keep) <= most:
        return keep
    return np.argsort(-best, kind="stable")[: least if len(keep) < least else most]


def confidence(
    boxes: NDArray[np.floating], scores: NDArray[np.floating], threshold: float = 0.3, inclusive: bool = True
) -> NDArray[np.floating]:
    """Return the highest score of every proposal among the classes in which it is not suppressed: ``[n]``, else 0.

    Suppression is greedy, for each class among all proposals; of equal scores the earlier proposal wins.

    Args:
        boxes: ``[n, 4]``.
        scores: ``[n, classes]``.
        threshold: Overlap, see ``overlapping``.
        inclusive: Whether boxes end on their last pixel.
    """
    count, classes = scores.shape
    overlap = overlapping(boxes, threshold, inclusive)
    order = np.argsort(-scores, axis=0, kind="stable")  # [n, classes]
    suppressed = np.zeros((classes, count), dtype=bool)
    best = np.zeros(count, dtype=scores.dtype)
    every = np.arange(classes)
    for candidates in order:  # one proposal per class, the next best; all classes at once
        stays = every[~suppressed[every, candidates]]
        chosen = candidates[stays]
        np.maximum.at(best, chosen, scores[chosen, stays])
        suppressed[stays] |= overlap[chosen]
    return best


def overlapping(boxes: NDArray[np.floating], threshold: float, inclusive: bool) -> NDArray[np.bool_]:
    """Which boxes ``[n, 4]`` overlap by more than a threshold, or if inclusive by as much: ``[n, n]`` bool."""
    one = 1 if inclusive else 0
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1 + one) * (y2 - y1 + one)
    width = np.minimum(x2[:, None], x2) - np.maximum(x1[:, None], x1) + one
    height = np.minimum(y2[:, None], y2) - np.maximum(y1[:, None], y1) + one
    common = width.clip(min=0) * height.clip(min=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # empty boxes overlap with nothing
        share = common / (areas[:, None] + areas - common)
    above: NDArray[np.bool_] = share >= threshold if inclusive else share > threshold
    return above


def select_class_agnostic(
    boxes: NDArray[np.floating], scores: NDArray[np.floating], least: int, most: int, thresholds: Sequence[float]
) -> NDArray[np.intp]:
    """Return the rule of the conversions: one suppression among the boxes of the most probable classes.

    Args:
        boxes: ``[n, 4]``, each regressed and clipped for the most probable class of its proposal.
        scores: ``[n]`` probability of that class.
        least: Number of regions; the next threshold is tried where fewer stay.
        most: Number of regions.
        thresholds: Overlaps above which the less probable box is dropped, rising.

    Returns:
        Indices of proposals, most probable first; fewer than ``least`` if no threshold leaves as many.
    """
    keep = np.zeros(0, dtype=np.intp)
    for threshold in thresholds:
        keep = nms(torch.from_numpy(boxes), torch.from_numpy(scores), threshold).numpy()[:most]
        if len(keep) >= least:
            break
    return keep
