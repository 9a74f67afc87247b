"""Parts of an evaluation on the command line: cut by queries and joined, or what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from edge_cases import refused, right

IMAGES, CAPTIONS = 20, 60
ASK = "--captions captions.txt --image-of-caption own.txt"
PART = f"evaluate images.npy,texts.npy {ASK} --quiet --queries"


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(1)
    owner = np.arange(CAPTIONS) % IMAGES
    images = rng.normal(size=(IMAGES, 8)).astype(np.float32)
    np.save(folder / "images.npy", images)
    np.save(folder / "texts.npy", images[owner] + rng.normal(size=(CAPTIONS, 8)).astype(np.float32))
    np.save(folder / "others.npy", images[owner] + rng.normal(size=(CAPTIONS, 8)).astype(np.float32))
    np.save(folder / "sims.npy", rng.normal(size=(IMAGES, CAPTIONS)))
    words = "a dog runs over green grass while two men play near some red houses by the sea"
    (folder / "captions.txt").write_text("".join(" ".join(rng.choice(words.split(), 6)) + "\n" for _ in owner))
    (folder / "own.txt").write_text("".join(f"{at}\n" for at in owner))
    np.save(folder / "nan.npy", np.where(np.arange(8) == 3, np.nan, images))
    np.save(folder / "cider.npy", rng.random((CAPTIONS, IMAGES)))


def _parts(run, *cuts: str, images: str = "images.npy", texts: str = "texts.npy", stem: str = "part") -> list[str]:
    files = []
    for at, cut in enumerate(cuts):
        files.append(f"{stem}{at}.json")
        said = run("evaluate", f"{images},{texts}", *ASK.split(), "--queries", cut, "--json", files[-1])
        assert said.code == 0, said.err
        assert files[-1] in said.out
    return files


CASES = [
    refused(f"{PART} 0:30 --json p.json", "--queries", "0:30", "20"),
    refused(f"{PART} 3 --json p.json", "--queries", "FIRST:STOP"),
    refused(f"{PART} 0:10", "--json"),
    refused(f"{PART} 0:10 --json -", "--json"),
    refused(f"{PART} 0:10 --json p.json --csv p.csv", "--json"),
    refused(f"{PART} 0:10 --json p.json --trec runs", "--queries"),
    refused(f"{PART} 0:10 --json p.json --inference csls", "--queries"),
    refused(f"{PART} 0:10 --json images.npy", "images.npy"),
    refused(f"evaluate sims.npy {ASK} --queries 0:10 --json p.json", "similarity", "embeddings"),
    refused(f"{PART} 1/2 --phi cider.npy --json p.json", "cider"),
    refused(f"evaluate images.npy,texts.npy images.npy,others.npy {ASK} --queries 1/2 --json p.json", "one model"),
    refused(f"evaluate nan.npy,texts.npy {ASK} --queries 1/2 --json p.json", "nan.npy"),
    right(f"{PART} 2/3 --json second.json", makes=["second.json"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_parts_of_queries(case, carry_out):
    carry_out(case)


def _content(run, *arguments: str) -> dict:
    said = run("evaluate", *arguments, "--json", "-")
    assert said.code == 0, said.err
    return json.loads(said.out)


@pytest.mark.parametrize("cuts", [("0:20",), ("1/3", "2/3", "3/3"), ("0:1", "1:9", "9:20")])
def test_joined_parts_give_the_numbers_of_all_queries(cuts, prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    whole = _content(run, "images.npy,texts.npy", *ASK.split(), "--in-blocks")
    joined = _content(run, *_parts(run, *cuts)[::-1])
    assert [row | {"chance": 0} for row in joined["values"]] == [row | {"chance": 0} for row in whole["values"]]
    chance = [[row["chance"] for row in one["values"] if row["chance"] is not None] for one in (joined, whole)]
    np.testing.assert_allclose(*chance, rtol=1e-10)


def test_models_of_parts_are_compared_as_models_are(prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    files = _parts(run, "1/2", "2/2") + _parts(run, "1/3", "2/3", "3/3", texts="others.npy", stem="other")
    names = [f"one={','.join(files[:2])}", f"other={','.join(files[2:])}"]
    joined = _content(run, *names)
    models = "one=images.npy,texts.npy", "other=images.npy,others.npy"
    whole = _content(run, *models, *ASK.split(), "--in-blocks")
    assert joined["tests"] == whole["tests"] and joined["tests"]


def test_parts_are_of_one_gallery_and_whole(prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    files = _parts(run, "1/2", "2/2")
    for arguments, words in (
        ([files[1]], ("0:10",)),
        ([*files, "images.npy,texts.npy"], ("images.npy",)),
        ([*files, *ASK.split()], ("captions",)),
        ([*files, "--ks", "1,40"], ("--ks",)),
        ([*files, "--trec", "runs"], ("items",)),
    ):
        said = run("evaluate", *arguments)
        assert said.code == 1 and all(word in said.err for word in words), said.err
        assert "Traceback" not in said.err
