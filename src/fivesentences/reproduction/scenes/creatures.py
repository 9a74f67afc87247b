"""People and animals, each drawn facing right with its feet at the pen's origin; a grown man is 1 unit high."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fivesentences.reproduction.scenes.pen import INK, PAINT, Colour, Pen, Point, shade

SKIN: tuple[Colour, ...] = ((255, 219, 190), (240, 190, 150), (205, 146, 100), (150, 98, 64), (105, 68, 46))
HAIR: tuple[Colour, ...] = ((46, 34, 30), (96, 58, 30), (196, 146, 70), (160, 70, 36), (26, 24, 28))
TROUSERS: tuple[Colour, ...] = ((52, 66, 110), (70, 64, 60), (100, 90, 70), (40, 46, 60), (88, 110, 140))


@dataclass(frozen=True)
class Pose:
    """Joints of a person relative to the hip: far and near leg (knee, foot), far and near arm (elbow, hand)."""

    hip: float
    legs: tuple[tuple[Point, Point], tuple[Point, Point]]
    arms: tuple[tuple[Point, Point], tuple[Point, Point]]
    lean: float = 0.0


_DOWN: tuple[Point, Point] = ((0.12, 0.14), (0.14, -0.03))
_BACK: tuple[Point, Point] = ((-0.12, 0.14), (-0.14, -0.03))
_FORWARD: tuple[Point, Point] = ((0.13, 0.17), (0.25, 0.22))
_UPRIGHT = (((-0.05, -0.22), (-0.06, -0.43)), ((0.05, -0.22), (0.06, -0.43)))
POSES: dict[str, Pose] = {
    "stand": Pose(0.43, _UPRIGHT, (_BACK, _DOWN)),
    "walk": Pose(0.42, (((-0.05, -0.2), (-0.17, -0.40)), ((0.09, -0.2), (0.15, -0.42))),
                 (((-0.11, 0.14), (-0.17, 0.0)), ((0.11, 0.15), (0.2, 0.04)))),
    "run": Pose(0.44, (((-0.08, -0.19), (-0.29, -0.24)), ((0.17, -0.12), (0.13, -0.35))),
                (((-0.15, 0.18), (-0.2, 0.04)), ((0.15, 0.14), (0.26, 0.26))), 0.07),
    "jump": Pose(0.62, (((-0.14, -0.16), (-0.26, -0.3)), ((0.14, -0.14), (0.2, -0.34))),
                 (((-0.16, 0.36), (-0.24, 0.52)), ((0.16, 0.36), (0.24, 0.52)))),
    "wave": Pose(0.43, _UPRIGHT, (_BACK, ((0.18, 0.34), (0.22, 0.54)))),
    "hold": Pose(0.43, _UPRIGHT, (_BACK, ((0.14, 0.2), (0.2, 0.36)))),
    "reach": Pose(0.43, _UPRIGHT, (((0.08, 0.14), (0.22, 0.1)), ((0.13, 0.14), (0.27, 0.12))), 0.04),
    "kick": Pose(0.43, (((-0.05, -0.22), (-0.1, -0.43)), ((0.13, -0.14), (0.31, -0.26))),
                 (((-0.15, 0.2), (-0.24, 0.12)), ((0.13, 0.2), (0.2, 0.32))), -0.04),
    "sit": Pose(0.27, (((0.17, 0.0), (0.16, -0.26)), ((0.2, 0.01), (0.21, -0.27))),
                (_BACK, ((0.1, 0.12), (0.19, 0.04)))),
    "sit low": Pose(0.07, (((0.17, 0.16), (0.3, -0.05)), ((0.2, 0.14), (0.36, -0.05))),
                    (_BACK, ((0.12, 0.12), (0.24, 0.1)))),
    "ride": Pose(0.0, (((0.14, -0.08), (0.05, -0.26)), ((0.15, -0.1), (0.08, -0.28))), (_FORWARD, _FORWARD), 0.04),
    "kneel": Pose(0.22, (((0.06, -0.2), (-0.16, -0.2)), ((0.16, -0.02), (0.14, -0.22))),
                  (((0.16, 0.16), (0.3, 0.14)), ((0.16, 0.1), (0.3, 0.06))), 0.06),
}  # fmt: skip
SIZE_OF_PERSON = {"man": 1.0, "woman": 0.95, "boy": 0.72, "girl": 0.70}


def person(pen: Pen, kind: str, shirt: Colour, pose: str, look: int, hat: Colour | None = None) -> Point:
    """A person in a pose; returns the position of the near hand, in the pen's units."""
    child = kind in ("boy", "girl")
    female = kind in ("woman", "girl")
    size = SIZE_OF_PERSON[kind]
    p = pen.at(0, 0, size)
    skin, hair = SKIN[look % 5], HAIR[look // 5 % 5]
    trousers = TROUSERS[look // 25 % 5]
    joints = POSES[pose]
    hip, top = joints.hip, joints.hip + 0.30
    lean = joints.lean
    head = 0.16 if child else 0.125
    head_x, head_y = lean * 1.3, top + head + 0.015

    def part(point: Point) -> Point:
        return point[0], point[1] + hip

    def leg(which: int, shadow: float) -> None:
        knee, foot = (part(point) for point in joints.legs[which])
        bare = female or child
        start = (lean * 0.2, hip)
        p.limb([start, knee, foot], 0.082, shade(skin if bare else trousers, shadow))
        if child and not female:  # shorts
            p.limb([start, knee], 0.11, shade(trousers, shadow))
        p.limb([foot, (foot[0] + 0.06, foot[1])], 0.065, shade((70, 50, 48), shadow))

    def arm(which: int, shadow: float) -> None:
        elbow, hand = (part(point) for point in joints.arms[which])
        shoulder = (lean + (0.075 if which else -0.075), top - 0.035)
        p.limb([shoulder, elbow, hand], 0.066, shade(skin, shadow))
        p.limb([shoulder, elbow], 0.082, shade(shirt, shadow * 0.93))

    if female and not child:  # long hair falls behind the shoulders
        p.blob([(head_x - 0.13, head_y + 0.05), (head_x + 0.06, head_y + 0.13), (head_x + 0.06, head_y - 0.12),
                (head_x - 0.06, head_y - 0.24), (head_x - 0.17, head_y - 0.2)], hair)  # fmt: skip
    if kind == "girl":
        p.oval(head_x - 0.19, head_y - 0.06, 0.06, 0.1, hair, -20)
        p.oval(head_x + 0.16, head_y - 0.07, 0.05, 0.09, shade(hair, 0.85), 20)
    arm(0, 0.82)
    leg(0, 0.84)
    leg(1, 1.0)
    if female:  # a dress that widens over the thighs
        knee = part(joints.legs[1][0])
        swing = 0.55 * knee[0]
        hem = hip - 0.17 if pose not in ("sit", "sit low", "ride", "kneel") else hip - 0.05
        p.poly([(lean - 0.1, top - 0.01), (lean + 0.1, top - 0.01), (0.09, hip + 0.06), (swing + 0.17, hem),
                (swing - 0.17, hem), (-0.09, hip + 0.06)], shirt)  # fmt: skip
        p.poly([(-0.09, hip + 0.06), (0.09, hip + 0.06), (0.09, hip + 0.025), (-0.1, hip + 0.025)], shade(shirt, 0.72))
    else:
        p.limb([(-0.03, hip), (0.03, hip)], 0.1, trousers)
        p.poly([(lean - 0.115, top), (lean + 0.115, top), (0.095, hip), (-0.095, hip)], shirt)
        p.poly([(lean - 0.115, top), (lean - 0.05, top), (-0.04, hip), (-0.095, hip)], shade(shirt, 0.86))
    p.limb([(lean - 0.08, top - 0.01), (lean + 0.08, top - 0.01)], 0.07, shirt)
    p.limb([(lean, top), (head_x, head_y - head * 0.7)], 0.075, shade(skin, 0.9))
    p.oval(head_x, head_y, head * 0.92, head, skin)
    _hair_and_face(p, kind, head_x, head_y, head, skin, hair, hat, look)
    arm(1, 1.0)
    hand = part(joints.arms[1][1])
    return hand[0] * size, hand[1] * size


def _hair_and_face(
    p: Pen, kind: str, x: float, y: float, r: float, skin: Colour, hair: Colour, hat: Colour | None, look: int
) -> None:
    p.half(x - 0.005, y + 0.1 * r, r * 0.99, r * 0.98, hair)
    p.oval(x + 0.25 * r, y + 0.1 * r, r * 0.66, r * 0.42, skin)  # forehead
    if kind in ("man", "boy"):
        p.oval(x - 0.72 * r, y + 0.02 * r, r * 0.3, r * 0.5, hair)
    else:
        p.oval(x - 0.78 * r, y - 0.25 * r, r * 0.3, r * 0.75, hair)
    if kind == "man" and look // 125 % 3 == 0:  # a beard
        p.blob([(x - 0.6 * r, y - 0.3 * r), (x + 0.1 * r, y - 0.45 * r), (x + 0.8 * r, y - 0.3 * r),
                (x + 0.6 * r, y - 0.95 * r), (x, y - 1.12 * r)], hair)  # fmt: skip
    for eye in (0.12, 0.62):
        p.dot(x + eye * r, y - 0.02 * r, 0.11 * r, INK)
    p.oval(x + 0.02 * r, y - 0.36 * r, 0.16 * r, 0.11 * r, (240, 130, 120), alpha=110)
    p.limb([(x + 0.22 * r, y - 0.5 * r), (x + 0.4 * r, y - 0.57 * r), (x + 0.58 * r, y - 0.48 * r)], 0.09 * r,
           (150, 50, 50))  # fmt: skip
    if hat is not None:
        p.half(x - 0.02, y + 0.32 * r, r * 1.02, r * 0.92, hat)
        p.limb([(x - 1.0 * r, y + 0.34 * r), (x + 1.55 * r, y + 0.3 * r)], 0.2 * r, shade(hat, 0.8))
        p.dot(x - 0.02, y + 1.2 * r, 0.14 * r, shade(hat, 0.8))


# Hip, knee and foot of each leg, from the far hind leg to the near foreleg.
LEGS_OF_DOG: dict[str, list[tuple[Point, Point, Point]]] = {
    "run": [((-0.25, 0.34), (-0.42, 0.2), (-0.58, 0.12)), ((-0.22, 0.32), (-0.36, 0.16), (-0.5, 0.04)),
            ((0.22, 0.34), (0.42, 0.28), (0.56, 0.2)), ((0.22, 0.32), (0.38, 0.2), (0.5, 0.1))],
    "walk": [((-0.25, 0.32), (-0.24, 0.17), (-0.34, 0.03)), ((-0.24, 0.32), (-0.2, 0.17), (-0.16, 0.03)),
             ((0.2, 0.32), (0.2, 0.17), (0.1, 0.03)), ((0.22, 0.32), (0.26, 0.17), (0.31, 0.03))],
    "stand": [((-0.22, 0.32), (-0.21, 0.17), (-0.2, 0.03)), ((-0.26, 0.32), (-0.29, 0.17), (-0.28, 0.03)),
              ((0.16, 0.32), (0.16, 0.17), (0.17, 0.03)), ((0.24, 0.32), (0.24, 0.17), (0.26, 0.03))],
}  # fmt: skip


def _legs(p: Pen, feet: list[tuple[Point, Point, Point]], width: float, colour: Colour, hoof: Colour) -> None:
    for number, (start, knee, foot) in enumerate(feet):
        tone = shade(colour, 0.78) if number % 2 == 0 else colour
        p.limb([start, knee, foot], width, tone)
        p.limb([foot, (foot[0] + width * 0.4, foot[1])], width * 0.9, shade(hoof, 0.85 if number % 2 == 0 else 1.0))


def dog(pen: Pen, coat: Colour, action: str | None, look: int) -> None:
    """A dog that stands, walks, runs, sits, lies or jumps; about 0.45 high."""
    p = pen.at(0, 0, 0.62)
    dark = shade(coat, 0.72) if sum(coat) > 200 else shade(coat, 1.25)
    belly = shade(coat, 1.22)
    if action == "sit":
        p.limb([(-0.2, 0.08), (-0.36, 0.1), (-0.46, 0.24)], 0.07, dark)
        p.blob([(-0.25, 0.02), (-0.28, 0.25), (-0.06, 0.52), (0.12, 0.55), (0.16, 0.3), (0.1, 0.03)], coat)
        p.oval(-0.1, 0.13, 0.17, 0.14, shade(coat, 0.9))
        p.limb([(0.05, 0.35), (0.08, 0.03), (0.15, 0.03)], 0.09, coat)
        p.limb([(0.13, 0.35), (0.17, 0.03), (0.24, 0.03)], 0.09, belly)
        p.limb([(-0.1, 0.03), (0.03, 0.03)], 0.08, shade(coat, 0.9))
        head = p.at(0.14, 0.66)
    elif action == "lie":
        p.limb([(-0.36, 0.12), (-0.5, 0.08), (-0.62, 0.14)], 0.07, dark)
        p.blob([(-0.4, 0.02), (-0.4, 0.2), (-0.15, 0.27), (0.15, 0.28), (0.28, 0.2), (0.25, 0.02)], coat)
        p.oval(-0.26, 0.12, 0.16, 0.12, shade(coat, 0.9))
        p.limb([(0.15, 0.05), (0.42, 0.04)], 0.08, belly)
        p.limb([(-0.25, 0.04), (-0.08, 0.04)], 0.08, shade(coat, 0.9))
        head = p.at(0.34, 0.3)
    else:
        stride = {"run": "run", "jump": "run", "walk": "walk"}.get(action or "", "stand")
        p = p.at(0, {"jump": 0.22, "run": 0.05}.get(action or "", 0.0))
        p.limb([(-0.3, 0.42), (-0.44, 0.52), (-0.5, 0.68)], 0.07, dark)
        _legs(p, LEGS_OF_DOG[stride], 0.085, coat, belly)
        p.blob([(-0.34, 0.28), (-0.35, 0.45), (-0.1, 0.5), (0.2, 0.52), (0.34, 0.48), (0.32, 0.3), (0.1, 0.26),
                (-0.15, 0.29)], coat)  # fmt: skip
        if look % 3 == 0:
            p.oval(-0.08, 0.41, 0.13, 0.08, dark)
        p.limb([(0.24, 0.42), (0.36, 0.6)], 0.17, coat)
        head = p.at(0.38, 0.66)
    # The head: muzzle, nose, floppy ear, a collar in red or blue.
    head.limb([(-0.12, -0.12), (0.04, -0.14)], 0.05, PAINT["red"] if look % 2 else PAINT["blue"])
    head.oval(0.0, 0.02, 0.16, 0.15, coat)
    head.oval(0.15, -0.05, 0.12, 0.075, belly)
    head.dot(0.25, -0.02, 0.04, INK)
    head.dot(0.07, 0.06, 0.028, INK)
    head.oval(-0.09, 0.0, 0.06, 0.14, dark, -12)


def cat(pen: Pen, coat: Colour, action: str | None, look: int) -> None:
    """A cat that stands, walks, runs, sits or lies; about 0.35 high."""
    p = pen.at(0, 0, 0.52)
    dark = shade(coat, 0.7) if sum(coat) > 200 else shade(coat, 1.25)
    light = shade(coat, 1.35)
    if action == "sit":
        p.limb([(-0.15, 0.05), (-0.36, 0.06), (-0.42, 0.24), (-0.34, 0.34)], 0.065, dark)
        p.blob([(-0.24, 0.02), (-0.22, 0.26), (-0.06, 0.5), (0.1, 0.5), (0.17, 0.24), (0.14, 0.02)], coat)
        p.oval(0.08, 0.24, 0.07, 0.17, light)
        p.limb([(0.1, 0.28), (0.13, 0.03), (0.18, 0.03)], 0.07, coat)
        head = p.at(0.06, 0.62)
    elif action == "lie":
        p.limb([(-0.3, 0.1), (-0.48, 0.06), (-0.52, 0.18)], 0.065, dark)
        p.blob([(-0.36, 0.02), (-0.36, 0.17), (-0.1, 0.27), (0.15, 0.24), (0.24, 0.14), (0.22, 0.02)], coat)
        p.limb([(0.12, 0.04), (0.34, 0.04)], 0.07, light)
        head = p.at(0.24, 0.3)
        _stripes(p, dark, 0.24)
    else:
        run = action == "run"
        p.limb([(-0.28, 0.36), (-0.44, 0.44), (-0.46, 0.64), (-0.38, 0.72)], 0.06, dark)
        spread = 0.16 if run else 0.04
        feet = [
            ((-0.2, 0.28), (-0.22 - spread, 0.16), (-0.24 - 1.6 * spread, 0.03)),
            ((-0.24, 0.28), (-0.25, 0.16), (-0.2 - spread, 0.03)),
            ((0.14, 0.28), (0.15 + spread, 0.16), (0.16 + 1.6 * spread, 0.04)),
            ((0.2, 0.28), (0.2, 0.16), (0.2 + spread, 0.03)),
        ]
        _legs(p, feet, 0.07, coat, light)
        p.blob([(-0.3, 0.24), (-0.31, 0.4), (0.0, 0.42), (0.26, 0.44), (0.28, 0.28), (0.0, 0.22)], coat)
        _stripes(p, dark, 0.4)
        head = p.at(0.32, 0.5)
    for x in (-0.1, 0.1):
        head.poly([(x - 0.075, 0.08), (x + 0.075, 0.08), (x * 1.25, 0.26)], coat)
        head.poly([(x - 0.035, 0.1), (x + 0.035, 0.1), (x * 1.2, 0.2)], (240, 170, 170))
    head.oval(0, 0, 0.18, 0.155, coat)
    head.oval(0.03, -0.07, 0.09, 0.06, light)
    for x in (-0.06, 0.1):
        head.oval(x, 0.02, 0.032, 0.042, (250, 230, 90) if sum(coat) < 200 else INK)
        head.oval(x, 0.02, 0.014, 0.036, INK)
    head.dot(0.03, -0.045, 0.024, (225, 110, 120))
    for y in (-0.05, -0.09):
        head.limb([(0.08, -0.065), (0.26, y)], 0.012, shade(light, 1.3), joints=False)
        head.limb([(-0.02, -0.065), (-0.2, y)], 0.012, shade(light, 1.3), joints=False)


def _stripes(p: Pen, colour: Colour, top: float) -> None:
    for x in (-0.2, -0.1, 0.0):
        p.limb([(x, top - 0.01), (x + 0.02, top - 0.11)], 0.03, colour)


def _long_legs(action: str | None, back: float, front: float, top: float) -> list[tuple[Point, Point, Point]]:
    if action == "run":
        return [
            ((back, top), (back - 0.16, top * 0.55), (back - 0.34, 0.14)),
            ((back + 0.06, top), (back - 0.04, top * 0.5), (back - 0.2, 0.04)),
            ((front - 0.05, top), (front + 0.18, top * 0.8), (front + 0.22, top * 0.4)),
            ((front, top), (front + 0.12, top * 0.55), (front + 0.3, 0.1)),
        ]
    stride = 0.09 if action == "walk" else 0.02
    return [
        ((back, top), (back - 0.04, top * 0.5), (back - 0.04 - stride, 0.03)),
        ((back + 0.08, top), (back + 0.06, top * 0.5), (back + 0.08 + stride, 0.03)),
        ((front - 0.08, top), (front - 0.06, top * 0.5), (front - 0.08 - stride, 0.03)),
        ((front, top), (front + 0.03, top * 0.5), (front + stride, 0.03)),
    ]


def _horse(p: Pen, coat: Colour, action: str | None, look: int) -> Point:
    mane = shade(coat, 0.5) if sum(coat) > 200 else (90, 84, 84)
    if sum(coat) > 600:
        mane = (196, 186, 170)
    p.blob([(-0.42, 0.66), (-0.52, 0.6), (-0.56, 0.34), (-0.46, 0.3), (-0.4, 0.5)], mane)
    _legs(p, _long_legs(action, -0.32, 0.3, 0.46), 0.085, coat, shade(coat, 0.4))
    p.blob([(-0.44, 0.44), (-0.44, 0.66), (-0.2, 0.71), (0.1, 0.68), (0.34, 0.72), (0.4, 0.55), (0.3, 0.42),
            (0.0, 0.39), (-0.25, 0.4)], coat)  # fmt: skip
    if action == "graze":
        p.blob([(0.24, 0.7), (0.44, 0.66), (0.66, 0.3), (0.58, 0.2), (0.48, 0.28), (0.3, 0.46)], coat)
        p.blob([(0.3, 0.74), (0.46, 0.68), (0.66, 0.36), (0.6, 0.36), (0.42, 0.58)], mane)
        p.blob([(0.52, 0.3), (0.64, 0.36), (0.76, 0.14), (0.72, 0.05), (0.62, 0.08)], coat)
        p.oval(0.7, 0.1, 0.06, 0.06, shade(coat, 0.75))
        p.dot(0.64, 0.25, 0.018, INK)
    else:
        p.blob([(0.2, 0.66), (0.36, 0.95), (0.46, 1.02), (0.56, 0.92), (0.46, 0.72), (0.38, 0.5)], coat)
        p.blob([(0.18, 0.72), (0.32, 1.0), (0.44, 1.06), (0.4, 0.94), (0.3, 0.76)], mane)
        p.blob([(0.4, 0.92), (0.46, 1.04), (0.56, 1.0), (0.74, 0.84), (0.72, 0.74), (0.6, 0.78), (0.48, 0.84)], coat)
        p.oval(0.71, 0.79, 0.055, 0.055, shade(coat, 0.75))
        p.poly([(0.42, 1.02), (0.5, 1.02), (0.47, 1.14)], coat)
        p.dot(0.55, 0.93, 0.02, INK)
    return -0.04, 0.72


def _cow(p: Pen, coat: Colour, action: str | None, look: int) -> Point:
    body: Colour = (246, 242, 236)
    p.limb([(-0.44, 0.6), (-0.52, 0.5), (-0.5, 0.28)], 0.03, body)
    p.oval(-0.5, 0.26, 0.035, 0.06, coat)
    _legs(p, _long_legs(action, -0.33, 0.3, 0.38), 0.1, body, INK)
    p.oval(-0.14, 0.31, 0.1, 0.06, (245, 180, 180))
    p.blob([(-0.46, 0.36), (-0.46, 0.64), (-0.1, 0.68), (0.34, 0.68), (0.42, 0.5), (0.34, 0.34), (-0.05, 0.32)], body)
    p.blob([(-0.4, 0.5), (-0.3, 0.66), (-0.1, 0.66), (-0.12, 0.48), (-0.28, 0.42)], coat)
    p.blob([(0.02, 0.42), (0.1, 0.58), (0.26, 0.56), (0.22, 0.4), (0.1, 0.36)], coat)
    head = p.at(0.5, 0.26 if action == "graze" else 0.66)
    p.limb([(0.34, 0.56), (0.48, 0.3 if action == "graze" else 0.62)], 0.2, coat)
    head.limb([(-0.06, 0.1), (-0.1, 0.22)], 0.035, (225, 210, 170))
    head.limb([(0.06, 0.1), (0.1, 0.22)], 0.035, (225, 210, 170))
    head.oval(-0.14, 0.07, 0.09, 0.045, coat, 20)
    head.blob([(-0.12, 0.1), (0.1, 0.12), (0.18, -0.06), (0.2, -0.16), (0.02, -0.18), (-0.08, -0.04)], coat)
    head.oval(0.11, -0.12, 0.11, 0.08, (248, 196, 186))
    head.dot(0.02, 0.03, 0.022, body)
    head.dot(0.02, 0.03, 0.013, INK)
    return -0.04, 0.68


def _camel(p: Pen, coat: Colour, action: str | None, look: int) -> Point:
    coat = (172, 112, 60)
    p.limb([(-0.42, 0.62), (-0.5, 0.4)], 0.035, shade(coat, 0.75))
    _legs(p, _long_legs(action, -0.3, 0.28, 0.5), 0.075, coat, shade(coat, 0.6))
    p.blob([(-0.44, 0.52), (-0.42, 0.72), (-0.28, 0.76), (-0.18, 0.98), (-0.02, 0.98), (0.02, 0.78), (0.1, 0.78),
            (0.18, 0.96), (0.3, 0.92), (0.36, 0.7), (0.34, 0.52), (0.0, 0.46)], coat)  # fmt: skip
    p.limb([(0.32, 0.62), (0.48, 0.58), (0.56, 0.8), (0.58, 1.02)], 0.11, coat)
    p.blob([(0.5, 1.02), (0.56, 1.12), (0.68, 1.08), (0.8, 1.0), (0.76, 0.94), (0.6, 0.95)], coat)
    p.poly([(0.52, 1.08), (0.57, 1.08), (0.53, 1.17)], shade(coat, 0.8))
    p.dot(0.64, 1.05, 0.018, INK)
    p.limb([(-0.08, 0.84), (-0.04, 0.6)], 0.12, PAINT["red"] if look % 2 else PAINT["purple"])
    return 0.05, 0.86


def _sheep(pen: Pen, coat: Colour, action: str | None, look: int) -> Point:
    p = pen.at(0, 0, 0.75)
    wool: Colour = (245, 240, 228)
    if action not in ("sit", "lie"):
        _legs(p, _long_legs(action, -0.24, 0.2, 0.26), 0.075, (60, 54, 56), (40, 36, 40))
    else:
        p = p.at(0, -0.2)
    p.oval(0, 0.38, 0.36, 0.2, shade(wool, 0.88))
    for x, y in ((-0.28, 0.4), (-0.2, 0.5), (-0.02, 0.54), (0.16, 0.5), (0.26, 0.4), (-0.14, 0.32), (0.1, 0.32)):
        p.dot(x, y, 0.13, wool)
    p.oval(0, 0.42, 0.26, 0.16, wool)
    head = p.at(0.38, 0.26 if action == "graze" else 0.54)
    head.oval(-0.1, 0.03, 0.09, 0.04, (60, 54, 56), -25)
    head.oval(0.03, -0.02, 0.1, 0.14, (66, 60, 62), 25)
    head.oval(-0.02, 0.1, 0.1, 0.07, wool)
    head.dot(0.06, 0.02, 0.022, (250, 250, 250))
    head.dot(0.06, 0.02, 0.012, INK)
    return 0.0, 0.5


def bird(pen: Pen, coat: Colour, action: str | None, look: int) -> None:
    """A bird, flying with raised wings or standing; about 0.3 long."""
    p = pen.at(0, 0, 0.52)
    dark = shade(coat, 0.68) if sum(coat) > 200 else shade(coat, 1.25)
    if action == "fly":
        p.blob([(0.08, 0.06), (0.16, 0.3), (0.04, 0.56), (-0.02, 0.3), (-0.06, 0.06)], shade(dark, 0.85))
        p.poly([(-0.2, 0.03), (-0.5, 0.13), (-0.42, 0.01), (-0.5, -0.09)], dark)
        p.blob([(-0.3, 0.01), (-0.05, 0.12), (0.2, 0.12), (0.26, 0.0), (0.05, -0.12)], coat)
        p.oval(0.12, -0.02, 0.1, 0.07, shade(coat, 1.4))
        p.blob([(0.12, 0.03), (0.0, 0.34), (-0.34, 0.6), (-0.28, 0.34), (-0.16, 0.04), (0.0, -0.03)], dark)
        p.blob([(0.09, 0.03), (-0.02, 0.28), (-0.2, 0.42), (-0.12, 0.06)], shade(coat, 0.9))
        head = p.at(0.27, 0.1)
    else:
        p.limb([(-0.02, 0.15), (-0.02, 0.0), (0.06, 0.0)], 0.028, (210, 130, 40))
        p.limb([(0.06, 0.15), (0.06, 0.0), (0.14, 0.0)], 0.028, (210, 130, 40))
        p.poly([(-0.18, 0.24), (-0.44, 0.16), (-0.38, 0.06)], dark)
        p.blob([(-0.25, 0.2), (-0.1, 0.36), (0.12, 0.4), (0.22, 0.24), (0.05, 0.1)], coat)
        p.oval(-0.06, 0.25, 0.15, 0.08, dark, 20)
        p.oval(0.13, 0.2, 0.07, 0.09, shade(coat, 1.4), 20)
        head = p.at(0.17, 0.42)
    head.dot(0, 0, 0.12, coat)
    head.poly([(0.08, 0.05), (0.24, -0.01), (0.08, -0.05)], (250, 160, 30))
    head.dot(0.04, 0.03, 0.032, (250, 250, 250))
    head.dot(0.045, 0.03, 0.02, INK)


def duck(pen: Pen, coat: Colour, action: str | None, look: int) -> None:
    """A duck on the water; the pen's origin is on the surface."""
    p = pen.at(0, 0, 0.62)
    p.oval(0.0, -0.02, 0.46, 0.05, (255, 255, 255), alpha=110)
    p.blob([(-0.34, 0.0), (-0.44, 0.22), (-0.2, 0.17), (0.12, 0.2), (0.3, 0.12), (0.24, 0.0)], coat)
    p.oval(-0.05, 0.11, 0.18, 0.07, shade(coat, 0.84), 8)
    p.limb([(0.18, 0.12), (0.22, 0.32)], 0.11, coat)
    head: Colour = coat if sum(coat) > 600 else (30, 110, 70)
    p.oval(0.25, 0.38, 0.12, 0.105, head)
    p.poly([(0.34, 0.41), (0.52, 0.35), (0.34, 0.32)], (250, 165, 30))
    p.dot(0.29, 0.41, 0.022, INK)


# What draws each, with place and width of its shadow. Those with hooves return the position of a rider's seat.
ANIMALS: dict[str, tuple[Callable[[Pen, Colour, str | None, int], Point | None], float, float]] = {
    "dog": (dog, 0.0, 0.3), "cat": (cat, 0.0, 0.2), "bird": (bird, 0.0, 0.2), "duck": (duck, 0.0, 0.0),
    "horse": (_horse, 0.02, 0.5), "cow": (_cow, 0.02, 0.5), "camel": (_camel, 0.02, 0.5), "sheep": (_sheep, 0.02, 0.5),
}  # fmt: skip
