"""Images as the detector reads them: BGR, 0 to 255, means subtracted, resized by the rule of one of three codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn import functional

from fivesentences.config.types import ResizeRule

MEANS = np.array([102.9801, 115.9465, 122.7717])  # blue, green, red


@dataclass(frozen=True)
class Resized:
    """An image as the network reads it.

    Attributes:
        pixels: ``[3, height, width]`` float32, blue first, means subtracted.
        scale: By how much the rule enlarges the image, before the sides are rounded to whole pixels.
        scale_xy: By how much x and y of a box in the original image are to be multiplied.
    """

    pixels: NDArray[np.float32]
    scale: float
    scale_xy: tuple[float, float]


def resize(bgr: NDArray[np.uint8], rule: ResizeRule = "opencv", short: int = 600, long: int = 1000) -> Resized:
    """Resize an image so that its shorter side is ``short``, but no side longer than ``long``.

    Args:
        bgr: ``[height, width, 3]``, blue first.
        rule: ``opencv`` subtracts the means and interpolates float32 without antialiasing, at the positions that the
            scale gives; ``torch`` interpolates float32 without antialiasing, at those that the rounded sides give;
            ``pillow`` interpolates bytes with antialiasing, and rounds.
        short: Pixels.
        long: Pixels.
    """
    height, width = bgr.shape[:2]
    if rule == "opencv":
        scale = opencv_scale(height, width, short, long)
        pixels = bilinear((bgr - MEANS).astype(np.float32), scale)
        return Resized(np.ascontiguousarray(pixels.transpose(2, 0, 1)), scale, (scale, scale))
    scale, new_height, new_width = detectron_size(height, width, short, long)
    if rule == "pillow":
        shrunk = Image.fromarray(bgr).resize((new_width, new_height), Image.Resampling.BILINEAR)
        pixels = np.asarray(shrunk).astype(np.float32).transpose(2, 0, 1)
    else:
        pixels = _interpolated(bgr, new_height, new_width)
    pixels = np.ascontiguousarray(pixels) - MEANS.astype(np.float32)[:, None, None]
    return Resized(pixels, scale, (new_width / width, new_height / height))


def opencv_scale(height: int, width: int, short: int, long: int) -> float:
    """Return the scale of the Caffe code: ``short`` over the shorter side, less if the longer would exceed ``long``."""
    scale = short / min(height, width)
    return long / max(height, width) if round(scale * max(height, width)) > long else scale


def detectron_size(height: int, width: int, short: int, long: int) -> tuple[float, int, int]:
    """Return the scale of the other two codes, and height and width of the result."""
    scale = short / min(height, width)
    new_height, new_width = (float(short), scale * width) if height < width else (scale * height, float(short))
    if (longest := max(new_height, new_width)) > long:
        reduction = long / longest
        scale, new_height, new_width = scale * reduction, new_height * reduction, new_width * reduction
    return scale, max(int(new_height + 0.5), 1), max(int(new_width + 0.5), 1)


def bilinear(image: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    """OpenCV's ``resize`` of a float32 image ``[height, width, channels]`` with ``fx = fy = scale`` and INTER_LINEAR.

    Sides are rounded half to even; a pixel of the result is taken at (i + 1/2) / scale - 1/2, without antialiasing.
    Equal to OpenCV 5 but for the last bit of a few pixels in a thousand.
    """
    left, right, beside = _positions(image.shape[1], scale)
    rows = _between(image[:, left], image[:, right], beside[:, None])
    above, below, beside = _positions(image.shape[0], scale)
    return _between(rows[above], rows[below], beside[:, None, None])


def _between(
    first: NDArray[np.float32], second: NDArray[np.float32], share: NDArray[np.float32]
) -> NDArray[np.float32]:
    # OpenCV multiplies and adds with one rounding, which float64 imitates.
    return (first + (second - first) * share.astype(np.float64)).astype(np.float32)


def _positions(length: int, scale: float) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """For every pixel along a side of the result: the pixel before it, the one behind, and how close to the latter."""
    exact = (np.arange(max(round(length * scale), 1)) + 0.5) * (1 / scale) - 0.5
    before = np.floor(exact).astype(np.intp)
    share = (exact - before).astype(np.float32)
    share[(before < 0) | (before >= length - 1)] = 0
    before = before.clip(0, length - 1)
    return before, np.minimum(before + 1, length - 1), share


def _interpolated(bgr: NDArray[np.uint8], height: int, width: int) -> NDArray[np.float32]:
    values = torch.from_numpy(np.ascontiguousarray(bgr.transpose(2, 0, 1))).float()[None]
    with torch.inference_mode():
        resized = functional.interpolate(values, size=(height, width), mode="bilinear", align_corners=False)
    return resized[0].numpy()  # type: ignore[no-any-return]
