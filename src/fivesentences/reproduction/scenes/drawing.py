"""The picture of a scene: the setting, then its groups from back to front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from PIL import Image

from fivesentences.reproduction.scenes import objects
from fivesentences.reproduction.scenes.backdrops import develop, paint_backdrop, weather
from fivesentences.reproduction.scenes.creatures import ANIMALS, SIZE_OF_PERSON, person
from fivesentences.reproduction.scenes.pen import HEIGHT, OVERSAMPLING, PAINT, WIDTH, Colour, Pen, Point, shade
from fivesentences.reproduction.scenes.world import PEOPLE, Scene, Thing

SIZES = {None: 1.0, "small": 0.72, "big": 1.3}
# Distance between neighbours in a group, in units; 0.5 for other kinds.
SPREAD = {"bird": 0.55, "duck": 0.62, "sheep": 0.62, "horse": 0.95, "cow": 0.95, "camel": 0.95, "flower": 0.3}


def draw_scene(scene: Scene) -> Image.Image:
    """The picture of a scene, RGB, ``pen.WIDTH`` x ``pen.HEIGHT``; the same scene gives the same pixels."""
    rng = np.random.default_rng(scene.seed)
    paper = Image.new("RGB", (WIDTH * OVERSAMPLING, HEIGHT * OVERSAMPLING))
    draw = paint_backdrop(paper, scene.setting, scene.sky, rng)
    # Snow lies on pines in the snow.
    pine = "white" if scene.setting == "snow" else "green"
    things = [replace(thing, colour=pine) if thing.kind == "pine" else thing for thing in scene.things]
    for group in sorted(scene.groups, key=lambda group: group.ground):
        x, ground, unit = group.x * paper.width, group.ground * paper.height, group.scale * paper.height
        pen, members = Pen(draw, x, ground, unit, group.flip), [things[index] for index in group.members]
        if len(members) == 1:
            _draw_several(pen, members[0], rng)
        else:
            _TOGETHER[group.layout](pen, *members)
    weather(draw, scene.sky, rng)
    return develop(paper.reduce(OVERSAMPLING), rng)


def _paint(thing: Thing) -> Colour:
    return PAINT[thing.colour or "gray"]


def _draw_several(pen: Pen, thing: Thing, rng: np.random.Generator) -> None:
    """Draw a thing on its own, ``count`` times, in a loose row or flock."""
    n = thing.count
    step = SPREAD.get(thing.kind, 0.5)
    if n > 2:
        step *= 0.82
    # From the back row to the front row, so that nearer ones cover farther ones.
    offsets = [(step * (i - (n - 1) / 2), 0.12 * ((i * 2 + 1) % 3)) for i in range(n)]
    for x, y in sorted(offsets, key=lambda place: -place[1]):
        if thing.kind == "bird" and thing.action == "fly":
            y = float(rng.uniform(-0.15, 0.35))
        elif n == 1:
            y = 0.0
        facing = thing.kind == "flower" and bool(rng.random() < 0.5)
        one = replace(thing, look=int(rng.integers(2**20))) if n > 1 else thing  # members of a group differ
        _draw_one(pen.at(x + float(rng.uniform(-0.06, 0.06)), y, flip=facing), one)


def _draw_one(pen: Pen, thing: Thing, pose: str | None = None) -> Point:
    """Draw one thing; return the near hand of a person or the seat of what can be sat on, otherwise the origin."""
    p, paint = pen.at(0, 0, SIZES[thing.size]), _paint(thing)
    if thing.kind in PEOPLE:
        pose = pose or ("sit low" if thing.action in ("sit", "lie") else thing.action or "stand")
        if pose not in ("ride", "sit"):
            p.shadow(0.05, 0.24)
        hat = PAINT[thing.hat] if thing.hat is not None else None
        return person(p, thing.kind, paint, pose, thing.look, hat)
    if thing.kind in ANIMALS:
        draw, x, width = ANIMALS[thing.kind]
        if width and thing.action != "fly":
            p.shadow(x, width)
        return draw(p, paint, thing.action, thing.look) or (0.0, 0.0)
    seat = objects.PLAIN[thing.kind](p, paint, thing.look)
    if thing.kind == "boat":
        objects.boat_hull(p, paint, thing.look)
    return seat or (0.0, 0.0)


# --- two things together: how ``a`` acts on ``b`` ---------------------------------------------------------------


def _leash(pen: Pen, a: Thing, b: Thing) -> None:
    hand = _draw_one(pen.at(-0.3, 0), a)
    neck = (0.42 + 0.2 * SIZES[b.size], 0.36 * SIZES[b.size])
    middle = ((hand[0] - 0.3 + neck[0]) / 2, (hand[1] + neck[1]) / 2 - 0.06)
    pen.limb([(hand[0] - 0.3, hand[1]), middle, neck], 0.018, PAINT["red"])
    _draw_one(pen.at(0.42, 0), b)


def _mounted(pen: Pen, a: Thing, b: Thing) -> None:
    seat = pen.at(*_draw_one(pen, b)).at(0, 0.02 if b.kind == "bike" else 0)
    _draw_one(seat, a, "sit low" if b.kind == "sled" else "ride")


def _kite(pen: Pen, a: Thing, b: Thing) -> None:
    hand = _draw_one(pen.at(-0.3, 0), a, "hold")
    x, y = hand[0] - 0.3, hand[1]
    pen.limb([(x, y), (0.25, 0.86), (0.5, 1.25)], 0.012, (250, 250, 250))
    _draw_one(pen.at(0.5, 1.28, 0.95), b)


def _balloon(pen: Pen, a: Thing, b: Thing) -> None:
    tall = SIZE_OF_PERSON[a.kind]
    hand = (0.2 * tall, 0.79 * tall)
    for number in range(b.count):
        x = hand[0] + 0.05 + 0.26 * (number - (b.count - 1) / 2)
        y = hand[1] + 0.36 + 0.14 * (number % 2)
        pen.limb([hand, (x, y)], 0.012, (250, 250, 250))
        _draw_one(pen.at(x, y), b)
    _draw_one(pen, a, "hold")


def _umbrella(pen: Pen, a: Thing, b: Thing) -> None:
    tall = SIZE_OF_PERSON[a.kind]
    objects.umbrella(pen.at(0.18 * tall, 0.74 * tall, 0.95), _paint(b), b.look)
    _draw_one(pen, a, "hold")


def _seat(pen: Pen, a: Thing, b: Thing) -> None:
    seat = _draw_one(pen, b)
    if a.kind in PEOPLE:
        # The hips lie on the seat; the feet may hang.
        hip = 0.27 * SIZE_OF_PERSON[a.kind]
        _draw_one(pen.at(seat[0], seat[1] + 0.03 - hip), a, "sit")
    else:
        _draw_one(pen.at(seat[0], seat[1]), a)


def _boat(pen: Pen, a: Thing, b: Thing) -> None:
    p = pen.at(0, 0, SIZES[b.size])
    seat = objects.boat(p, _paint(b), b.look)
    p.unit /= SIZES[b.size]  # a person in a big boat is not bigger
    _draw_one(p.at(seat[0] * SIZES[b.size], seat[1] * SIZES[b.size]), a, "sit low" if a.kind in PEOPLE else None)
    objects.boat_hull(pen.at(0, 0, SIZES[b.size]), _paint(b), b.look)


def _fire(pen: Pen, a: Thing, b: Thing) -> None:
    pen.at(-0.45, 0).limb([(-0.16, 0.1), (0.14, 0.1)], 0.18, (112, 74, 48))
    _draw_one(pen.at(-0.45, 0.1), a, "sit low")
    _draw_one(pen.at(0.36, 0.0), b)


def _watch(pen: Pen, a: Thing, b: Thing) -> None:
    person_acts = a.kind in PEOPLE
    large = b.kind in ("horse", "cow", "camel")
    if large:
        _draw_one(pen.at(0.55, 0.06, 0.92, flip=True), b)
    else:
        for number in range(b.count):
            _draw_one(pen.at(0.4 + 0.27 * number, 0.07 * (number % 2), flip=True), b)
    if not large and person_acts:  # crumbs
        for x, y in ((0.26, 0.02), (0.32, 0.06), (0.4, -0.02)):
            pen.dot(x, y, 0.015, (250, 226, 160))
    _draw_one(pen.at(-0.35, 0), a, "reach" if person_acts else None)


def _read(pen: Pen, a: Thing, b: Thing) -> None:
    hand = _draw_one(pen, a, "sit low")
    _draw_one(pen.at(hand[0] + 0.05, hand[1] - 0.03), b)


def _guitar(pen: Pen, a: Thing, b: Thing) -> None:
    _draw_one(pen, a, "stand")
    _draw_one(pen.at(0.02, 0.5), b)
    pen.limb([(0.1, 0.7), (0.2, 0.54), (0.06, 0.5)], 0.07, shade(_paint(a), 0.9))


def _catch(pen: Pen, a: Thing, b: Thing) -> None:
    _draw_one(pen.at(-0.12, 0.05), a)
    size = SIZES[a.size]
    _draw_one(pen.at(-0.12 + 0.5 * size, 0.05 + 0.58 * size), b)


def _side_by_side(pen: Pen, a: Thing, b: Thing, layout: str) -> None:
    """Two things at fixed places; whoever is nearer is drawn last."""
    child = a.kind in ("boy", "girl")
    lift = {"bird": 0.5, "ball": 0.06}.get(b.kind, 0.0)
    first: tuple[Pen, str | None]
    first, second, b_first = {
        "chase": ((pen.at(-0.36, 0), None), pen.at(0.42, lift), True),
        "shade": ((pen.at(0.12, 0), None), pen.at(-0.18, 0.08, 0.9 if b.kind == "umbrella" else 0.76), True),
        "build": ((pen.at(-0.26, 0), "kneel" if b.kind == "sandcastle" else "reach"), pen.at(0.38, 0.03), True),
        "pet": ((pen.at(-0.18, 0), "reach" if child else "kneel"), pen.at(0.26, 0.0, flip=True), True),
        "kick": ((pen.at(-0.25, 0), "kick"), pen.at(0.3, 0.12), False),
        "play": ((pen.at(-0.18, 0), None), pen.at(0.26, 0), False),
    }[layout]
    if b_first:
        _draw_one(second, b)
    _draw_one(first[0], a, first[1])
    if not b_first:
        _draw_one(second, b)


_TOGETHER: dict[str, Callable[[Pen, Thing, Thing], None]] = {
    "leash": _leash, "bike": _mounted, "horse": _mounted, "sled": _mounted, "kite": _kite, "balloon": _balloon,
    "umbrella": _umbrella, "seat": _seat, "lie": _seat, "boat": _boat, "fire": _fire, "watch": _watch, "read": _read,
    "guitar": _guitar, "catch": _catch,
    **{layout: partial(_side_by_side, layout=layout) for layout in ("chase", "shade", "build", "pet", "kick", "play")},
}  # fmt: skip
