"""A dataset's block of the configuration decides the loader."""

from __future__ import annotations

import json

from fivesentences.config import CatalogueData, FolderData, PrecompData
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
