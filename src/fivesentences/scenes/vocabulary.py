"""The words people use for what is in a scene: synonyms, more general words, verbs and their forms."""

from __future__ import annotations

from dataclasses import dataclass

from fivesentences.scenes.world import Fact


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
CLOTHES = {
    "man": ("shirt", "shirt", "t-shirt", "jacket", "sweater", "top"),
    "boy": ("shirt", "shirt", "t-shirt", "jacket", "sweater", "top"),
    "woman": ("dress", "dress", "dress", "outfit", "skirt"),
    "girl": ("dress", "dress", "dress", "outfit", "skirt"),
}
HATS = ("hat", "cap", "hat", "baseball cap")

ACTIONS: dict[str, tuple[Verb, ...]] = {
    "run": (
        Verb("run", "run", "runs", "running", weight=5),
        Verb("run", "race", "races", "racing"),
        Verb("run", "sprint", "sprints", "sprinting", weight=0.7),
        Verb("run", "dash", "dashes", "dashing", weight=0.5),
        Verb("run", "hurry", "hurries", "hurrying", weight=0.3),
    ),
    "walk": (
        Verb("walk", "walk", "walks", "walking", weight=5),
        Verb("walk", "stroll", "strolls", "strolling"),
        Verb("walk", "wander", "wanders", "wandering", weight=0.7),
    ),
    "stand": (
        Verb("stand", "stand", "stands", "standing", weight=5),
        Verb("stand", "pose", "poses", "posing", weight=0.6),
        Verb("stand", "wait", "waits", "waiting", weight=0.5),
    ),
    "sit": (Verb("sit", "sit", "sits", "sitting", weight=5), Verb("sit", "rest", "rests", "resting")),
    "lie": (
        Verb("lie", "lie", "lies", "lying", weight=4),
        Verb("lie", "rest", "rests", "resting"),
        Verb("lie", "sleep", "sleeps", "sleeping", weight=0.8),
        Verb("lie", "relax", "relaxes", "relaxing", weight=0.6),
    ),
    "jump": (
        Verb("jump", "jump", "jumps", "jumping", weight=4),
        Verb("jump", "leap", "leaps", "leaping", weight=1.3),
        Verb("jump", "hop", "hops", "hopping", weight=0.5),
    ),
    "wave": (Verb("wave", "wave", "waves", "waving"), Verb("wave", "say hello", "says hello", "saying hello",
                                                            weight=0.15)),
    "graze": (
        Verb("graze", "graze", "grazes", "grazing", weight=3),
        Verb("graze", "eat", "eats", "eating"),
        Verb("graze", "feed", "feeds", "feeding", weight=0.4),
    ),
    "fly": (
        Verb("fly", "fly", "flies", "flying", weight=5),
        Verb("fly", "soar", "soars", "soaring"),
        Verb("fly", "glide", "glides", "gliding", weight=0.6),
    ),
    "swim": (
        Verb("swim", "swim", "swims", "swimming", weight=4),
        Verb("swim", "float", "floats", "floating", weight=1.3),
        Verb("swim", "paddle", "paddles", "paddling", weight=0.8),
    ),
    "drive": (
        Verb("drive", "drive", "drives", "driving", weight=3),
        Verb("drive", "go by", "goes by", "going by"),
        Verb("drive", "travel", "travels", "traveling", weight=0.6),
    ),
    "park": (Verb("park", "park", "is parked", "parked"),),
}  # fmt: skip

RELATIONS: dict[str, tuple[Verb, ...]] = {
    "walk": (
        Verb("walk", "walk", "walks", "walking", "walked", weight=4),
        Verb("walk", "take", "takes", "taking", "taken", "for a walk"),
        Verb("walk", "lead", "leads", "leading", "led", weight=0.6),
        Verb("with", "walk with", "walks with", "walking with"),
    ),
    "ride": (
        Verb("ride", "ride", "rides", "riding", "ridden", weight=6),
        Verb("on", "sit on", "sits on", "sitting on", weight=0.7),
        Verb("ride", "travel on", "travels on", "traveling on", weight=0.4),
    ),
    "chase": (
        Verb("chase", "chase", "chases", "chasing", "chased", weight=4),
        Verb("chase", "run after", "runs after", "running after", weight=2),
        Verb("follow", "follow", "follows", "following", "followed", weight=0.7),
        Verb("chase", "pursue", "pursues", "pursuing", "pursued", weight=0.3),
    ),
    "fly": (
        Verb("fly", "fly", "flies", "flying", "flown", weight=6),
        Verb("with", "play with", "plays with", "playing with", weight=0.8),
        Verb("hold", "hold", "holds", "holding", "held", weight=0.6),
    ),
    "hold": (
        Verb("hold", "hold", "holds", "holding", "held", weight=4),
        Verb("hold", "carry", "carries", "carrying", "carried", weight=1.3),
        Verb("hold", "clutch", "clutches", "clutching", "clutched", weight=0.3),
        Verb("with", "pose with", "poses with", "posing with", weight=0.5),
    ),
    "hold over": (
        Verb("hold", "hold", "holds", "holding", "held", weight=4),
        Verb("hold", "carry", "carries", "carrying", "carried", weight=1.5),
        Verb("under", "shelter under", "shelters under", "sheltering under", weight=0.8),
        Verb("under", "stay under", "stays under", "staying under", weight=0.3),
    ),
    "sit on": (
        Verb("sit on", "sit on", "sits on", "sitting on", weight=5),
        Verb("sit on", "rest on", "rests on", "resting on"),
        Verb("sit on", "relax on", "relaxes on", "relaxing on"),
    ),
    "lie on": (
        Verb("lie on", "lie on", "lies on", "lying on", weight=4),
        Verb("lie on", "sleep on", "sleeps on", "sleeping on", weight=1.5),
        Verb("lie on", "nap on", "naps on", "napping on", weight=0.8),
        Verb("on", "rest on", "rests on", "resting on"),
    ),
    "sit under": (
        Verb("sit under", "sit under", "sits under", "sitting under", weight=4),
        Verb("sit under", "rest under", "rests under", "resting under"),
        Verb("sit under", "relax beneath", "relaxes beneath", "relaxing beneath"),
        Verb("sit under", "sit below", "sits below", "sitting below", weight=0.5),
    ),
    "kick": (
        Verb("kick", "kick", "kicks", "kicking", "kicked", weight=4),
        Verb("play with", "play with", "plays with", "playing with", weight=2),
    ),
    "play with": (Verb("play with", "play with", "plays with", "playing with", weight=4),),
    "build": (
        Verb("build", "build", "builds", "building", "built", weight=4),
        Verb("build", "make", "makes", "making", "made", weight=2),
        Verb("with", "play with", "plays with", "playing with", weight=0.6),
    ),
    "sail": (
        Verb("sail", "sail", "sails", "sailing", "sailed", weight=3),
        Verb("in", "sit in", "sits in", "sitting in", weight=2),
        Verb("in", "ride in", "rides in", "riding in", weight=1),
    ),
    "sit by": (
        Verb("sit by", "sit by", "sits by", "sitting by", weight=3),
        Verb("sit by", "sit next to", "sits next to", "sitting next to", weight=2),
        Verb("sit by", "sit near", "sits near", "sitting near", weight=1),
        Verb("sit by", "rest beside", "rests beside", "resting beside", weight=0.8),
        Verb("sit by", "warm up by", "warms up by", "warming up by", weight=0.6),
    ),
    "watch": (
        Verb("watch", "watch", "watches", "watching", "watched", weight=4),
        Verb("watch", "look at", "looks at", "looking at", weight=2),
        Verb("watch", "stare at", "stares at", "staring at", weight=1),
        Verb("watch", "observe", "observes", "observing", "observed", weight=0.4),
    ),
    "feed": (
        Verb("feed", "feed", "feeds", "feeding", "fed", weight=5),
        Verb("near", "stand near", "stands near", "standing near", weight=0.8),
        Verb("near", "stand by", "stands by", "standing by", weight=0.6),
    ),
    "read": (
        Verb("read", "read", "reads", "reading", "read", weight=5),
        Verb("hold", "hold", "holds", "holding", "held", weight=0.7),
        Verb("read", "study", "studies", "studying", weight=0.3),
    ),
    "play": (
        Verb("play", "play", "plays", "playing", "played", weight=5),
        Verb("play", "strum", "strums", "strumming", "strummed", weight=0.8),
        Verb("hold", "hold", "holds", "holding", "held", weight=0.6),
    ),
    "catch": (
        Verb("catch", "catch", "catches", "catching", "caught", weight=4),
        Verb("catch", "jump for", "jumps for", "jumping for", weight=2),
        Verb("catch", "leap for", "leaps for", "leaping for", weight=1),
        Verb("play with", "play with", "plays with", "playing with", weight=0.7),
    ),
    "pet": (
        Verb("pet", "pet", "pets", "petting", "petted", weight=4),
        Verb("pet", "stroke", "strokes", "stroking", "stroked", weight=1),
        Verb("with", "play with", "plays with", "playing with", weight=1),
    ),
}

NEAR = ("near", "next to", "beside", "by", "close to", "not far from")


def _place(
    text: str, noun: str, means: str, preposition: str, attribute: str = "", of: str = "", weight: float = 1.0
) -> Phrase:
    extra = (means, of or attribute) if attribute else None
    return Phrase(text, noun, (means,), attribute or None, extra, preposition, weight)


PLACE_PHRASES: dict[str, tuple[Phrase, ...]] = {
    "beach": (
        _place("on the beach", "beach", "beach", "on", weight=5),
        _place("at the beach", "beach", "beach", "at", weight=3),
        _place("on a sandy beach", "beach", "beach", "on", "sandy"),
        _place("on the sand", "sand", "sand", "on", weight=1.5),
        _place("by the sea", "sea", "sea", "by"),
        _place("near the ocean", "ocean", "sea", "near"),
        _place("at the seaside", "seaside", "beach", "at", weight=0.6),
        _place("by the water", "water", "water", "by"),
        _place("along the shore", "shore", "shore", "along"),
        _place("beside the blue ocean", "ocean", "sea", "beside", "blue", weight=0.6),
    ),
    "meadow": (
        _place("in a field", "field", "field", "in", weight=3),
        _place("in a meadow", "meadow", "meadow", "in", weight=3),
        _place("in a green meadow", "meadow", "meadow", "in", "green"),
        _place("in a grassy field", "field", "field", "in", "grassy", weight=2),
        _place("on the grass", "grass", "grass", "on", weight=1.5),
        _place("in the countryside", "countryside", "countryside", "in"),
        _place("on a green hill", "hill", "hill", "on", "green", weight=0.8),
        _place("in a pasture", "pasture", "meadow", "in", weight=0.8),
        _place("through the green grass", "grass", "grass", "through", "green", weight=0.5),
    ),
    "snow": (
        _place("in the snow", "snow", "snow", "in", weight=5),
        _place("on a snowy field", "field", "field", "on", "snowy", weight=1.5),
        _place("on a snowy hill", "hill", "hill", "on", "snowy"),
        _place("on the snow", "snow", "snow", "on", weight=1.5),
        _place("in front of snowy mountains", "mountain", "mountain", "in front of", "snowy"),
        _place("in the white snow", "snow", "snow", "in", "white"),
        _place("near the mountains", "mountain", "mountain", "near", weight=0.8),
        _place("on a slope", "slope", "hill", "on", weight=0.7),
    ),
    "street": (
        _place("on the street", "street", "street", "on", weight=4),
        _place("in the city", "city", "city", "in", weight=3),
        _place("on a city street", "street", "street", "on", "city", weight=2),
        _place("down the road", "road", "road", "down"),
        _place("on the road", "road", "road", "on", weight=1.5),
        _place("in town", "town", "city", "in"),
        _place("near tall buildings", "building", "building", "near", "tall"),
        _place("by the sidewalk", "sidewalk", "sidewalk", "by", weight=0.7),
        _place("downtown", "downtown", "city", "in", weight=0.5),
        _place("in an urban area", "area", "city", "in", weight=0.3),
    ),
    "park": (
        _place("in the park", "park", "park", "in", weight=4),
        _place("in a park", "park", "park", "in", weight=3),
        _place("on the grass", "grass", "grass", "on", weight=1.5),
        _place("in a green park", "park", "park", "in", "green"),
        _place("on a path", "path", "path", "on", weight=0.8),
        _place("near some trees", "tree", "tree", "near"),
        _place("on the lawn", "lawn", "grass", "on", weight=0.8),
        _place("along a winding trail", "trail", "path", "along", "winding", weight=0.5),
    ),
    "lake": (
        _place("at the lake", "lake", "lake", "at", weight=3),
        _place("by a lake", "lake", "lake", "by", weight=3),
        _place("at a mountain lake", "lake", "lake", "at", "mountain", weight=1.5),
        _place("near the water", "water", "water", "near", weight=1.5),
        _place("near a blue lake", "lake", "lake", "near", "blue"),
        _place("in front of the mountains", "mountain", "mountain", "in front of"),
        _place("at the shore", "shore", "shore", "at", weight=0.8),
        _place("near snowy peaks", "peak", "mountain", "near", "snowy", weight=0.6),
    ),
    "room": (
        _place("in a living room", "room", "room", "in", "living", weight=4),
        _place("in the room", "room", "room", "in", weight=2),
        _place("indoors", "indoors", "indoors", "at", weight=1.5),
        _place("inside a house", "house", "house", "inside", weight=2),
        _place("on the floor", "floor", "floor", "on"),
        _place("by the window", "window", "window", "by"),
        _place("on a wooden floor", "floor", "floor", "on", "wooden"),
        _place("at home", "home", "house", "at"),
        _place("on a round rug", "rug", "carpet", "on", "round", weight=0.5),
        _place("near the carpet", "carpet", "carpet", "near", weight=0.3),
    ),
    "desert": (
        _place("in the desert", "desert", "desert", "in", weight=5),
        _place("in a hot desert", "desert", "desert", "in", "hot"),
        _place("in the dry desert", "desert", "desert", "in", "dry"),
        _place("on the sand", "sand", "sand", "on", weight=1.5),
        _place("among the dunes", "dune", "dune", "among"),
        _place("near the sand dunes", "dune", "dune", "near", "sand", "sandy"),
        _place("across the sand", "sand", "sand", "across", weight=0.7),
    ),
    "night": (
        _place("in a dark field", "field", "field", "in", "dark", weight=2),
        _place("in the dark", "dark", "dark", "in", weight=2),
        _place("in a field", "field", "field", "in", weight=2),
        _place("in the countryside", "countryside", "countryside", "in"),
        _place("on the grass", "grass", "grass", "on"),
        _place("near dark hills", "hill", "hill", "near", "dark", weight=0.8),
    ),
    "forest": (
        _place("in the forest", "forest", "forest", "in", weight=4),
        _place("in the woods", "wood", "forest", "in", weight=3),
        _place("in a green forest", "forest", "forest", "in", "green"),
        _place("among tall trees", "tree", "tree", "among", "tall", weight=1.5),
        _place("on a forest trail", "trail", "path", "on"),
        _place("on a dirt path", "path", "path", "on", "dirt"),
        _place("between the trees", "tree", "tree", "between"),
    ),
}
OUTSIDE = (_place("outside", "outside", "outdoors", "at"), _place("outdoors", "outdoors", "outdoors", "at"))
# Places as the head of a caption.
PLACE_HEADS: dict[str, tuple[Phrase, ...]] = {
    "beach": (_place("a sandy beach", "beach", "beach", "", "sandy"), _place("a beach", "beach", "beach", "")),
    "meadow": (_place("a green field", "field", "field", "", "green"), _place("a meadow", "meadow", "meadow", "")),
    "snow": (
        _place("a snowy field", "field", "field", "", "snowy"),
        _place("a snowy hill", "hill", "hill", "", "snowy"),
    ),
    "street": (_place("a city street", "street", "street", "", "city"), _place("a street", "street", "street", "")),
    "park": (_place("a green park", "park", "park", "", "green"), _place("a park", "park", "park", "")),
    "lake": (
        _place("a mountain lake", "lake", "lake", "", "mountain"),
        _place("a blue lake", "lake", "lake", "", "blue"),
    ),
    "room": (_place("a living room", "room", "room", "", "living"), _place("a room", "room", "room", "")),
    "desert": (_place("a desert", "desert", "desert", ""), _place("a hot desert", "desert", "desert", "", "hot")),
    "night": (_place("a dark field", "field", "field", "", "dark"), _place("a field", "field", "field", "")),
    "forest": (_place("a green forest", "forest", "forest", "", "green"), _place("a forest", "forest", "forest", "")),
}
SKY_PHRASES: dict[str, tuple[Phrase, ...]] = {
    "clear": (
        Phrase("on a sunny day", "day", ("day",), "sunny", ("day", "sunny"), weight=3),
        Phrase("under a blue sky", "sky", ("sky",), "blue", ("sky", "blue"), weight=2),
        Phrase("in the sunshine", "sunshine", ("sun",)),
        Phrase("under a clear sky", "sky", ("sky",), "clear", ("sky", "clear")),
        Phrase("on a bright day", "day", ("day",), "bright", ("day", "sunny")),
        Phrase("in the sun", "sun", ("sun",)),
    ),
    "sunset": (
        Phrase("at sunset", "sunset", ("sunset",), weight=3),
        Phrase("as the sun goes down", "sun", ("sun",), "go down", ("sunset",)),
        Phrase("under an orange sky", "sky", ("sky",), "orange", ("sky", "orange")),
        Phrase("in the evening", "evening", ("sunset",)),
        Phrase("at dusk", "dusk", ("sunset",), weight=0.7),
    ),
    "cloudy": (
        Phrase("on a cloudy day", "day", ("day",), "cloudy", ("day", "cloudy"), weight=3),
        Phrase("under a gray sky", "sky", ("sky",), "gray", ("sky", "gray"), weight=1.5),
        Phrase("on an overcast day", "day", ("day",), "overcast", ("day", "cloudy")),
        Phrase("under the clouds", "cloud", ("cloud",)),
    ),
    "snowfall": (
        Phrase("on a cold day", "day", ("day",), "cold", ("day", "cold"), weight=1.5),
        Phrase("while snow is falling", "snow", ("snow",), "fall", ("snow", "fall"), weight=2),
        Phrase("on a winter day", "day", ("day",), "winter", ("day", "winter"), weight=1.5),
        Phrase("in the falling snow", "snow", ("snow",), "fall", ("snow", "fall")),
    ),
    "night": (
        Phrase("at night", "night", ("night",), weight=5),
        Phrase("under the stars", "star", ("star",), weight=2),
        Phrase("under a starry sky", "sky", ("sky",), "starry", ("star",)),
        Phrase("in the moonlight", "moonlight", ("moon",)),
        Phrase("under the moon", "moon", ("moon",)),
    ),
    "shade": (),
    "inside": (),
}
