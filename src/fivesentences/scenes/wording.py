"""Captions: what a person might write about a scene, with the tuples a parser would find and what they mean.

Every caption is put together from noun phrases and clauses that carry their *claims*. A claim pairs a tuple in
the caption's own words, such as ``(puppy, ball, run after)``, with the facts that it asserts in the words of
``world``, such as ``(dog, ball, chase)``; the claim holds in a scene when all of its facts do.

People differ in what they find worth saying, in their words, and now and then they get a detail wrong:
``MISTAKEN_SHARE`` of the captions describe the scene with one detail changed (see ``world.misremember``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from fivesentences.scenes.vocabulary import (
    ACTIONS,
    CLOTHES,
    COLLECTIVE,
    COLOUR_WORDS,
    HATS,
    NEAR,
    NOUNS,
    OUTSIDE,
    PLACE_HEADS,
    PLACE_PHRASES,
    RELATIONS,
    SIZE_WORDS,
    SKY_PHRASES,
    Noun,
    Phrase,
    Verb,
)
from fivesentences.scenes.world import (
    CHILDREN,
    NUMBERS,
    PEOPLE,
    Fact,
    Group,
    Scene,
    Thing,
    facts_of,
    misremember,
)

CAPTIONS_PER_IMAGE = 5
MISTAKEN_SHARE = 0.19
# Of the captions that end a sentence, with a full stop set apart as in Flickr8k.
FULL_STOP_SHARE = 0.75

Claim = tuple[tuple[str, ...], tuple[Fact, ...]]


class Weighted(Protocol):
    """Anything that is chosen more or less often."""

    @property
    def weight(self) -> float:
        """How often, relative to the others; at least 0."""
        ...


W = TypeVar("W", bound=Weighted)
T = TypeVar("T")


@dataclass(frozen=True)
class Caption:
    """A caption, its tuples in SPICE's raw order, and per tuple the facts it asserts."""

    text: str
    claims: tuple[Claim, ...]

    @property
    def tuples(self) -> list[list[str]]:
        """The tuples in the caption's own words."""
        return [list(words) for words, _ in self.claims]


@dataclass(frozen=True)
class Said:
    """A noun phrase: its text, the noun's lemma, the kind it means, whether it is plural, what it claims."""

    text: str
    lemma: str
    means: str
    plural: bool
    claims: tuple[Claim, ...]
    person: bool = False


@dataclass(frozen=True)
class Part:
    """Any other piece of a caption."""

    text: str
    claims: tuple[Claim, ...] = ()


def describe(scene: Scene, seed: int, number: int) -> list[Caption]:
    """Five different captions of a scene, the same for the same seed and image number."""
    rng = np.random.default_rng([seed, number, 1])
    facts = facts_of(scene)
    captions: list[Caption] = []
    plans = _shuffled(rng, PLANS)
    while len(captions) < CAPTIONS_PER_IMAGE:
        mistaken = bool(rng.random() < MISTAKEN_SHARE)
        caption = None
        for _ in range(12):
            seen = misremember(scene, rng) if mistaken else scene
            if not plans:
                plans = _shuffled(rng, PLANS)
            candidate = _write(_Narrator(seen, rng), plans[0])
            if candidate is None:
                plans.pop(0)
                continue
            # A mistake counts only if the caption mentions the detail that was changed.
            if mistaken == all(fact in facts for _, meant in candidate.claims for fact in meant):
                continue
            caption = candidate
            break
        if caption is not None and caption.text not in {other.text for other in captions}:
            captions.append(caption)
            plans.pop(0)
        elif caption is None and plans:
            plans.pop(0)
    return captions


def _shuffled(rng: np.random.Generator, plans: Sequence[tuple[Callable[[_Narrator], Part | None], float]]) -> list:
    weights = np.array([weight for _, weight in plans])
    order = rng.choice(len(plans), size=len(plans), replace=False, p=weights / weights.sum())
    return [plans[int(index)][0] for index in order]


def _write(narrator: _Narrator, plan: Callable[[_Narrator], Part | None]) -> Caption | None:
    part = plan(narrator)
    if part is None:
        return None
    text = " ".join(part.text.split())
    text = text[0].upper() + text[1:]
    if narrator.chance(FULL_STOP_SHARE):
        text += " ."
    unique: dict[tuple[str, ...], tuple[Fact, ...]] = {}
    for words, meant in part.claims:
        unique.setdefault(words, meant)
    # Objects last and relations first, as SPICE's parser lists them.
    ordered = sorted(unique.items(), key=lambda claim: -len(claim[0]))
    return Caption(text, tuple(ordered))


class _Narrator:
    """One person describing one scene: a level of detail and a habit of words."""

    def __init__(self, scene: Scene, rng: np.random.Generator):
        self.scene, self.rng = scene, rng
        self.detail = float(rng.choice([0.2, 0.55, 0.85], p=[0.25, 0.45, 0.30]))

    # --- choosing ---

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one_of(self, items: Sequence[T]) -> T:
        return items[int(self.rng.integers(len(items)))]

    def weighted(self, items: Sequence[W]) -> W:
        total = sum(item.weight for item in items)
        mark = float(self.rng.random()) * total
        for item in items:
            mark -= item.weight
            if mark < 0:
                return item
        return items[-1]

    def focus(self) -> Group | None:
        """What the caption is about: mostly what happens in front."""
        groups = [group for group in self.scene.groups if group.layout != "prop"]
        if not groups:
            return None
        weights = np.array([0.35 if group.layout in ("flock", "swim", "boat") else 1.0 for group in groups])
        return groups[int(self.rng.choice(len(groups), p=weights / weights.sum()))]

    def other_than(self, group: Group) -> Group | None:
        rest = [other for other in self.scene.groups if other is not group and other.layout != "prop"]
        return self.one_of(rest) if rest else None

    def prop(self) -> int | None:
        props = [group.members[0] for group in self.scene.groups if group.layout == "prop"]
        return self.one_of(props) if props else None

    # --- noun phrases ---

    def thing(self, index: int, detail: float | None = None) -> Said:
        thing = self.scene.things[index]
        detail = self.detail if detail is None else detail
        noun = self.weighted(NOUNS[thing.kind])
        plural = thing.count > 1
        claims: list[Claim] = [((noun.word,), ((noun.means,),))]
        adjectives: list[str] = []

        def attribute(word: str, fact: str) -> None:
            claims.append(((noun.word, word), ((noun.means, fact),)))
            adjectives.append(word)

        if thing.size is not None and self.chance(detail * 0.6):
            attribute(self.one_of(SIZE_WORDS[thing.size]), thing.size)
        if thing.kind in CHILDREN and noun.word != "youngster" and self.chance(detail * 0.5):
            attribute(self.one_of(("young", "little", "small")), "young")
        if thing.kind not in PEOPLE and thing.colour is not None and self.chance(detail):
            attribute(self.colour(thing.colour), thing.colour)
        determiner = self.determiner(thing, noun, claims)
        core = " ".join([*adjectives, noun.plural if plural else noun.word])
        text = f"{determiner} {core}" if determiner else _with_article(core)
        if thing.kind in PEOPLE:
            text += self.clothing(thing, noun, claims, detail)
        return Said(text, noun.word, noun.means, plural, tuple(claims), thing.kind in PEOPLE)

    def determiner(self, thing: Thing, noun: Noun, claims: list[Claim]) -> str:
        if thing.count == 1:
            return ""
        number = NUMBERS[thing.count]
        choices = [number] * 5 + ["some"] * 2
        if thing.count >= 3:
            choices += ["several", "a few", "a group of"]
            if thing.kind in COLLECTIVE and noun.means == thing.kind:
                choices += [f"a {COLLECTIVE[thing.kind]} of"] * 2
        elif thing.count == 2:
            choices += ["a pair of", "a couple of"]
        chosen = self.one_of(choices)
        if chosen == number or chosen == "several":
            claims.append(((noun.word, chosen), ((noun.means, chosen),)))
        elif chosen in ("a pair of", "a couple of"):
            word = chosen.split()[1]
            claims.append(((noun.word, word), ((noun.means, "two"),)))
        elif chosen == "a few":
            claims.append(((noun.word, "few"), ((noun.means, "several"),)))
        elif chosen != "some":
            claims.append(((noun.word, chosen.split()[1]), ((noun.means, "group"),)))
        return chosen

    def colour(self, colour: str) -> str:
        words = COLOUR_WORDS[colour]
        weights = np.array([weight for _, weight in words])
        return words[int(self.rng.choice(len(words), p=weights / weights.sum()))][0]

    def clothing(self, thing: Thing, noun: Noun, claims: list[Claim], detail: float) -> str:
        text = ""
        who, colour = noun.word, str(thing.colour)
        if self.chance(detail * 0.9):
            word = self.colour(colour)
            if self.chance(0.2):
                text += f" {self.one_of(('in', 'dressed in', 'wearing'))} {word}"
                claims.append(((who, word, "in"), ((noun.means, f"wear {colour}"),)))
            else:
                garment = self.one_of(CLOTHES[thing.kind])
                how = self.one_of(("in", "in", "wearing"))
                worn = f"{word} {_plural(garment)}" if thing.count > 1 else _with_article(f"{word} {garment}")
                text += f" {how} {worn}"
                relation = "wear" if how == "wearing" else "in"
                claims.append(((garment,), (("shirt",),)))
                claims.append(((garment, word), (("shirt", colour),)))
                claims.append(((who, garment, relation), ((noun.means, "shirt", "wear"),)))
        if thing.hat is not None and thing.count == 1 and self.chance(detail * 0.6):
            word, hat = self.colour(thing.hat), self.one_of(HATS)
            text += " and" if text else self.one_of((" in", " wearing", " with"))
            text += f" {_with_article(f'{word} {hat}')}"
            claims.append(((hat,), (("hat",),)))
            claims.append(((hat, word), (("hat", thing.hat),)))
            claims.append(((who, hat, "wear"), ((noun.means, "hat", "wear"),)))
        return text

    # --- clauses ---

    def clause(self, group: Group, form: str, detail: float | None = None) -> tuple[Part, Said] | None:
        """Who does what: ``form`` is progressive, present, participle, passive or relative; None if not sayable."""
        subject = self.thing(group.members[0], detail)
        if group.verb is None:
            return self._intransitive(subject, group, form)
        verbs = RELATIONS[group.verb]
        if form == "passive":
            verbs = tuple(verb for verb in verbs if verb.participle is not None)
            if not verbs:
                return None
        verb = self.weighted(verbs)
        other = self.thing(group.members[1], None if detail is None else detail * 0.7)
        lemma = f"{verb.base} {verb.tail}".strip()
        claim: Claim = ((subject.lemma, other.lemma, lemma), ((subject.means, other.means, verb.means),))
        claims = (*subject.claims, *other.claims, claim)
        if form == "passive":
            being = self.one_of(("being ", "being ", ""))
            text = f"{other.text} {_be(other)} {being}{verb.participle} {verb.tail} by {subject.text}"
            return Part(text, claims), other
        return Part(f"{subject.text} {self.conjugate(verb, subject, form)} {other.text} {verb.tail}", claims), subject

    def _intransitive(self, subject: Said, group: Group, form: str) -> tuple[Part, Said] | None:
        action = self.scene.things[group.members[0]].action
        if action is None or form == "passive":
            return None
        verb = self.weighted(ACTIONS[action])
        claim: Claim = ((subject.lemma, verb.base), ((subject.means, verb.means),))
        return Part(f"{subject.text} {self.conjugate(verb, subject, form)}", (*subject.claims, claim)), subject

    def conjugate(self, verb: Verb, subject: Said, form: str) -> str:
        if verb.means == "park":
            return {"participle": "parked", "relative": f"that {_be(subject)} parked"}.get(
                form, f"{_be(subject)} parked"
            )
        if form == "progressive":
            return f"{_be(subject)} {verb.gerund}"
        if form == "participle":
            return verb.gerund
        if form == "relative":
            return f"{'who' if subject.person else 'that'} {_be(subject)} {verb.gerund}"
        return verb.base if subject.plural else verb.third

    def active(self, group: Group, detail: float | None = None) -> tuple[Part, Said] | None:
        return self.clause(
            group, self.one_of(("progressive", "progressive", "present", "present", "participle")), detail
        )

    # --- where and when ---

    def phrase(self, phrase: Phrase, whose: Said | None) -> Part:
        claims: list[Claim] = [((phrase.noun,), (phrase.means,))]
        if phrase.attribute is not None and phrase.attribute_means is not None:
            claims.append(((phrase.noun, phrase.attribute), (phrase.attribute_means,)))
        if whose is not None:
            claims.append(((whose.lemma, phrase.noun, phrase.preposition), ((whose.means, phrase.means[0], "at"),)))
        return Part(phrase.text, tuple(claims))

    def place(self, group: Group, whose: Said | None) -> Part:
        """Where it happens, if it is said at all; what flies or swims is not "on the floor" or "on a path"."""
        if group.layout in ("flock", "swim", "boat"):
            return self._place_of_water_and_air(group, whose)
        phrases = PLACE_PHRASES[self.scene.setting]
        if group.verb in ("sit on", "lie on", "sail"):
            phrases = tuple(p for p in phrases if p.preposition not in ("on", "along", "across", "down", "through"))
        if self.scene.setting != "room" and self.chance(0.06):
            return self.phrase(self.one_of(OUTSIDE), whose)
        return self.phrase(self.weighted(phrases), whose)

    def _place_of_water_and_air(self, group: Group, whose: Said | None) -> Part:
        water = "sea" if self.scene.setting == "beach" else "lake"
        if group.layout == "flock":
            if self.scene.setting == "forest" or whose is None:
                return Part("")
            over = self.one_of(("in the sky", "in the sky", "across the sky", "in the air", "overhead"))
            if over == "overhead" or over == "in the air":
                return Part(over)
            return Part(over, ((("sky",), (("sky",),)), ((whose.lemma, "sky", "in"), ((whose.means, "fly"), ("sky",)))))
        word = self.one_of(("water", water, "water" if water == "lake" else "ocean"))
        means = {"ocean": "sea"}.get(word, word)
        if self.scene.setting not in ("beach", "lake"):  # the place itself was mistaken
            return Part("")
        text = f"on the {word}"
        claims: list[Claim] = [((word,), ((means,),))]
        if whose is not None:
            claims.append(((whose.lemma, word, "on"), ((whose.means, means, "at"),)))
        return Part(text, tuple(claims))

    def sky(self) -> Part:
        phrases = SKY_PHRASES[self.scene.sky]
        return self.phrase(self.weighted(phrases), None) if phrases else Part("")

    def beside(self, group: Group, whose: Said) -> Part | None:
        """A neighbour in the picture: something farther back, or who else is there."""
        actor = group.members[0] if whose.means in _kinds(self.scene.things[group.members[0]]) else group.members[-1]
        related = [
            relation
            for relation in self.scene.relations
            if relation.subject == actor and relation.verb in ("near", "in front of")
        ]
        if not related:
            return None
        relation = self.one_of(related)
        other = self.thing(relation.object, self.detail * 0.6)
        word = "in front of" if relation.verb == "in front of" and self.chance(0.8) else self.one_of(NEAR)
        means = "in front of" if word == "in front of" else "near"
        claim: Claim = ((whose.lemma, other.lemma, word), ((whose.means, other.means, means),))
        return Part(f"{word} {other.text}", (*other.claims, claim))

    def background(self) -> Part | None:
        index = self.prop()
        if index is None:
            return None
        prop = self.thing(index, self.detail * 0.6)
        text, claim = self.one_of(
            (
                (f"with {prop.text} in the background", (prop.lemma, "background", "in")),
                (f"with {prop.text} behind", (prop.lemma, "behind")),
                (f"with {prop.text} in the distance", (prop.lemma, "distance", "in")),
            )
        )
        return Part(text, (*prop.claims, (claim, ((prop.means,),))))

    def around(self, group: Group, whose: Said, most: float) -> list[Part]:
        """What follows the clause: place, weather, neighbours, in any mixture."""
        parts: list[Part] = []
        if self.chance(0.25 + 0.2 * self.detail):
            beside = self.beside(group, whose)
            if beside is not None:
                parts.append(beside)
        if self.chance(most):
            parts.append(self.place(group, whose))
        if self.chance(0.10 + 0.15 * self.detail):
            parts.append(self.sky())
        if len(parts) < 2 and self.chance(0.2 * self.detail):
            background = self.background()
            if background is not None:
                parts.append(background)
        return parts


def _kinds(thing: Thing) -> set[str]:
    return {noun.means for noun in NOUNS[thing.kind]}


def _with_article(words: str) -> str:
    vowel = words[0] in "aeio" or words.startswith("umbrella")
    return ("an " if vowel else "a ") + words


def _there(subject: Said) -> str:
    """There *is* a flock of birds, though the birds *are* flying."""
    return "is" if subject.text.startswith("a ") else _be(subject)


def _plural(garment: str) -> str:
    return garment + ("es" if garment.endswith("ss") else "s")


def _be(subject: Said) -> str:
    return "are" if subject.plural else "is"


def _join(*parts: Part | Said) -> Part:
    return Part(" ".join(part.text for part in parts), tuple(claim for part in parts for claim in part.claims))


def _between(first: Part | Said, word: str, second: Part | Said) -> Part:
    return _join(first, Part(word), second)


# --- plans: ways to build a caption; None if the scene has nothing for it ---------------------------------------


def _plain(n: _Narrator) -> Part | None:
    """A boy is kicking a ball in the park."""
    group = n.focus()
    said = n.active(group) if group else None
    if group is None or said is None:
        return None
    return _join(said[0], *n.around(group, said[1], 0.75))


def _existential(n: _Narrator) -> Part | None:
    """There is a boy kicking a ball."""
    group = n.focus()
    said = n.clause(group, "participle") if group else None
    if group is None or said is None:
        return None
    clause, subject = said
    return _join(Part(f"there {_there(subject)}"), clause, *n.around(group, subject, 0.5))


def _passive(n: _Narrator) -> Part | None:
    """A ball is being kicked by a boy."""
    group = n.focus()
    said = n.clause(group, "passive") if group else None
    if group is None or said is None:
        return None
    parts = [n.place(group, said[1])] if n.chance(0.6) else []
    return _join(said[0], *parts)


def _setting_first(n: _Narrator) -> Part | None:
    """In the park, a boy is kicking a ball."""
    group = n.focus()
    said = n.clause(group, n.one_of(("progressive", "present"))) if group else None
    if group is None or said is None:
        return None
    place = n.place(group, said[1])
    if not place.text:
        return None
    beside = n.beside(group, said[1]) if n.chance(0.4) else None
    return _join(place, Part(n.one_of((",", ",", ""))), said[0], *([beside] if beside else []))


def _sky_first(n: _Narrator) -> Part | None:
    """On a sunny day, a boy is kicking a ball."""
    group, sky = n.focus(), n.sky()
    said = n.clause(group, n.one_of(("progressive", "present"))) if group else None
    if group is None or said is None or not sky.text:
        return None
    parts = [n.place(group, said[1])] if n.chance(0.5) else []
    return _join(sky, Part(","), said[0], *parts)


def _two_clauses(n: _Narrator) -> Part | None:
    """A boy is kicking a ball while a dog sleeps."""
    group = n.focus()
    other = n.other_than(group) if group else None
    if group is None or other is None:
        return None
    form = n.one_of(("progressive", "present"))
    first, second = n.clause(group, form, n.detail * 0.7), n.clause(other, form, n.detail * 0.6)
    if first is None or second is None:
        return None
    parts = [n.place(other, second[1])] if n.chance(0.4) else []
    return _join(first[0], Part(n.one_of(("while", "while", "and", ", and", "as"))), second[0], *parts)


def _listing(n: _Narrator) -> Part | None:
    """A boy, a ball and a tree."""
    group = n.focus()
    if group is None:
        return None
    things = [n.thing(index) for index in group.members]
    other, prop = n.other_than(group), n.prop()
    if other is not None and n.chance(0.6):
        things.append(n.thing(other.members[0], n.detail * 0.6))
    if prop is not None and n.chance(0.6):
        things.append(n.thing(prop, n.detail * 0.6))
    if len(things) < 2:
        return None
    order = [things[int(i)] for i in n.rng.permutation(len(things))] if n.chance(0.5) else things
    text = " , ".join(said.text for said in order[:-1]) + f" and {order[-1].text}"
    listed = Part(text, tuple(claim for said in order for claim in said.claims))
    if group.layout in ("flock", "swim", "boat"):
        return listed
    return _join(listed, *([n.place(group, things[0])] if n.chance(0.75) else []))


def _place_head(n: _Narrator) -> Part | None:
    """A sandy beach with a boy kicking a ball."""
    group = n.focus()
    said = n.clause(group, "participle") if group else None
    if group is None or said is None:
        return None
    head = n.phrase(n.one_of(PLACE_HEADS[n.scene.setting]), None)
    parts = [n.sky()] if n.chance(0.3) else []
    return _join(head, Part(n.one_of(("with", "with", f"where there {_there(said[1])}"))),
                 said[0], *parts)  # fmt: skip


def _picture_of(n: _Narrator) -> Part | None:
    """A picture of a boy who is kicking a ball."""
    group = n.focus()
    said = n.clause(group, n.one_of(("relative", "participle"))) if group else None
    if group is None or said is None:
        return None
    opening = n.one_of(
        (
            "a picture of",
            "a photo of",
            "this is" if not said[1].plural else "these are",
            "we see",
            "a scene with",
            "an image of",
            "here we have",
        )
    )
    return _join(Part(opening), said[0], *n.around(group, said[1], 0.5))


def _vague(n: _Narrator) -> Part | None:
    """A boy outside."""
    group = n.focus()
    if group is None:
        return None
    subject = n.thing(group.members[0], 0.1)
    if n.chance(0.5) and group.verb is not None:
        other = n.thing(group.members[1], 0.1)
        claim: Claim = ((subject.lemma, other.lemma, "with"), ((subject.means, other.means, "near"),))
        return _join(_between(subject, n.one_of(("with", "and")), other), Part("", (claim,)),
                     *([n.place(group, subject)] if n.chance(0.5) else []))  # fmt: skip
    if group.layout in ("flock", "swim", "boat"):
        place = n.place(group, subject)
        return _join(subject, place) if place.text else None
    if n.scene.setting != "room" and n.chance(0.3):
        return _join(subject, n.phrase(n.one_of(OUTSIDE), subject))
    return _join(subject, n.place(group, subject))


def _beside(n: _Narrator) -> Part | None:
    """A boy is next to a tree."""
    group = n.focus()
    if group is None:
        return None
    subject = n.thing(group.members[0])
    beside = n.beside(group, subject)
    if beside is None:
        return None
    verb = n.one_of((_be(subject), _be(subject), ""))
    parts = [n.place(group, subject)] if n.chance(0.6) else []
    return _join(subject, Part(verb), beside, *parts)


def _background(n: _Narrator) -> Part | None:
    """A boy kicks a ball with a tree in the background."""
    group = n.focus()
    said = n.active(group) if group else None
    background = n.background()
    if group is None or said is None or background is None:
        return None
    return _join(said[0], *([n.place(group, said[1])] if n.chance(0.5) else []), background)


def _prop_first(n: _Narrator) -> Part | None:
    """There is a tree behind a boy."""
    behind = [relation for relation in n.scene.relations if relation.verb == "behind"]
    if not behind:
        return None
    relation = n.one_of(behind)
    prop, other = n.thing(relation.subject), n.thing(relation.object, n.detail * 0.7)
    claim: Claim = ((prop.lemma, other.lemma, "behind"), ((prop.means, other.means, "behind"),))
    joined = _join(_between(prop, n.one_of(("behind", "in back of")), other), Part("", (claim,)))
    return _join(Part(f"there {_there(prop)}"), joined) if n.chance(0.6) else joined


PLANS: tuple[tuple[Callable[[_Narrator], Part | None], float], ...] = (
    (_plain, 4.0),
    (_existential, 1.2),
    (_passive, 1.0),
    (_setting_first, 1.2),
    (_sky_first, 0.8),
    (_two_clauses, 2.0),
    (_listing, 1.1),
    (_place_head, 1.0),
    (_picture_of, 1.0),
    (_vague, 1.0),
    (_beside, 1.0),
    (_background, 1.2),
    (_prop_first, 0.5),
)
