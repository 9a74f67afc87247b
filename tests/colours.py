"""How far apart two colours are to everybody, to the colour-blind and in grey."""

from __future__ import annotations

from typing import Any

import colorspacious
import numpy as np
from matplotlib import colors

# How far apart two colours must be that nothing but the colour tells apart.
SEEN_BY_ALL, SEEN_IN_GREY = 12.0, 6.5
BLINDNESS = ("deuteranomaly", "protanomaly", "tritanomaly")


def luminance(rgb: np.ndarray) -> np.ndarray:
    """Relative luminance of sRGB colours, as WCAG defines it."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def seen(rgb: np.ndarray, by: str) -> np.ndarray:
    """Colours as they are, to somebody with a colour blindness, or as a printer without colours prints them."""
    if by in BLINDNESS:
        space = {"name": "sRGB1+CVD", "cvd_type": by, "severity": 100}
        return np.clip(colorspacious.cspace_convert(rgb, space, "sRGB1"), 0, 1)
    light = luminance(rgb)
    level = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.repeat(level[..., None], 3, axis=-1) if by == "grey" else rgb


def distance(one: Any, other: Any, by: str) -> float:
    """CAM02-UCS distance of two colours."""
    pair = [seen(np.array(colors.to_rgb(colour)), by) for colour in (one, other)]
    return float(colorspacious.deltaE(*pair, input_space="sRGB1"))


def told_apart(one: Any, other: Any) -> bool:
    """Whether colour alone tells two series apart, for everybody and in grey."""
    by_all = all(distance(one, other, by) >= SEEN_BY_ALL for by in ("everybody", *BLINDNESS))
    return by_all and distance(one, other, "grey") >= SEEN_IN_GREY
