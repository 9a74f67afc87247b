"""A dataset's block of the configuration decides the loader."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from fivesentences.config.datasets import CatalogueData, FolderData, PrecompData
from fivesentences.corpus import load


def test_each_block_is_read_by_its_loader(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    (tmp_path / "c.csv").write_text("filename,caption,split\na.jpg,a dog,train\n")
    block = FolderData(loader="folder", photographs=tmp_path, captions=tmp_path / "c.csv")
    assert load("mine", block, tmp_path / "c.csv").captions == ["a dog"]

    image = {"filename": "1.jpg", "split": "test", "sentences": [{"raw": "a cat"}]}
    (tmp_path / "d.json").write_text(json.dumps({"images": [image]}))
    assert load("coco", CatalogueData(loader="karpathy"), tmp_path / "d.json").captions == ["a cat"]

    (tmp_path / "dev_caps.txt").write_text("a bird\n" * 5)
    corpus = load("f30k", PrecompData(loader="precomp", folder=tmp_path), tmp_path)
    assert corpus.name == "f30k" and corpus.captions == ["a bird"] * 5


def test_order_and_captions_of_a_karpathy_block_are_applied_and_kept_when_some_splits_are_read(tmp_path):
    def image(name, split):
        return {"filename": f"{name}.jpg", "split": split, "sentences": [{"raw": f"{name} {k}"} for k in range(3)]}

    images = [image("a", "restval"), image("b", "test"), image("c", "train")]
    (tmp_path / "d.json").write_text(json.dumps({"images": images}))
    block = CatalogueData(loader="karpathy", order="released", captions_per_image=2, splits=["train"])
    corpus = load("coco", block, tmp_path / "d.json")
    assert corpus.captions == ["c 0", "c 1", "a 0", "a 1"]
    assert corpus.read_as == {"order": "released", "captions_per_image": 2}


@pytest.mark.parametrize("given", [{"order": "released"}, {"captions_per_image": 5}])
def test_loaders_without_that_choice_refuse_it(given):
    with pytest.raises(ValidationError, match=f"{next(iter(given))} is given, but only the loader karpathy reads it"):
        CatalogueData(loader="flickr8k", **given)
