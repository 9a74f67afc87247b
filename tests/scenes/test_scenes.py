"""The drawn corpus: same seed same bytes, captions of five people, and truth that anyone can recompute."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.scenes import DescribedScene, compose, generate, truth_of

FILES = ("photographs.zip", "tuples.jsonl.gz", "labels.parquet", "truth.npy", "facts.jsonl.gz")
TRAIN, DEV, TEST = 12, 3, 5
DEFAULT_IMAGES = 1100
IRREGULAR = {
    "men": "man", "women": "woman", "gentlemen": "gentleman", "children": "child", "people": "person",
    "puppies": "puppy", "kitties": "kitty", "ponies": "pony", "ladies": "lady", "cacti": "cactus", "snowmen": "snowman",
}  # fmt: skip
OWN = np.repeat(np.arange(DEFAULT_IMAGES), 5)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Corpus]:
    folder = tmp_path_factory.mktemp("scenes")
    return folder, generate(folder, seed=5, train=TRAIN, dev=DEV, test=TEST)


@pytest.fixture(scope="module")
def default_size() -> list[DescribedScene]:
    return compose(2022, DEFAULT_IMAGES)


@pytest.fixture(scope="module")
def truth(default_size: list[DescribedScene]) -> np.ndarray:
    return truth_of(default_size)


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def words(caption: str) -> list[str]:
    return re.findall(r"[a-z-]+", caption.lower())


def test_the_same_seed_gives_the_same_bytes(small, tmp_path):
    folder, corpus = small
    again = generate(tmp_path, seed=5, train=TRAIN, dev=DEV, test=TEST)
    assert digests(tmp_path) == digests(folder)
    pd.testing.assert_frame_equal(again.table, corpus.table)


def test_another_seed_gives_other_bytes(small, tmp_path):
    folder, corpus = small
    other = generate(tmp_path, seed=6, train=TRAIN, dev=DEV, test=TEST)
    changed, before = digests(tmp_path), digests(folder)
    assert all(changed[name] != before[name] for name in FILES)
    assert other.captions != corpus.captions


def test_an_image_does_not_depend_on_the_sizes_of_the_splits():
    assert compose(5, 3) == compose(5, 6)[:3]


def test_nothing_is_left_beside_the_files(small):
    folder, _ = small
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def test_the_corpus_has_the_splits_it_was_asked_for(small):
    _, corpus = small
    assert corpus.name == "scenes"
    assert corpus.images["split"].tolist() == ["train"] * TRAIN + ["dev"] * DEV + ["test"] * TEST
    assert corpus.n_captions == 5 * (TRAIN + DEV + TEST)
    assert corpus.images["category"].notna().all()


def test_every_photograph_opens_and_no_two_are_alike(small):
    folder, corpus = small
    with zipfile.ZipFile(folder / "photographs.zip") as archive:
        assert archive.namelist() == corpus.images["filename"].tolist()
        seen = set()
        for entry in archive.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            picture = Image.open(io.BytesIO(archive.read(entry)))
            assert picture.size == (224, 168)
            assert picture.mode == "RGB"
            pixels = np.asarray(picture)
            assert pixels.std() > 15  # not an empty sheet
            seen.add(pixels.tobytes())
    assert len(seen) == corpus.n_images


def test_labels_name_the_kinds_that_the_scene_holds(small):
    folder, corpus = small
    labels = pd.read_parquet(folder / "labels.parquet")
    assert labels["image_id"].tolist() == corpus.images["image_id"].tolist()
    kinds = labels.drop(columns="image_id")
    assert all(dtype.kind == "b" for dtype in kinds.dtypes)
    for (_, row), line in zip(kinds.iterrows(), lines_of(folder / "facts.jsonl.gz"), strict=True):
        assert set(kinds.columns[row]) == {thing["kind"] for thing in line["things"]}


def test_tuples_are_spice_tuples_in_the_captions_own_words(small):
    folder, corpus = small
    lines = lines_of(folder / "tuples.jsonl.gz")
    assert [line["caption_id"] for line in lines] == corpus.table["caption_id"].tolist()
    for line, caption in zip(lines, corpus.captions, strict=True):
        assert line["tuples"]
        assert len({tuple(t) for t in line["tuples"]}) == len(line["tuples"])
        objects = {t[0] for t in line["tuples"] if len(t) == 1}
        for t in line["tuples"]:
            assert 1 <= len(t) <= 3
            assert all(word and word == word.lower().strip() for word in t)
            assert t[0] in objects  # whatever has an attribute or a relation is an object too
        singular = caption.lower()
        for plural, one in IRREGULAR.items():
            singular = re.sub(rf"\b{plural}\b", one, singular)
        for noun in objects:  # a regular plural begins with its singular
            assert re.search(rf"\b{noun}", singular), (noun, caption)


def test_truth_equals_a_slow_count_over_the_facts_file(small):
    folder, _ = small
    truth = np.load(folder / "truth.npy")
    lines = lines_of(folder / "facts.jsonl.gz")
    claims = [claim for line in lines for claim in line["claims"].values()]
    assert truth.dtype == np.float32
    assert truth.shape == (len(claims), len(lines))
    for c, of_caption in enumerate(claims):
        for i, line in enumerate(lines):
            holding = [all(fact in line["facts"] for fact in asserted) for asserted in of_caption]
            assert truth[c, i] == np.float32(sum(holding) / len(holding))


def test_facts_follow_from_what_a_scene_holds(small):
    # Written from the documentation, for objects, colours, numbers and doings, without the package's closure.
    folder, _ = small
    more_general = {"dog": "animal", "boy": "person", "girl": "person", "man": "person", "woman": "person"}
    for line in lines_of(folder / "facts.jsonl.gz"):
        facts = {tuple(fact) for fact in line["facts"]}
        for thing in line["things"]:
            kind = thing["kind"]
            assert (kind,) in facts
            if kind in more_general:
                assert (more_general[kind],) in facts
            if thing["action"]:
                assert (kind, thing["action"]) in facts
            if thing["colour"]:
                assert (
                    ("shirt", thing["colour"]) if more_general.get(kind) == "person" else (kind, thing["colour"])
                ) in facts
            if thing["count"] == 2:
                assert (kind, "two") in facts
        for subject, verb, other in line["relations"]:
            first, second = line["things"][subject]["kind"], line["things"][other]["kind"]
            assert (first, second, verb) in facts
            assert (first, second, "near") in facts
            assert (second, first, "near") in facts
        kinds = {thing["kind"] for thing in line["things"]}
        assert ("cat",) not in facts or "cat" in kinds
        assert ("animal",) not in facts or kinds & {"dog", "cat", "horse", "cow", "sheep", "camel", "bird", "duck"}


def test_every_image_has_five_different_captions(default_size):
    for one in default_size:
        texts = [caption.text for caption in one.captions]
        assert len(set(texts)) == 5
        assert all(len(words(text)) >= 3 for text in texts)


def test_captions_are_clean_text(default_size):
    for one in default_size:
        for caption in one.captions:
            text = caption.text
            assert text == " ".join(text.split())
            assert text[0].isupper()
            assert not re.search(r"\ba [aeio]|\ban [^aeiou]| , ,|, \.|\b(\w+) \1\b", text.lower()), text


def test_the_vocabulary_has_at_least_300_words(default_size):
    vocabulary = {word for one in default_size for caption in one.captions for word in words(caption.text)}
    assert len(vocabulary) >= 300


def test_people_are_mostly_right_and_sometimes_wrong(truth):
    own = truth[np.arange(len(OWN)), OWN]
    wrong = (own < 1).mean()
    assert 0.10 < wrong < 0.22
    assert own.mean() > 0.9


def test_for_half_of_the_images_a_foreign_caption_is_truer_than_the_least_true_own_one(truth):
    own = truth[np.arange(len(OWN)), OWN].reshape(-1, 5)
    foreign = np.where(OWN[:, None] == np.arange(DEFAULT_IMAGES), -1.0, truth)
    assert (foreign.max(axis=0) > own.min(axis=1)).mean() >= 0.5


def test_captions_tell_images_apart(truth):
    # Foreign captions fit partly, few fit wholly.
    foreign = truth[OWN[:, None] != np.arange(DEFAULT_IMAGES)]
    assert 0.1 < foreign.mean() < 0.4
    assert (foreign == 1).mean() < 0.03


@pytest.mark.parametrize("sizes", [{"train": 0}, {"dev": 0}, {"test": -1}])
def test_an_empty_split_is_refused_before_anything_is_written(sizes, tmp_path):
    asked = {"train": 1, "dev": 1, "test": 1} | sizes
    with pytest.raises(InputError, match=f"{next(iter(sizes))} is .*at least 1 image"):
        generate(tmp_path / "new", seed=0, **asked)
    assert not (tmp_path / "new").exists()


def test_a_negative_seed_is_refused(tmp_path):
    with pytest.raises(InputError, match="seed is -1"):
        generate(tmp_path, seed=-1, train=1, dev=1, test=1)
