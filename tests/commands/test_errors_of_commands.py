"""Errors name the file and what to type; what cannot be written is said before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np

from fivesentences.commands.arguments import Dataset
from fivesentences.evaluation.protocols import PROTOCOLS


def test_phi_of_another_pairing_or_other_captions_is_refused(run, folder):
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(20), 5))
    Path("images.txt").write_text("".join(f"{image}\n" for image in order))
    Path("turned.txt").write_text("".join(reversed(Path("captions.txt").read_text().splitlines(keepends=True))))
    run("phi", "cider", "captions.txt", "-o", "other.npy", "--image-of-caption", "images.txt")
    run("phi", "cider", "turned.txt", "-o", "turned.npy")
    for arguments in ("evaluate sims.npy --phi other.npy", "compare sims.npy sims.npy --phi other.npy"):
        said = run(*arguments.split())
        assert said.code == 1 and "other.npy: phi was made from other images of these captions" in said.err
    said = run("evaluate", "sims.npy", "--phi", "turned.npy", "--captions", "captions.txt", "--metric", "bleu2")
    assert said.code == 1 and "turned.npy: phi was made from other captions" in said.err


def test_wrong_options_end_with_2(run, folder):
    for arguments in (
        "evaluate",
        "evaluate sims.npy --no-such-option",
        "evaluate sims.npy --dataset bogus",
        "evaluate sims.npy --ks 0",
        "evaluate sims.npy --map-cutoffs 0",
        "evaluate sims.npy --json - --csv -",
        "evaluate sims.npy --eccv --cxc x.csv",
        "compare sims.npy sims.npy --method bogus",
        "similarity x --split bogus -o o.npy",
    ):
        said = run(*arguments.split())
        assert said.code == 2 and "Usage: fivesentences" in said.err, arguments
    assert "--ks" in (said := run("evaluate", "sims.npy", "--ks", "1,x").err) and "such as 1,5,10" in said


def test_choices_are_those_of_the_library():
    assert set(get_args(Dataset)) == set(PROTOCOLS)


def test_help_keeps_its_square_brackets_and_says_the_version(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = run("evaluate", "--help").out
    assert "[images, captions]" in said and "[captions, dim]" in said and "[[" not in said
    assert all(len(line) <= 80 for line in said.splitlines())
    assert run("--version").out.startswith("fivesentences 0.")
