"""What a reader of somebody else's results does: clone, dvc pull, report; and what DVC shows of two revisions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from sshd import MISSING, SshServer, programs, running_sshd

pytestmark = pytest.mark.workflow
PROJECT = Path(__file__).parents[2]
SCALE = Path("config/micro.yaml")
PAPER = Path("results/paper/micro")
KEY = "scenes.vsepp.triplet=hardest,margin=0.2.fraction=1"
pytest.importorskip("dvc", reason="needs dvc: uv sync --group data")


def said(folder: Path, *command: object, code: int = 0) -> str:
    """What a command wrote, which ends with a code, without the mirror of whoever runs the tests."""
    environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == code, f"{command}\n{(done.stdout + done.stderr)[-4000:]}"
    return done.stdout + done.stderr


def jobs(folder: Path) -> dict[str, int]:
    """What `snakemake -n` would do: the number of jobs of each rule, without targets."""
    shown = said(folder, "snakemake", "-n", "--quiet", "rules", "--configfile", SCALE)
    found = re.findall(r"^ (\w[\w ]*?) +(\d+) *$", shown, flags=re.MULTILINE)
    assert found or "Nothing to be done" in shown, shown
    return {name.replace(" ", "_"): int(count) for name, count in found if name not in ("all", "total")}


@dataclass(frozen=True)
class Shared:
    """A repository with results at two revisions, `one` and `two`, and a remote folder that has them."""

    repository: Path
    remote: Path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    folder, remote = tmp_path_factory.mktemp("author"), tmp_path_factory.mktemp("remote")
    if not str(remote).isascii():
        pytest.skip(f"DVC cannot write {remote} into its configuration, which is ASCII")
    for name in ("Snakefile", "workflow", "config", "src", "profiles", ".dvc/config", ".dvc/plots", ".dvcignore"):
        source, target = PROJECT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(source, target, ignore=ignored) if source.is_dir() else shutil.copy(source, target)
    shutil.copy(PROJECT / ".gitignore", folder)
    shutil.copy(PROJECT / ".dvc/.gitignore", folder / ".dvc")
    for pointer in (*(PROJECT / "data").rglob("*.dvc"), PROJECT / "data/.dvc/config", PROJECT / "data/.dvc/.gitignore"):
        if pointer.is_file():
            (folder / pointer.relative_to(PROJECT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pointer, folder / pointer.relative_to(PROJECT))
    shutil.copy(Path(__file__).with_name("micro.yaml"), folder / SCALE)
    stages = (PROJECT / "dvc.yaml").read_text()
    assert "- scale: demo" in stages
    (folder / "dvc.yaml").write_text(stages.replace("- scale: demo", "- scale: micro"))
    said(folder, "git", "init", "-q")
    for key, value in {"user.email": "tests@example.org", "user.name": "Tests"}.items():
        said(folder, "git", "config", key, value)
    said(folder, "dvc", "remote", "add", "-d", "store", remote)
    for revision, epochs in (("one", 1), ("two", 2)):
        changed = re.sub(r"epochs: \d", f"epochs: {epochs}", (folder / SCALE).read_text())
        (folder / SCALE).write_text(changed)
        said(folder, "git", "add", "-A")
        said(folder, "git", "commit", "-qm", f"configuration {revision}")
        said(folder, "snakemake", "--cores", 2, "--configfile", SCALE)
        said(folder, "dvc", "commit", "-f")
        said(folder, "git", "add", "-A")
        said(folder, "git", "commit", "-qm", f"results {revision}")
        said(folder, "git", "tag", revision)
        said(folder, "dvc", "push")
    assert jobs(folder) == {}
    return Shared(folder, remote)


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[SshServer]:
    if programs() is None:
        pytest.skip(MISSING)
    with running_sshd(tmp_path) as server:
        yield server


def clone(shared: Shared, folder: Path) -> Path:
    said(folder.parent, "git", "clone", "-q", shared.repository, folder)
    assert not (folder / "results").exists()
    return folder


def test_a_clone_reports_everything_and_then_remakes_exactly_what_depends_on_a_change(shared, tmp_path):
    reader = clone(shared, tmp_path / "reader")
    said(reader, "dvc", "pull")
    assert "up to date" in said(reader, "dvc", "status")
    paper = {path: path.read_bytes() for path in (reader / PAPER).rglob("*") if path.is_file()}
    said(reader, "fivesentences", "report", SCALE, "--check")
    for name in ("table3", "figure3"):
        for path in (reader / PAPER / "five_sentences").glob(f"{name}.*"):
            path.unlink()
    shown = said(reader, "fivesentences", "report", SCALE)
    assert "table3.html" in shown and "figure3.png" in shown
    assert {path: path.read_bytes() for path in paper} == paper
    assert not [path for path in (reader / "data").rglob("*") if path.is_file() and ".dvc" not in str(path)]
    said(reader, "snakemake", "--touch", "--forceall", "--cores", 1, "--configfile", SCALE)
    assert jobs(reader) == {}

    drawing = {"make_table": 1, "plot_figure": 1, "judge_claims": 1, "write_manifest": 1}
    drawing |= {"make_study_page": 1, "make_page": 1}
    titled = drawing | {"show_runs": 1}  # which shows the scale, but nothing of a study
    config, study = reader / SCALE, reader / "config/studies/five_sentences.yaml"
    evaluated = {"train": 1, "evaluate": 1, "collect_metrics": 1, "collect_histories": 1}
    for file, old, new, expected in (
        (config, "epochs: 2", "epochs: 3", evaluated | titled),
        (config, "title: Micro", "title: Small", titled),
        (study, "caption: ", "caption: Anew, ", drawing),
    ):
        before, status = file.read_text(), file.stat()
        file.write_text(before.replace(old, new, 1))
        assert jobs(reader) == expected, (file, new)
        file.write_text(before)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    captions = reader / "results/corpus/scenes.parquet"
    table = pd.read_parquet(captions)
    table.loc[0, "caption"] = "a cat sleeps ."
    table.to_parquet(captions, index=False)
    of_captions = {
        "extract_features": 1,
        "prepare_cider": 1,
        "score_captions": 1,
        "show_examples": 1,
        "show_features": 1,
    }
    assert jobs(reader) == of_captions | evaluated | titled


@pytest.mark.ssh
def test_a_reader_gets_results_over_ssh(shared, ssh, tmp_path):
    author, store = clone(shared, tmp_path / "author"), tmp_path / "store"
    url = f"ssh://{ssh.user}@127.0.0.1:{ssh.port}{store}"
    said(author, "dvc", "pull")
    reader = clone(shared, tmp_path / "reader")
    for folder in (author, reader):
        said(folder, "dvc", "remote", "add", "-f", "-d", "store", url)
        said(folder, "dvc", "remote", "modify", "--local", "store", "keyfile", ssh.key)
    said(author, "dvc", "push")
    assert any(store.rglob("*.dir"))
    # Numbers, captions and pages alone: without what was trained, and with features as far as pictures show them.
    said(reader, "dvc", "pull", "results/corpus", "results/evaluation", "results/paper")
    assert not (reader / "results/training").exists() and not (reader / "results/features").exists()
    assert "figure3.png" in said(reader, "fivesentences", "report", SCALE)


def test_what_is_not_as_it_was_pushed_is_named(shared, tmp_path):
    reader = clone(shared, tmp_path / "reader")
    for option in ((), ("--check",)):
        shown = said(reader, "fivesentences", "report", SCALE, *option, code=1)
        assert "dvc pull" in shown and "Traceback" not in shown
    said(reader, "dvc", "pull")
    config = reader / SCALE
    config.write_text(config.read_text().replace("epochs: 2", "epochs: 3"))
    assert "the setting training is not that" in said(reader, "fivesentences", "report", SCALE, "--check", code=1)
    said(reader, "git", "checkout", "-q", "config")
    numbers = next((reader / "results/evaluation/jobs").rglob("*.json"))
    numbers.unlink()
    numbers.write_text("[]")
    shown = said(reader, "fivesentences", "report", SCALE, "--check", code=1)
    assert f"{numbers.relative_to(reader)} is not the file that the numbers were made of" in shown


def test_dvc_compares_headline_numbers_settings_and_curves_of_two_revisions(shared, tmp_path):
    folder = shared.repository
    metrics = json.loads(said(folder, "dvc", "metrics", "diff", "one", "two", "--json", "--all"))
    (of_scale,) = metrics.values()
    measures = {"Rsum", "R@1 i2t", "R@1 t2i", "NCS@1 i2t", "NCS@1 t2i", "Nsum", "seeds"}
    shown = {name.removeprefix(f"{KEY}."): change for name, change in of_scale.items() if name.startswith(f"{KEY}.")}
    assert set(shown) == measures
    assert shown["Rsum"]["diff"] == pytest.approx(shown["Rsum"]["new"] - shown["Rsum"]["old"])
    assert shown["seeds"] == {"old": 1, "new": 1, "diff": 0}
    (params,) = json.loads(said(folder, "dvc", "params", "diff", "one", "two", "--json")).values()
    assert params == {"training.epochs": {"old": 1, "new": 2, "diff": 1}}
    said(folder, "dvc", "plots", "diff", "one", "two", "--out", tmp_path / "plots")
    page = (tmp_path / "plots/index.html").read_text()
    curves = pd.read_csv(folder / PAPER / "five_sentences/figure3.csv")
    shown_there = [
        *(json.dumps(label) for label in set(curves.label)),
        *(f'"rev": "{revision}"' for revision in ("one", "two")),
    ]
    assert all(text in page for text in shown_there)
