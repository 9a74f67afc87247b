"""Everything that is true of a scene, with every more general word included.

A man who rides a brown horse is also a person on an animal. A caption's claims are true or false against these facts
(see ``truth``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fivesentences.reproduction.scenes import world
from fivesentences.reproduction.scenes.world import CHILDREN, GENERAL, PEOPLE, Fact, Relation, Scene, Thing

# More general relations that hold wherever a relation holds.
GENERAL_RELATION: dict[str, tuple[str, ...]] = {
    relation: general
    for relations, general in (
        (("ride", "sit on", "lie on"), ("on", "near")),
        (("sail",), ("in", "on", "near")),
        (("hold", "walk", "play with", "build", "feed", "pet"), ("with", "near")),
        (("fly", "read", "play"), ("hold", "with", "near")),
        (("hold over",), ("hold", "with", "under", "near")),
        (("chase",), ("follow", "near")),
        (("kick", "catch"), ("play with", "with", "near")),
        (("sit under",), ("under", "near")),
        (("watch", "sit by", "in front of", "behind"), ("near",)),
        (("near",), ()),
    )
    for relation in relations
}
SYMMETRIC = frozenset({"near", "with"})
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def facts_of(scene: Scene) -> set[Fact]:
    """All facts that are true of a scene, the more general ones included."""
    facts: set[Fact] = set(world.SKY_FACTS[scene.sky])
    places = world.PLACES[scene.setting]
    facts.update((place,) for place in places)
    facts.update(world.PLACE_ATTRIBUTES[scene.setting])
    totals: Counter[str] = Counter()
    for thing in scene.things:
        facts.update(_facts_of_thing(thing))
        facts.update((name, place, "at") for name in _names_of(thing.kind) for place in places)
        totals.update(dict.fromkeys(_names_of(thing.kind), thing.count))
    for name, total in totals.items():
        facts.update((name, number) for number in _number_words(total))
    for relation in scene.relations:
        facts.update(_facts_of_relation(scene, relation))
    return facts


def _names_of(kind: str) -> tuple[str, ...]:
    """The kind itself and every more general one."""
    return (kind, *GENERAL[kind])


def _number_words(count: int) -> Iterator[str]:
    if count in NUMBERS:
        yield NUMBERS[count]
    if count >= 2:
        yield "group"
    if count >= 3:
        yield "several"


def _facts_of_thing(thing: Thing) -> Iterator[Fact]:
    for name in _names_of(thing.kind):
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
        for first in _names_of(subject.kind):
            for second in _names_of(other.kind):
                yield (first, second, verb)
                if verb in SYMMETRIC:
                    yield (second, first, verb)
