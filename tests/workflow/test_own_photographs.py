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

pytestmark = pytest.mark.slow


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


@pytest.mark.workflow
def test_a_mapping_of_the_command_line_is_merged_and_a_wrong_one_is_named_with_config(folder: Path) -> None:
    def asked(entry: str, code: int = 0) -> str:
        return snakemake(folder, "mine.yaml", "runs", "-n", "--config", entry, code=code)

    assert jobs(asked("training={epochs: 5, runs_per_job: 1}"))["train"] > jobs(asked("seeds=[0, 1]"))["train"]
    assert "--config training={epochs: many}: training.epochs is 'many'" in asked("training={epochs: many}", code=1)


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("name", "profile"),
    [("of {dataset}", ()), ("{year}", ()), ("$(touch pwned)", ("--profile", PROJECT / "profiles/slurm"))],
)
def test_a_folder_whose_name_snakemake_or_a_shell_would_change_is_refused_before_planning(
    folder: Path, name: str, profile: tuple[object, ...]
) -> None:
    (folder / "images").rename(folder / name)
    scale = yaml.safe_load((folder / "mine.yaml").read_text())
    scale["datasets"]["my_images"]["photographs"] = name
    (folder / "mine.yaml").write_text(yaml.safe_dump(scale))
    about = {"FIVESENTENCES_CLUSTER": str(PROJECT / "profiles/slurm/cluster.yaml")}
    output = snakemake(folder, "mine.yaml", "features", "-n", *profile, code=1, **about)
    assert f"{name}: it" in output and "Building DAG" not in output
    assert {path.name for path in folder.iterdir()} <= {name, "mine.yaml", "captions.csv", ".snakemake"}


@pytest.mark.workflow
def test_job_arrays_whose_failing_tasks_remove_finished_work_are_refused(folder: Path) -> None:
    output = snakemake(folder, "mine.yaml", "features", "-n", "--slurm-array-jobs", "all", code=1)
    assert "--slurm-array-jobs" in output and "Building DAG" not in output
