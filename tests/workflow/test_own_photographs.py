"""A user's own photographs: their content decides what is made again, their times do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

PROJECT = Path(__file__).parents[2]
OPTIONS = ("--workflow-profile", "none", "--cores", "2", "--configfile", "mine.yaml")

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def snakemake(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "snakemake", *arguments, "-s", str(PROJECT / "Snakefile"), *OPTIONS]
    done = subprocess.run([*command, "--directory", str(folder)], cwd=folder, capture_output=True, text=True)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-4000:]
    return output


def to_do(folder: Path, *targets: str) -> set[str]:
    """The rules that a dry run would run."""
    lines = [line.split() for line in snakemake(folder, *targets, "-n").splitlines()]
    rules = {words[0] for words in lines if len(words) == 2 and words[0].isidentifier() and words[1].isdigit()}
    return rules - {"total", "all", *targets}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``config/my_images.yaml`` with its two paths edited and fewer settings, twelve photographs and their captions."""
    scale = yaml.safe_load((PROJECT / "config" / "my_images.yaml").read_text())
    scale["datasets"]["my_images"] |= {"photographs": "images", "captions": "captions.csv"}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(scale))
    (tmp_path / "images").mkdir()
    rows, rng = ["filename;caption;split"], np.random.default_rng(0)
    for number in range(12):
        Image.fromarray(rng.integers(0, 256, (20, 20, 3), dtype=np.uint8)).save(tmp_path / f"images/{number}.png")
        split = ("Train", "Val", "Test")[number % 3]
        rows += [f"{number}.png;A picture, {number}, of kind {kind};{split}" for kind in range(1 + number % 2)]
    (tmp_path / "captions.csv").write_text("\r\n".join(rows), encoding="utf-8-sig")
    return tmp_path


def test_edited_and_removed_photographs_are_read_again_and_touched_or_recopied_ones_are_not(folder: Path) -> None:
    snakemake(folder, "features")
    images, saved = folder / "images", folder / "saved"
    assert np.load(folder / "results/features/my_images/grid_descriptors-global.npy").shape == (12, 1199)

    images.rename(saved)
    shutil.copytree(saved, images, copy_function=shutil.copyfile)  # the same bytes with other times and inodes
    os.utime(images / "1.png")
    assert to_do(folder, "features") == set()

    shutil.copyfile(images / "3.png", images / "4.png")
    assert to_do(folder, "features") == {"extract_features"}

    (images / "4.png").unlink()
    assert to_do(folder, "features") == {"load_corpus", "extract_features"}
