"""Smooth, antialiased flat drawing: a pen that moves, scales and mirrors what it draws.

Pillow draws without antialiasing, so the paper is ``OVERSAMPLING`` times as large as the picture and is averaged
down at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PIL import ImageDraw

WIDTH, HEIGHT = 224, 168  # pixels of a finished picture
OVERSAMPLING = 3

Colour = tuple[int, int, int]
Point = tuple[float, float]

PAINT: dict[str, Colour] = {
    "red": (214, 48, 49),
    "blue": (41, 98, 205),
    "yellow": (250, 204, 40),
    "green": (40, 150, 70),
    "orange": (243, 128, 34),
    "purple": (130, 62, 172),
    "pink": (244, 120, 172),
    "white": (245, 245, 240),
    "black": (42, 40, 46),
    "brown": (130, 78, 42),
    "tan": (222, 178, 110),
    "gray": (140, 143, 152),
}
INK: Colour = (38, 32, 36)

# Five points on each piece of a closed Catmull-Rom curve, as weights of its four control points.
_STEPS = np.linspace(0.0, 1.0, 6)[:-1]
_BASIS = 0.5 * np.stack(
    [
        -_STEPS + 2 * _STEPS**2 - _STEPS**3,
        2 - 5 * _STEPS**2 + 3 * _STEPS**3,
        _STEPS + 4 * _STEPS**2 - 3 * _STEPS**3,
        -(_STEPS**2) + _STEPS**3,
    ],
    axis=1,
)  # [steps, 4]
_TURN = np.linspace(0.0, 2 * math.pi, 37)[:-1]
_CIRCLE = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=1)


def shade(colour: Colour, factor: float) -> Colour:
    """The colour darkened by a factor below 1, or moved towards white by one above 1 (1.3: by thirty percent)."""
    if factor <= 1:
        return tuple(round(channel * factor) for channel in colour)  # type: ignore[return-value]
    return mix(colour, (255, 255, 255), factor - 1)


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """A blend of two colours with this share of the second."""
    pairs = zip(first, second, strict=True)
    return tuple(round(a + (b - a) * share) for a, b in pairs)  # type: ignore[return-value]


class Pen:
    """Draws on a sheet in its own units: the origin is where something stands, x runs to the right, y upwards.

    ``at`` returns a pen for a part, which is placed, scaled and mirrored relative to this one.
    """

    def __init__(self, draw: ImageDraw.ImageDraw, x: float, y: float, unit: float, flip: bool = False):
        self.draw, self.x, self.y, self.unit = draw, x, y, unit
        self.sign = -1.0 if flip else 1.0

    def at(self, x: float, y: float, scale: float = 1.0, flip: bool = False) -> Pen:
        """A pen whose origin lies at (x, y) of this one."""
        px, py = self.x + self.sign * x * self.unit, self.y - y * self.unit
        return Pen(self.draw, px, py, self.unit * scale, (self.sign < 0) != flip)

    def _pixels(self, points: np.ndarray) -> list[float]:
        placed = np.empty_like(points)
        placed[:, 0] = self.x + self.sign * self.unit * points[:, 0]
        placed[:, 1] = self.y - self.unit * points[:, 1]
        flat: list[float] = placed.ravel().tolist()
        return flat

    def poly(self, points: Sequence[Point], colour: Colour, alpha: int = 255) -> None:
        """A polygon with straight edges."""
        self.draw.polygon(self._pixels(np.array(points, dtype=float)), fill=(*colour, alpha))

    def blob(self, points: Sequence[Point], colour: Colour, alpha: int = 255) -> None:
        """A smooth closed shape through the points."""
        p = np.array(points, dtype=float)
        around = np.stack([np.roll(p, 1, 0), p, np.roll(p, -1, 0), np.roll(p, -2, 0)], axis=1)  # [points, 4, 2]
        curve = np.einsum("sk,pkc->psc", _BASIS, around).reshape(-1, 2)
        self.draw.polygon(self._pixels(curve), fill=(*colour, alpha))

    def oval(
        self, x: float, y: float, rx: float, ry: float, colour: Colour, angle: float = 0.0, alpha: int = 255
    ) -> None:
        """An ellipse, turned counter-clockwise by ``angle`` degrees."""
        points = _CIRCLE * (rx, ry)
        if angle:
            c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            points = points @ np.array([[c, s], [-s, c]])
        self.draw.polygon(self._pixels(points + np.array([x, y])), fill=(*colour, alpha))

    def dot(self, x: float, y: float, r: float, colour: Colour) -> None:
        """A filled circle."""
        self.oval(x, y, r, r, colour)

    def half(self, x: float, y: float, rx: float, ry: float, colour: Colour) -> None:
        """The upper half of an ellipse."""
        points = _CIRCLE[:19] * (rx, ry) + (x, y)
        self.draw.polygon(self._pixels(points), fill=(*colour, 255))

    def ring(self, x: float, y: float, r: float, width: float, colour: Colour) -> None:
        """A circle's outline."""
        self.limb([(x + r * c, y + r * s) for c, s in (*_CIRCLE, _CIRCLE[0])], width, colour, joints=False)

    def box(self, left: float, bottom: float, right: float, top: float, colour: Colour, alpha: int = 255) -> None:
        """An upright rectangle."""
        self.poly([(left, bottom), (right, bottom), (right, top), (left, top)], colour, alpha)

    def limb(self, points: Sequence[Point], width: float, colour: Colour, joints: bool = True) -> None:
        """A thick line with round joints and, unless ``joints`` is false, round ends."""
        flat = self._pixels(np.array(points, dtype=float))
        pixels = max(1, round(width * self.unit))
        self.draw.line(flat, fill=(*colour, 255), width=pixels, joint="curve")
        if joints and pixels > 2:
            r = pixels / 2 - 0.5
            for x, y in zip(flat[::2], flat[1::2], strict=True):
                self.draw.ellipse((x - r, y - r, x + r, y + r), fill=(*colour, 255))

    def shadow(self, x: float, rx: float, y: float = 0.0, strength: int = 55) -> None:
        """A soft dark ellipse on the ground."""
        self.oval(x, y, rx, rx * 0.16, (20, 25, 45), alpha=strength)
        self.oval(x, y, rx * 0.75, rx * 0.11, (20, 25, 45), alpha=strength // 2)
