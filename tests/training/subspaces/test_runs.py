"""Several runs in one process: the bits of each alone, nothing finished is trained again, a kill loses nothing."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fivesentences.config.reading import check
from fivesentences.errors import InputErrors
from fivesentences.reproduction.categories.corpus.divisions import read_division, write_division
from fivesentences.reproduction.categories.corpus.documents import Division, Documents, write_documents
from fivesentences.reproduction.categories.runs import PlacedRun, SubspaceRun
from fivesentences.reproduction.categories.training import run as runs_module
from fivesentences.reproduction.categories.training.run import outputs_of_run, train_subspaces
from fivesentences.storage import RECORD
from kill import killed_after

METHODS = {
    "scheduled": {"method": "triplets", "loss": {"start": 0.5, "feature_share": 0.3}},
    "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
    "random": {"method": "random"},
}
ALONE = """
import json, sys
from pathlib import Path
from fivesentences.reproduction.categories.runs import PlacedRun
from fivesentences.reproduction.categories.training.run import train_subspaces
given, documents, image, text = json.loads(sys.argv[1])
train_subspaces([PlacedRun.of(given)], documents=Path(documents), image=Path(image), text=Path(text))
"""


@pytest.fixture
def files(tmp_path, make_inputs):
    """Documents, their vectors, and a division for each of two seeds."""
    given = make_inputs(90)
    names = np.array(["animals", "music", "war"])[given.categories]
    ids = tuple(f"document{number}" for number in range(90))
    documents = Documents(ids, tuple(map(str, names)), ("",) * 90, ("",) * 90, (None,) * 90, ids)
    write_documents(documents, tmp_path / "documents.parquet")
    np.save(tmp_path / "image.npy", given.images)
    np.save(tmp_path / "text.npy", given.texts)
    for seed in (0, 1):
        order = np.random.default_rng(seed).permutation(90)
        parts = (np.sort(part) for part in np.split(order, [50, 70]))
        write_division(tmp_path / f"seed={seed}.csv", documents, Division(*parts))
    return {name: tmp_path / f"{name}.{end}" for name, end in
            (("documents", "parquet"), ("image", "npy"), ("text", "npy"))}  # fmt: skip


@pytest.fixture
def place(tmp_path, tiny):
    """A run and its folder: ``place("fixed", seed=1)``."""

    def placed(method: str, seed: int = 0, folder: str = "runs", **changes) -> PlacedRun:
        settings = {"image": "standardise", "text": "as_stored", "words": 10, "division": "printed"}
        run = {**settings, "documents": "tiny", "seed": seed, "method": METHODS[method] | changes}
        run = check(SubspaceRun, {**run, "training": tiny.model_dump()}, "run")
        return PlacedRun(run, tmp_path / folder / run.name, tmp_path / f"seed={seed}.csv")

    return placed


@pytest.fixture
def fitted(monkeypatch):
    """Settings of the methods that were fitted."""
    began, original = [], runs_module.fit

    def recorded(spec, *arguments, **named):
        began.append(spec.folder)
        return original(spec, *arguments, **named)

    monkeypatch.setattr(runs_module, "fit", recorded)
    return began


def bytes_of(placed: PlacedRun) -> dict[str, bytes]:
    return {name: (placed.folder / name).read_bytes() for name in outputs_of_run(placed.run)}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_runs_of_one_process_have_the_bits_of_a_process_each(files, place):
    runs = [place(name, seed) for seed in (0, 1) for name in ("scheduled", "fixed")]
    train_subspaces(runs, **files)
    placed = runs[3]  # the last one: whatever the others left behind is there
    alone = PlacedRun(placed.run, placed.folder.parent / "alone", placed.division)
    given = json.dumps([alone.plain, *(str(files[name]) for name in ("documents", "image", "text"))])
    subprocess.run([sys.executable, "-c", ALONE, given], check=True)
    assert bytes_of(alone) == bytes_of(placed)


@pytest.mark.parametrize("modality", ["image", "text"])
@pytest.mark.parametrize("how", [np.zeros_like, lambda vectors: np.repeat(vectors[:1], len(vectors), axis=0)])
def test_documents_whose_vectors_are_all_the_same_are_refused(files, place, modality, how):
    np.save(files[modality], how(np.load(files[modality])))
    with pytest.raises(InputErrors) as error:
        train_subspaces([place("fixed")], **files)
    assert str(files[modality]) in str(error.value) and "50" in str(error.value)
    assert not (place("fixed").folder / RECORD).exists()


def test_a_runs_folder_holds_what_the_evaluation_reads(files, place):
    runs = [place("scheduled"), place("fixed"), place("random")]
    train_subspaces(runs, **files)
    scheduled, fixed, random = runs
    for placed in runs:
        settings = json.loads((placed.folder / "settings.json").read_text())
        assert check(SubspaceRun, settings, "settings").name == placed.run.name
    with np.load(scheduled.folder / "vectors.npz") as file:
        vectors = dict(file)
    assert set(vectors) == {f"{s}_{m}" for s in ("map", "loss", "last") for m in ("image", "text")}
    assert {one.shape for one in vectors.values()} == {(20, 6)}
    assert {one.dtype for one in vectors.values()} == {np.dtype(np.float32)}
    with np.load(random.folder / "vectors.npz") as file:
        assert set(file) == {"last_image", "last_text"}
    test = read_division(scheduled.division, runs_module.read_documents(files["documents"])).test
    assert len(test) == 20
    history = rows_of(scheduled.folder / "history.csv")
    assert [row["epoch"] for row in history] == ["1", "2", "3", "4", "5"]
    assert [row["validation_map"] != "" for row in history] == [False, True, False, True, True]
    assert rows_of(random.folder / "history.csv") == []
    assert rows_of(scheduled.folder / "category_margins.csv")[0]["anchor"] == "animals"
    assert not (fixed.folder / "category_margins.csv").exists()


def test_a_run_is_trained_again_when_anything_it_was_made_from_changes(files, place, fitted):
    placed = place("fixed")
    train_subspaces([placed], **files)
    before = bytes_of(placed)
    train_subspaces([placed], **files)
    assert len(fitted) == 1
    np.save(files["image"], np.load(files["image"]) + np.random.default_rng(0).normal(size=(90, 8)).astype(np.float32))
    train_subspaces([placed], **files)
    assert len(fitted) == 2 and bytes_of(placed)["vectors.npz"] != before["vectors.npz"]
    (placed.folder / "vectors.npz").write_bytes(b"damaged")
    train_subspaces([placed], **files)
    assert len(fitted) == 3


def test_a_kill_among_the_outputs_leaves_the_older_ones_whole_and_the_run_is_made_again(files, place, fitted):
    runs = [place("fixed"), place("scheduled")]
    train_subspaces(runs, **files)
    whole = {path.name: path.read_bytes() for path in runs[1].folder.iterdir() if path.is_file()}
    np.save(files["image"], 2 + np.load(files["image"]) ** 2)
    with killed_after(2, runs_module, "_write_rows"):  # one call for the first run, two for the second
        train_subspaces(runs, **files)
    assert (runs[0].folder / RECORD).is_file()
    assert {name: (runs[1].folder / name).read_bytes() for name in whole} == whole
    before = len(fitted)
    train_subspaces(runs, **files)
    assert fitted[before:] == [runs[1].run.method.folder]


def test_a_run_that_fails_does_not_stop_the_others(files, place, tmp_path, capsys):
    broken, whole = place("fixed"), place("scheduled")
    missing = PlacedRun(broken.run, broken.folder, tmp_path / "nowhere.csv")
    with pytest.raises(InputErrors, match=r"nowhere\.csv"):
        train_subspaces([missing, whole], **files, record=tmp_path / "record.json")
    assert (whole.folder / RECORD).is_file()
    assert not (tmp_path / "record.json").exists()
    assert "run 1 of 2 failed" in capsys.readouterr().err
