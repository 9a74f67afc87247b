"""The words people use for what is in a scene: synonyms, more general words, verbs and their forms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fivesentences.reproduction.scenes.world import Fact


@dataclass(frozen=True)
class Noun:
    """A word for a kind: ``means`` is the kind or one of the more general ones."""

    word: str
    means: str
    plural: str
    weight: float = 1.0


@dataclass(frozen=True)
class Verb:
    """A verb in the forms that captions need; ``means`` is an action or a relation of ``world``.

    ``base`` goes with plural subjects and stands in the tuples as the lemma; ``participle`` is None where nobody would
    use the passive. ``tail`` follows the object ("takes a dog *for a walk*").
    """

    means: str
    base: str
    third: str
    gerund: str
    participle: str | None = None
    tail: str = ""
    weight: float = 1.0


@dataclass(frozen=True)
class Phrase:
    """A fixed phrase for a place or the sky: its text, its head noun, and what else it claims."""

    text: str
    noun: str
    means: Fact
    attribute: str | None = None
    attribute_means: Fact | None = None
    preposition: str = "in"
    weight: float = 1.0


_PHRASE = re.compile(r"([^:=/*]+)(?::([^=/*]+))?(?:=([^/*]+))?(?:/([^*]+))?(?:\*(.+))?")


def _nouns(*entries: str) -> tuple[Noun, ...]:
    """Nouns for a kind, from entries ``word=general kind/plural*weight`` of which all but the word is optional."""
    kind = entries[0].split("*")[0].split("/")[0]
    nouns = []
    for entry in entries:
        rest, _, weight = entry.partition("*")
        rest, _, plural = rest.partition("/")
        word, _, means = rest.partition("=")
        nouns.append(Noun(word, means or kind, plural or word + "s", float(weight or 1)))
    return tuple(nouns)


def _verbs(means: str, *entries: str) -> tuple[Verb, ...]:
    """Verbs for an action, from entries ``more general action=base/third/gerund/participle/tail*weight``.

    Only the base, the third person and the gerund are required.
    """
    verbs = []
    for entry in entries:
        rest, _, weight = entry.partition("*")
        general, _, forms = rest.rpartition("=")
        base, third, gerund, participle, tail = [*forms.split("/"), "", ""][:5]
        verbs.append(Verb(general or means, base, third, gerund, participle or None, tail, float(weight or 1)))
    return tuple(verbs)


def _phrases(*entries: str, preposition: str | None = None) -> tuple[Phrase, ...]:
    """Phrases for places and skies, from entries ``text:noun=what it means/preposition*weight``.

    Only the text is required. The noun is otherwise the last word, and the preposition the beginning. A word marked by
    ``_`` is an attribute of the noun; ``_bright|sunny`` asserts that it is sunny.
    """
    phrases = []
    for entry in entries:
        part = _PHRASE.fullmatch(entry)
        assert part is not None
        marked_text, noun, means, given, weight = part.groups()
        words = marked_text.split()
        marked = next((word[1:] for word in words if word.startswith("_")), "")
        attribute, _, asserted = marked.partition("|")
        text = marked_text.replace(f"_{marked}", attribute)
        noun = noun or words[-1]
        claim = (means or noun, asserted or attribute) if attribute else None
        begins = "in front of" if text.startswith("in front of") else words[0]
        leads = given or (begins if preposition is None else preposition)
        phrases.append(Phrase(text, noun, (means or noun,), attribute or None, claim, leads, float(weight or 1)))
    return tuple(phrases)


NOUNS: dict[str, tuple[Noun, ...]] = {
    noun[0].means: noun
    for noun in (
        _nouns("man/men*7", "guy*2", "fellow*.6", "gentleman/gentlemen*.6", "adult=adult*.4", "person=person/people*1"),
        _nouns("woman/women*7", "lady/ladies*2", "adult=adult*.4", "person=person/people*1"),
        _nouns("boy*7", "lad*.5", "kid=child*1.6", "child=child/children*1.6", "youngster=child*.5",
               "person=person/people*.3"),
        _nouns("girl*7", "kid=child*1.6", "child=child/children*1.6", "youngster=child*.5", "person=person/people*.3"),
        _nouns("dog*8", "puppy/puppies*1.5", "canine*.5", "pooch/pooches*.4", "pet=pet*.3", "animal=animal*.6"),
        _nouns("cat*7", "kitty/kitties*.8", "feline*.5", "kitten*1", "pet=pet*.4", "animal=animal*.5"),
        _nouns("horse*7", "pony/ponies*1", "animal=animal*.6"),
        _nouns("cow*7", "bull*.4", "animal=animal*.6"),
        _nouns("sheep/sheep*7", "lamb*1", "animal=animal*.5"),
        _nouns("camel*7", "animal=animal*.6"),
        _nouns("bird*8", "songbird*.4", "animal=animal*.2"),
        _nouns("duck*7", "waterfowl/waterfowl*.3", "bird=bird*1.2", "animal=animal*.2"),
        _nouns("car*7", "automobile*.7", "sedan*.5", "vehicle=vehicle*1"),
        _nouns("bus/buses*7", "coach/coaches*.6", "vehicle=vehicle*.8"),
        _nouns("boat*6", "sailboat*2.5", "ship*.5", "vessel*.3"),
        _nouns("bike*5", "bicycle*4", "cycle*.3"),
        _nouns("sled*5", "sledge*1.2", "toboggan*.7"),
        _nouns("ball*9", "toy=toy*1"),
        _nouns("kite*9", "toy=toy*.3"),
        _nouns("frisbee*6", "disc*1", "toy=toy*.6"),
        _nouns("balloon*9"),
        _nouns("umbrella*7", "parasol*1.2", "sunshade*.3"),
        _nouns("bench/benches*8", "seat=seat*.8"),
        _nouns("sofa*4", "couch/couches*4", "settee*.3", "seat=seat*.3"),
        _nouns("lamp*5", "light*1"),
        _nouns("tree*9", "oak*.3"),
        _nouns("palm*1.5", "palm tree=palm*4", "tree=tree*1.5"),
        _nouns("pine*1.2", "pine tree=pine*3", "evergreen*.6", "fir*.5", "tree=tree*2.5"),
        _nouns("cactus/cacti*7", "plant=plant*1"),
        _nouns("flower*7", "blossom*.8", "plant=plant*.5"),
        _nouns("house*6", "cottage*1.3", "home*.8", "building=building*1"),
        _nouns("tent*9"),
        _nouns("campfire*4", "fire*3", "bonfire*1"),
        _nouns("snowman/snowmen*9"),
        _nouns("sandcastle*6", "castle*1"),
        _nouns("rock*5", "boulder*2", "stone*1"),
        _nouns("book*7", "novel*.6"),
        _nouns("guitar*7", "instrument=instrument*.8"),
    )
}  # fmt: skip
COLLECTIVE = {"bird": "flock", "duck": "flock", "sheep": "flock", "cow": "herd", "horse": "herd", "camel": "caravan"}

# Words for colours as (word, weight); the first word is the colour's own name.
COLOUR_WORDS: dict[str, tuple[tuple[str, float], ...]] = {
    "red": (("red", 9), ("bright red", 0.8), ("scarlet", 0.3)),
    "blue": (("blue", 9), ("bright blue", 0.8), ("dark blue", 0.3)),
    "yellow": (("yellow", 9), ("bright yellow", 0.7)),
    "green": (("green", 9), ("bright green", 0.4)),
    "orange": (("orange", 9), ("bright orange", 0.4)),
    "purple": (("purple", 8), ("violet", 0.7)),
    "pink": (("pink", 9), ("bright pink", 0.4)),
    "white": (("white", 9),),
    "black": (("black", 9), ("dark", 0.8)),
    "brown": (("brown", 9), ("dark brown", 0.5), ("chocolate", 0.2)),
    "tan": (("tan", 3), ("golden", 3), ("light brown", 1.5), ("yellow", 0.0)),
    "gray": (("gray", 5), ("grey", 3)),
}
SIZE_WORDS = {"small": ("small", "little", "tiny"), "big": ("big", "large", "huge")}
CLOTHES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("man", "boy"), ("shirt", "shirt", "t-shirt", "jacket", "sweater", "top")),
    **dict.fromkeys(("woman", "girl"), ("dress", "dress", "dress", "outfit", "skirt")),
}
HATS = ("hat", "cap", "hat", "baseball cap")
NEAR = ("near", "next to", "beside", "by", "close to", "not far from")

ACTIONS: dict[str, tuple[Verb, ...]] = {
    verbs[0].means: verbs
    for verbs in (
        _verbs("run", "run/runs/running*5", "race/races/racing", "sprint/sprints/sprinting*.7",
               "dash/dashes/dashing*.5", "hurry/hurries/hurrying*.3"),
        _verbs("walk", "walk/walks/walking*5", "stroll/strolls/strolling", "wander/wanders/wandering*.7"),
        _verbs("stand", "stand/stands/standing*5", "pose/poses/posing*.6", "wait/waits/waiting*.5"),
        _verbs("sit", "sit/sits/sitting*5", "rest/rests/resting"),
        _verbs("lie", "lie/lies/lying*4", "rest/rests/resting", "sleep/sleeps/sleeping*.8",
               "relax/relaxes/relaxing*.6"),
        _verbs("jump", "jump/jumps/jumping*4", "leap/leaps/leaping*1.3", "hop/hops/hopping*.5"),
        _verbs("wave", "wave/waves/waving", "say hello/says hello/saying hello*.15"),
        _verbs("graze", "graze/grazes/grazing*3", "eat/eats/eating", "feed/feeds/feeding*.4"),
        _verbs("fly", "fly/flies/flying*5", "soar/soars/soaring", "glide/glides/gliding*.6"),
        _verbs("swim", "swim/swims/swimming*4", "float/floats/floating*1.3", "paddle/paddles/paddling*.8"),
        _verbs("drive", "drive/drives/driving*3", "go by/goes by/going by", "travel/travels/traveling*.6"),
        _verbs("park", "park/is parked/parked"),
    )
}  # fmt: skip
RELATIONS: dict[str, tuple[Verb, ...]] = {
    "walk": _verbs("walk", "walk/walks/walking/walked*4", "take/takes/taking/taken/for a walk",
                   "lead/leads/leading/led*.6", "with=walk with/walks with/walking with"),
    "ride": _verbs("ride", "ride/rides/riding/ridden*6", "on=sit on/sits on/sitting on*.7",
                   "travel on/travels on/traveling on*.4"),
    "chase": _verbs("chase", "chase/chases/chasing/chased*4", "run after/runs after/running after*2",
                    "follow=follow/follows/following/followed*.7", "pursue/pursues/pursuing/pursued*.3"),
    "fly": _verbs("fly", "fly/flies/flying/flown*6", "with=play with/plays with/playing with*.8",
                  "hold=hold/holds/holding/held*.6"),
    "hold": _verbs("hold", "hold/holds/holding/held*4", "carry/carries/carrying/carried*1.3",
                   "clutch/clutches/clutching/clutched*.3", "with=pose with/poses with/posing with*.5"),
    "hold over": _verbs("hold", "hold/holds/holding/held*4", "carry/carries/carrying/carried*1.5",
                        "under=shelter under/shelters under/sheltering under*.8",
                        "under=stay under/stays under/staying under*.3"),
    "sit on": _verbs("sit on", "sit on/sits on/sitting on*5", "rest on/rests on/resting on",
                     "relax on/relaxes on/relaxing on"),
    "lie on": _verbs("lie on", "lie on/lies on/lying on*4", "sleep on/sleeps on/sleeping on*1.5",
                     "nap on/naps on/napping on*.8", "on=rest on/rests on/resting on"),
    "sit under": _verbs("sit under", "sit under/sits under/sitting under*4", "rest under/rests under/resting under",
                        "relax beneath/relaxes beneath/relaxing beneath", "sit below/sits below/sitting below*.5"),
    "kick": _verbs("kick", "kick/kicks/kicking/kicked*4", "play with=play with/plays with/playing with*2"),
    "play with": _verbs("play with", "play with/plays with/playing with*4"),
    "build": _verbs("build", "build/builds/building/built*4", "make/makes/making/made*2",
                    "with=play with/plays with/playing with*.6"),
    "sail": _verbs("sail", "sail/sails/sailing/sailed*3", "in=sit in/sits in/sitting in*2",
                   "in=ride in/rides in/riding in"),
    "sit by": _verbs("sit by", "sit by/sits by/sitting by*3", "sit next to/sits next to/sitting next to*2",
                     "sit near/sits near/sitting near", "rest beside/rests beside/resting beside*.8",
                     "warm up by/warms up by/warming up by*.6"),
    "watch": _verbs("watch", "watch/watches/watching/watched*4", "look at/looks at/looking at*2",
                    "stare at/stares at/staring at", "observe/observes/observing/observed*.4"),
    "feed": _verbs("feed", "feed/feeds/feeding/fed*5", "near=stand near/stands near/standing near*.8",
                   "near=stand by/stands by/standing by*.6"),
    "read": _verbs("read", "read/reads/reading/read*5", "hold=hold/holds/holding/held*.7", "study/studies/studying*.3"),
    "play": _verbs("play", "play/plays/playing/played*5", "strum/strums/strumming/strummed*.8",
                   "hold=hold/holds/holding/held*.6"),
    "catch": _verbs("catch", "catch/catches/catching/caught*4", "jump for/jumps for/jumping for*2",
                    "leap for/leaps for/leaping for", "play with=play with/plays with/playing with*.7"),
    "pet": _verbs("pet", "pet/pets/petting/petted*4", "stroke/strokes/stroking/stroked",
                  "with=play with/plays with/playing with"),
}  # fmt: skip

PLACE_PHRASES: dict[str, tuple[Phrase, ...]] = {
    "beach": _phrases("on the beach*5", "at the beach*3", "on a _sandy beach", "on the sand*1.5", "by the sea",
                      "near the ocean=sea", "at the seaside=beach*.6", "by the water", "along the shore",
                      "beside the _blue ocean=sea*.6"),
    "meadow": _phrases("in a field*3", "in a meadow*3", "in a _green meadow", "in a _grassy field*2",
                       "on the grass*1.5", "in the countryside", "on a _green hill*.8", "in a pasture=meadow*.8",
                       "through the _green grass*.5"),
    "snow": _phrases("in the snow*5", "on a _snowy field*1.5", "on a _snowy hill", "on the snow*1.5",
                     "in front of _snowy mountains:mountain", "in the _white snow", "near the mountains:mountain*.8",
                     "on a slope=hill*.7"),
    "street": _phrases("on the street*4", "in the city*3", "on a _city street*2", "down the road", "on the road*1.5",
                       "in town=city", "near _tall buildings:building", "by the sidewalk*.7", "downtown=city/in*.5",
                       "in an urban area=city*.3"),
    "park": _phrases("in the park*4", "in a park*3", "on the grass*1.5", "in a _green park", "on a path*.8",
                     "near some trees:tree", "on the lawn=grass*.8", "along a _winding trail=path*.5"),
    "lake": _phrases("at the lake*3", "by a lake*3", "at a _mountain lake*1.5", "near the water*1.5",
                     "near a _blue lake", "in front of the mountains:mountain", "at the shore*.8",
                     "near _snowy peaks:peak=mountain*.6"),
    "room": _phrases("in a _living room*4", "in the room*2", "indoors/at*1.5", "inside a house*2", "on the floor",
                     "by the window", "on a _wooden floor", "at home=house", "on a _round rug=carpet*.5",
                     "near the carpet*.3"),
    "desert": _phrases("in the desert*5", "in a _hot desert", "in the _dry desert", "on the sand*1.5",
                       "among the dunes:dune", "near the _sand|sandy dunes:dune", "across the sand*.7"),
    "night": _phrases("in a _dark field*2", "in the dark*2", "in a field*2", "in the countryside", "on the grass",
                      "near _dark hills:hill*.8"),
    "forest": _phrases("in the forest*4", "in the woods:wood=forest*3", "in a _green forest",
                       "among _tall trees:tree*1.5", "on a forest trail=path", "on a _dirt path",
                       "between the trees:tree"),
}  # fmt: skip
OUTSIDE = _phrases("outside=outdoors", "outdoors", preposition="at")
# Places as the head of a caption.
PLACE_HEADS: dict[str, tuple[Phrase, ...]] = {
    "beach": _phrases("a _sandy beach", "a beach", preposition=""),
    "meadow": _phrases("a _green field", "a meadow", preposition=""),
    "snow": _phrases("a _snowy field", "a _snowy hill", preposition=""),
    "street": _phrases("a _city street", "a street", preposition=""),
    "park": _phrases("a _green park", "a park", preposition=""),
    "lake": _phrases("a _mountain lake", "a _blue lake", preposition=""),
    "room": _phrases("a _living room", "a room", preposition=""),
    "desert": _phrases("a desert", "a _hot desert", preposition=""),
    "night": _phrases("a _dark field", "a field", preposition=""),
    "forest": _phrases("a _green forest", "a forest", preposition=""),
}
SKY_PHRASES: dict[str, tuple[Phrase, ...]] = {
    "clear": _phrases("on a _sunny day*3", "under a _blue sky*2", "in the sunshine=sun", "under a _clear sky",
                      "on a _bright|sunny day", "in the sun"),
    "sunset": (
        *_phrases("at sunset*3"),
        Phrase("as the sun goes down", "sun", ("sun",), "go down", ("sunset",)),
        *_phrases("under an _orange sky", "in the evening=sunset", "at dusk=sunset*.7"),
    ),
    "cloudy": _phrases("on a _cloudy day*3", "under a _gray sky*1.5", "on an _overcast|cloudy day",
                       "under the clouds:cloud"),
    "snowfall": (
        *_phrases("on a _cold day*1.5"),
        Phrase("while snow is falling", "snow", ("snow",), "fall", ("snow", "fall"), weight=2),
        *_phrases("on a _winter day*1.5"),
        Phrase("in the falling snow", "snow", ("snow",), "fall", ("snow", "fall")),
    ),
    "night": (
        *_phrases("at night*5", "under the stars:star*2"),
        Phrase("under a starry sky", "sky", ("sky",), "starry", ("star",)),
        *_phrases("in the moonlight=moon", "under the moon"),
    ),
    "shade": (),
    "inside": (),
}  # fmt: skip
