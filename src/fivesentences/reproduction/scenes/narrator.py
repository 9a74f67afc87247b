"""One person who describes one scene: noun phrases and clauses, with what each of them claims.

A claim pairs a tuple in the caption's own words, such as ``(puppy, ball, run after)``, with the facts that it asserts
in the words of ``world``, such as ``(dog, ball, chase)``. The claim holds in a scene if all of its facts do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from fivesentences.reproduction.scenes import vocabulary
from fivesentences.reproduction.scenes.facts import NUMBERS
from fivesentences.reproduction.scenes.sampling import choose
from fivesentences.reproduction.scenes.vocabulary import NOUNS, Noun, Phrase, Verb
from fivesentences.reproduction.scenes.world import CHILDREN, PEOPLE, Cluster, Fact, Scene, Thing


class Statement(NamedTuple):
    """One statement of a caption: a tuple in its own words, and the facts that the tuple asserts."""

    words: tuple[str, ...]
    facts: tuple[Fact, ...]


W = TypeVar("W", Noun, Verb, Phrase)
T = TypeVar("T")


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase: its text, the noun's lemma, the kind it means, whether it is plural, what it claims."""

    text: str
    lemma: str
    means: str
    plural: bool
    claims: tuple[Statement, ...]
    person: bool = False

    @property
    def be(self) -> str:
        """The form of *to be* that agrees with it."""
        return "are" if self.plural else "is"

    @property
    def there(self) -> str:
        """The same after *there*: there *is* a flock of birds, though the birds *are* flying."""
        return "is" if self.text.startswith("a ") else self.be


@dataclass(frozen=True)
class Fragment:
    """Any other piece of a caption, such as a clause or a place, with what it claims."""

    text: str
    claims: tuple[Statement, ...] = ()


def join(*pieces: Fragment | NounPhrase | str | None) -> Fragment:
    """One fragment of several pieces, separated by spaces; plain words claim nothing, and None is left out."""
    fragments = [Fragment(piece) if isinstance(piece, str) else piece for piece in pieces if piece is not None]
    text = " ".join(fragment.text for fragment in fragments)
    return Fragment(text, tuple(claim for fragment in fragments for claim in fragment.claims))


class Narrator:
    """One person describing one scene, with a level of detail of their own."""

    def __init__(self, scene: Scene, rng: np.random.Generator):
        self.scene, self.rng = scene, rng
        self.detail = float(rng.choice([0.2, 0.55, 0.85], p=[0.25, 0.45, 0.30]))

    # --- choosing ---

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < share)

    def one_of(self, items: Sequence[T]) -> T:
        """One of the items, each equally likely."""
        return choose(self.rng, items)

    def weighted(self, items: Sequence[W]) -> W:
        """One of the items, each with a probability in proportion to its weight."""
        total = sum(item.weight for item in items)
        mark = float(self.rng.random()) * total
        for item in items:
            mark -= item.weight
            if mark < 0:
                return item
        return items[-1]

    def focus(self) -> Cluster:
        """The group that the caption is about: mostly one in the foreground."""
        groups = [group for group in self.scene.groups if group.layout != "prop"]  # every scene has at least one
        weights = np.array([0.35 if group.layout in ("flock", "swim", "boat") else 1.0 for group in groups])
        return groups[int(self.rng.choice(len(groups), p=weights / weights.sum()))]

    def other_than(self, group: Cluster) -> Cluster | None:
        """Another group that does something; None if there is none."""
        rest = [other for other in self.scene.groups if other is not group and other.layout != "prop"]
        return self.one_of(rest) if rest else None

    def prop(self) -> int | None:
        """The index of one of the things in the background; None if there is none."""
        props = [group.members[0] for group in self.scene.groups if group.layout == "prop"]
        return self.one_of(props) if props else None

    # --- noun phrases ---

    def thing(self, index: int, detail: float | None = None) -> NounPhrase:
        """A thing of the scene, with as many attributes as the level of detail suggests."""
        thing = self.scene.things[index]
        detail = self.detail if detail is None else detail
        noun = self.weighted(NOUNS[thing.kind])
        plural = thing.count > 1
        claims = [Statement((noun.word,), ((noun.means,),))]
        adjectives: list[str] = []

        def attribute(word: str, fact: str) -> None:
            claims.append(Statement((noun.word, word), ((noun.means, fact),)))
            adjectives.append(word)

        if thing.size is not None and self.chance(detail * 0.6):
            attribute(self.one_of(vocabulary.SIZE_WORDS[thing.size]), thing.size)
        if thing.kind in CHILDREN and noun.word != "youngster" and self.chance(detail * 0.5):
            attribute(self.one_of(("young", "little", "small")), "young")
        if thing.kind not in PEOPLE and thing.colour is not None and self.chance(detail):
            attribute(self._colour(thing.colour), thing.colour)
        determiner = self._determiner(thing, noun, claims)
        core = " ".join([*adjectives, noun.plural if plural else noun.word])
        text = f"{determiner} {core}" if determiner else _with_article(core)
        if thing.kind in PEOPLE:
            text += self._clothing(thing, noun, claims, detail)
        return NounPhrase(text, noun.word, noun.means, plural, tuple(claims), thing.kind in PEOPLE)

    def _determiner(self, thing: Thing, noun: Noun, claims: list[Statement]) -> str:
        if thing.count == 1:
            return ""
        number = NUMBERS[thing.count]
        choices = [number] * 5 + ["some"] * 2
        if thing.count >= 3:
            choices += ["several", "a few", "a group of"]
            if thing.kind in vocabulary.COLLECTIVE and noun.means == thing.kind:
                choices += [f"a {vocabulary.COLLECTIVE[thing.kind]} of"] * 2
        elif thing.count == 2:
            choices += ["a pair of", "a couple of"]
        chosen = self.one_of(choices)
        if chosen.startswith("a "):
            word = chosen.split()[1]  # such as "pair", "few" or "flock"
            fact = {"pair": "two", "couple": "two", "few": "several"}.get(word, "group")
            claims.append(Statement((noun.word, word), ((noun.means, fact),)))
        elif chosen != "some":
            claims.append(Statement((noun.word, chosen), ((noun.means, chosen),)))
        return chosen

    def _colour(self, colour: str) -> str:
        words = vocabulary.COLOUR_WORDS[colour]
        weights = np.array([weight for _, weight in words])
        return words[int(self.rng.choice(len(words), p=weights / weights.sum()))][0]

    def _clothing(self, thing: Thing, noun: Noun, claims: list[Statement], detail: float) -> str:
        text = ""
        who, colour = noun.word, str(thing.colour)
        if self.chance(detail * 0.9):
            word = self._colour(colour)
            if self.chance(0.2):
                text += f" {self.one_of(('in', 'dressed in', 'wearing'))} {word}"
                claims.append(Statement((who, word, "in"), ((noun.means, f"wear {colour}"),)))
            else:
                garment = self.one_of(vocabulary.CLOTHES[thing.kind])
                how = self.one_of(("in", "in", "wearing"))
                worn = f"{word} {_plural(garment)}" if thing.count > 1 else _with_article(f"{word} {garment}")
                text += f" {how} {worn}"
                relation = "wear" if how == "wearing" else "in"
                claims.append(Statement((garment,), (("shirt",),)))
                claims.append(Statement((garment, word), (("shirt", colour),)))
                claims.append(Statement((who, garment, relation), ((noun.means, "shirt", "wear"),)))
        if thing.hat is not None and thing.count == 1 and self.chance(detail * 0.6):
            word, hat = self._colour(thing.hat), self.one_of(vocabulary.HATS)
            text += " and" if text else self.one_of((" in", " wearing", " with"))
            text += f" {_with_article(f'{word} {hat}')}"
            claims.append(Statement((hat,), (("hat",),)))
            claims.append(Statement((hat, word), (("hat", thing.hat),)))
            claims.append(Statement((who, hat, "wear"), ((noun.means, "hat", "wear"),)))
        return text

    # --- clauses ---

    def clause(self, group: Cluster, form: str, detail: float | None = None) -> tuple[Fragment, NounPhrase]:
        """Who does what, and its subject; ``form`` is ``progressive``, ``present``, ``participle`` or ``relative``."""
        subject = self.thing(group.members[0], detail)
        if group.verb is None:
            action = self.scene.things[group.members[0]].action
            assert action is not None  # whoever does nothing to anything does something alone
            verb = self.weighted(vocabulary.ACTIONS[action])
            claim = Statement((subject.lemma, verb.base), ((subject.means, verb.means),))
            return Fragment(f"{subject.text} {_conjugate(verb, subject, form)}", (*subject.claims, claim)), subject
        verb = self.weighted(vocabulary.RELATIONS[group.verb])
        other = self.thing(group.members[1], None if detail is None else detail * 0.7)
        text = f"{subject.text} {_conjugate(verb, subject, form)} {other.text} {verb.tail}"
        return Fragment(text, (*subject.claims, *other.claims, _doing(subject, verb, other))), subject

    def active(self, group: Cluster) -> tuple[Fragment, NounPhrase]:
        """A clause in one of the usual forms, and its subject."""
        return self.clause(group, self.one_of(("progressive", "progressive", "present", "present", "participle")))

    def passive(self, group: Cluster) -> tuple[Fragment, NounPhrase] | None:
        """A passive clause and its subject; None where nobody would put it like that."""
        agent = self.thing(group.members[0])
        verbs = [verb for verb in vocabulary.RELATIONS[group.verb] if verb.participle] if group.verb is not None else []
        if not verbs:
            return None
        verb = self.weighted(verbs)
        subject = self.thing(group.members[1])
        being = self.one_of(("being ", "being ", ""))
        text = f"{subject.text} {subject.be} {being}{verb.participle} {verb.tail} by {agent.text}"
        return Fragment(text, (*agent.claims, *subject.claims, _doing(agent, verb, subject))), subject

    # --- where and when ---

    def phrase(self, phrase: Phrase, whose: NounPhrase | None = None) -> Fragment:
        """A fixed phrase; it also claims that ``whose`` is there."""
        claims = [Statement((phrase.noun,), (phrase.means,))]
        if phrase.attribute is not None and phrase.attribute_means is not None:
            claims.append(Statement((phrase.noun, phrase.attribute), (phrase.attribute_means,)))
        if whose is not None:
            there = (whose.means, phrase.means[0], "at")
            claims.append(Statement((whose.lemma, phrase.noun, phrase.preposition), (there,)))
        return Fragment(phrase.text, tuple(claims))

    def place(self, group: Cluster, whose: NounPhrase) -> Fragment:
        """Where it happens, or nothing; what flies or swims is not "on the floor" or "on a path"."""
        if group.layout in ("flock", "swim", "boat"):
            return self._place_of_water_and_air(group, whose)
        phrases = vocabulary.PLACE_PHRASES[self.scene.setting]
        if group.verb in ("sit on", "lie on", "sail"):
            phrases = tuple(p for p in phrases if p.preposition not in ("on", "along", "across", "down", "through"))
        if self.scene.setting != "room" and self.chance(0.06):
            return self.phrase(self.one_of(vocabulary.OUTSIDE), whose)
        return self.phrase(self.weighted(phrases), whose)

    def _place_of_water_and_air(self, group: Cluster, whose: NounPhrase) -> Fragment:
        if group.layout == "flock":
            if self.scene.setting == "forest":
                return Fragment("")
            over = self.one_of(("in the sky", "in the sky", "across the sky", "in the air", "overhead"))
            if not over.endswith("sky"):
                return Fragment(over)
            flying = Statement((whose.lemma, "sky", "in"), ((whose.means, "fly"), ("sky",)))
            return Fragment(over, (Statement(("sky",), (("sky",),)), flying))
        large, name = ("sea", "ocean") if self.scene.setting == "beach" else ("lake", "water")
        word = self.one_of(("water", large, name))
        if self.scene.setting not in ("beach", "lake"):  # the place itself was mistaken
            return Fragment("")
        means = "sea" if word == "ocean" else word
        on_it = Statement((whose.lemma, word, "on"), ((whose.means, means, "at"),))
        return Fragment(f"on the {word}", (Statement((word,), ((means,),)), on_it))

    def sky(self) -> Fragment:
        """A phrase for the sky, or nothing."""
        phrases = vocabulary.SKY_PHRASES[self.scene.sky]
        return self.phrase(self.weighted(phrases)) if phrases else Fragment("")

    def beside(self, group: Cluster, whose: NounPhrase) -> Fragment | None:
        """A neighbour in the picture: something farther back, or who else is there; None if there is none."""
        actor = group.members[0] if whose.means in _kinds(self.scene.things[group.members[0]]) else group.members[-1]
        beside = ("near", "in front of")
        related = [one for one in self.scene.relations if one.subject == actor and one.verb in beside]
        if not related:
            return None
        relation = self.one_of(related)
        other = self.thing(relation.object, self.detail * 0.6)
        word = "in front of" if relation.verb == "in front of" and self.chance(0.8) else self.one_of(vocabulary.NEAR)
        means = "in front of" if word == "in front of" else "near"
        claim = Statement((whose.lemma, other.lemma, word), ((whose.means, other.means, means),))
        return Fragment(f"{word} {other.text}", (*other.claims, claim))

    def background(self) -> Fragment | None:
        """Something in the background; None if there is nothing."""
        index = self.prop()
        if index is None:
            return None
        prop = self.thing(index, self.detail * 0.6)
        text, words = self.one_of(
            (
                (f"with {prop.text} in the background", (prop.lemma, "background", "in")),
                (f"with {prop.text} behind", (prop.lemma, "behind")),
                (f"with {prop.text} in the distance", (prop.lemma, "distance", "in")),
            )
        )
        return Fragment(text, (*prop.claims, Statement(words, ((prop.means,),))))

    def around(self, group: Cluster, whose: NounPhrase, place: float) -> list[Fragment]:
        """Phrases that follow the clause: neighbours, place (with the given probability), weather, in any mixture."""
        found = [
            self.beside(group, whose) if self.chance(0.25 + 0.2 * self.detail) else None,
            self.place(group, whose) if self.chance(place) else None,
            self.sky() if self.chance(0.10 + 0.15 * self.detail) else None,
        ]
        fragments = [one for one in found if one is not None]
        if len(fragments) < 2 and self.chance(0.2 * self.detail):
            background = self.background()
            fragments += [] if background is None else [background]
        return fragments


def _doing(subject: NounPhrase, verb: Verb, other: NounPhrase) -> Statement:
    lemma = f"{verb.base} {verb.tail}".strip()
    return Statement((subject.lemma, other.lemma, lemma), ((subject.means, other.means, verb.means),))


def _conjugate(verb: Verb, subject: NounPhrase, form: str) -> str:
    if verb.means == "park":
        return {"participle": "parked", "relative": f"that {subject.be} parked"}.get(form, f"{subject.be} parked")
    if form == "progressive":
        return f"{subject.be} {verb.gerund}"
    if form == "participle":
        return verb.gerund
    if form == "relative":
        return f"{'who' if subject.person else 'that'} {subject.be} {verb.gerund}"
    return verb.base if subject.plural else verb.third


def _kinds(thing: Thing) -> set[str]:
    return {noun.means for noun in NOUNS[thing.kind]}


def _with_article(words: str) -> str:
    vowel = words[0] in "aeio" or words.startswith("umbrella")
    return ("an " if vowel else "a ") + words


def _plural(garment: str) -> str:
    return garment + ("es" if garment.endswith("ss") else "s")
