"""What exists in a drawn scene: things, their attributes, what they do to each other, and the place.

A scene is sampled first; the picture and the captions are made from it and from nothing else. ``facts_of`` says
everything that is true of a scene, with every more general word included: a man riding a brown horse is also a
person on an animal. A caption's claims are true or false against these facts (see ``truth``).

A fact is a tuple of one to three strings in the order of SPICE: ``(object,)``, ``(object, attribute)``,
``(subject, object, relation)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

Fact = tuple[str, ...]

MEN_AND_WOMEN = ("man", "woman")
CHILDREN = ("boy", "girl")
PEOPLE = MEN_AND_WOMEN + CHILDREN

# Every kind that is drawn, with the more general kinds it belongs to.
GENERAL: dict[str, tuple[str, ...]] = {
    "man": ("adult", "person"),
    "woman": ("adult", "person"),
    "boy": ("child", "person"),
    "girl": ("child", "person"),
    "dog": ("pet", "animal"),
    "cat": ("pet", "animal"),
    "horse": ("animal",),
    "cow": ("animal",),
    "sheep": ("animal",),
    "camel": ("animal",),
    "bird": ("animal",),
    "duck": ("bird", "animal"),
    "car": ("vehicle",),
    "bus": ("vehicle",),
    "boat": ("vehicle",),
    "bike": ("vehicle",),
    "sled": (),
    "ball": ("toy",),
    "kite": ("toy",),
    "frisbee": ("toy",),
    "balloon": (),
    "umbrella": (),
    "bench": ("seat",),
    "sofa": ("seat", "furniture"),
    "lamp": ("furniture",),
    "tree": ("plant",),
    "palm": ("tree", "plant"),
    "pine": ("tree", "plant"),
    "cactus": ("plant",),
    "flower": ("plant",),
    "house": ("building",),
    "tent": (),
    "campfire": (),
    "snowman": (),
    "sandcastle": (),
    "rock": (),
    "book": (),
    "guitar": ("instrument",),
}
KINDS = tuple(GENERAL)

FABRIC = ("red", "blue", "yellow", "green", "orange", "purple", "pink", "white")
VEHICLE = ("red", "blue", "yellow", "green", "white")
TOY = ("red", "blue", "yellow", "green", "orange", "purple")
COLOURS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(PEOPLE, FABRIC),
    "dog": ("brown", "black", "white", "tan"),
    "cat": ("orange", "gray", "black", "white"),
    "horse": ("brown", "white", "black"),
    "cow": ("brown", "black"),
    "bird": ("red", "blue", "yellow", "black"),
    "duck": ("white", "brown"),
    "car": VEHICLE,
    "bus": ("red", "blue", "yellow"),
    "boat": VEHICLE,
    "bike": VEHICLE,
    "sled": ("red", "blue"),
    "ball": TOY,
    "kite": TOY,
    "frisbee": ("red", "blue", "yellow"),
    "balloon": ("red", "blue", "yellow", "pink", "green"),
    "umbrella": ("red", "blue", "yellow", "purple", "pink"),
    "bench": ("brown", "green"),
    "sofa": ("red", "green", "blue", "orange"),
    "flower": ("red", "yellow", "purple", "pink"),
    "house": ("red", "white", "yellow", "blue"),
    "tent": ("orange", "green", "blue"),
    "book": ("red", "blue", "green"),
}
SIZED = frozenset({"dog", "ball", "boat", "tree", "house", "rock"})

# What a place is called, and what can be seen of it. The first name is the setting's own.
PLACES: dict[str, tuple[str, ...]] = {
    "beach": ("beach", "sand", "shore", "sea", "water", "outdoors"),
    "meadow": ("meadow", "field", "grass", "hill", "countryside", "outdoors"),
    "snow": ("snow", "field", "hill", "mountain", "outdoors"),
    "street": ("street", "road", "city", "sidewalk", "building", "outdoors"),
    "park": ("park", "grass", "path", "tree", "plant", "outdoors"),
    "lake": ("lake", "water", "shore", "mountain", "grass", "outdoors"),
    "room": ("room", "floor", "wall", "window", "carpet", "house", "indoors"),
    "desert": ("desert", "sand", "dune", "outdoors"),
    "night": ("field", "grass", "hill", "countryside", "dark", "outdoors"),
    "forest": ("forest", "tree", "path", "plant", "outdoors"),
}
SETTINGS = tuple(PLACES)
OUTDOORS = tuple(setting for setting in SETTINGS if setting != "room")
CATEGORY = {setting: "living room" if setting == "room" else setting for setting in SETTINGS}

# What can be said of the parts of a place.
PLACE_ATTRIBUTES: dict[str, tuple[Fact, ...]] = {
    "beach": (("beach", "sandy"), ("shore", "sandy"), ("sea", "blue"), ("water", "blue")),
    "meadow": (("field", "grassy"), ("field", "green"), ("meadow", "green"), ("grass", "green"), ("hill", "green")),
    "snow": (("field", "snowy"), ("hill", "snowy"), ("mountain", "snowy"), ("snow", "white")),
    "street": (("street", "city"), ("building", "tall"), ("road", "gray")),
    "park": (("grass", "green"), ("park", "green"), ("tree", "green"), ("path", "winding")),
    "lake": (("lake", "blue"), ("water", "blue"), ("mountain", "snowy"), ("grass", "green"), ("lake", "mountain")),
    "room": (("room", "living"), ("floor", "wooden"), ("carpet", "round")),
    "desert": (("desert", "hot"), ("desert", "dry"), ("dune", "sandy")),
    "night": (("field", "dark"), ("hill", "dark"), ("countryside", "dark")),
    "forest": (("forest", "green"), ("tree", "tall"), ("path", "dirt")),
}

# The sky of each setting; what a caption may say of light and weather follows from it.
SKIES: dict[str, tuple[str, ...]] = {
    "beach": ("clear", "clear", "sunset", "cloudy"),
    "meadow": ("clear", "clear", "sunset", "cloudy"),
    "snow": ("clear", "snowfall", "snowfall"),
    "street": ("clear", "sunset", "cloudy", "cloudy"),
    "park": ("clear", "clear", "cloudy", "sunset"),
    "lake": ("clear", "sunset", "cloudy"),
    "room": ("inside",),
    "desert": ("clear", "clear", "sunset"),
    "night": ("night",),
    "forest": ("shade",),
}
SKY_FACTS: dict[str, tuple[Fact, ...]] = {
    "clear": (("sky",), ("sky", "blue"), ("sky", "clear"), ("sun",), ("day",), ("day", "sunny")),
    "sunset": (("sky",), ("sky", "orange"), ("sun",), ("sunset",)),
    "cloudy": (("sky",), ("sky", "gray"), ("sky", "cloudy"), ("cloud",), ("day",), ("day", "cloudy")),
    "snowfall": (("sky",), ("sky", "gray"), ("snow", "fall"), ("day",), ("day", "cold"), ("day", "winter")),
    "night": (("sky",), ("sky", "dark"), ("moon",), ("star",), ("night",)),
    "shade": (),
    "inside": (),
}

# More general ways to say what one thing does to another.
GENERAL_RELATION: dict[str, tuple[str, ...]] = {
    "ride": ("on", "near"),
    "sit on": ("on", "near"),
    "lie on": ("on", "near"),
    "sail": ("in", "on", "near"),
    "hold": ("with", "near"),
    "fly": ("hold", "with", "near"),
    "hold over": ("hold", "with", "under", "near"),
    "read": ("hold", "with", "near"),
    "play": ("hold", "with", "near"),
    "chase": ("follow", "near"),
    "walk": ("with", "near"),
    "kick": ("play with", "with", "near"),
    "play with": ("with", "near"),
    "catch": ("play with", "with", "near"),
    "build": ("with", "near"),
    "feed": ("with", "near"),
    "watch": ("near",),
    "pet": ("with", "near"),
    "sit by": ("near",),
    "sit under": ("under", "near"),
    "stand by": ("near",),
    "near": (),
    "in front of": ("near",),
    "behind": ("near",),
}
SYMMETRIC = frozenset({"near", "with"})
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


@dataclass(frozen=True)
class Thing:
    """One kind of thing in a scene, ``count`` times (a flock is one thing).

    ``colour`` is a person's shirt or dress, an animal's coat, otherwise the thing's own colour. ``look`` picks
    details that no caption mentions (skin, hair, trousers).
    """

    kind: str
    colour: str | None = None
    action: str | None = None
    count: int = 1
    size: str | None = None
    hat: str | None = None
    look: int = 0


@dataclass(frozen=True)
class Relation:
    """``things[subject]`` does ``verb`` to ``things[object]``."""

    subject: int
    verb: str
    object: int


@dataclass(frozen=True)
class Group:
    """Things that belong together in one part of the picture.

    ``layout`` says how the members are arranged, ``members[0]`` is the one who acts; ``x`` (0 left, 1 right),
    ``ground`` (0 top, 1 bottom: where the feet stand) and ``scale`` (height of a grown man over the picture's
    height) place it, and ``flip`` turns it to face left.
    """

    layout: str
    members: tuple[int, ...]
    verb: str | None
    x: float
    ground: float
    scale: float
    flip: bool


@dataclass(frozen=True)
class Scene:
    """A setting with its sky, the things in it, and what they do."""

    setting: str
    sky: str
    things: tuple[Thing, ...]
    relations: tuple[Relation, ...]
    groups: tuple[Group, ...]
    seed: int


@dataclass(frozen=True)
class Pattern:
    """A kind of event that can be sampled: who, with what, where, and how it is arranged."""

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
# What stands a little farther back.
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
# Where feet stand in front, and where the farther things stand; 0 is the top of the picture.
FRONT = dict.fromkeys(SETTINGS, 0.93) | {"lake": 0.95, "street": 0.90}
BACK = dict.fromkeys(SETTINGS, 0.72) | {"lake": 0.83, "street": 0.70, "beach": 0.72, "room": 0.74}
WATER = {"lake": 0.70, "beach": 0.55}


def sample_scene(seed: int, number: int) -> Scene:
    """The scene of image ``number`` of the corpus drawn from ``seed``; scenes do not depend on one another."""
    rng = np.random.default_rng([seed, number])
    setting = SETTINGS[int(rng.integers(len(SETTINGS)))]
    sky = _choose(rng, SKIES[setting])
    builder = _Builder(rng, setting)
    n_events = int(rng.choice([1, 2, 3], p=[0.28, 0.56, 0.16]))
    n_props = int(rng.choice([0, 1, 2], p=[0.30, 0.50, 0.20]))
    builder.place_events(n_events)
    builder.place_props(n_props)
    return Scene(
        setting,
        sky,
        tuple(builder.things),
        tuple(builder.relations),
        tuple(builder.groups),
        int(rng.integers(2**31)),
    )


def _choose(rng: np.random.Generator, items: Sequence[str]) -> str:
    return items[int(rng.integers(len(items)))]


class _Builder:
    def __init__(self, rng: np.random.Generator, setting: str):
        self.rng, self.setting = rng, setting
        self.things: list[Thing] = []
        self.relations: list[Relation] = []
        self.groups: list[Group] = []
        self.front: list[int] = []  # who acts in the foreground, left to right as placed

    def thing(self, kind: str, action: str | None, count: int = 1) -> int:
        rng = self.rng
        colours = COLOURS.get(kind)
        size = None
        if kind in SIZED and rng.random() < 0.45:
            size = "big" if rng.random() < 0.5 else "small"
        hat = _choose(rng, TOY) if kind in PEOPLE and rng.random() < 0.22 else None
        colour = _choose(rng, colours) if colours else None
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
        action = pattern.actions[int(rng.integers(len(pattern.actions)))]
        subject = self.thing(_choose(rng, pattern.subjects), action, count)
        members = [subject]
        if pattern.verb is not None:
            kind = _choose(rng, pattern.objects)
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
                scale *= 0.85 if pattern.layout == "drive" else 0.74  # so that all of it is in the picture
            ground = FRONT[self.setting] + float(rng.uniform(-0.03, 0.03))
            for other in self.front:
                self.relations.append(Relation(subject, "near", other))
            self.front.append(subject)
        self.groups.append(Group(pattern.layout, tuple(members), pattern.verb, x, ground, scale, flip))

    def place_props(self, n: int) -> None:
        rng = self.rng
        spots = list(rng.permutation([0.14, 0.5, 0.86]))
        taken = {thing.kind for thing in self.things}
        for _ in range(n):
            kind = _choose(rng, PROPS[self.setting])
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
                    # Close in the picture means one behind the other; farther apart is merely near.
                    close = abs(self._x_of(subject) - x) < 0.28
                    self.relations.append(Relation(subject, "in front of" if close else "near", prop))
                    if close:
                        self.relations.append(Relation(prop, "behind", subject))
            self.groups.insert(0, Group("prop", (prop,), None, x, ground, scale, bool(rng.random() < 0.5)))

    def _x_of(self, subject: int) -> float:
        return next(group.x for group in self.groups if subject in group.members)


def names_of(kind: str) -> tuple[str, ...]:
    """The kind itself and every more general one."""
    return (kind, *GENERAL[kind])


def facts_of(scene: Scene) -> set[Fact]:
    """Everything that is true of a scene, general words included."""
    facts: set[Fact] = set(SKY_FACTS[scene.sky])
    places = PLACES[scene.setting]
    facts.update((place,) for place in places)
    facts.update(PLACE_ATTRIBUTES[scene.setting])
    for thing in scene.things:
        facts.update(_facts_of_thing(thing))
        facts.update((name, place, "at") for name in names_of(thing.kind) for place in places)
    totals: Counter[str] = Counter()
    for thing in scene.things:
        for name in names_of(thing.kind):
            totals[name] += thing.count
    for name, total in totals.items():
        facts.update((name, number) for number in _number_words(total))
    for relation in scene.relations:
        facts.update(_facts_of_relation(scene, relation))
    return facts


def _number_words(count: int) -> Iterator[str]:
    if count in NUMBERS:
        yield NUMBERS[count]
    if count >= 2:
        yield "group"
    if count >= 3:
        yield "several"


def _facts_of_thing(thing: Thing) -> Iterator[Fact]:
    for name in names_of(thing.kind):
        yield (name,)
        for attribute in (thing.action, thing.size, *_number_words(thing.count)):
            if attribute is not None:
                yield (name, attribute)
        if thing.kind in CHILDREN:
            yield (name, "young")
        if thing.kind in PEOPLE:
            yield (name, "shirt", "wear")
            yield (name, f"wear {thing.colour}")
            if thing.hat is not None:
                yield (name, "hat", "wear")
        elif thing.colour is not None:
            yield (name, thing.colour)
    if thing.kind in PEOPLE:
        yield ("shirt",)
        yield ("shirt", str(thing.colour))
        if thing.hat is not None:
            yield ("hat",)
            yield ("hat", thing.hat)


def _facts_of_relation(scene: Scene, relation: Relation) -> Iterator[Fact]:
    subject, other = scene.things[relation.subject], scene.things[relation.object]
    for verb in (relation.verb, *GENERAL_RELATION[relation.verb]):
        for first in names_of(subject.kind):
            for second in names_of(other.kind):
                yield (first, second, verb)
                if verb in SYMMETRIC:
                    yield (second, first, verb)


def labels_of(scene: Scene) -> set[str]:
    """Kinds of things that are drawn as things of their own (not as part of the setting)."""
    return {thing.kind for thing in scene.things}


# What people mistake for what, for captions that get a detail wrong.
MISTAKEN_KIND: dict[str, tuple[str, ...]] = {
    "man": ("boy", "woman"),
    "woman": ("girl", "man"),
    "boy": ("man", "girl"),
    "girl": ("woman", "boy"),
    "dog": ("cat",),
    "cat": ("dog",),
    "horse": ("cow",),
    "cow": ("horse",),
    "sheep": ("cow",),
    "camel": ("horse",),
    "car": ("bus",),
    "bus": ("car",),
    "kite": ("balloon",),
    "balloon": ("ball",),
    "frisbee": ("ball",),
}
MISTAKEN_COLOUR: dict[str, tuple[str, ...]] = {
    "red": ("orange", "pink"),
    "orange": ("red", "yellow"),
    "yellow": ("orange", "white"),
    "green": ("blue",),
    "blue": ("green", "purple"),
    "purple": ("blue", "pink"),
    "pink": ("red", "purple"),
    "white": ("gray", "yellow"),
    "black": ("brown", "gray"),
    "brown": ("black", "tan"),
    "tan": ("brown", "white"),
    "gray": ("black", "white"),
}
MISTAKEN_ACTION = {
    "run": "walk",
    "walk": "run",
    "stand": "walk",
    "sit": "stand",
    "lie": "sit",
    "jump": "run",
    "wave": "jump",
    "graze": "run",
    "drive": "park",
}
MISTAKEN_SETTING = {
    "meadow": "park",
    "park": "meadow",
    "lake": "beach",
    "desert": "beach",
    "forest": "park",
}


def misremember(scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene with one detail changed: a colour, a kind, a count, an action or the place, as people get wrong."""
    for _ in range(20):
        what = _choose(rng, ("colour", "colour", "kind", "count", "action", "setting", "hat"))
        index = int(rng.integers(len(scene.things)))
        thing = scene.things[index]
        changed: Thing | None = None
        if what == "colour" and thing.colour is not None:
            changed = replace(thing, colour=_choose(rng, MISTAKEN_COLOUR[thing.colour]))
        elif what == "hat" and thing.hat is not None:
            changed = replace(thing, hat=_choose(rng, MISTAKEN_COLOUR[thing.hat]))
        elif what == "kind" and thing.kind in MISTAKEN_KIND:
            changed = replace(thing, kind=_choose(rng, MISTAKEN_KIND[thing.kind]))
        elif what == "count" and thing.count > 1:
            changed = replace(thing, count=thing.count + (1 if thing.count == 2 or rng.random() < 0.5 else -1))
        elif what == "action" and thing.action in MISTAKEN_ACTION:
            changed = replace(thing, action=MISTAKEN_ACTION[thing.action])
        elif what == "setting" and scene.setting in MISTAKEN_SETTING:
            return replace(scene, setting=MISTAKEN_SETTING[scene.setting])
        if changed is not None:
            return replace(scene, things=(*scene.things[:index], changed, *scene.things[index + 1 :]))
    return scene
