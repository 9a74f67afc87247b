"""Corpora and scene-graph tuples for tests of metrics, and SPICE's own program."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

# Words with synonyms among them, inflected forms, a slash, capitals, two-word terms, words that WordNet lacks.
OBJECTS, ATTRIBUTES, RELATIONS = (
    [text.strip() for text in line.split(",")]
    for line in (
        "dog, dogs, puppy, hound, man, men, person, people, crowd, woman, lady, girl, child, kid, children, boy, car, "
        "automobile, truck, bike, bicycle, bicycles, and/or, water, lake, pond, grass, field, meadow, ball, Dog, "
        "shirt, top, group, pack, couple, pair, team, turn, head, hot dog, ice cream, zzgl",
        "red, crimson, scarlet, big, large, huge, small, little, tiny, two, three, ten, pair, grey, gray, young, "
        "immature, brown, standing, stand, happy, glad, light, dark, fair, RED, playing, tall, full-size, and/or, zzgl",
        "in, on, near, run, running in, play with, play in, walk, walk on, jump, leap, leap over, jump over, and/or, "
        "stand in, ride, drive, wear, have, hold, catch, grab, take, zzgl",
    )
)


@pytest.fixture(scope="session")
def made_tuples() -> Callable[[int, int], list[list[list[str]]]]:
    """``made_tuples(seed, graphs)``: raw tuples, between none and forty per graph, from a small vocabulary."""

    def make(seed: int, graphs: int) -> list[list[list[str]]]:
        draw = random.Random(seed)

        def one() -> list[str]:
            kind = draw.choice("ooaaarrr")
            if kind == "o":
                return [draw.choice(OBJECTS)]
            if kind == "a":
                return [draw.choice(OBJECTS), draw.choice(ATTRIBUTES)]
            return [draw.choice(OBJECTS), draw.choice(OBJECTS), draw.choice(RELATIONS)]

        return [[one() for _ in range(draw.choice([0, 1, 2, 4, 6, 8, 12, 40]))] for _ in range(graphs)]

    return make


@pytest.fixture(scope="session")
def ask_spice(
    java_jars: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Ask the authors' classes a question; see ``spice_jar.py``."""

    def ask(question: dict[str, Any]) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("spice")
        asked, answered = folder / "question.json", folder / "answer.json"
        asked.write_text(json.dumps({**question, "class_path": [str(jar) for jar in java_jars]}), encoding="utf-8")
        program = Path(__file__).with_name("spice_jar.py")
        done = subprocess.run([sys.executable, str(program), str(asked), str(answered)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
        return answer

    return ask


@pytest.fixture(scope="session")
def released_spice(parity_folder: Path) -> dict[str, Any]:
    """Captions, their raw tuples, and the graphs and scores of the released program."""
    fixture: dict[str, Any] = json.loads((parity_folder / "spice_flickr8k_small.json").read_text(encoding="utf-8"))
    return fixture


Corpus = tuple[list[str], np.ndarray]

WORDS = [".", "w0", "dog", ",", "hound", "red", "two", "crimson", "big", "w1", "w2"]
HOSTILE = [
    "a a a a a a a a",
    "a a b a a b a a b",
    "A",
    "",
    "   \t ",
    "a dog runs .",
    "A DOG runs .",
    "a dog runs .",
    ". , !",
    ".",
    "a dog and a dog and a dog and a cat run over a very long field of very green grass in the sun " * 5,
    "ÉCOLE İstanbul ß non\u00a0breaking\u2028line \U0001f600\r\nend",
    "école i̇stanbul ß",
    "a cat , a cat , a cat !",
    "runs dog a",
    "zebra. a dog. runs",
]


@pytest.fixture(scope="session")
def corpora() -> st.SearchStrategy[Corpus]:
    """Few words, many repetitions, uneven lengths and reference counts; some corpora with captions in image order."""

    def build(seed: int, references: list[int], longest: int, n_words: int, crowd: bool, in_order: bool) -> Corpus:
        draw = np.random.default_rng(seed)
        references[0] += 33 * crowd
        image_of_caption = np.repeat(np.arange(len(references)), references)
        if not in_order:
            image_of_caption = draw.permutation(image_of_caption)
        words = WORDS[:n_words]
        captions = [" ".join(draw.choice(words, size=draw.integers(0, longest))) for _ in image_of_caption]
        captions[0] = "w0 w1"  # coco-caption cannot score a corpus without a single word
        return captions, image_of_caption

    seed, n_words, in_order = st.integers(0, 2**32 - 1), st.integers(3, len(WORDS)), st.booleans()
    many = st.lists(st.integers(1, 7), min_size=1, max_size=12)
    few = st.lists(st.integers(1, 4), min_size=1, max_size=3)
    short = st.builds(build, seed, many, st.sampled_from([12, 25]), n_words, st.sampled_from([0, 0, 0, 1]), in_order)
    return short | st.builds(build, seed, few, st.sampled_from([70, 90]), n_words, st.just(False), in_order)


@pytest.fixture(params=["unequal", "one caption per image", "one image", "not image-major"])
def hostile_corpus(request: pytest.FixtureRequest) -> Corpus:
    """Captions without words, of punctuation, repeated, very long and with odd characters."""
    pairing = {
        "unequal": [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 4],
        "one caption per image": list(range(16)),
        "one image": [0] * 16,
        "not image-major": [3, 2, 1, 0] * 4,
    }[request.param]
    return list(HOSTILE), np.array(pairing)
