"""Captions in another order than their images get a note; captions in order never do."""

import numpy as np
import pytest

from fivesentences import evaluate
from fivesentences.semantics import cider_matrix
from fivesentences.semantics.caption_order import note_on_order

WORDS = [f"w{number}" for number in range(60)]


def drawn(n_images: int, per_image: int = 5, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Captions, each of some of its image's words among common ones, and the words of each image."""
    rng = np.random.default_rng(seed)
    words = np.array([rng.choice(len(WORDS), 6, replace=False) for _ in range(n_images)])
    captions = [
        " ".join(["a", "the", *(WORDS[word] for word in rng.choice(of_image, 4, replace=False))])
        for of_image in words
        for _ in range(per_image)
    ]
    return captions, np.array([np.isin(np.arange(len(WORDS)), of_image) for of_image in words], dtype=float)


def interleaved(captions: list[str], per_image: int = 5) -> list[str]:
    return [caption for first in range(per_image) for caption in captions[first::per_image]]


def shuffled(captions: list[str]) -> list[str]:
    return [captions[place] for place in np.random.default_rng(1).permutation(len(captions))]


def similarity_of(captions: list[str], words: np.ndarray) -> np.ndarray:
    """Scores of a model that knows words, with noise."""
    spoken = np.array([[word in caption.split() for word in WORDS] for caption in captions], dtype=float)
    return words @ spoken.T + np.random.default_rng(2).normal(size=(len(words), len(captions))) / 2


@pytest.mark.parametrize("n_images", [1, 2, 3, 5, 10, 20, 40, 100])
@pytest.mark.parametrize("per_image", [1, 2, 5])
def test_captions_in_order_get_no_note(n_images, per_image):
    for seed in range(10):
        captions, _ = drawn(n_images, per_image, seed)
        assert note_on_order(captions, np.arange(len(captions)) // per_image, "captions.txt") == []


@pytest.mark.parametrize("n_images", [40, 200])
def test_an_interleaved_order_is_named(n_images):
    captions, _ = drawn(n_images)
    (note,) = note_on_order(interleaved(captions), np.arange(len(captions)) // 5, "captions.txt")
    assert "captions.txt" in note and "one for each image" in note
    assert note_on_order(interleaved(captions), np.arange(len(captions)) % n_images, "captions.txt") == []


def test_a_shuffle_and_a_wrong_pairing_get_a_note():
    captions, _ = drawn(200)
    pairing = np.arange(1000) // 5
    assert len(note_on_order(shuffled(captions), pairing, "captions.txt")) == 1
    assert len(note_on_order(captions, np.random.default_rng(3).permutation(pairing), "captions.txt")) == 1


def test_one_caption_per_image_that_is_taken_for_a_fifth_gets_a_note(capsys):
    captions, _ = drawn(200, 1)
    cider_matrix(captions)
    assert "cider_matrix" in capsys.readouterr().err
    cider_matrix(captions, np.arange(200))
    assert not capsys.readouterr().err


@pytest.mark.parametrize("captions", [["same words"] * 500, [""] * 500, ["一个人在海边走"] * 500])
def test_captions_that_say_nothing_get_no_note(captions):
    assert note_on_order(captions, np.arange(500) // 5, "captions.txt") == []


@pytest.mark.parametrize("reorder", [interleaved, shuffled, lambda captions: captions[500:] + captions[:500]])
def test_a_phi_of_captions_in_another_order_gets_a_note(reorder):
    captions, words = drawn(200)
    similarity, pairing = similarity_of(captions, words), np.arange(1000) // 5

    def notes(phi, scores=similarity):
        found = evaluate(scores, {"other": phi}, asp_ties=()).about["notes"]
        return [note for note in found if note.startswith("phi other")]

    assert notes(cider_matrix(captions, pairing)) == []
    assert len(notes(cider_matrix(reorder(captions), pairing))) == 1
    by_chance = np.random.default_rng(4).normal(size=(200, 1000))  # which has another note
    assert notes(cider_matrix(captions, pairing), by_chance) == []


def test_a_phi_or_a_similarity_that_knows_own_items_alone_gets_no_note():
    captions, words = drawn(100)
    own = (np.arange(500)[:, None] // 5 == np.arange(100)).astype(float)
    for similarity, phi in ((similarity_of(captions, words), own), (own.T, cider_matrix(captions))):
        assert not any(note.startswith("phi other") for note in evaluate(similarity, {"other": phi}).about["notes"])
