"""`fivesentences evaluate --device cuda`: what is asked for before anything is read, and the numbers it gives."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def embeddings(folder):
    np.save("img.npy", np.load("image_emb.npy")[::5])
    np.save("txt.npy", np.load("text_emb.npy"))


@pytest.fixture
def on_processor(monkeypatch):
    """Torch is asked for as on a GPU, and computes on the processor."""
    monkeypatch.setattr("fivesentences.commands.evaluate.device_named", lambda name: "cpu")


def values(run, *words):
    said = run("evaluate", *words, "--csv", "out.csv")
    assert said.code == 0, said.err
    return [row for row in csv.DictReader(Path("out.csv").open()) if row.pop("file")]


@pytest.mark.slow  # torch is imported
def test_the_numbers_are_those_of_the_processor(run, embeddings, on_processor):
    for given in (["img.npy,txt.npy"], ["a=img.npy,txt.npy", "b=img.npy,txt.npy,t2i=img.npy,txt.npy", "--no-compare"]):
        given = [*given, "--captions", "captions.txt", "--metric", "cider"]
        assert values(run, *given, "--device", "cuda") == values(run, *given, "--in-blocks")


@pytest.mark.slow
def test_parts_of_a_gpu_are_joined_with_those_of_processors(run, embeddings, on_processor):
    given = ["img.npy,txt.npy", "--captions", "captions.txt", "--metric", "cider"]
    for number, device in ((1, "cuda"), (2, "cpu")):
        said = run("evaluate", *given, "--queries", f"{number}/2", "--device", device, "--json", f"part{number}.json")
        assert said.code == 0, said.err
    assert values(run, "part1.json", "part2.json") == values(run, *given, "--in-blocks")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sims.npy"], ["--device", "sims.npy is a similarity", "IMAGES,TEXTS"]),
        (["img.npy,txt64.npy"], ["float64", "save all as float32"]),
        (["img.npy,txt.npy", "--whole"], ["--device cuda", "--whole", "leave one out"]),
        (["img.npy,txt64.npy", "--queries", "1/2"], ["float64"]),
    ],
)
def test_what_a_gpu_cannot_read_is_refused(run, embeddings, on_processor, words, said):
    np.save("txt64.npy", np.load("txt.npy").astype(np.float64))
    done = run("evaluate", *words, "--device", "cuda", "--json", "out.json")
    assert done.code == 1 and len(done.err.strip().splitlines()) == 1
    assert all(part in done.err for part in said), done.err
    assert not Path("out.json").exists()


def test_without_torch_or_a_gpu_a_sentence_names_the_cure(run, embeddings, monkeypatch):
    monkeypatch.setattr("fivesentences.machine.best_device", lambda: "cpu")
    done = run("evaluate", "img.npy,txt.npy", "--device", "cuda")
    assert done.code == 1 and "torch finds no CUDA device; use 'cpu'" in done.err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = run("evaluate", "img.npy,txt.npy", "--device", "cuda")
    assert done.code == 1 and "--device cuda needs torch, which is not installed" in done.err and ".[train]" in done.err
