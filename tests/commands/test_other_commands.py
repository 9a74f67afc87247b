"""`rescore`, `compare`, `doctor`, the help of every command, and shell completion."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import typer.main

from fivesentences import cli
from fivesentences.commands import doctor
from fivesentences.metrics.registry import METRICS, metrics_page

COMMANDS = sorted(typer.main.get_command(cli.app).commands)


def test_csls_is_the_formula(run, folder):
    said = run("rescore", "sims.npy", "--method", "csls", "-k", "10", "-o", "out.npy")
    assert (said.code, said.out) == (0, "out.npy: csls, k = 10, float32 [20 images, 100 captions]\n")
    similarity = np.load("sims.npy").astype(float)
    of_image = np.sort(similarity, axis=1)[:, -10:].mean(axis=1)
    of_caption = np.sort(similarity, axis=0)[-10:].mean(axis=0)
    np.testing.assert_allclose(np.load("out.npy"), 2 * similarity - of_image[:, None] - of_caption, atol=1e-5)
    assert run("evaluate", "out.npy").code == 0


def test_inverted_softmax_ranks_as_its_formula(run, folder):
    similarity = np.load("sims.npy").astype(float)
    for direction, axis in (("i2t", 0), ("t2i", 1)):
        given = ("--method", "inverted_softmax", "--beta", "20", "--direction", direction, "--include-self")
        assert run("rescore", "sims.npy", *given, "-o", "out.npy", "--quiet").out == ""
        weight = np.exp(20 * similarity)
        wanted = weight / weight.sum(axis=axis, keepdims=True)
        found = np.load("out.npy")
        for row in range(20) if direction == "i2t" else range(100):
            a, b = (m[row] if direction == "i2t" else m[:, row] for m in (found, wanted))
            assert scipy.stats.spearmanr(a, b).statistic > 0.999


def test_a_transposed_similarity_is_turned_round(run, folder):
    np.save("turned.npy", np.load("sims.npy").T)
    run("rescore", "sims.npy", "--method", "csls", "-o", "wanted.npy")
    assert run("rescore", "turned.npy", "--method", "csls", "-o", "o.npy", "--transposed").code == 0
    np.testing.assert_array_equal(np.load("o.npy"), np.load("wanted.npy"))


def test_compare_tests_every_metric_and_says_which_differ(run, folder):
    run("phi", "cider", "captions.txt", "-o", "cider.npy")
    said = run("compare", "sims.npy", "other.npy", "--phi", "cider.npy", "--resamples", "999", "--json", "o.json")
    assert said.code == 0 and "20 images, each with its captions, are the clusters" in said.out
    tests = {
        (t["metric"], t["direction"], t["ground_truth"]): t for t in json.loads(Path("o.json").read_text())["tests"]
    }
    a, b = np.load("sims.npy"), np.load("other.npy")
    hits = [(m.argmax(axis=0) == np.arange(100) // 5).reshape(20, 5).mean(axis=1) for m in (a, b)]
    found = tests["R@1", "t2i", ""]
    assert found["difference"] == pytest.approx(100 * np.mean(hits[0] - hits[1]))
    by_scipy = scipy.stats.permutation_test(
        (hits[0] - hits[1],), np.mean, permutation_type="samples", n_resamples=5000, rng=np.random.default_rng(1)
    )
    assert abs(found["p"] - by_scipy.pvalue) < 0.06
    assert (found["n"], found["clusters"]) == (100, 20)
    assert ("N@5", "i2t", "removed") in tests and ("SR@1", "i2t", "removed") in tests
    recalls = [t["difference"] for (metric, *_), t in tests.items() if metric.startswith("R@")]
    assert tests["Rsum", "", ""]["difference"] == pytest.approx(sum(recalls), abs=1e-9)


def test_a_model_does_not_differ_from_itself(run, folder):
    run("compare", "sims.npy", "sims.npy", "--json", "o.json", "--resamples", "99", "--method", "bootstrap", "--quiet")
    assert {(t["difference"], t["p"]) for t in json.loads(Path("o.json").read_text())["tests"]} == {(0.0, 1.0)}


def test_images_with_unequal_captions_are_rescored_by_every_method(run, folder):
    np.save("few.npy", np.load("sims.npy")[:3, [0, 1, 5, 6, 7, 10, 2]])
    Path("images.txt").write_text("0\n0\n1\n1\n1\n2\n0\n")
    for method in ("csls", "assignment"):
        assert run("rescore", "few.npy", "--method", method, "-o", f"{method}.npy").code == 1
        given = ("--method", method, "-o", f"{method}.npy", "--image-of-caption", "images.txt")
        assert run("rescore", "few.npy", *given).code == 0
    # No image is the first of more captions than it has.
    assert np.bincount(np.load("assignment.npy").argmax(axis=0)).tolist() == [3, 3, 1]


def test_the_list_of_metrics_is_shown_written_and_checked(run, folder):
    assert "true R@k" in run("metrics").out
    assert run("metrics", "--page", "page.md", "--json", "list.json").out == ""
    assert Path("page.md").read_text() == metrics_page() and run("metrics", "--check", "page.md").code == 0
    assert [one["name"] for one in json.loads(Path("list.json").read_text())] == list(METRICS)
    Path("page.md").write_text("# Metrics\n")
    said = run("metrics", "--check", "page.md")
    assert said.code == 1 and "write it with: fivesentences metrics --page page.md" in said.err


def test_doctor_names_what_is_missing_and_the_cure(run, folder, monkeypatch):
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    monkeypatch.setenv("FIVESENTENCES_CACHE", str(folder / "cache"))
    real = importlib.metadata.version

    def version(name):
        if name == "timm":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    said = run("doctor", "--json", "o.json")
    assert said.code == 0 and "The core works" in said.out
    findings = {f["name"]: f for f in json.loads(Path("o.json").read_text())["findings"]}
    assert findings["numpy"]["state"] == "ok" and findings["numpy"]["found"] == np.__version__
    assert (findings["timm"]["state"], findings["timm"]["cure"]) == ("missing", 'pip install ".[train]"')
    assert findings["stanford-corenlp-3.6.0.jar"]["cure"] == "fivesentences jars"
    assert findings["mirror"]["state"] == "missing"
    named = {line.split(";")[0] for line in importlib.metadata.requires("fivesentences")}
    assert all(any(name == f or name.startswith((f"{f}>", f"{f}<", f"{f}=")) for f in findings) for name in named)


def test_doctor_finds_data_in_a_folder_or_a_mirror(run, folder):
    catalogue = Path(__file__).parents[2] / "config" / "datasets.yaml"
    for name in ("Flickr8k_text.zip", "Flickr8k_Dataset.zip"):
        (folder / "mirror" / "flickr8k").mkdir(parents=True, exist_ok=True)
        (folder / "mirror" / "flickr8k" / name).write_bytes(b"")
    run("doctor", "--catalogue", catalogue, "--mirror", "mirror", "--json", "o.json")
    findings = {f["name"]: f for f in json.loads(Path("o.json").read_text())["findings"]}
    assert findings["flickr8k"]["state"] == "ok"
    assert findings["coco"]["cure"] == "fivesentences download coco"


def test_doctor_ends_with_1_where_the_core_is_broken(run, folder, monkeypatch):
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2.3" if name == "scipy" else real(name))
    said = run("doctor")
    assert said.code == 1 and "BROKEN" in said.out
    assert "scipy: 1.2.3, but >=" in said.err and said.err.count("\n") == 1


def test_doctor_looks_at_python_first(monkeypatch):
    monkeypatch.setattr(doctor, "PYTHONS", ((3, 98), (3, 99)))
    assert next(doctor._core()).state == "broken"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_shows_an_example(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "120")
    said = run(command, "--help")
    assert said.code == 0
    shown = " ".join(said.out.replace("│", " ").split())
    assert "Example" in said.out and f"fivesentences {command}" in shown.partition("Example")[2]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shell_completion_names_the_commands(shell):
    program = Path(sys.executable).with_name("fivesentences")
    if not program.exists():
        pytest.skip("the package is not installed with its script")
    script = subprocess.run([program, "--show-completion", shell], capture_output=True, text=True, check=True).stdout
    assert "_FIVESENTENCES_COMPLETE" in script
    asked = {"_FIVESENTENCES_COMPLETE": f"complete_{shell}", "COMP_WORDS": "fivesentences ev", "COMP_CWORD": "1"}
    asked["_TYPER_COMPLETE_ARGS"] = "fivesentences ev"  # which zsh sends
    answer = subprocess.run([program], capture_output=True, text=True, env={**os.environ, **asked}).stdout
    assert "evaluate" in answer and "rescore" not in answer


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("evaluate s.npy --dataset coco-1", {"coco-1k-5fold", "coco-1k-first"}),
        ("rescore s.npy --method c", {"csls"}),
        ("compare a.npy b.npy --method b", {"bootstrap"}),
        ("phi spice_c", {"spice_colour", "spice_count"}),
    ],
)
def test_shell_completion_knows_values(begun, offered):
    program = Path(sys.executable).with_name("fivesentences")
    if not program.exists():
        pytest.skip("the package is not installed with its script")
    words = f"fivesentences {begun}"
    asked = {"_FIVESENTENCES_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    answer = subprocess.run([program], capture_output=True, text=True, env={**os.environ, **asked}).stdout
    assert set(answer.split()) == offered
