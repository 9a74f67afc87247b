"""Corpora and scene-graph tuples that metrics are tested on, and SPICE's own program in a process of its own."""

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
    """``made_tuples(seed, graphs)``: raw tuples, between none and forty a graph, of a small world of words."""

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
    """Question to answer of the authors' classes; see ``spice_jar.py``."""

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
    """Captions, raw tuples and what the released program made of them."""
    fixture: dict[str, Any] = json.loads((parity_folder / "spice_flickr8k_small.json").read_text(encoding="utf-8"))
    return fixture


Made = tuple[list[str], np.ndarray]

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
    "ÉCOLE İstanbul ß non breaking\u2028line \U0001f600\r\nend",
    "école i̇stanbul ß",
    "a cat , a cat , a cat !",
    "runs dog a",
    "zebra. a dog. runs",
]


@pytest.fixture(scope="session")
def made_corpus() -> Callable[[int], Made]:
    """Few words, many repetitions, uneven lengths and reference counts, captions out of image order."""

    def make(seed: int) -> Made:
        rng = np.random.default_rng(seed)
        references = rng.integers(1, 8, size=rng.integers(1, 14))
        if seed % 5 == 4:
            references[0] = 40  # many captions of one image
        image_of_caption = np.repeat(np.arange(len(references)), references)
        if seed % 2:
            image_of_caption = rng.permutation(image_of_caption)
        vocabulary = [".", ",", *(f"w{k}" for k in range(rng.integers(2, 9)))]
        longest = [25, 12, 70, 90][seed % 4]
        captions = [" ".join(rng.choice(vocabulary, size=rng.integers(0, longest))) for _ in image_of_caption]
        captions[0] = "w0 w1"
        return captions, image_of_caption

    return make


@pytest.fixture(
    params=["unequal", "one caption per image", "one image", "not image-major"],
)
def hostile_corpus(request: pytest.FixtureRequest) -> Made:
    """Captions without words, of punctuation, repeated, very long and with odd characters."""
    pairing = {
        "unequal": [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 4],
        "one caption per image": list(range(16)),
        "one image": [0] * 16,
        "not image-major": [3, 2, 1, 0] * 4,
    }[request.param]
    return list(HOSTILE), np.array(pairing)


@pytest.fixture(scope="session")
def cells() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Chosen (caption, image) pairs: every own image and some others, repeated and out of order."""

    def choose(image_of_caption: np.ndarray, seed: int = 0, others: int = 60) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        captions = np.concatenate([np.arange(len(image_of_caption)), rng.integers(0, len(image_of_caption), others)])
        images = np.concatenate([image_of_caption, rng.integers(0, image_of_caption.max() + 1, others)])
        order = rng.permutation(len(captions))
        return captions[order], images[order]

    return choose


@pytest.fixture(scope="session")
def references_of() -> Callable[..., list[int]]:
    """Caption indices of an image, without one of them if that is asked for."""

    def references(image_of_caption: np.ndarray, image: int, without: int | None = None) -> list[int]:
        return [index for index in np.flatnonzero(image_of_caption == image).tolist() if index != without]

    return references
