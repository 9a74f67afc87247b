"""A gallery that is cut into jobs by ``workflow/gallery.smk``: the numbers of one command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from workflow.conftest import PROJECT, jobs, said

pytestmark = [pytest.mark.slow, pytest.mark.workflow]


def test_jobs_of_parts_give_the_numbers_of_one_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.normal(size=(30, 8)).astype(np.float32)
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "texts.npy", np.repeat(images, 5, axis=0) + rng.normal(size=(150, 8)).astype(np.float32))
    words = "a dog runs over green grass while two men play near some red houses by the sea"
    lines = [" ".join(rng.choice(words.split(), 6)) for _ in range(150)]
    (tmp_path / "captions.txt").write_text("\n".join(lines) + "\n")
    files = ["images=images.npy", "texts=texts.npy", "captions=captions.txt", "phi=cider,tfidf", "metrics=--ks 1,3"]
    workflow = ("snakemake", "-s", PROJECT / "workflow/gallery.smk", "--cores", 2, "--config", *files, "parts=3")
    said(tmp_path, *workflow)
    both = ("--metric", "cider", "--metric", "tfidf", "--ks", "1,3", "--in-blocks", "--json", "whole.json")
    said(tmp_path, "fivesentences", "evaluate", "images.npy,texts.npy", "--captions", "captions.txt", *both)
    joined, whole = (json.loads((tmp_path / name).read_text()) for name in ("gallery/numbers.json", "whole.json"))
    assert [row["value"] for row in joined["values"]] == [row["value"] for row in whole["values"]]
    assert "Nothing to be done" in said(tmp_path, *workflow)
    for name in ("part2", "numbers"):  # as where a job was killed
        (tmp_path / f"gallery/{name}.json").unlink()
    assert jobs(said(tmp_path, *workflow)) == {"score_part": 1, "join_parts": 1}
