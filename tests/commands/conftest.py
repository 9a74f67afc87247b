"""The command line in a folder of its own, with a small model to score."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from fivesentences.evaluation.protocols import PROTOCOLS, Protocol
from fivesentences.semantics import write_phi

WORDS = ["dog", "cat", "boat", "tree", "house", "ball", "river", "girl", "boy", "horse", "red", "blue", "runs", "sits"]


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    """Captions of 20 images, phi, embeddings of a model that knows their words, similarities, and ids."""
    folder, rng = tmp_path_factory.mktemp("small_model"), np.random.default_rng(0)
    captions, images, texts = [], [], []
    for _ in range(20):
        chosen = rng.choice(len(WORDS), 5, replace=False)
        images.append(np.isin(np.arange(len(WORDS)), chosen) + 0.4 * rng.normal(size=len(WORDS)))
        for _ in range(5):
            said = rng.permutation(chosen)[: int(rng.integers(2, 5))]
            captions.append("a " + " ".join(WORDS[word] for word in said))
            texts.append(np.isin(np.arange(len(WORDS)), said) + 0.4 * rng.normal(size=len(WORDS)))
    image_rows, text_rows = np.array(images, dtype=np.float32), np.array(texts, dtype=np.float32)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (image_rows, text_rows)]
    similarity = unit[0] @ unit[1].T
    arrays = {"image_emb": np.repeat(image_rows, 5, axis=0), "text_emb": text_rows, "sims": similarity}
    arrays["other"] = (similarity + rng.normal(size=(20, 100)) / 3).astype(np.float32)
    arrays["third"] = (similarity + rng.normal(size=(20, 100)) / 6).astype(np.float32)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "captions.txt").write_text("".join(f"{caption}\n" for caption in captions))
    write_phi("cider", captions, np.arange(100) // 5, folder / "cider.npy", captions_file="captions.txt")
    return folder


@pytest.fixture
def folder(small_model, tmp_path, monkeypatch) -> Path:
    """A copy of the small model's files, in which the test runs, and protocols of their size."""
    shutil.copytree(small_model, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for name, folds, words in (("coco-1k-5fold", 5, "five folds of four"), ("coco-1k-first", 1, "the first four")):
        monkeypatch.setitem(PROTOCOLS, name, Protocol(name, 20, 100, 4, folds, words))
    return tmp_path
