"""Mistakes of people: one detail of a scene changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fivesentences.reproduction.scenes.sampling import choose
from fivesentences.reproduction.scenes.world import Scene, Thing

# What people mistake a kind, a colour, an action or a place for.
MISTAKEN_KIND = {
    "man": ("boy", "woman"), "woman": ("girl", "man"), "boy": ("man", "girl"), "girl": ("woman", "boy"),
    "dog": ("cat",), "cat": ("dog",), "horse": ("cow",), "cow": ("horse",), "sheep": ("cow",), "camel": ("horse",),
    "car": ("bus",), "bus": ("car",), "kite": ("balloon",), "balloon": ("ball",), "frisbee": ("ball",),
}  # fmt: skip
MISTAKEN_COLOUR = {
    "red": ("orange", "pink"), "orange": ("red", "yellow"), "yellow": ("orange", "white"), "green": ("blue",),
    "blue": ("green", "purple"), "purple": ("blue", "pink"), "pink": ("red", "purple"), "white": ("gray", "yellow"),
    "black": ("brown", "gray"), "brown": ("black", "tan"), "tan": ("brown", "white"), "gray": ("black", "white"),
}  # fmt: skip
MISTAKEN_ACTION = {
    "run": "walk", "walk": "run", "stand": "walk", "sit": "stand", "lie": "sit", "jump": "run", "wave": "jump",
    "graze": "run", "drive": "park",
}  # fmt: skip
MISTAKEN_SETTING = {"meadow": "park", "park": "meadow", "lake": "beach", "desert": "beach", "forest": "park"}


def misremember(scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene with one detail changed: a colour, a kind, a count, an action or the place."""
    for _ in range(20):
        what = choose(rng, ("colour", "colour", "kind", "count", "action", "setting", "hat"))
        index = int(rng.integers(len(scene.things)))
        thing = scene.things[index]
        changed: Thing | None = None
        if what == "colour" and thing.colour is not None:
            changed = replace(thing, colour=choose(rng, MISTAKEN_COLOUR[thing.colour]))
        elif what == "hat" and thing.hat is not None:
            changed = replace(thing, hat=choose(rng, MISTAKEN_COLOUR[thing.hat]))
        elif what == "kind" and thing.kind in MISTAKEN_KIND:
            changed = replace(thing, kind=choose(rng, MISTAKEN_KIND[thing.kind]))
        elif what == "count" and thing.count > 1:
            changed = replace(thing, count=thing.count + (1 if thing.count == 2 or rng.random() < 0.5 else -1))
        elif what == "action" and thing.action in MISTAKEN_ACTION:
            changed = replace(thing, action=MISTAKEN_ACTION[thing.action])
        elif what == "setting" and scene.setting in MISTAKEN_SETTING:
            return replace(scene, setting=MISTAKEN_SETTING[scene.setting])
        if changed is not None:
            return replace(scene, things=(*scene.things[:index], changed, *scene.things[index + 1 :]))
    return scene
