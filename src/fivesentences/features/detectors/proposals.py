"""Where regions could be, without a trained detector: selective search, or the tiles of a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from fivesentences.config.types import ProposalRule
from fivesentences.errors import InputError, need
from fivesentences.features.detectors.boxes import nms

# Pixels of the longer side in which segments are sought. One core takes 0.1 s for 160 and 0.35 s for 300, and finds 290
# and 740 boxes on a photograph of Flickr8k.
SEARCHED = 160
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def selective_search(image: Image.Image, most: int) -> NDArray[np.float32]:
    """Boxes of segments and of their unions, the largest first (Uijlings et al., 2013; OpenCV's fast mode).

    Of boxes that overlap by more than one half the smaller is left out; where too few are left, boxes that overlap by
    more follow. OpenCV's own order is drawn at random and is not used.

    Args:
        image: RGB.
        most: Boxes.

    Returns:
        ``[n, 4]``, x1, y1, x2, y2 in pixels of the image; at least one: the whole image where nothing is found.

    Raises:
        InputError: If OpenCV's contributed modules are not installed.
    """
    search = _opencv().ximgproc.segmentation.createSelectiveSearchSegmentation()
    scale = min(1.0, SEARCHED / max(image.size))
    width, height = (max(1, round(side * scale)) for side in image.size)
    small = image.resize((width, height), Image.Resampling.BILINEAR)
    search.setBaseImage(np.ascontiguousarray(np.asarray(small)[:, :, ::-1]))  # OpenCV's order of colours
    search.switchToSelectiveSearchFast()
    found = np.asarray(search.process(), dtype=np.float32).reshape(-1, 4)  # x, y, width, height
    found = np.concatenate([found, np.array([[0, 0, width, height]], dtype=np.float32)])
    found[:, 2:] += found[:, :2]
    found = np.unique(found, axis=0)  # one order, whatever OpenCV's
    areas = (found[:, 2] - found[:, 0]) * (found[:, 3] - found[:, 1])
    largest = found[np.argsort(-areas, kind="stable")]
    rank = np.linspace(1, 0, len(largest), dtype=np.float32)  # suppression goes by a score
    chosen: dict[int, None] = {}
    for threshold in THRESHOLDS:
        chosen |= dict.fromkeys(nms(torch.from_numpy(largest), torch.from_numpy(rank), threshold).tolist())
        if len(chosen) >= most:
            break
    kept = largest[list(chosen)[:most]]
    scales = np.array([image.width / width, image.height / height] * 2, dtype=np.float32)
    inside: NDArray[np.float32] = np.minimum(kept * scales, np.array(image.size * 2, dtype=np.float32))
    return inside


def tiles(image: Image.Image, most: int) -> NDArray[np.float32]:
    """The cells of a square grid as boxes ``[most, 4]``, row by row from the top left.

    Raises:
        InputError: If the number is no square.
    """
    side = math.isqrt(most)
    if side**2 != most:
        raise InputError(f"{most} tiles are no square grid; give a square number such as 36.")
    x, y = (np.linspace(0, extent, side + 1, dtype=np.float32) for extent in image.size)
    across, down = np.meshgrid(np.arange(side), np.arange(side))
    columns, rows = across.ravel(), down.ravel()
    return np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1)


def version_of(proposals: ProposalRule) -> dict[str, Any]:
    """What boxes depend on beside the image, as JSON."""
    if proposals == "tiles":
        return {"proposals": proposals}
    return {
        "proposals": proposals,
        "searched": SEARCHED,
        "thresholds": list(THRESHOLDS),
        "opencv": _opencv().__version__,
    }


def _opencv() -> Any:
    need("cv2", "proposals", "selective search")
    import cv2

    if not hasattr(cv2, "ximgproc"):
        raise InputError(
            "selective search needs OpenCV's contributed modules, and the opencv-python that is installed has none; "
            "replace it by opencv-contrib-python-headless."
        )
    return cv2
