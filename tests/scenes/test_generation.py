"""The files of the drawn corpus: same seed same bytes, one row or entry per image and per caption."""

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

from fivesentences.corpus.labels import read_labels
from fivesentences.errors import InputError
from fivesentences.scenes import compose, generate

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
