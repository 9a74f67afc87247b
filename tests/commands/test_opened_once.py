"""`fivesentences evaluate` opens every file that it is given once; digests and what no memory map reads stand apart."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

_OPENED: list[Counter] = []  # the last one counts; an audit hook stays for the life of the process


def _count(event: str, arguments: tuple) -> None:
    if _OPENED and event == "open" and isinstance(arguments[0], str | Path):
        _OPENED[-1][os.path.relpath(arguments[0])] += 1


@pytest.fixture(scope="module", autouse=True)
def hook():
    sys.addaudithook(_count)


@pytest.fixture
def opened(folder):
    """How often each file below the folder was opened, by its name in the folder."""
    _OPENED.append(Counter())
    yield _OPENED[-1]
    _OPENED.pop()


@pytest.mark.parametrize(
    "words",
    [
        "sims.npy",
        "sims.npy --captions captions.txt",
        "sims.npy other.npy third.npy --captions captions.txt --metric cider",
        "image_emb.npy,text_emb.npy --captions captions.txt",
        "image_emb.npy text_emb.npy",
        "sims.npy,t2i=other.npy image_emb.npy,text_emb.npy --captions captions.txt --per-query out.parquet",
        "a=sims.npy b=sims.npy --no-compare",
        "sims.npy other.npy --labels labels.npy --image-of-caption images.npy --trec runs",
        "turned.npy also_turned.npy --transposed",
        "one.npz",
        "one.npz other.npy --captions captions.txt",
    ],
)
def test_every_file_is_opened_once(run, opened, words):
    np.save("labels.npy", np.eye(4)[np.arange(20) % 4])
    np.save("images.npy", np.arange(100) // 5)
    np.save("turned.npy", np.load("sims.npy").T)
    np.save("also_turned.npy", np.load("other.npy").T)
    np.savez("one.npz", np.load("sims.npy"))
    opened.clear()
    assert run("evaluate", *words.split()).code == 0
    given = [file.name for file in Path().iterdir() if file.name in words and file.suffix in (".npy", ".npz", ".txt")]
    # First bytes say which reader takes a file, names in an archive whether it holds lists.
    looked_at = {"captions.txt": 2, "one.npz": 2}
    again = {"one.npz": 3} if "one.npz other.npy" in words else {}  # to see whether the two are embeddings
    assert {name: opened[name] for name in given} == dict.fromkeys(given, 1) | {
        name: times for name, times in (looked_at | again).items() if name in given
    }


@pytest.mark.parametrize(("words", "digests"), [("", 0), ("--json out.json", 1)])
def test_phi_is_opened_once_beside_its_checksum(run, opened, words, digests):
    assert run("evaluate", "sims.npy", "--phi", "cider.npy", *words.split()).code == 0
    assert (opened["sims.npy"], opened["cider.npy"]) == (1 + digests, 2 + digests)
    Path("cider.json").unlink()
    opened.clear()
    assert run("evaluate", "sims.npy", "--phi", "cider.npy", *words.split()).code == 0
    assert (opened["sims.npy"], opened["cider.npy"]) == (1 + digests, 1 + digests)


def test_what_takes_memory_is_read_again_of_all_but_the_first_model(run, opened):
    for name in ("sims", "other"):
        np.savetxt(f"{name}.csv", np.load(f"{name}.npy"), delimiter=",")
    opened.clear()
    assert run("evaluate", "sims.csv", "other.csv").code == 0
    assert opened["other.csv"] == 2 * opened["sims.csv"]  # once to check every model before anything is computed
