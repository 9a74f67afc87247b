"""Pascal Sentences as a corpus."""

from __future__ import annotations

import json

import pytest

from fivesentences.config.datasets import CatalogueData
from fivesentences.corpus import load
from fivesentences.corpus.pascal_sentences import load_pascal_sentences

IMAGES = {
    "b_1.jpg": {"category": "bird", "captions": ["A bird.", "A  bird\nflies ."]},
    "a_2.jpg": {"category": "cat", "captions": ["A cat."]},
}


@pytest.fixture
def file(tmp_path):
    def file(content):
        (tmp_path / "pascal.json").write_text(json.dumps(content))
        return tmp_path / "pascal.json"

    return file


def test_images_come_in_file_order_with_their_category(file):
    corpus = load("pascal", CatalogueData(loader="pascal_sentences"), file(IMAGES))
    assert corpus.name == "pascal" and corpus.splits == ["all"]
    assert corpus.images["image_id"].tolist() == ["b_1", "a_2"]
    assert corpus.images["filename"].tolist() == ["b_1.jpg", "a_2.jpg"]
    assert corpus.images["category"].tolist() == ["bird", "cat"]
    assert corpus.captions == ["A bird.", "A bird flies .", "A cat."]
    assert corpus.caption_ids == ["b_1.jpg#0", "b_1.jpg#1", "a_2.jpg#0"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], ("pascal.json", "map filenames")),
        ({}, ("map filenames",)),
        ({"a.jpg": ["A cat."]}, ("'a.jpg' has no category",)),
        ({"a.jpg": {"category": "", "captions": ["A cat."]}}, ("'a.jpg' has no category",)),
        ({"a.jpg": {"category": "cat", "captions": []}}, ("'a.jpg' has no list of captions",)),
        ({"a.jpg": {"category": "cat", "captions": "A cat."}}, ("'a.jpg' has no list of captions",)),
        ({"a.jpg": {"category": "cat", "captions": ["x", " "]}}, ("'a.jpg': caption 1 is empty",)),
    ],
)
def test_what_is_missing_is_named(file, refused, content, words):
    with refused(*words):
        load_pascal_sentences(file(content))


@pytest.mark.data
def test_the_real_file(mirror):
    corpus = load_pascal_sentences(mirror / "pascal_sentences" / "pascal_sentences.json")
    assert (corpus.n_images, corpus.n_captions) == (1000, 4998)
    assert corpus.images["category"].value_counts().tolist() == [50] * 20
