"""Five captions of a scene as people might write them, with the tuples a parser would find and what they mean.

A caption is put together from noun phrases and clauses (``narrator``) according to one of several plans, such as
"There is ..." or "A picture of ...". People differ in what they find worth saying and in their words, and now and then
they get a detail wrong: ``MISTAKEN_SHARE`` of the captions describe the scene with one detail changed (``mistakes``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fivesentences.reproduction.scenes.facts import facts_of
from fivesentences.reproduction.scenes.mistakes import misremember
from fivesentences.reproduction.scenes.narrator import Fragment, Narrator, Statement, join
from fivesentences.reproduction.scenes.vocabulary import OUTSIDE, PLACE_HEADS
from fivesentences.reproduction.scenes.world import Fact, Scene

CAPTIONS_PER_IMAGE = 5
MISTAKEN_SHARE = 0.19
# Share of the captions that end with a full stop, which is set apart by a space as in Flickr8k.
FULL_STOP_SHARE = 0.75

Plan = Callable[[Narrator], Fragment | None]  # None: the scene has nothing to say in this way


@dataclass(frozen=True)
class Caption:
    """A caption with its claims: tuples in SPICE's raw order, each with the facts that it asserts."""

    text: str
    claims: tuple[Statement, ...]

    @property
    def tuples(self) -> list[list[str]]:
        """The tuples in the caption's own words."""
        return [list(claim.words) for claim in self.claims]


def describe(scene: Scene, seed: int, number: int) -> list[Caption]:
    """Five different captions of a scene, the same for the same seed and image number."""
    rng = np.random.default_rng([seed, number, 1])
    facts = facts_of(scene)
    captions: list[Caption] = []
    plans = _shuffled(rng)
    while len(captions) < CAPTIONS_PER_IMAGE:
        mistaken = bool(rng.random() < MISTAKEN_SHARE)
        caption = None
        for _ in range(12):
            seen = misremember(scene, rng) if mistaken else scene
            if not plans:
                plans = _shuffled(rng)
            candidate = _write(Narrator(seen, rng), plans[0])
            if candidate is None:
                plans.pop(0)
                continue
            # A mistake counts only if the caption mentions the detail that was changed.
            if mistaken == all(fact in facts for claim in candidate.claims for fact in claim.facts):
                continue
            caption = candidate
            break
        if caption is not None and caption.text not in {other.text for other in captions}:
            captions.append(caption)
            plans.pop(0)
        elif caption is None and plans:
            plans.pop(0)
    return captions


def _shuffled(rng: np.random.Generator) -> list[Plan]:
    weights = np.array(list(PLANS.values()))
    plans = list(PLANS)
    return [plans[index] for index in rng.choice(len(plans), size=len(plans), replace=False, p=weights / weights.sum())]


def _write(narrator: Narrator, plan: Plan) -> Caption | None:
    fragment = plan(narrator)
    if fragment is None:
        return None
    text = " ".join(fragment.text.split())
    text = text[0].upper() + text[1:]
    if narrator.chance(FULL_STOP_SHARE):
        text += " ."
    unique: dict[tuple[str, ...], tuple[Fact, ...]] = {}
    for words, facts in fragment.claims:
        unique.setdefault(words, facts)
    # Relations first and objects last, as SPICE's parser lists them.
    ordered = sorted(unique.items(), key=lambda claim: -len(claim[0]))
    return Caption(text, tuple(Statement(words, facts) for words, facts in ordered))


# --- plans: ways to build a caption -----------------------------------------------------------------------------


def _plain(n: Narrator) -> Fragment:
    """A boy is kicking a ball in the park."""
    group = n.focus()
    clause, subject = n.active(group)
    return join(clause, *n.around(group, subject, 0.75))


def _existential(n: Narrator) -> Fragment:
    """There is a boy kicking a ball."""
    group = n.focus()
    clause, subject = n.clause(group, "participle")
    return join(f"there {subject.there}", clause, *n.around(group, subject, 0.5))


def _passive(n: Narrator) -> Fragment | None:
    """A ball is being kicked by a boy."""
    group = n.focus()
    passive = n.passive(group)
    if passive is None:
        return None
    clause, subject = passive
    return join(clause, n.place(group, subject)) if n.chance(0.6) else clause


def _setting_first(n: Narrator) -> Fragment | None:
    """In the park, a boy is kicking a ball."""
    group = n.focus()
    clause, subject = n.clause(group, n.one_of(("progressive", "present")))
    place = n.place(group, subject)
    if not place.text:
        return None
    beside = n.beside(group, subject) if n.chance(0.4) else None
    return join(place, n.one_of((",", ",", "")), clause, beside)


def _sky_first(n: Narrator) -> Fragment | None:
    """On a sunny day, a boy is kicking a ball."""
    group, sky = n.focus(), n.sky()
    clause, subject = n.clause(group, n.one_of(("progressive", "present")))
    if not sky.text:
        return None
    return join(sky, ",", clause, n.place(group, subject) if n.chance(0.5) else None)


def _two_clauses(n: Narrator) -> Fragment | None:
    """A boy is kicking a ball while a dog sleeps."""
    group = n.focus()
    other = n.other_than(group)
    if other is None:
        return None
    form = n.one_of(("progressive", "present"))
    first, _ = n.clause(group, form, n.detail * 0.7)
    second, subject = n.clause(other, form, n.detail * 0.6)
    place = n.place(other, subject) if n.chance(0.4) else None
    return join(first, n.one_of(("while", "while", "and", ", and", "as")), second, place)


def _listing(n: Narrator) -> Fragment | None:
    """A boy, a ball and a tree."""
    group = n.focus()
    things = [n.thing(index) for index in group.members]
    other, prop = n.other_than(group), n.prop()
    if other is not None and n.chance(0.6):
        things.append(n.thing(other.members[0], n.detail * 0.6))
    if prop is not None and n.chance(0.6):
        things.append(n.thing(prop, n.detail * 0.6))
    if len(things) < 2:
        return None
    order = [things[int(i)] for i in n.rng.permutation(len(things))] if n.chance(0.5) else things
    text = " , ".join(thing.text for thing in order[:-1]) + f" and {order[-1].text}"
    listed = Fragment(text, join(*order).claims)
    if group.layout in ("flock", "swim", "boat"):
        return listed
    return join(listed, n.place(group, things[0])) if n.chance(0.75) else listed


def _place_head(n: Narrator) -> Fragment:
    """A sandy beach with a boy kicking a ball."""
    clause, subject = n.clause(n.focus(), "participle")
    head = n.phrase(n.one_of(PLACE_HEADS[n.scene.setting]))
    sky = n.sky() if n.chance(0.3) else None
    return join(head, n.one_of(("with", "with", f"where there {subject.there}")), clause, sky)


def _picture_of(n: Narrator) -> Fragment:
    """A picture of a boy who is kicking a ball."""
    group = n.focus()
    clause, subject = n.clause(group, n.one_of(("relative", "participle")))
    this = "this is" if not subject.plural else "these are"
    openings = ("a picture of", "a photo of", this, "we see", "a scene with", "an image of", "here we have")
    return join(n.one_of(openings), clause, *n.around(group, subject, 0.5))


def _vague(n: Narrator) -> Fragment | None:
    """A boy outside."""
    group = n.focus()
    subject = n.thing(group.members[0], 0.1)
    if n.chance(0.5) and group.verb is not None:
        other = n.thing(group.members[1], 0.1)
        claim = Statement((subject.lemma, other.lemma, "with"), ((subject.means, other.means, "near"),))
        both = join(subject, n.one_of(("with", "and")), other, Fragment("", (claim,)))
        return join(both, n.place(group, subject)) if n.chance(0.5) else both
    if group.layout in ("flock", "swim", "boat"):
        place = n.place(group, subject)
        return join(subject, place) if place.text else None
    if n.scene.setting != "room" and n.chance(0.3):
        return join(subject, n.phrase(n.one_of(OUTSIDE), subject))
    return join(subject, n.place(group, subject))


def _beside(n: Narrator) -> Fragment | None:
    """A boy is next to a tree."""
    group = n.focus()
    subject = n.thing(group.members[0])
    beside = n.beside(group, subject)
    if beside is None:
        return None
    verb = n.one_of((subject.be, subject.be, ""))
    return join(subject, verb, beside, n.place(group, subject) if n.chance(0.6) else None)


def _background(n: Narrator) -> Fragment | None:
    """A boy kicks a ball with a tree in the background."""
    group = n.focus()
    clause, subject = n.active(group)
    background = n.background()
    if background is None:
        return None
    return join(clause, n.place(group, subject) if n.chance(0.5) else None, background)


def _prop_first(n: Narrator) -> Fragment | None:
    """There is a tree behind a boy."""
    behind = [relation for relation in n.scene.relations if relation.verb == "behind"]
    if not behind:
        return None
    relation = n.one_of(behind)
    prop, other = n.thing(relation.subject), n.thing(relation.object, n.detail * 0.7)
    claim = Statement((prop.lemma, other.lemma, "behind"), ((prop.means, other.means, "behind"),))
    joined = join(prop, n.one_of(("behind", "in back of")), other, Fragment("", (claim,)))
    return join(f"there {prop.there}", joined) if n.chance(0.6) else joined


# Each with its weight: how often it is tried first, relative to the others.
PLANS: dict[Plan, float] = {
    _plain: 4.0,
    _existential: 1.2,
    _passive: 1.0,
    _setting_first: 1.2,
    _sky_first: 0.8,
    _two_clauses: 2.0,
    _listing: 1.1,
    _place_head: 1.0,
    _picture_of: 1.0,
    _vague: 1.0,
    _beside: 1.0,
    _background: 1.2,
    _prop_first: 0.5,
}
