"""The backdrops of the ten settings: skies, water, ground, houses, walls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from PIL import Image, ImageDraw

from fivesentences.reproduction.scenes.objects import pine, tree
from fivesentences.reproduction.scenes.pen import HEIGHT, OVERSAMPLING, WIDTH, Colour, Pen, mix, shade

# The unit of the backdrop's pen is the picture's height: x runs from 0 to ASPECT, y from 0 (bottom) to 1.
ASPECT = WIDTH / HEIGHT

WALLS = ((196, 120, 92), (214, 184, 140), (150, 164, 180), (178, 96, 84), (224, 206, 176), (120, 140, 150))
SKY: dict[str, tuple[Colour, Colour]] = {
    "clear": ((84, 168, 236), (206, 236, 250)),
    "sunset": ((124, 84, 160), (255, 176, 96)),
    "cloudy": ((150, 162, 176), (214, 220, 224)),
    "snowfall": ((160, 178, 200), (226, 234, 242)),
    "night": ((10, 16, 52), (48, 52, 112)),
}


def paint_backdrop(paper: Image.Image, setting: str, sky: str, rng: np.random.Generator) -> ImageDraw.ImageDraw:
    """Fill the sheet with a setting; return the drawing context for what stands in it."""
    if sky in SKY:
        top, bottom = SKY[sky]
        _gradient(paper, jitter(top, rng), jitter(bottom, rng), 0.0, 0.62)
    draw = ImageDraw.Draw(paper, "RGBA")
    pen = Pen(draw, 0, paper.height, paper.height)
    if sky in SKY:
        _heavens(pen, sky, rng)
    _SETTINGS[setting](pen, paper, sky, rng)
    return draw


def weather(draw: ImageDraw.ImageDraw, sky: str, rng: np.random.Generator) -> None:
    """Draw what falls in front of everything else: snow."""
    if sky == "snowfall":
        pen = Pen(draw, 0, HEIGHT * OVERSAMPLING, HEIGHT * OVERSAMPLING)
        for _ in range(70):
            pen.dot(float(rng.uniform(0, ASPECT)), float(rng.uniform(0, 1)), float(rng.uniform(0.004, 0.009)),
                    (255, 255, 255))  # fmt: skip


def jitter(colour: Colour, rng: np.random.Generator, amount: int = 9) -> Colour:
    """A colour close to the given one, so that no two pictures have exactly the same tones."""
    moved = np.clip(np.array(colour) + rng.integers(-amount, amount + 1, size=3), 0, 255)
    return int(moved[0]), int(moved[1]), int(moved[2])


def _gradient(paper: Image.Image, top: Colour, bottom: Colour, start: float, end: float) -> None:
    """A vertical blend over the rows from ``start`` to ``end`` (0 top, 1 bottom)."""
    first, last = round(start * paper.height), round(end * paper.height)
    share = np.linspace(0, 1, max(last - first, 2))[:, None]
    column = (np.array(top) * (1 - share) + np.array(bottom) * share).astype(np.uint8)[:, None, :]
    strip = Image.fromarray(np.ascontiguousarray(column)).resize((paper.width, last - first), Image.Resampling.NEAREST)
    paper.paste(strip, (0, first))


def _spots(rng: np.random.Generator, n: int, low: float, high: float, left: float = 0) -> Iterator[tuple[float, float]]:
    """Random places between two heights."""
    for _ in range(n):
        yield float(rng.uniform(left, ASPECT)), float(rng.uniform(low, high))


def _heavens(p: Pen, sky: str, rng: np.random.Generator) -> None:
    x = float(rng.uniform(0.15, ASPECT - 0.15))
    if sky == "clear":
        for r, alpha in ((0.12, 60), (0.095, 90)):
            p.oval(x, 0.87, r, r, (255, 244, 190), alpha=alpha)
        p.dot(x, 0.87, 0.07, (255, 226, 90))
        for _ in range(int(rng.integers(0, 3))):
            _cloud(p, rng, (255, 255, 255), 215)
    elif sky == "sunset":
        for r, alpha in ((0.2, 50), (0.15, 70)):
            p.oval(x, 0.52, r, r, (255, 224, 140), alpha=alpha)
        p.dot(x, 0.52, 0.1, (255, 202, 84))
        for _ in range(int(rng.integers(1, 3))):
            _cloud(p, rng, (250, 160, 150), 150)
    elif sky == "cloudy":
        for _ in range(5):
            _cloud(p, rng, (236, 238, 242), 235)
    elif sky == "night":
        for _ in range(55):
            p.dot(float(rng.uniform(0, ASPECT)), float(rng.uniform(0.48, 1)), float(rng.choice([0.003, 0.004, 0.007])),
                  (255, 250, 214))  # fmt: skip
        p.oval(x, 0.84, 0.12, 0.12, (255, 250, 200), alpha=40)
        p.dot(x, 0.84, 0.075, (252, 246, 206))
        p.dot(x + 0.03, 0.86, 0.016, (226, 218, 176))
        p.dot(x - 0.02, 0.82, 0.012, (226, 218, 176))


def _cloud(p: Pen, rng: np.random.Generator, colour: Colour, alpha: int) -> None:
    x, y, s = float(rng.uniform(0, ASPECT)), float(rng.uniform(0.66, 0.95)), float(rng.uniform(0.7, 1.2))
    # One outline, so that a translucent cloud has no darker overlaps.
    p.blob([(x - 0.16 * s, y), (x - 0.15 * s, y + 0.05 * s), (x - 0.08 * s, y + 0.06 * s), (x - 0.03 * s, y + 0.11 * s),
            (x + 0.05 * s, y + 0.09 * s), (x + 0.1 * s, y + 0.055 * s), (x + 0.16 * s, y + 0.04 * s),
            (x + 0.17 * s, y - 0.005), (x, y - 0.015)], colour, alpha)  # fmt: skip


def _dim(colour: Colour, sky: str) -> Colour:
    """The ground's colour under this sky: the evening warms it, clouds take colour out of it, the night darkens it."""
    if sky == "sunset":
        return mix(colour, (220, 120, 80), 0.22)
    if sky in ("cloudy", "snowfall"):
        return mix(colour, (140, 146, 150), 0.2)
    if sky == "night":
        return mix(shade(colour, 0.4), (20, 28, 70), 0.35)
    return colour


def _hill(p: Pen, rng: np.random.Generator, base: float, height: float, colour: Colour, waves: float = 1.0) -> None:
    phase, speed = float(rng.uniform(0, 6.3)), float(rng.uniform(2.2, 3.4)) * waves
    xs = np.linspace(-0.02, ASPECT + 0.02, 24)
    ridge = [(float(x), base + height * (0.5 + 0.5 * math.sin(speed * x + phase))) for x in xs]
    p.poly([(-0.02, -0.02), *ridge, (ASPECT + 0.02, -0.02)], colour)


def _mountains(p: Pen, rng: np.random.Generator, base: float, colour: Colour) -> None:
    for x in (-0.1, 0.28, 0.66, 1.05, 1.36):
        centre, height = x + float(rng.uniform(-0.06, 0.06)), float(rng.uniform(0.18, 0.33))
        width = 0.3
        p.poly([(centre - width, base), (centre, base + height), (centre + width, base)], colour)
        p.poly([(centre, base + height), (centre + width, base), (centre + 0.04, base)], shade(colour, 0.86))
        cut = 0.35  # where the snow begins
        p.poly([(centre - width * cut, base + height * (1 - cut)), (centre, base + height),
                (centre + width * cut, base + height * (1 - cut)), (centre + 0.03, base + height * (0.93 - cut)),
                (centre - 0.03, base + height * (1.03 - cut))], (248, 250, 252))  # fmt: skip


def _tufts(p: Pen, rng: np.random.Generator, top: float, colour: Colour, n: int) -> None:
    for _ in range(n):
        y = float(rng.uniform(0.01, top))
        x, s = float(rng.uniform(0, ASPECT)), 0.6 + 1.2 * (top - y)
        for dx in (-0.012, 0.0, 0.012):
            p.limb([(x, y), (x + dx * s, y + 0.03 * s)], 0.005, colour, joints=False)


def _beach(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    sea = jitter(_dim((24, 132, 186), sky), rng)
    _gradient(paper, sea, _dim((92, 200, 206), sky), 0.44, 0.66)
    for x, y in _spots(rng, 16, 0.37, 0.55):
        p.limb([(x, y), (x + 0.07, y)], 0.005, shade(sea, 1.5), joints=False)
    sand = jitter(_dim((240, 212, 148), sky), rng)
    _hill(p, rng, 0.345, 0.03, (250, 252, 250), 2.0)
    p2 = p.at(0, -0.018)
    _hill(p2, np.random.default_rng(rng.integers(99)), 0.34, 0.025, sand, 2.0)
    for _ in range(70):
        y = float(rng.uniform(0.01, 0.32))
        p.oval(float(rng.uniform(0, ASPECT)), y, 0.008, 0.004, shade(sand, 0.9))
    for x, y in _spots(rng, 3, 0.02, 0.25, left=0.05):
        p.half(x, y, 0.016, 0.014, (250, 224, 214))


def _meadow(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    green = jitter(_dim((122, 190, 74), sky), rng, 12)
    _hill(p, rng, 0.42, 0.13, mix(green, (120, 170, 150), 0.45))
    _hill(p, rng, 0.37, 0.07, shade(green, 0.86))
    _hill(p, rng, 0.3, 0.03, green)
    _tufts(p, rng, 0.3, shade(green, 0.72), 40)
    for _ in range(34):
        y = float(rng.uniform(0.01, 0.3))
        colour = ((255, 255, 250), (252, 214, 70), (240, 120, 150))[int(rng.integers(3))]
        p.dot(float(rng.uniform(0, ASPECT)), y, 0.004 + 0.012 * (0.3 - y), colour)


def _snow(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    _mountains(p, rng, 0.44, _dim((128, 152, 188), sky))
    _hill(p, rng, 0.4, 0.08, (214, 226, 240))
    for _ in range(5):
        pine(p.at(float(rng.uniform(0, ASPECT)), 0.4, 0.075), (245, 245, 240), int(rng.integers(2)))
    _hill(p, rng, 0.33, 0.05, (230, 238, 248))
    _hill(p, rng, 0.22, 0.05, (246, 249, 254))
    for x, y in _spots(rng, 14, 0.02, 0.28):
        p.oval(x, y, 0.05, 0.006, (218, 228, 242))


def _street(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    x = -0.05
    while x < ASPECT:
        w, h = float(rng.uniform(0.18, 0.3)), float(rng.uniform(0.28, 0.52))
        wall = _dim(jitter(WALLS[int(rng.integers(6))], rng), sky)
        p.box(x, 0.3, x + w, 0.36 + h, wall)
        p.box(x, 0.36 + h - 0.02, x + w, 0.36 + h, shade(wall, 0.75))
        columns = max(2, round(w / 0.075))
        lit: Colour = (255, 226, 130) if sky == "sunset" else (190, 220, 236)
        for row in range(int(h / 0.085)):
            for column in range(columns):
                left, low = x + w * (column + 0.28) / columns, 0.43 + 0.085 * row
                p.box(left, low, left + 0.44 * w / columns, low + 0.05, lit if (row + column) % 3 else shade(lit, 0.75))
        x += w
    road = jitter((92, 96, 104), rng)
    p.box(0, 0.24, ASPECT, 0.37, (190, 186, 178))
    p.box(0, 0.235, ASPECT, 0.25, (150, 146, 140))
    p.box(0, 0, ASPECT, 0.235, road)
    for left in np.arange(-0.05, ASPECT, 0.24):
        p.poly([(left, 0.02), (left + 0.12, 0.02), (left + 0.135, 0.045), (left + 0.015, 0.045)], (246, 240, 214))


def _park(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    green = jitter(_dim((86, 172, 84), sky), rng)
    _hill(p, rng, 0.46, 0.08, _dim((58, 128, 74), sky), 3.0)
    for x in np.linspace(0.02, ASPECT, 8):
        r = float(rng.uniform(0.07, 0.11))
        p.dot(float(x), 0.5, r, _dim(jitter((66, 140, 70), rng, 16), sky))
    _hill(p, rng, 0.38, 0.03, green)
    path = _dim((232, 208, 164), sky)
    p.blob([(0.52, 0.365), (0.6, 0.365), (0.72, 0.3), (1.1, 0.16), (1.45, 0.02), (0.5, -0.06), (0.3, 0.06),
            (0.52, 0.22)], path)  # fmt: skip
    for x in (float(rng.uniform(0.05, 0.4)), float(rng.uniform(0.95, ASPECT))):
        tree(p.at(x, 0.4, 0.13), (0, 0, 0), int(rng.integers(4)))
    _tufts(p, rng, 0.3, shade(green, 0.75), 26)


def _lake(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    _mountains(p, rng, 0.5, _dim((112, 134, 170), sky))
    _hill(p, rng, 0.5, 0.03, _dim((60, 120, 84), sky), 3.0)
    water = jitter(_dim((60, 140, 200), sky), rng)
    _gradient(paper, shade(water, 1.35), water, 0.5, 0.84)
    for x, y in _spots(rng, 24, 0.2, 0.49):
        p.limb([(x, y), (x + 0.08, y)], 0.005, shade(water, 1.4), joints=False)
    grass = jitter(_dim((110, 170, 80), sky), rng)
    _hill(p, rng, 0.145, 0.04, _dim((206, 184, 136), sky), 1.6)
    _hill(p.at(0, -0.025), rng, 0.14, 0.03, grass, 1.6)
    _tufts(p, rng, 0.13, shade(grass, 0.72), 26)


def _room(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    wall = ((236, 214, 178), (188, 212, 200), (206, 200, 226), (240, 200, 186), (176, 200, 222))[int(rng.integers(5))]
    wall = jitter(wall, rng)
    p.box(0, 0.3, ASPECT, 1, wall)
    for x in np.arange(0.03, ASPECT, 0.1):
        p.box(float(x), 0.36, float(x) + 0.035, 1, shade(wall, 1.14))
    floor = jitter((184, 126, 76), rng)
    p.box(0, 0, ASPECT, 0.34, floor)
    for number, y in enumerate((0.28, 0.21, 0.13, 0.04)):
        p.limb([(0, y), (ASPECT, y)], 0.006, shade(floor, 0.82), joints=False)
        for x in np.arange(0.1 * (number % 2), ASPECT, 0.33):
            p.limb([(float(x), y), (float(x) - 0.02, y + 0.07)], 0.005, shade(floor, 0.82), joints=False)
    p.box(0, 0.33, ASPECT, 0.365, (250, 246, 238))
    rug = ((178, 60, 66), (70, 110, 150), (90, 130, 100), (206, 150, 70))[int(rng.integers(4))]
    p.oval(ASPECT / 2, 0.13, 0.52, 0.11, rug)
    p.oval(ASPECT / 2, 0.13, 0.45, 0.09, shade(rug, 1.25))
    p.oval(ASPECT / 2, 0.13, 0.4, 0.078, rug)
    x = float(rng.uniform(0.12, 0.75))
    p.box(x - 0.02, 0.56, x + 0.4, 0.94, (250, 248, 242))
    p.box(x, 0.58, x + 0.38, 0.92, (150, 206, 240))
    hills = [(x, 0.58), (x + 0.08, 0.66), (x + 0.2, 0.64), (x + 0.3, 0.68), (x + 0.375, 0.62), (x + 0.375, 0.585)]
    p.blob(hills, (120, 180, 90))
    p.box(x + 0.182, 0.58, x + 0.198, 0.92, (250, 248, 242))
    p.box(x, 0.745, x + 0.38, 0.758, (250, 248, 242))
    curtain = shade(rug, 1.15)
    for left, right in ((x - 0.08, x + 0.03), (x + 0.35, x + 0.46)):
        p.poly([(left, 0.5), (right, 0.5), (right, 0.96), (left, 0.96)], curtain)
        p.limb([((left + right) / 2, 0.51), ((left + right) / 2, 0.95)], 0.008, shade(curtain, 0.8), joints=False)
    other = x + 0.58 if x < 0.45 else x - 0.36
    p.box(other, 0.66, other + 0.2, 0.88, (112, 74, 48))
    p.box(other + 0.018, 0.678, other + 0.182, 0.862, (238, 232, 214))
    p.half(other + 0.1, 0.68, 0.07, 0.1, jitter((226, 130, 90), rng, 30))


def _desert(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    sand = jitter(_dim((236, 176, 96), sky), rng)
    _hill(p, rng, 0.44, 0.14, mix(sand, (200, 120, 90), 0.4))
    _hill(p, rng, 0.38, 0.1, shade(sand, 0.88))
    _hill(p, rng, 0.28, 0.07, sand)
    for x, y in _spots(rng, 9, 0.02, 0.26):
        p.limb([(x, y), (x + 0.07, y + 0.012), (x + 0.14, y)], 0.005, shade(sand, 0.84), joints=False)


def _night(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    _hill(p, rng, 0.42, 0.13, (30, 38, 82))
    green = jitter((34, 66, 66), rng)
    _hill(p, rng, 0.36, 0.05, shade(green, 0.8))
    for x in rng.uniform(0, ASPECT, 6):
        p.poly([(float(x) - 0.05, 0.38), (float(x), 0.56), (float(x) + 0.05, 0.38)], (20, 36, 56))
    _hill(p, rng, 0.29, 0.03, green)
    _tufts(p, rng, 0.28, shade(green, 1.18), 34)


def _forest(p: Pen, paper: Image.Image, sky: str, rng: np.random.Generator) -> None:
    _gradient(paper, jitter((58, 110, 62), rng), jitter((176, 206, 128), rng), 0.0, 0.72)
    trunks = (((128, 150, 100), 9, 0.03), ((104, 104, 70), 7, 0.045), ((92, 66, 46), 4, 0.075))
    for layer, (tone, n, width) in enumerate(trunks):
        for x in rng.uniform(0, ASPECT, n):
            left, low = float(x), 0.36 - 0.03 * layer
            wide, narrow = width * 0.75, width * 0.45
            p.poly([(left - wide, low), (left - narrow, 1), (left + narrow, 1), (left + wide, low)], tone)
        if layer == 1:
            for x in np.linspace(0, ASPECT, 9):
                y, r = float(rng.uniform(0.95, 1.05)), float(rng.uniform(0.09, 0.14))
                p.dot(float(x), y, r, jitter((70, 130, 62), rng, 14))
    for x in np.linspace(0, ASPECT, 8):
        p.dot(float(x), float(rng.uniform(1.0, 1.08)), float(rng.uniform(0.1, 0.15)), jitter((46, 104, 52), rng, 14))
    ground = jitter((104, 112, 58), rng)
    _hill(p, rng, 0.31, 0.03, ground, 2.0)
    p.blob([(0.56, 0.32), (0.66, 0.32), (0.78, 0.2), (1.1, -0.05), (0.25, -0.05), (0.5, 0.18)], (170, 136, 92))
    for x, y in _spots(rng, 9, 0.02, 0.28):
        for dx, angle in ((-0.025, 50), (0.0, 90), (0.025, 130)):
            p.oval(x - dx, y + 0.02, 0.03, 0.009, jitter((58, 128, 60), rng, 10), angle)
    for x, y in _spots(rng, 3, 0.02, 0.26, left=0.03):
        p.limb([(x, y), (x, y + 0.02)], 0.012, (240, 230, 214))
        p.half(x, y + 0.018, 0.02, 0.02, (206, 60, 50))


_SETTINGS: dict[str, Callable[[Pen, Image.Image, str, np.random.Generator], None]] = {
    "beach": _beach, "meadow": _meadow, "snow": _snow, "street": _street, "park": _park, "lake": _lake, "room": _room,
    "desert": _desert, "night": _night, "forest": _forest,
}  # fmt: skip


@cache
def _grain() -> np.ndarray:
    """Grain around zero, ``[rows, columns, 1]``, larger than a picture so that each takes another part of it."""
    fine = np.random.default_rng(7).normal(0.0, 3.2, (HEIGHT * 2, WIDTH * 2, 1))
    return (fine + np.roll(fine, 1, 0) + np.roll(fine, 1, 1)).astype(np.float32) / 1.7


@cache
def _vignette() -> np.ndarray:
    y, x = np.mgrid[-1 : 1 : HEIGHT * 1j, -1 : 1 : WIDTH * 1j]
    darker: np.ndarray = (1.0 - 0.13 * np.clip(x**2 + y**2 - 0.5, 0, None))[..., None].astype(np.float32)
    return darker


def develop(picture: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Add grain, slightly darker corners and a small change of light, as in a photograph."""
    row, column = int(rng.integers(HEIGHT)), int(rng.integers(WIDTH))
    light = np.float32(rng.uniform(0.95, 1.05))
    pixels = np.asarray(picture, dtype=np.float32) * (_vignette() * light)
    pixels += _grain()[row : row + HEIGHT, column : column + WIDTH]
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
