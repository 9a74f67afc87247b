"""`fivesentences doctor`: what works on this machine, and what a scale needs of it."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from fivesentences.documents import read_yaml
from fivesentences.reproduction.commands import doctor
from fivesentences.reproduction.plan.plan import plan_of, scale_of
from plan.conftest import leave_job


@pytest.fixture
def findings(run):
    """What the command with some arguments writes as JSON, by part and name."""

    def found(*arguments):
        said = run("doctor", *arguments, "--json", "o.json")
        assert said.code == 0, said.err
        return {(f["part"], f["name"]): f for f in json.loads(Path("o.json").read_text())["findings"]}

    return found


def installed(monkeypatch, name, version):
    """Let a package have another version, or none."""
    real = importlib.metadata.version

    def of(asked):
        if asked == name and version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version if asked == name else real(asked)

    monkeypatch.setattr(importlib.metadata, "version", of)


def test_what_is_missing_is_named_with_its_cure(findings, folder, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.setenv("FIVESENTENCES_CACHE", str(folder / "cache"))
    installed(monkeypatch, "timm", None)
    found = findings()
    train = found["extra train", doctor.SERVES["extra train"]]
    assert (train["state"], train["cure"]) == ("optional", 'pip install ".[train]" in a clone') and "timm" in train[
        "found"
    ]
    assert found["core", doctor.SERVES["core"]]["state"] == "ok"
    assert found["Java", "CoreNLP"]["cure"] == "fivesentences jars"
    assert found["data", "mirror"]["state"] == "optional"
    parts = {part for part, _ in found}
    extras = importlib.metadata.metadata("fivesentences").get_all("Provides-Extra")
    assert all(doctor.SERVES[part] for part in parts if part.startswith(("core", "extra")))
    assert parts >= {f"extra {name}" for name in extras if name != "all"} and "extra all" not in parts


def test_data_are_found_in_a_folder_or_a_mirror(findings, root, folder):
    for name in ("Flickr8k_text.zip", "Flickr8k_Dataset.zip"):
        (folder / "mirror" / "flickr8k").mkdir(parents=True, exist_ok=True)
        (folder / "mirror" / "flickr8k" / name).write_bytes(b"")
    found = findings("--catalogue", root / "config" / "datasets.yaml", "--mirror", "mirror")
    assert found["data", "flickr8k"]["state"] == "ok" and "coco" in found["data", "data sets"]["found"]


def test_a_broken_core_ends_with_1(run, folder, monkeypatch):
    installed(monkeypatch, "scipy", "1.2.3")
    said = run("doctor")
    assert said.code == 1 and "BROKEN" in said.out and "scipy is 1.2.3, but >=" in said.err


@pytest.mark.parametrize(
    ("known", "written", "state", "found"),
    [
        ("cpu gpu", "{partitions: {cpu: {}, gpu: {max_gpu: 1}}}", "ok", "partitions cpu, gpu, as in"),
        ("cpu short", "{partitions: {cpu: {}, gpu: {max_gpu: 1}}}", "WRONG", "has gpu, but the partitions are"),
        ("", "{partitions: {cpu: {}}}", "WRONG", "sinfo fails: no controller answers"),
    ],
)
def test_the_file_about_a_cluster_is_compared_with_slurm(findings, folder, monkeypatch, known, written, state, found):
    (folder / "bin").mkdir()
    sinfo = folder / "bin" / "sinfo"
    sinfo.write_text(
        f"#!/bin/sh\nset -- {known}\n[ $# = 0 ] && echo no controller answers >&2 && exit 1\necho {known}\n"
    )
    sinfo.chmod(0o755)
    (folder / "cluster.yaml").write_text(written)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("FIVESENTENCES_CLUSTER", str(folder / "cluster.yaml"))
    one = findings()["cluster", "SLURM"]
    assert one["state"] == state and found in one["found"]


def test_a_scale_is_told_with_its_runs_its_downloads_and_what_is_missing(run, root, folder, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    path = Path("part.yaml")
    path.write_text(f"{{extends: {root}/config/flickr8k.yaml, only: [table3]}}")
    plan = plan_of(scale_of(read_yaml(path), path), path.parent)
    said = run("doctor", path, "--json", "o.json")
    assert said.code == 0 and "flickr8k/Flickr8k_text.zip" in said.out
    content = json.loads(Path("o.json").read_text())
    assert content["runs"] == len(plan.runs) + len(plan.subspaces.runs)
    assert content["by_table"]["five_sentences/table3"] > 0
    assert content["bytes"] > len(plan.runs) * 2 * 4 * 1000 * 5000  # similarities of dev and test, 4 bytes each
    made = plan.report.targets["semantics"][0]
    made.parent.mkdir(parents=True, exist_ok=True)
    made.touch()
    run("doctor", path, "--json", "o.json")
    assert json.loads(Path("o.json").read_text())["bytes"] == content["bytes"] - 4 * 1000 * 5000


@pytest.mark.slow
def test_space_counts_what_is_unpacked_and_names_what_has_no_known_size(run, root, folder, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    path = Path("part.yaml")
    path.write_text(f"{{extends: {root}/config/paper.yaml, only: [five_sentences/table3]}}")
    said = " ".join(run("doctor", path, "--json", "o.json").out.split())
    content = json.loads(Path("o.json").read_text())
    downloads = {one["path"]: one["bytes"] for one in content["downloads"]}
    unsized = [name for name, size in downloads.items() if size is None]
    assert "scan_features/scan-features.zip" in unsized and f"without {len(unsized)} of unknown size" in said
    regions = (29_000 + 1_014 + 1_000 + 113_287 + 5_000 + 5_000) * 36 * 2048 * 4  # as SCAN's arrays are, in float32
    known = content["bytes"] + regions + sum(size for size in downloads.values() if size)
    assert f"unpacked archives about {regions / 1e9:,.1f} GB" in said and f"at least {known / 1e9:,.1f} GB" in said
    assert "evaluation" in said and f"{content['runs']} runs about" in said


@pytest.mark.slow
def test_a_scale_is_told_with_steps_hours_and_what_is_unknown_of_them(run, root, folder, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.setattr(doctor, "hardware", lambda: {"gpu": "Some GPU"})
    path = Path("part.yaml")
    path.write_text(f"{{extends: {root}/config/flickr30k.yaml, only: [table3, figure3]}}")
    said = run("doctor", path, "--json", "o.json")
    costs = json.loads(Path("o.json").read_text())["costs"]
    batches = 1133  # of 145,000 captions by 128
    figure = costs["five_sentences/figure3"]
    assert figure["seconds"] == pytest.approx(batches * (40 * 0.039 + 30 * 0.040 + 2 * 30 * 0.011))
    assert figure["untimed_steps"] == batches * (50 + 30)  # CVSE, VSRN
    text = " ".join(said.out.split())
    assert "this machine has a Some GPU" in text and "Unknown: VSRN, CVSE." in text
    for job in ("cvse", "vsrn"):
        leave_job(plan_of(scale_of(read_yaml(path), path), path.parent), f"flickr30k/{job}/1", seconds=60.0, epochs=1)
    said = run("doctor", path, "--json", "o.json")
    assert "Unknown" not in said.out and "jobs that ran here" in said.out
    assert json.loads(Path("o.json").read_text())["costs"]["five_sentences/figure3"]["untimed_steps"] == 0


def test_folders_that_a_person_must_unpack_are_named_where_they_are_missing(run, root, folder, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    own = "datasets: {flickr30k: {loader: karpathy, regions: {folder: data/mine, prefix: f30k}}}"
    part = f"{{extends: {root}/config/paper.yaml, only: [table3, subspace], {own}}}"
    Path("part.yaml").write_text(part)
    said = run("doctor", "part.yaml", "--json", "o.json")
    missing = json.loads(Path("o.json").read_text())["missing"]
    unpacked = [one.split()[0] for one in missing if "no rule makes it" in one]
    assert said.code == 0 and unpacked == ["data/mine"]  # NUS-WIDE and COCO's are fetched and unpacked by rules


def test_what_the_owners_ask_to_agree_to_is_said_until_somebody_does(run, root, folder, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    Path("part.yaml").write_text(f"{{extends: {root}/config/paper.yaml, only: [table3]}}")
    asked = [one for one in doctors_missing(run) if "consent" in one]
    assert len(asked) == 1 and asked[0].startswith("flickr30k/flickr30k-images.zip: ")
    line = asked[0].partition("`")[2].partition("`")[0]
    Path("data").mkdir()
    Path("data/consents.yaml").write_text(line + "\n")
    assert [one for one in doctors_missing(run) if "consent" in one] == []


def doctors_missing(run):
    run("doctor", "part.yaml", "--json", "o.json")
    return json.loads(Path("o.json").read_text())["missing"]
