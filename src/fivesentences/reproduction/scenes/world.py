"""The world of drawn scenes: kinds of things, places and skies, and the scene that is made of them.

A scene is sampled first (``sampling``); the picture and the captions are made from it and from nothing else.

A fact is a tuple of one to three strings in the order of SPICE: ``(object,)``, ``(object, attribute)``,
``(subject, object, relation)``. ``facts`` derives from a scene everything that is true of it.
"""

from __future__ import annotations

from dataclasses import dataclass

Fact = tuple[str, ...]

MEN_AND_WOMEN = ("man", "woman")
CHILDREN = ("boy", "girl")
PEOPLE = MEN_AND_WOMEN + CHILDREN

# Every kind of thing that can be drawn, with the more general kinds that it belongs to.
GENERAL: dict[str, tuple[str, ...]] = {
    kind: general
    for kinds, general in (
        ("man woman", ("adult", "person")),
        ("boy girl", ("child", "person")),
        ("dog cat", ("pet", "animal")),
        ("horse cow sheep camel bird", ("animal",)),
        ("duck", ("bird", "animal")),
        ("car bus boat bike", ("vehicle",)),
        ("sled", ()),
        ("ball kite frisbee", ("toy",)),
        ("balloon umbrella", ()),
        ("bench", ("seat",)),
        ("sofa", ("seat", "furniture")),
        ("lamp", ("furniture",)),
        ("tree", ("plant",)),
        ("palm pine", ("tree", "plant")),
        ("cactus flower", ("plant",)),
        ("house", ("building",)),
        ("tent campfire snowman sandcastle rock book", ()),
        ("guitar", ("instrument",)),
    )
    for kind in kinds.split()
}
KINDS = tuple(GENERAL)

FABRIC = ("red", "blue", "yellow", "green", "orange", "purple", "pink", "white")
TOY = ("red", "blue", "yellow", "green", "orange", "purple")
COLOURS: dict[str, tuple[str, ...]] = {
    kind: tuple(colours.split())
    for kinds, colours in (
        ("man woman boy girl", " ".join(FABRIC)),
        ("ball kite", " ".join(TOY)),
        ("car boat bike", "red blue yellow green white"),
        ("dog", "brown black white tan"),
        ("cat", "orange gray black white"),
        ("horse", "brown white black"),
        ("cow", "brown black"),
        ("bird", "red blue yellow black"),
        ("duck", "white brown"),
        ("bus frisbee", "red blue yellow"),
        ("sled", "red blue"),
        ("balloon", "red blue yellow pink green"),
        ("umbrella", "red blue yellow purple pink"),
        ("bench", "brown green"),
        ("sofa", "red green blue orange"),
        ("flower", "red yellow purple pink"),
        ("house", "red white yellow blue"),
        ("tent", "orange green blue"),
        ("book", "red blue green"),
    )
    for kind in kinds.split()
}
SIZED = frozenset({"dog", "ball", "boat", "tree", "house", "rock"})

# Names for each setting and for what can be seen of it; the first name is the setting's own.
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
CATEGORY = {setting: "living room" if setting == "room" else setting for setting in SETTINGS}

# Attributes of the parts of a place.
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

# The skies that a setting can have; what a caption may say about light and weather follows from the sky.
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


@dataclass(frozen=True)
class Thing:
    """One kind of thing in a scene, ``count`` times (a flock is one thing).

    ``colour`` is the colour of a person's shirt or dress, of an animal's coat, or of the thing itself. ``look`` selects
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
class Cluster:
    """Things that belong together in one part of the picture.

    ``layout`` names the arrangement of the members; ``members[0]`` is the one who acts. ``x`` (0 left, 1 right),
    ``ground`` (where the feet stand: 0 top, 1 bottom) and ``scale`` (height of a grown man as a share of the picture's
    height) position the group, and ``flip`` turns it to face left.
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
    """A setting with its sky, the things in it, and what they do to each other; ``seed`` is for the drawing."""

    setting: str
    sky: str
    things: tuple[Thing, ...]
    relations: tuple[Relation, ...]
    groups: tuple[Cluster, ...]
    seed: int
