"""Captions in another order than their images get a note; captions in order never do."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import shipped_example as example
from fivesentences import evaluate
from fivesentences.semantics import cider_matrix
from fivesentences.semantics.caption_order import note_on_candidates, note_on_order

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


# --- where the order breaks ---------------------------------------------------------------------------------

EXAMPLE = np.arange(1000)
LINES = {  # orders of 1,000 lines, five per image, and the first line of which another image is described
    "a line lost at the top": (np.roll(EXAMPLE, -1), 5),
    "a line added at the top": (np.roll(EXAMPLE, 1), 6),
    "two lines lost at the top": (np.roll(EXAMPLE, -2), 4),
    "a line lost in the middle": (example.moved(1000, 502, 999), 505),
    "a line moved by 200": (example.moved(1000, 100, 300), 105),
    "a line doubled": (example.doubled(1000, 300), 301),
    "a block shuffled": (example.block(1000, 400, 200), 401),
    "all shuffled": (np.random.default_rng(0).permutation(1000), 1),
    "halves of lines, two of five off": (np.roll(EXAMPLE, 502), 4),
}


@pytest.mark.parametrize("kind", LINES)
def test_the_first_line_out_of_place_is_named(kind):
    order, first = LINES[kind]
    (note,) = note_on_order([example.captions()[line] for line in order], example.OWNER, "captions.txt")
    line = int(re.search(r"line ([\d,]+)", note)[1].replace(",", ""))
    assert abs(line - first) <= 5 * 4, note


def test_the_shipped_captions_get_no_note_and_neither_do_images_in_another_order():
    for order in (np.arange(200), np.arange(200)[::-1], np.random.default_rng(0).permutation(200)):
        texts = [example.captions()[line] for line in example.of_captions(order)]
        assert note_on_order(texts, example.OWNER, "captions.txt") == []


# Single captions of a poor model, as these are, cannot be told one by one from misplaced ones, moved ones can.
@pytest.mark.parametrize(
    "kind",
    [kind for kind, (_, first) in example.ORDERS.items() if first is not None and "shuffled" not in kind],
)
def test_candidates_in_another_order_are_told_with_the_place(kind):
    order, first = example.ORDERS[kind][0](200), example.ORDERS[kind][1]
    references = [example.captions()[start : start + 5] for start in range(0, 1000, 5)]
    assert note_on_candidates(example.generated(), references) == []
    (note,) = note_on_candidates([example.generated()[image] for image in order], references)
    line = int(re.search(r"line ([\d,]+)", note)[1].replace(",", ""))
    assert abs(line - 1 - first) <= 5, note


def real_captions(mirror) -> dict[str, list[list[str]]]:
    """Captions by image of the test splits of Flickr8k, Flickr30K and COCO, and of Pascal Sentences."""
    found = {}
    with zipfile.ZipFile(mirror / "flickr8k" / "Flickr8k_text.zip") as file:
        names = {Path(name).name: name for name in file.namelist() if "MACOSX" not in name}
        groups: dict[str, list[str]] = {}
        for line in file.read(names["Flickr8k.token.txt"]).decode().splitlines():
            key, text = line.split("\t", 1)
            groups.setdefault(key.split("#")[0], []).append(text)
        found["flickr8k"] = [groups[name] for name in file.read(names["Flickr_8k.testImages.txt"]).decode().split()]
    for folder, archive, inside in (
        ("flickr30k", "flickr30k.zip", "flickr30k/dataset.json"),
        ("coco", "coco_test5k.zip", "coco/dataset_test5k.json"),
    ):
        with zipfile.ZipFile(mirror / folder / archive) as file:
            images = json.loads(file.read(inside))["images"]
        found[folder] = [[one["raw"] for one in image["sentences"]] for image in images if image["split"] == "test"]
    pascal = json.loads((mirror / "pascal_sentences" / "pascal_sentences.json").read_text())
    found["pascal"] = [image["captions"] for image in pascal.values()]
    return found


@pytest.mark.data
@pytest.mark.slow
def test_real_captions_and_hundreds_of_their_subsets_get_no_note_and_a_lost_line_gets_one(mirror):
    rng = np.random.default_rng(0)
    for name, groups in real_captions(mirror).items():
        for trial in range(301):
            size = len(groups) if trial == 0 else int(rng.integers(2, 300))
            images = np.arange(size) if trial == 0 else np.sort(rng.permutation(len(groups))[:size])
            per_image = None if trial % 3 else 1 if trial % 2 else 3
            some = [groups[image][:per_image] for image in images]
            owner = np.repeat(np.arange(size), [len(group) for group in some])
            texts = [text for group in some for text in group]
            assert note_on_order(texts, owner, name) == [], trial
            if len(some[0]) > 2 and trial < 100:
                candidates, references = [group[0] for group in some], [group[1:] or group for group in some]
                assert note_on_candidates(candidates, references) == [], trial
        lost = note_on_order([*texts_of(groups)[1:], texts_of(groups)[0]], owner_of(groups), name)
        assert len(lost) == 1 and "line" in lost[0]


def texts_of(groups):
    return [text for group in groups for text in group]


def owner_of(groups):
    return np.repeat(np.arange(len(groups)), [len(group) for group in groups])
