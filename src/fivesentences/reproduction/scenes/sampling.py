"""Scenes drawn at random: which events and props a setting can hold, and where they stand in the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fivesentences.reproduction.scenes import world
from fivesentences.reproduction.scenes.world import (
    CHILDREN,
    MEN_AND_WOMEN,
    PEOPLE,
    SETTINGS,
    Cluster,
    Relation,
    Scene,
    Thing,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Pattern:
    """A kind of event: who does what with what, in which settings, and how it is arranged in the picture."""

    layout: str
    subjects: tuple[str, ...]
    settings: tuple[str, ...]
    verb: str | None = None
    objects: tuple[str, ...] = ()
    actions: tuple[str | None, ...] = (None,)
    object_action: str | None = None
    counts: tuple[int, ...] = (1,)
    object_counts: tuple[int, ...] = (1,)
    weight: float = 1.0


OPEN = ("beach", "meadow", "park", "snow", "desert", "lake", "street", "forest", "night")
GREEN = ("meadow", "park", "lake")
PATTERNS = (
    Pattern("leash", PEOPLE, OPEN, "walk", ("dog",), ("walk",), "walk", weight=1.2),
    Pattern("bike", PEOPLE, ("street", "park", "forest", "beach", "meadow"), "ride", ("bike",), weight=1.6),
    Pattern("horse", PEOPLE, ("meadow", "beach", "forest", "snow"), "ride", ("horse",), (None,), "walk", weight=1.2),
    Pattern("horse", PEOPLE, ("desert",), "ride", ("camel",), (None,), "walk", weight=4.0),
    Pattern("chase", ("dog",), OPEN, "chase", ("ball", "cat", "bird", "boy", "ball"), ("run",), None, weight=2.0),
    Pattern("chase", ("boy", "girl", "cat"), (*GREEN, "beach"), "chase", ("bird", "dog", "ball"), ("run",)),
    Pattern("chase", ("cat", "dog"), ("room",), "chase", ("ball",), ("run",), weight=0.8),
    Pattern("kite", PEOPLE, ("beach", "meadow", "park", "desert"), "fly", ("kite",), ("stand",), "fly", weight=1.8),
    Pattern("balloon", PEOPLE, (*OPEN, "room"), "hold", ("balloon",), ("stand", "walk"), object_counts=(1, 1, 2, 3)),
    Pattern("umbrella", PEOPLE, ("street", "park", "lake", "snow", "beach", "forest"), "hold over", ("umbrella",),
            ("stand", "walk"), weight=1.2),
    Pattern("seat", (*PEOPLE, "cat"), ("park", "street", "lake", "beach"), "sit on", ("bench",), ("sit",),
            weight=1.8),
    Pattern("seat", PEOPLE, ("room",), "sit on", ("sofa",), ("sit",), weight=3.0),
    Pattern("lie", ("dog", "cat"), ("room",), "lie on", ("sofa",), ("lie",), weight=3.0),
    Pattern("shade", PEOPLE, ("beach",), "sit under", ("umbrella",), ("sit",), weight=2.5),
    Pattern("shade", (*PEOPLE, "dog", "sheep"), GREEN, "sit under", ("tree",), ("sit",)),
    Pattern("shade", PEOPLE, ("beach", "desert"), "sit under", ("palm",), ("sit",)),
    Pattern("kick", PEOPLE, ("park", "beach", "meadow", "snow", "street"), "kick", ("ball",), ("run",), weight=1.4),
    Pattern("play", ("cat", "dog"), ("room", "park", "beach"), "play with", ("ball",), ("stand",), weight=1.0),
    Pattern("build", CHILDREN, ("snow",), "build", ("snowman",), ("stand",), weight=4.0),
    Pattern("build", CHILDREN, ("beach",), "build", ("sandcastle",), ("sit",), weight=3.0),
    Pattern("boat", (*PEOPLE, "dog"), ("lake", "beach"), "sail", ("boat",), ("sit",), weight=3.0),
    Pattern("drive", ("car", "bus", "car"), ("street",), actions=("drive",), weight=3.0),
    Pattern("drive", ("car",), ("desert", "snow"), actions=("drive",), weight=1.2),
    Pattern("fire", PEOPLE, ("night",), "sit by", ("campfire",), ("sit",), weight=5.0),
    Pattern("fire", PEOPLE, ("forest", "desert", "snow"), "sit by", ("campfire",), ("sit",), weight=1.0),
    Pattern("herd", ("sheep", "cow", "horse"), ("meadow",), actions=("graze",), counts=(1, 2, 3, 4), weight=3.5),
    Pattern("herd", ("camel",), ("desert",), actions=("walk", "stand"), counts=(1, 2, 3), weight=3.0),
    Pattern("herd", ("horse",), ("night", "snow", "beach", "forest"), actions=("run", "stand"), counts=(1, 2)),
    Pattern("flock", ("bird",), OPEN, actions=("fly",), counts=(2, 3, 4, 5), weight=1.6),
    Pattern("swim", ("duck",), ("lake",), actions=("swim",), counts=(1, 2, 3, 4), weight=3.5),
    Pattern("alone", ("dog",), (*OPEN, "room"), actions=("run", "sit", "jump", "lie"), counts=(1, 1, 2), weight=1.6),
    Pattern("alone", ("cat",), ("room", "street", "park", "forest"), actions=("sit", "lie", "walk"),
            counts=(1, 1, 2), weight=1.4),
    Pattern("alone", PEOPLE, (*OPEN, "room"), actions=("stand", "walk", "run", "jump", "wave"), weight=2.2),
    Pattern("alone", PEOPLE, OPEN, actions=("walk", "run", "jump"), counts=(2,), weight=1.2),
    Pattern("watch", ("cat", "dog"), ("room", "park", "street", "forest"), "watch", ("bird",), ("sit",), "stand"),
    Pattern("watch", PEOPLE, ("park", "lake", "street", "beach"), "feed", ("bird",), ("stand",), "stand",
            object_counts=(2, 3)),
    Pattern("watch", PEOPLE, ("meadow",), "feed", ("horse", "sheep", "cow"), ("stand",), "stand", weight=1.4),
    Pattern("watch", PEOPLE, ("desert",), "feed", ("camel",), ("stand",), "stand"),
    Pattern("read", PEOPLE, ("room", "park", "beach", "forest", "lake"), "read", ("book",), ("sit",), weight=1.3),
    Pattern("guitar", MEN_AND_WOMEN, ("street", "room", "night", "park", "beach"), "play", ("guitar",), ("stand",),
            weight=1.3),
    Pattern("sled", PEOPLE, ("snow",), "ride", ("sled",), ("sit",), weight=4.0),
    Pattern("catch", ("dog",), ("park", "beach", "meadow", "snow"), "catch", ("frisbee",), ("jump",), weight=1.3),
    Pattern("pet", PEOPLE, ("room", "park", "street", "night"), "pet", ("dog", "cat"), ("stand",), "sit"),
)  # fmt: skip
# What may stand a little farther back.
PROPS: dict[str, tuple[str, ...]] = {
    "beach": ("palm", "palm", "rock", "boat", "umbrella"),
    "meadow": ("tree", "house", "flower", "tree"),
    "snow": ("pine", "house", "pine", "snowman"),
    "street": ("car", "tree", "bus", "bench"),
    "park": ("tree", "bench", "flower", "tree"),
    "lake": ("pine", "house", "boat", "rock"),
    "room": ("lamp", "lamp", "sofa"),
    "desert": ("cactus", "cactus", "rock", "tent"),
    "night": ("tent", "pine", "tent", "house"),
    "forest": ("tent", "rock", "flower", "flower"),
}
ON_WATER = frozenset({"boat", "swim"})
# Height of the ground in the foreground, farther back and on the water, as a share of the picture; 0 is the top.
FRONT = dict.fromkeys(SETTINGS, 0.93) | {"lake": 0.95, "street": 0.90}
BACK = dict.fromkeys(SETTINGS, 0.72) | {"lake": 0.83, "street": 0.70, "beach": 0.72, "room": 0.74}
WATER = {"lake": 0.70, "beach": 0.55}


def sample_scene(seed: int, number: int) -> Scene:
    """The scene of image ``number`` of the corpus with this seed; scenes do not depend on one another."""
    rng = np.random.default_rng([seed, number])
    setting = choose(rng, SETTINGS)
    sky = choose(rng, world.SKIES[setting])
    builder = _Builder(rng, setting)
    n_events = int(rng.choice([1, 2, 3], p=[0.28, 0.56, 0.16]))
    n_props = int(rng.choice([0, 1, 2], p=[0.30, 0.50, 0.20]))
    builder.place_events(n_events)
    builder.place_props(n_props)
    things, relations = tuple(builder.things), tuple(builder.relations)
    return Scene(setting, sky, things, relations, tuple(builder.groups), int(rng.integers(2**31)))


def choose(rng: np.random.Generator, items: Sequence[T]) -> T:
    """One of the items, each equally likely."""
    return items[int(rng.integers(len(items)))]


class _Builder:
    """A scene in the making: things, relations and groups are added one after the other."""

    def __init__(self, rng: np.random.Generator, setting: str):
        self.rng, self.setting = rng, setting
        self.things: list[Thing] = []
        self.relations: list[Relation] = []
        self.groups: list[Cluster] = []
        self.front: list[int] = []  # indices of those who act in the foreground, in the order of their placement

    def thing(self, kind: str, action: str | None, count: int = 1) -> int:
        rng = self.rng
        colours = world.COLOURS.get(kind)
        size = None
        if kind in world.SIZED and rng.random() < 0.45:
            size = "big" if rng.random() < 0.5 else "small"
        hat = choose(rng, world.TOY) if kind in PEOPLE and rng.random() < 0.22 else None
        colour = choose(rng, colours) if colours else None
        self.things.append(Thing(kind, colour, action, count, size, hat, int(rng.integers(2**20))))
        return len(self.things) - 1

    def place_events(self, n: int) -> None:
        rng = self.rng
        possible = [pattern for pattern in PATTERNS if self.setting in pattern.settings]
        weights = np.array([pattern.weight for pattern in possible])
        chosen: list[Pattern] = []
        n_front = 0
        for index in rng.choice(len(possible), size=len(possible), replace=False, p=weights / weights.sum()):
            pattern = possible[int(index)]
            front = pattern.layout not in ON_WATER and pattern.layout != "flock"
            clash = any(pattern.layout == other.layout for other in chosen)
            if clash or (front and n_front == 2) or len(chosen) == n:
                continue
            chosen.append(pattern)
            n_front += front
        centres = [0.5 + rng.uniform(-0.13, 0.13)] if n_front == 1 else [0.27, 0.75]
        if rng.random() < 0.5:
            centres.reverse()
        for pattern in chosen:
            self._place(pattern, centres, n_front)

    def _place(self, pattern: Pattern, centres: list[float], n_front: int) -> None:
        rng = self.rng
        count = int(rng.choice(pattern.counts))
        action = choose(rng, pattern.actions)
        subject = self.thing(choose(rng, pattern.subjects), action, count)
        members = [subject]
        if pattern.verb is not None:
            kind = choose(rng, pattern.objects)
            moved = "run" if pattern.verb == "chase" and kind in (*PEOPLE, "dog", "cat") else pattern.object_action
            moved = "fly" if pattern.verb == "chase" and kind == "bird" else moved
            other = self.thing(kind, moved, int(rng.choice(pattern.object_counts)))
            members.append(other)
            self.relations.append(Relation(subject, pattern.verb, other))
        flip = bool(rng.random() < 0.5)
        if pattern.layout in ON_WATER:
            x = float(rng.uniform(0.22, 0.78))
            scale = 0.20 if self.setting == "beach" else 0.27
            ground = WATER[self.setting]
        elif pattern.layout == "flock":
            x, scale, ground = float(rng.uniform(0.3, 0.7)), 0.34, 0.24
        else:
            x = centres.pop(0) + float(rng.uniform(-0.03, 0.03))
            scale = float(rng.uniform(0.50, 0.60) if n_front == 1 else rng.uniform(0.45, 0.52))
            if pattern.layout == "drive" or (pattern.layout == "herd" and count > 1):
                scale *= 0.85 if pattern.layout == "drive" else 0.74  # so that all of it fits into the picture
            ground = FRONT[self.setting] + float(rng.uniform(-0.03, 0.03))
            for other in self.front:
                self.relations.append(Relation(subject, "near", other))
            self.front.append(subject)
        self.groups.append(Cluster(pattern.layout, tuple(members), pattern.verb, x, ground, scale, flip))

    def place_props(self, n: int) -> None:
        rng = self.rng
        spots = list(rng.permutation([0.14, 0.5, 0.86]))
        taken = {thing.kind for thing in self.things}
        for _ in range(n):
            kind = choose(rng, PROPS[self.setting])
            if kind in taken:
                continue
            taken.add(kind)
            count = int(rng.integers(2, 5)) if kind == "flower" else 1
            action = "park" if kind in ("car", "bus") else None
            prop = self.thing(kind, action, count)
            x = float(spots.pop()) + float(rng.uniform(-0.05, 0.05))
            ground, scale = BACK[self.setting], 0.40
            if kind == "boat":
                ground, scale = WATER[self.setting], 0.22
            else:
                for subject in self.front:
                    # What is close in the picture stands one behind the other; what is farther apart is merely near.
                    close = abs(self._x_of(subject) - x) < 0.28
                    self.relations.append(Relation(subject, "in front of" if close else "near", prop))
                    if close:
                        self.relations.append(Relation(prop, "behind", subject))
            self.groups.insert(0, Cluster("prop", (prop,), None, x, ground, scale, bool(rng.random() < 0.5)))

    def _x_of(self, subject: int) -> float:
        return next(group.x for group in self.groups if subject in group.members)
