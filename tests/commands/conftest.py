"""The command line in a folder of its own, with a small model to score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

WORDS = ["dog", "cat", "boat", "tree", "house", "ball", "river", "girl", "boy", "horse", "red", "blue", "runs", "sits"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Captions of 20 images, embeddings of a model that knows their words, and its similarity with them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    captions, images, texts = [], [], []
    for _ in range(20):
        chosen = rng.choice(len(WORDS), 5, replace=False)
        images.append(np.isin(np.arange(len(WORDS)), chosen) + 0.4 * rng.normal(size=len(WORDS)))
        for _ in range(5):
            said = rng.permutation(chosen)[: int(rng.integers(2, 5))]
            captions.append("a " + " ".join(WORDS[word] for word in said))
            texts.append(np.isin(np.arange(len(WORDS)), said) + 0.4 * rng.normal(size=len(WORDS)))
    image_rows, text_rows = np.array(images, dtype=np.float32), np.array(texts, dtype=np.float32)
    np.save("image_emb.npy", np.repeat(image_rows, 5, axis=0))
    np.save("text_emb.npy", text_rows)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (image_rows, text_rows)]
    np.save("sims.npy", unit[0] @ unit[1].T)
    np.save("other.npy", (unit[0] @ unit[1].T + rng.normal(size=(20, 100)) / 3).astype(np.float32))
    Path("captions.txt").write_text("".join(f"{caption}\n" for caption in captions))
    return tmp_path
