"""Vehicles, toys, plants, buildings and furniture; each stands on the pen's origin, and a grown man is 1 unit high."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fivesentences.reproduction.scenes.pen import INK, PAINT, Colour, Pen, Point, shade

WOOD: Colour = (150, 96, 54)
GLASS: Colour = (196, 228, 244)
LEAF: Colour = (62, 140, 62)


def _wheel(p: Pen, x: float, r: float) -> None:
    p.dot(x, r, r, (40, 40, 46))
    p.dot(x, r, r * 0.5, (190, 194, 200))


def car(p: Pen, colour: Colour, look: int) -> None:
    """A car, 1.7 units long."""
    p.shadow(0, 0.95)
    p.blob([(-0.5, 0.42), (-0.36, 0.72), (-0.2, 0.78), (0.2, 0.78), (0.36, 0.7), (0.56, 0.42)], shade(colour, 0.9))
    p.poly([(-0.4, 0.46), (-0.28, 0.69), (-0.04, 0.71), (-0.04, 0.46)], GLASS)
    p.poly([(0.03, 0.46), (0.03, 0.71), (0.24, 0.69), (0.44, 0.46)], GLASS)
    p.blob([(-0.86, 0.16), (-0.88, 0.38), (-0.78, 0.47), (0.0, 0.48), (0.56, 0.47), (0.82, 0.4), (0.9, 0.28),
            (0.86, 0.14), (0.0, 0.12)], colour)  # fmt: skip
    p.limb([(-0.8, 0.2), (0.82, 0.2)], 0.03, shade(colour, 0.7))
    p.limb([(0.0, 0.22), (0.0, 0.45)], 0.015, shade(colour, 0.7))
    p.oval(0.83, 0.34, 0.05, 0.055, (255, 240, 160))
    p.oval(-0.85, 0.34, 0.035, 0.06, (200, 40, 40))
    for x in (-0.5, 0.5):
        _wheel(p, x, 0.175)


def bus(p: Pen, colour: Colour, look: int) -> None:
    """A bus, 2.4 units long."""
    p.shadow(0, 1.25)
    p.blob([(-1.15, 0.15), (-1.18, 1.0), (-1.08, 1.1), (1.05, 1.1), (1.16, 0.98), (1.2, 0.2), (0.0, 0.13)], colour)
    for x in (-1.0, -0.62, -0.24, 0.14, 0.52):
        p.box(x, 0.62, x + 0.3, 0.94, GLASS)
    p.box(0.9, 0.5, 1.13, 0.96, GLASS)
    p.box(-1.16, 0.42, 1.18, 0.5, shade(colour, 1.5))
    p.oval(1.14, 0.3, 0.05, 0.06, (255, 240, 160))
    for x in (-0.7, 0.7):
        _wheel(p, x, 0.19)


def bike(p: Pen, colour: Colour, look: int) -> Point:
    """A bicycle; returns the position of the saddle."""
    p.shadow(0, 0.6)
    for x in (-0.36, 0.36):
        p.ring(x, 0.23, 0.21, 0.045, (45, 45, 50))
        for dx, dy in ((0.2, 0), (0, 0.2), (0.14, 0.14), (0.14, -0.14)):
            p.limb([(x - dx, 0.23 - dy), (x + dx, 0.23 + dy)], 0.01, (170, 170, 176), joints=False)
    for line in (
        [(-0.36, 0.23), (-0.14, 0.5), (0.26, 0.52), (0.36, 0.23)],
        [(-0.36, 0.23), (-0.02, 0.22), (0.26, 0.52)],
        [(-0.02, 0.22), (-0.17, 0.58)],
        [(0.26, 0.52), (0.24, 0.64)],
    ):
        p.limb(line, 0.05, colour)
    p.limb([(0.17, 0.67), (0.3, 0.64)], 0.04, INK)
    p.limb([(-0.25, 0.59), (-0.09, 0.59)], 0.06, INK)
    return -0.16, 0.62


def boat(p: Pen, colour: Colour, look: int) -> Point:
    """A sailing boat on the water, without its hull; returns the seat."""
    p.oval(0, 0.0, 0.95, 0.07, (255, 255, 255), alpha=90)
    p.limb([(0.12, 0.2), (0.12, 1.6)], 0.045, shade(WOOD, 0.8))
    p.poly([(0.17, 0.42), (0.17, 1.58), (0.78, 0.42)], (250, 248, 240))
    p.poly([(0.17, 0.42), (0.17, 0.62), (0.69, 0.6), (0.78, 0.42)], shade(colour, 1.15))
    p.poly([(0.08, 0.5), (0.08, 1.42), (-0.34, 0.5)], shade((250, 248, 240), 0.9))
    p.poly([(0.12, 1.6), (0.12, 1.74), (-0.12, 1.67)], PAINT["red"])
    return -0.42, 0.12


def boat_hull(p: Pen, colour: Colour, look: int) -> None:
    """The hull of ``boat``, drawn after whoever sits in it."""
    p.blob([(-0.86, 0.34), (-0.4, 0.3), (0.4, 0.3), (0.92, 0.38), (0.66, 0.02), (0.0, -0.03), (-0.6, 0.0)], colour)
    p.limb([(-0.8, 0.3), (0.0, 0.27), (0.84, 0.32)], 0.05, shade(colour, 1.5))
    p.oval(0.0, -0.03, 0.75, 0.04, (255, 255, 255), alpha=130)


def sled(p: Pen, colour: Colour, look: int) -> Point:
    """A sled; returns the seat."""
    p.shadow(0, 0.5)
    p.limb([(-0.4, 0.04), (0.36, 0.04), (0.5, 0.12), (0.5, 0.24)], 0.045, (90, 70, 60))
    for x in (-0.25, 0.22):
        p.limb([(x, 0.05), (x, 0.18)], 0.04, (90, 70, 60))
    p.limb([(-0.42, 0.2), (0.4, 0.2)], 0.08, colour)
    return -0.12, 0.26


def ball(p: Pen, colour: Colour, look: int) -> None:
    """A ball with a lighter band, 0.26 across."""
    p.shadow(0, 0.15)
    p.dot(0, 0.13, 0.13, colour)
    p.blob([(-0.13, 0.14), (0.0, 0.09), (0.13, 0.14), (0.12, 0.19), (0.0, 0.14), (-0.12, 0.19)], shade(colour, 1.75))
    p.oval(-0.045, 0.2, 0.035, 0.025, (255, 255, 255), 30, alpha=200)


def frisbee(p: Pen, colour: Colour, look: int) -> None:
    """A flying disc seen at a slant."""
    p.oval(0, 0, 0.17, 0.065, shade(colour, 0.75), 14)
    p.oval(0, 0.02, 0.17, 0.06, colour, 14)
    p.oval(0, 0.025, 0.1, 0.033, shade(colour, 1.35), 14)


def kite(p: Pen, colour: Colour, look: int) -> None:
    """A diamond kite with a tail; its centre is at the origin."""
    other = shade(colour, 1.45)
    tail = [(0.0, -0.34), (0.06, -0.46), (-0.03, -0.58), (0.06, -0.7)]
    p.limb(tail, 0.02, shade(colour, 0.7))
    for x, y in tail[1:]:
        p.poly([(x - 0.07, y + 0.03), (x - 0.07, y - 0.03), (x, y), (x + 0.07, y + 0.03), (x + 0.07, y - 0.03)], colour)
    p.poly([(0, 0.32), (0.24, 0.04), (0, -0.36), (-0.24, 0.04)], colour)
    p.poly([(0, 0.32), (0.24, 0.04), (0, 0.04)], other)
    p.poly([(0, -0.36), (-0.24, 0.04), (0, 0.04)], other)
    p.limb([(0, 0.32), (0, -0.36)], 0.016, shade(colour, 0.6))


def balloon(p: Pen, colour: Colour, look: int) -> None:
    """A balloon; its knot is at the origin."""
    p.blob([(0, 0.0), (0.13, 0.1), (0.17, 0.24), (0.1, 0.38), (-0.1, 0.38), (-0.17, 0.24), (-0.13, 0.1)], colour)
    p.poly([(-0.035, -0.03), (0.035, -0.03), (0, 0.02)], shade(colour, 0.8))
    p.oval(-0.07, 0.28, 0.03, 0.06, (255, 255, 255), -25, alpha=190)


def umbrella(p: Pen, colour: Colour, look: int) -> None:
    """An open umbrella, 0.9 units wide; its stick begins at the origin and is 0.5 units long."""
    p.limb([(0, 0), (0, 0.8)], 0.03, (90, 70, 60))
    p.half(0, 0.46, 0.46, 0.38, colour)
    p.half(0, 0.46, 0.26, 0.38, shade(colour, 1.35))
    p.half(0, 0.46, 0.09, 0.38, colour)
    p.limb([(0, 0.83), (0, 0.9)], 0.03, (90, 70, 60))


def parasol(p: Pen, colour: Colour, look: int) -> None:
    """A large umbrella standing in the ground."""
    p.shadow(0.05, 0.5)
    p.limb([(0, 0), (0.03, 1.2)], 0.04, (240, 236, 226))
    q = p.at(0.02, 0.92)
    q.half(0, 0, 0.72, 0.42, colour)
    q.half(0, 0, 0.44, 0.42, (250, 248, 240))
    q.half(0, 0, 0.17, 0.42, colour)
    q.dot(0, 0.43, 0.03, colour)


def bench(p: Pen, colour: Colour, look: int) -> Point:
    """A bench; returns the seat."""
    p.shadow(0, 0.68)
    for x in (-0.5, 0.5):
        p.limb([(x, 0.02), (x, 0.3), (x - 0.03, 0.62)], 0.05, (60, 60, 66))
    for y in (0.42, 0.54):
        p.limb([(-0.6, y), (0.58, y)], 0.07, colour)
    p.limb([(-0.62, 0.27), (0.62, 0.27)], 0.08, shade(colour, 0.85))
    return -0.02, 0.29


def sofa(p: Pen, colour: Colour, look: int) -> Point:
    """A sofa; returns the seat."""
    dark = shade(colour, 0.78)
    p.shadow(0, 0.95)
    for x in (-0.7, 0.7):
        p.box(x - 0.04, 0, x + 0.04, 0.1, shade(WOOD, 0.7))
    p.blob([(-0.78, 0.1), (-0.78, 0.68), (-0.6, 0.76), (0.6, 0.76), (0.78, 0.68), (0.78, 0.1)], dark)
    for x in (-0.3, 0.3):
        p.limb([(x, 0.58), (x, 0.4)], 0.015, shade(colour, 0.6))
    p.blob([(-0.7, 0.08), (-0.7, 0.34), (0.0, 0.37), (0.7, 0.34), (0.7, 0.08)], colour)
    for x in (-0.78, 0.78):
        p.blob([(x - 0.13, 0.08), (x - 0.15, 0.48), (x, 0.55), (x + 0.15, 0.48), (x + 0.13, 0.08)], shade(colour, 0.9))
    return 0.0, 0.35


def lamp(p: Pen, colour: Colour, look: int) -> None:
    """A standing lamp with a warm glow."""
    p.oval(0, 1.25, 0.55, 0.5, (255, 236, 160), alpha=60)
    p.oval(0, 0.03, 0.2, 0.05, (80, 66, 60))
    p.limb([(0, 0.03), (0, 1.2)], 0.045, (80, 66, 60))
    p.poly([(-0.18, 1.48), (0.18, 1.48), (0.32, 1.08), (-0.32, 1.08)], (252, 214, 120))
    p.poly([(0.05, 1.48), (0.18, 1.48), (0.32, 1.08), (0.08, 1.08)], (240, 190, 90))


def tree(p: Pen, colour: Colour, look: int) -> None:
    """A round tree, 1.9 units high."""
    leaf = ((58, 138, 60), (86, 156, 58), (46, 122, 74), (110, 160, 50))[look % 4]
    p.shadow(0, 0.6)
    p.blob([(-0.13, 0.0), (-0.07, 0.5), (-0.09, 0.95), (0.09, 0.95), (0.07, 0.5), (0.14, 0.0)], (122, 80, 50))
    p.limb([(0.02, 0.62), (0.26, 0.9)], 0.06, (122, 80, 50))
    for x, y, r in ((-0.32, 1.12, 0.34), (0.34, 1.14, 0.34), (0.0, 1.0, 0.34)):
        p.dot(x, y, r, shade(leaf, 0.82))
    for x, y, r in ((-0.2, 1.36, 0.36), (0.22, 1.4, 0.34), (0.0, 1.6, 0.32), (0.0, 1.22, 0.36)):
        p.dot(x, y, r, leaf)
    for x, y, r in ((-0.18, 1.52, 0.16), (0.08, 1.7, 0.15), (0.3, 1.48, 0.1)):
        p.dot(x, y, r, shade(leaf, 1.18))


def pine(p: Pen, colour: Colour, look: int) -> None:
    """A pine, 1.9 units high, with snow on it if ``colour`` is white."""
    leaf: Colour = ((30, 104, 76), (40, 116, 66))[look % 2]
    p.shadow(0, 0.5)
    p.box(-0.08, 0, 0.08, 0.35, (110, 72, 48))
    for level, (y, w) in enumerate(((0.25, 0.58), (0.68, 0.48), (1.1, 0.36))):
        top = y + 0.8
        p.poly([(-w, y), (0, y - 0.05), (w, y), (0.03, top), (-0.03, top)], shade(leaf, 0.9 + 0.1 * level))
        p.poly([(0.0, y - 0.05), (w, y), (0.03, top)], shade(leaf, 0.78 + 0.1 * level))
        if colour == PAINT["white"]:
            p.blob([(-0.6 * w, y + 0.33), (-0.1, top), (0.1, top), (0.5 * w, y + 0.4), (0.1, y + 0.5)], (250, 252, 255))


def palm(p: Pen, colour: Colour, look: int) -> None:
    """A leaning palm, 2 units high."""
    p.shadow(0, 0.45)
    p.limb([(0, 0), (0.06, 0.5), (0.16, 1.0), (0.32, 1.5)], 0.12, (158, 112, 66))
    for y in (0.3, 0.6, 0.9, 1.2):
        x = 0.32 * (y / 1.5) ** 1.5
        p.limb([(x - 0.055, y), (x + 0.055, y + 0.02)], 0.025, (124, 84, 48))
    q = p.at(0.32, 1.52)
    leaves = ((-0.72, -0.22), (0.7, -0.24), (-0.6, 0.22), (0.62, 0.2), (-0.24, -0.5), (0.34, -0.5))
    for number, (x, y) in enumerate(leaves):
        leaf = shade((46, 146, 76), 0.85 + 0.06 * (number % 4))
        q.blob([(0, 0.03), (x * 0.5, y * 0.4 + 0.22), (x, y), (x * 0.5, y * 0.4 + 0.06)], leaf)
    for x, y in ((-0.06, -0.06), (0.06, -0.08)):
        q.dot(x, y, 0.07, (112, 72, 44))


def cactus(p: Pen, colour: Colour, look: int) -> None:
    """A cactus with two arms, 1.3 units high."""
    green: Colour = (56, 140, 84)
    p.shadow(0, 0.4)
    p.limb([(0, 0.05), (0, 1.2)], 0.26, green)
    p.limb([(0, 0.45), (-0.34, 0.5), (-0.34, 0.9)], 0.17, green)
    p.limb([(0, 0.35), (0.34, 0.4), (0.34, 0.72)], 0.17, shade(green, 0.9))
    for x in (-0.06, 0.06):
        p.limb([(x, 0.08), (x, 1.2)], 0.02, shade(green, 0.72))
    p.dot(0.02, 1.33, 0.06, (244, 110, 160))


def flower(p: Pen, colour: Colour, look: int) -> None:
    """A flower, 0.5 units high."""
    p.limb([(0, 0), (0.0, 0.36)], 0.035, LEAF)
    p.oval(0.08, 0.12, 0.09, 0.035, LEAF, 30)
    p.oval(-0.08, 0.16, 0.09, 0.035, LEAF, 150)
    petals = ((0.09, 0), (-0.09, 0), (0, 0.09), (0, -0.09), *((x, y) for y in (0.065, -0.065) for x in (0.065, -0.065)))
    for x, y in petals:
        p.dot(x, 0.42 + y, 0.06, colour)
    p.dot(0, 0.42, 0.06, (255, 206, 60) if colour != PAINT["yellow"] else (170, 100, 30))


def house(p: Pen, colour: Colour, look: int) -> None:
    """A house with a gable, 1.9 units high."""
    p.shadow(0, 1.0)
    p.box(0.38, 1.3, 0.58, 1.86, (150, 84, 70))
    p.box(-0.8, 0, 0.8, 1.0, colour)
    p.box(-0.8, 0, -0.55, 1.0, shade(colour, 0.9))
    p.poly([(-0.98, 0.96), (0.98, 0.96), (0.0, 1.78)], (150, 66, 56) if colour != PAINT["red"] else (92, 84, 96))
    p.box(-0.14, 0, 0.18, 0.62, (112, 70, 46))
    p.dot(0.12, 0.3, 0.025, (250, 210, 90))
    for x in (-0.6, 0.36):
        p.box(x - 0.03, 0.35, x + 0.29, 0.77, (250, 250, 246))
        p.box(x, 0.38, x + 0.26, 0.74, GLASS)
        p.limb([(x + 0.13, 0.38), (x + 0.13, 0.74)], 0.025, (250, 250, 246))
    p.dot(0.0, 1.28, 0.13, (250, 250, 246))
    p.dot(0.0, 1.28, 0.1, GLASS)


def tent(p: Pen, colour: Colour, look: int) -> None:
    """A ridge tent, 1.1 units high."""
    p.shadow(0.1, 0.95)
    p.poly([(-0.2, 1.1), (0.5, 1.0), (1.0, 0.0), (0.4, 0.0)], shade(colour, 0.72))
    p.poly([(-0.85, 0.0), (-0.2, 1.1), (0.45, 0.0)], colour)
    p.poly([(-0.42, 0.0), (-0.2, 0.85), (0.06, 0.0)], shade(colour, 0.4))
    p.poly([(-0.2, 0.85), (0.06, 0.0), (0.2, 0.0)], shade(colour, 1.25))


def campfire(p: Pen, colour: Colour, look: int) -> None:
    """Burning logs with a glow on the ground."""
    for r, alpha in ((0.95, 26), (0.7, 34), (0.45, 44)):
        p.oval(0, 0.2, r, r * 0.75, (255, 180, 70), alpha=alpha)
    p.limb([(-0.24, 0.05), (0.22, 0.14)], 0.1, (100, 62, 40))
    p.limb([(0.24, 0.05), (-0.22, 0.14)], 0.1, (122, 78, 48))
    flame = [(-0.2, 0.12), (-0.22, 0.34), (-0.1, 0.44), (-0.04, 0.74), (0.1, 0.46), (0.2, 0.4), (0.2, 0.14)]
    p.blob(flame, (240, 92, 30))
    p.blob([(-0.12, 0.12), (-0.12, 0.28), (-0.02, 0.52), (0.1, 0.3), (0.12, 0.13)], (253, 176, 44))
    p.blob([(-0.06, 0.12), (-0.05, 0.22), (0.0, 0.34), (0.06, 0.22), (0.06, 0.12)], (255, 240, 150))


def snowman(p: Pen, colour: Colour, look: int) -> None:
    """A snowman with a hat, a scarf and a carrot."""
    snow: Colour = (250, 252, 255)
    p.shadow(0, 0.4)
    for y, r in ((0.28, 0.3), (0.68, 0.22), (0.98, 0.16)):
        p.dot(0.03, y, r, (198, 214, 232))
        p.dot(-0.01, y + 0.01, r * 0.94, snow)
    p.limb([(-0.2, 0.72), (-0.42, 0.9)], 0.03, (100, 66, 40))
    p.limb([(0.2, 0.72), (0.42, 0.86)], 0.03, (100, 66, 40))
    p.limb([(-0.14, 0.85), (0.14, 0.85)], 0.07, PAINT["red"])
    p.limb([(0.1, 0.84), (0.13, 0.64)], 0.06, PAINT["red"])
    p.box(-0.12, 1.1, 0.12, 1.32, INK)
    p.limb([(-0.2, 1.1), (0.2, 1.1)], 0.04, INK)
    for x in (-0.05, 0.07):
        p.dot(x, 1.02, 0.022, INK)
    p.poly([(0.02, 0.98), (0.02, 0.93), (0.2, 0.93)], (245, 130, 40))
    for y in (0.6, 0.72):
        p.dot(0.02, y, 0.022, INK)


def sandcastle(p: Pen, colour: Colour, look: int) -> None:
    """A sandcastle with a flag."""
    sand: Colour = (214, 164, 92)
    p.shadow(0, 0.45)
    p.box(-0.3, 0, 0.3, 0.3, sand)
    for x, h in ((-0.3, 0.46), (0.3, 0.46), (0.0, 0.62)):
        p.box(x - 0.12, 0, x + 0.12, h, shade(sand, 0.9 if x else 1.0))
        for dx in (-0.09, 0.0, 0.09):
            p.box(x + dx - 0.03, h, x + dx + 0.03, h + 0.06, shade(sand, 0.9 if x else 1.0))
    p.half(0, 0, 0.07, 0.16, shade(sand, 0.5))
    p.limb([(0, 0.66), (0, 0.9)], 0.02, INK)
    p.poly([(0, 0.9), (0.18, 0.84), (0, 0.78)], PAINT["red"])


def rock(p: Pen, colour: Colour, look: int) -> None:
    """A boulder."""
    p.shadow(0, 0.5)
    p.poly([(-0.46, 0.0), (-0.4, 0.26), (-0.16, 0.44), (0.16, 0.4), (0.4, 0.2), (0.46, 0.0)], (134, 130, 132))
    p.poly([(-0.4, 0.26), (-0.16, 0.44), (0.16, 0.4), (-0.02, 0.28)], (168, 164, 164))
    p.poly([(0.16, 0.4), (0.4, 0.2), (0.46, 0.0), (0.12, 0.0), (-0.02, 0.28)], (112, 108, 112))


def book(p: Pen, colour: Colour, look: int) -> None:
    """An open book whose spine is at the origin."""
    p.poly([(0, -0.02), (-0.17, 0.05), (-0.17, 0.23), (0, 0.17), (0.17, 0.23), (0.17, 0.05)], colour)
    p.poly([(0, 0.15), (0, 0.19), (0.14, 0.25), (0.15, 0.21)], (250, 248, 240))
    p.poly([(0, 0.15), (0, 0.19), (-0.14, 0.25), (-0.15, 0.21)], (236, 232, 222))


def guitar(p: Pen, colour: Colour, look: int) -> None:
    """A guitar held across the body; its sound hole is at the origin."""
    wood: Colour = (206, 130, 58)
    p.limb([(0.05, 0.03), (0.4, 0.22)], 0.045, (86, 54, 36))
    p.limb([(0.38, 0.21), (0.46, 0.25)], 0.07, (60, 40, 30))
    p.oval(-0.1, -0.05, 0.16, 0.13, shade(wood, 0.85), 28)
    p.oval(-0.1, -0.04, 0.15, 0.125, wood, 28)
    p.oval(0.05, 0.03, 0.11, 0.1, wood, 28)
    p.dot(-0.01, 0.0, 0.045, (70, 44, 30))


PLAIN: Mapping[str, Callable[[Pen, Colour, int], Point | None]] = {
    draw.__name__: draw
    for draw in (car, bus, bike, boat, sled, ball, frisbee, kite, balloon, bench, sofa, lamp, tree, palm, pine, cactus,
                 flower, house, tent, campfire, snowman, sandcastle, rock, book, guitar)
} | {"umbrella": parasol}  # fmt: skip
