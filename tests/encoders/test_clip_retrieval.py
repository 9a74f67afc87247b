"""Embeddings in clip-retrieval's layout become a folder of ours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def write(folder, images, texts, paths, captions, parts=2):
    """What clip-retrieval's writer leaves: float16, rows of length 1, numbered parts with as many digits as needed."""
    for name in ("img_emb", "text_emb", "metadata"):
        (folder / name).mkdir(parents=True)
    for part, rows in enumerate(np.array_split(np.arange(len(texts)), parts)):
        np.save(folder / f"img_emb/img_emb_{part}.npy", images[rows].astype(np.float16))
        np.save(folder / f"text_emb/text_emb_{part}.npy", texts[rows].astype(np.float16))
        pd.DataFrame(
            {"image_path": [paths[row] for row in rows], "caption": [captions[row] for row in rows], "key": rows}
        ).to_parquet(folder / f"metadata/metadata_{part}.parquet")


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def pairs():
    """Thirty pairs of six images, shuffled as shards are: images, texts, paths and captions."""
    rng = np.random.default_rng(0)
    owner = rng.permutation(np.repeat(np.arange(6), 5))
    images, texts = unit(rng.normal(size=(6, 8))), unit(rng.normal(size=(30, 8)))
    return images, texts, owner


def given(folder, pairs, **changes):
    images, texts, owner = pairs
    content = {"images": images[owner], "texts": texts, "paths": [f"/data/{number}.jpg" for number in owner],
               "captions": [f"caption {at}" for at in range(30)]}  # fmt: skip
    write(folder, **{**content, **changes})


def test_images_are_there_once_and_captions_know_theirs(run, tmp_path, monkeypatch, pairs):
    from fivesentences.evaluation import evaluate

    monkeypatch.chdir(tmp_path)
    given(Path("laion"), pairs, parts=11)  # 10 comes after 9
    said = run("embed", "clip_retrieval:laion", "-o", "ours")
    assert said.code == 0, said.err
    images, texts, owner = pairs
    order = list(dict.fromkeys(owner.tolist()))
    pairing = np.array([order.index(number) for number in owner])
    assert np.loadtxt("ours/image_of_caption.txt", dtype=int).tolist() == pairing.tolist()
    np.testing.assert_allclose(np.load("ours/images.npy"), images[order], atol=1e-3)
    np.testing.assert_allclose(np.load("ours/captions.npy"), texts, atol=1e-3)
    assert run("evaluate", "ours", "--metric", "bleu4", "--json", "out.json").code == 0
    found = json.loads(Path("out.json").read_text())
    wanted = evaluate(images[order] @ texts.T, image_of_caption=pairing)
    recall = {(one["metric"], one["direction"]): one["value"] for one in found["values"] if one["metric"] == "R@1"}
    assert recall == {("R@1", side): wanted.value("R@1", side) for side in ("i2t", "t2i")}
    assert run("embed", "clip_retrieval:laion", "-o", "ours").code == 0  # again: nothing to do


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"captions": ["one\ntwo"] * 30}, "one text holds 2 lines"),
        ({"captions": [None] * 30}, "which is no text"),
        ({"texts": np.zeros((30, 8))}, "row 0 is zero or not finite"),
        ({"images": unit(np.random.default_rng(5).normal(size=(30, 8)))}, "has another vector than before"),
    ],
)
def test_what_cannot_be_scored_is_refused(run, tmp_path, monkeypatch, pairs, changes, said):
    monkeypatch.chdir(tmp_path)
    given(Path("laion"), pairs, **changes)
    found = run("embed", "clip_retrieval:laion", "-o", "ours")
    assert found.code == 1 and said in found.err and found.err.count("\n") == 1


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "text_emb/text_emb_1.npy").unlink(), "do not have the same parts"),
        (lambda folder: [path.unlink() for path in (folder / "img_emb").iterdir()], "no img_emb/img_emb_0.npy"),
        (lambda folder: np.save(folder / "img_emb/img_emb_0.npy", np.ones((3, 8))), "but the metadata has 15 rows"),
        (lambda folder: np.save(folder / "img_emb/img_emb_1.npy", np.ones((15, 9))), "have 9 dimensions, others 8"),
        (lambda folder: np.save(folder / "text_emb/text_emb_1.npy", np.ones((15, 9))), "have 9 dimensions, others 8"),
        (lambda folder: np.save(folder / "img_emb/img_emb_0.npy", np.array([None]), allow_pickle=True), "img_emb_0"),
        (lambda folder: (folder / "metadata/metadata_0.parquet").write_bytes(b"PAR1"), "metadata_0.parquet"),
    ],
)
def test_a_damaged_folder_is_refused(run, tmp_path, monkeypatch, pairs, damage, said):
    monkeypatch.chdir(tmp_path)
    given(Path("laion"), pairs)
    damage(Path("laion"))
    found = run("embed", "clip_retrieval:laion", "-o", "ours")
    assert found.code == 1 and said in found.err and found.err.count("\n") == 1
