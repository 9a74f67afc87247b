"""The drawn corpus: same seed same bytes, an entry per image and caption; captions are varied; truth is a count."""

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

from fivesentences.corpus import Photographs
from fivesentences.corpus.labels import read_labels
from fivesentences.errors import InputError
from fivesentences.reproduction.scenes import compose, generate

FILES = ("facts.jsonl.gz", "labels.parquet", "photographs.zip", "truth.npy", "tuples.jsonl.gz")
IRREGULAR = {
    "men": "man", "women": "woman", "gentlemen": "gentleman", "children": "child", "people": "person",
    "puppies": "puppy", "kitties": "kitty", "ponies": "pony", "ladies": "lady", "cacti": "cactus", "snowmen": "snowman",
}  # fmt: skip


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(small, tmp_path):
    folder, corpus = small
    before = digests(folder)
    assert tuple(before) == FILES  # and nothing is left beside them
    again = generate(tmp_path / "again", seed=5, train=12, dev=3, test=5)
    assert digests(tmp_path / "again") == before
    pd.testing.assert_frame_equal(again.table, corpus.table)
    other = generate(tmp_path / "other", seed=6, train=12, dev=3, test=5)
    assert not set(digests(tmp_path / "other").values()) & set(before.values())
    assert other.captions != corpus.captions
    assert len(Photographs(tmp_path / "other" / "photographs.zip")) == 20
    (tmp_path / "again" / "photographs.zip").replace(tmp_path / "other" / "photographs.zip")  # of the same names
    with pytest.raises(InputError) as error:
        Photographs(tmp_path / "other" / "photographs.zip")
    assert error.value.where == tmp_path / "other" / "photographs.zip"


def test_an_image_does_not_depend_on_the_sizes_of_the_splits():
    assert compose(5, 3) == compose(5, 6)[:3]


def test_the_corpus_has_the_splits_it_was_asked_for(small):
    _, corpus = small
    assert corpus.name == "scenes"
    assert corpus.images["split"].tolist() == ["train"] * 12 + ["dev"] * 3 + ["test"] * 5
    assert corpus.image_of_caption.tolist() == [image for image in range(20) for _ in range(5)]
    assert corpus.images["category"].notna().all()


def test_every_photograph_opens_and_no_two_are_alike(small):
    folder, corpus = small
    with zipfile.ZipFile(folder / "photographs.zip") as archive:
        assert archive.namelist() == corpus.images["filename"].tolist()
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        pictures = [Image.open(io.BytesIO(archive.read(entry))) for entry in archive.infolist()]
    assert {(picture.size, picture.mode) for picture in pictures} == {((224, 168), "RGB")}
    assert all(np.asarray(picture).std() > 15 for picture in pictures)  # no empty sheet
    assert len({picture.tobytes() for picture in pictures}) == corpus.n_images


def test_labels_name_the_kinds_that_the_scene_holds(small, facts):
    folder, corpus = small
    path = folder / "labels.parquet"
    kinds = pd.read_parquet(path).columns.drop("image_id")
    for row, line in zip(read_labels(path, corpus.images["image_id"].tolist()), facts, strict=True):
        assert set(kinds[row]) == {thing["kind"] for thing in line["things"]}


def test_tuples_are_spice_tuples_in_the_captions_own_words(small):
    folder, corpus = small
    lines = [json.loads(line) for line in gzip.decompress((folder / "tuples.jsonl.gz").read_bytes()).splitlines()]
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


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [({"train": 0}, r"0.*1"), ({"dev": 0}, r"0.*1"), ({"test": -1}, r"-1.*1"), ({"seed": -1}, "seed is -1")],
)
def test_an_empty_split_and_a_negative_seed_are_refused_before_anything_is_written(wrong, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence):
        generate(tmp_path / "new", **({"seed": 0, "train": 1, "dev": 1, "test": 1} | wrong))
    assert not (tmp_path / "new").exists()


# --- captions ------------------------------------------------------------------------------------------------


def test_every_image_has_five_different_captions_of_clean_text_in_250_words(many):
    vocabulary = set()
    for one in many:
        texts = [caption.text for caption in one.captions]
        assert len(set(texts)) == 5
        for text in texts:
            words = re.findall(r"[a-z-]+", text.lower())
            assert len(words) >= 3
            assert text == " ".join(text.split())
            assert text[0].isupper()
            assert not re.search(r"\ba [aeio]|\ban [^aeiou]| , ,|, \.|\b(\w+) \1\b", text.lower()), text
            vocabulary.update(words)
    assert len(vocabulary) >= 250


# --- facts and truth -----------------------------------------------------------------------------------------

PERSON = {"boy": "person", "girl": "person", "man": "person", "woman": "person"}
ANIMALS = {"dog", "cat", "horse", "cow", "sheep", "camel", "bird", "duck"}


def test_facts_follow_from_what_a_scene_holds(facts):
    # Written from the documentation, without the package's tables: objects, colours, numbers, actions, relations.
    for line in facts:
        stated = {tuple(fact) for fact in line["facts"]}
        expected: set[tuple[str, ...]] = set()
        for thing in line["things"]:
            kind = thing["kind"]
            expected.add((kind,))
            if kind in PERSON or kind == "dog":
                expected.add((PERSON.get(kind, "animal"),))
            if thing["action"]:
                expected.add((kind, thing["action"]))
            if thing["colour"]:
                expected.add(("shirt" if kind in PERSON else kind, thing["colour"]))
            if thing["count"] == 2:
                expected.add((kind, "two"))
        for subject, verb, other in line["relations"]:
            first, second = line["things"][subject]["kind"], line["things"][other]["kind"]
            expected |= {(first, second, verb), (first, second, "near"), (second, first, "near")}
        assert expected <= stated
        kinds = {thing["kind"] for thing in line["things"]}
        assert ("cat",) not in stated or "cat" in kinds
        assert ("animal",) not in stated or kinds & ANIMALS


def test_truth_equals_a_slow_count_over_the_facts_file(small, facts):
    truth = np.load(small[0] / "truth.npy")
    claims = [claim for line in facts for claim in line["claims"].values()]
    assert truth.dtype == np.float32
    assert truth.shape == (len(claims), len(facts))
    for c, of_caption in enumerate(claims):
        for i, line in enumerate(facts):
            holding = [all(fact in line["facts"] for fact in asserted) for asserted in of_caption]
            assert truth[c, i] == np.float32(sum(holding) / len(holding))


def test_people_are_mostly_right_and_sometimes_wrong(truth, own):
    assert 0.10 < (truth[own] < 1).mean() < 0.22
    assert truth[own].mean() > 0.9


def test_for_half_of_the_images_a_caption_of_another_image_is_truer_than_the_least_true_own_one(truth, own):
    best_of_others = np.where(own, -1.0, truth).max(axis=0)
    assert (best_of_others > truth[own].reshape(-1, 5).min(axis=1)).mean() >= 0.5
