"""Corpora that several metrics are tested on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

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
        longest = [25, 12, 70, 150][seed % 4]
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
