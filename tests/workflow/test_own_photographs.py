"""A user's own photographs: their content decides what is made again, their times do not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from workflow.conftest import PROJECT, jobs, snakemake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``config/my_images.yaml`` with its two paths edited, twelve photographs and their captions."""
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


@pytest.mark.workflow
@pytest.mark.slow
def test_edited_and_removed_photographs_are_read_again_and_touched_or_recopied_ones_are_not(folder: Path) -> None:
    snakemake(folder, "mine.yaml", "features", "--cores", 2)
    images, saved = folder / "images", folder / "saved"
    assert np.load(folder / "results/features/my_images/grid_descriptors-global.npy").shape == (12, 1199)

    def to_do() -> set[str]:
        return set(jobs(snakemake(folder, "mine.yaml", "features", "-n"))) - {"features"}

    images.rename(saved)
    shutil.copytree(saved, images, copy_function=shutil.copyfile)  # the same bytes with other times and inodes
    os.utime(images / "1.png")
    assert to_do() == set()

    shutil.copyfile(images / "3.png", images / "4.png")
    assert to_do() == {"extract_features"}

    (images / "4.png").unlink()
    assert to_do() == {"list_images", "extract_features"}
