"""Content decides what is made again: of a user's files and of the code, not their times."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from fivesentences.versions import VERSIONS
from workflow.conftest import PROJECT, jobs, said

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
TARGETS = ("features", "results/semantics/mine/test/cider.npy", "results/training/jobs/mine/vsepp/1.json")
OF_CAPTIONS = {"load_corpus", "prepare_cider", "score_captions", "train"}
OF_FEATURES = {"extract_features", "train"}
OF_IMAGES = {"list_images"} | OF_CAPTIONS | OF_FEATURES
_KEPT = yaml.safe_load((PROJECT / "profiles/default/config.yaml").read_text())
PROFILE = (
    *("--rerun-triggers", *_KEPT["rerun-triggers"]),
    *("--max-checksum-file-size", _KEPT["max-checksum-file-size"]),
)
Edit = Callable[[Path], object]


def snakemake(folder: Path, *arguments: object) -> set[str]:
    """The rules that the copy of the workflow in a folder runs, with the copy of the package beside it."""
    command = ("snakemake", *TARGETS, *arguments, "--configfile", "mine.yaml", "--workflow-profile", "none", *PROFILE)
    return set(jobs(said(folder, *command, PYTHONPATH=str(folder / "src")))) - {"features"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which a user's photographs have been trained on; the CSV is above a megabyte."""
    folder = tmp_path_factory.mktemp("made") / "project"
    for name in ("workflow", "src", "config"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    scale = {
        "scale": "mine",
        "title": "Mine",
        "roles": {"flickr30k": "mine"},
        "datasets": {"mine": {"loader": "folder", "photographs": "images", "captions": "captions.csv"}},
        "features": {"extractor": "grid_descriptors", "layout": "global"},
        "seeds": [0],
        "training": {"widths": {"embedding": 8, "word": 6}, "epochs": 1, "batch_size": 8, "min_word_count": 1},
        "studies": ["five_sentences"],
        "only": ["table3"],
        "keep": [{"model": "vsepp", "fraction": 1.0, "loss": ["sam_paper_random"]}],
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump(scale))
    (folder / "images").mkdir()
    rows, rng = ["filename;caption;split;note"], np.random.default_rng(0)
    for number in range(24):
        Image.fromarray(rng.integers(0, 256, (20, 20, 3), dtype=np.uint8)).save(folder / f"images/{number}.png")
        split = ("train", "train", "dev", "test")[number % 4]
        rows += [f"{number}.png;Picture {number} of kind {kind};{split};{'x' * 10_000}" for kind in range(5)]
    (folder / "captions.csv").write_text("\n".join(rows[:-5]) + "\n")
    (folder / "more.csv").write_text("\n".join(rows) + "\n")
    assert snakemake(folder, "--cores", 2) == OF_IMAGES
    return folder


def replaced(file: str, old: str, new: str) -> Edit:
    def edit(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def touched(*patterns: str, ahead: float = 0) -> Edit:
    def edit(folder: Path) -> None:
        for file in [file for pattern in patterns for file in folder.glob(pattern)]:
            os.utime(file, (time.time() + ahead, time.time() + ahead))

    return edit


def copied(folder: Path) -> None:
    shutil.copyfile(folder / "captions.csv", folder / "copy.csv")
    (folder / "copy.csv").replace(folder / "captions.csv")


def all_of(*edits: Edit) -> Edit:
    return lambda folder: [edit(folder) for edit in edits]


WITHOUT_EFFECT = (
    copied,
    touched("captions.csv", "images", "images/*", "config/**/*.yaml", ahead=9 * 3600),
    touched("workflow/**/*", "src/**/*.py"),  # as `git switch` and back
    replaced("src/fivesentences/corpus/decoding.py", "import contextlib", "import contextlib\nONE = 1"),
    replaced("src/fivesentences/features/extract.py", "\nfrom __future__", "\n# Words.\nfrom __future__"),
    replaced("workflow/scripts/extract_features.py", "\nfrom pathlib", "\n# Words.\nfrom pathlib"),
)


def raised(subject: str) -> Edit:
    now = VERSIONS[subject]
    return replaced("src/fivesentences/versions.py", f'"{subject}": {now},', f'"{subject}": {now + 1},')


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (all_of(*WITHOUT_EFFECT), set()),
        (replaced("src/fivesentences/losses/semantic_adaptive_margin.py", "(gap + taken)", "(gap - taken)"), {"train"}),
        (raised("features"), OF_FEATURES),
        (raised("corpus"), OF_CAPTIONS),
        (raised("phi"), {"prepare_cider", "score_captions", "train"}),
        (raised("training"), {"train"}),
        (replaced("captions.csv", "Picture 0 of kind 0", "Photograph 0 of kind 0"), OF_CAPTIONS),
        (lambda folder: (folder / "more.csv").replace(folder / "captions.csv"), OF_IMAGES),
        (replaced("captions.csv", "3.png", "23.png"), OF_IMAGES),
    ],
)
def test_what_is_made_again_after_an_edit(made: Path, tmp_path: Path, edit: Edit, expected: set[str]) -> None:
    folder = tmp_path / "copy"
    said(tmp_path, "cp", "-a", made, folder)
    edit(folder)
    assert snakemake(folder, "-n") == expected


def test_a_file_from_another_time_zone_is_read_and_then_there_is_nothing_to_do(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    said(tmp_path, "cp", "-a", made, folder)
    features = folder / "results/features/mine/grid_descriptors-global.npy"
    written = features.stat().st_mtime_ns
    replaced("captions.csv", "Picture 0 of kind 0", "Photograph 0 of kind 0")(folder)
    touched("captions.csv", "images", "mine.yaml", ahead=9 * 3600)(folder)
    assert snakemake(folder, "--cores", 2) == OF_CAPTIONS
    assert features.stat().st_mtime_ns == written
    assert snakemake(folder, "-n") == set()
    moved = tmp_path / "moved"
    said(tmp_path, "cp", "-r", folder, moved)
    touched("captions.csv", "images", ahead=-9 * 3600)(moved)
    os.utime(moved / "results/corpus/mine.parquet", (1, 1))
    assert snakemake(moved, "-n") == set()
