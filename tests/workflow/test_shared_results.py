"""What a reader of somebody else's results does: clone, dvc pull, report; and what DVC shows of two revisions."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from sshd import MISSING, SshServer, programs, running_sshd
from workflow.conftest import MICRO, PROJECT, jobs, said

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
PAPER = Path("results/paper/micro")
KEY = "scenes.vsepp.triplet=hardest,margin=0.2.fraction=1"
pytest.importorskip("dvc", reason="needs dvc: uv sync --group data")


@dataclass(frozen=True)
class Shared:
    """A repository with results at two revisions, `one` and `two`, and a remote folder that has them."""

    repository: Path
    remote: Path


@pytest.fixture(scope="module")
def shared(micro: Path, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    folder, remote = tmp_path_factory.mktemp("author") / "project", tmp_path_factory.mktemp("remote")
    if not str(remote).isascii():
        pytest.skip(f"DVC cannot write {remote} into its configuration, which is ASCII")
    shutil.copytree(micro, folder, symlinks=True)
    shutil.copy(PROJECT / ".gitignore", folder)
    shutil.copy(PROJECT / ".dvc/.gitignore", folder / ".dvc")
    for pointer in (*(PROJECT / "data").rglob("*.dvc"), PROJECT / "data/.dvc/config", PROJECT / "data/.dvc/.gitignore"):
        if pointer.is_file():
            (folder / pointer.relative_to(PROJECT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pointer, folder / pointer.relative_to(PROJECT))
    stages = re.sub(r"^  - results/paper/(?!flickr8k/).*\n", "", (PROJECT / "dvc.yaml").read_text(), flags=re.MULTILINE)
    assert "- scale: demo" in stages
    stages = stages.replace("- scale: demo", "- scale: micro").replace("results/paper/flickr8k/", f"{PAPER}/")
    (folder / "dvc.yaml").write_text(stages)
    said(folder, "git", "init", "-q")
    for key, value in {"user.email": "tests@example.org", "user.name": "Tests"}.items():
        said(folder, "git", "config", key, value)
    said(folder, "dvc", "remote", "add", "-d", "store", remote)
    said(folder, "git", "add", "-f", "results/paper", "results/evaluation", ":!results/evaluation/jobs")
    said(folder, "git", "add", "-A")
    said(folder, "git", "commit", "-qm", "configuration")
    for revision in ("one", "two"):
        if revision == "two":  # as if other numbers had come of another setting
            other(folder, 2.0)
        said(folder, "dvc", "commit", "-f")
        said(folder, "git", "add", "-A")
        said(folder, "git", "commit", "-qm", f"results {revision}")
        said(folder, "git", "tag", revision)
        said(folder, "dvc", "push")
    return Shared(folder, remote)


def other(folder: Path, factor: float) -> None:
    """Other headline numbers, another setting and another curve."""
    paper = folder / PAPER
    headline, settings = (json.loads((paper / name).read_text()) for name in ("headline.json", "settings.json"))
    for kind in headline["scenes"]["vsepp"].values():
        for part in kind.values():
            part["Rsum"] *= factor
    settings["training"]["epochs"] = 2
    curves = pd.read_csv(paper / "five_sentences/figure3.csv")
    changed = {"headline.json": json.dumps(headline), "settings.json": json.dumps(settings)}
    changed["five_sentences/figure3.csv"] = curves.assign(mean=factor * curves["mean"]).to_csv(index=False)
    for name, text in changed.items():
        (paper / name).unlink()  # DVC's cache may share the file
        (paper / name).write_text(text)


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[SshServer]:
    if programs() is None:
        pytest.skip(MISSING)
    with running_sshd(tmp_path) as server:
        yield server


def to_do(folder: Path) -> dict[str, int]:
    return jobs(said(folder, "snakemake", "-n", "--quiet", "rules", "--configfile", MICRO))


def clone(shared: Shared, folder: Path) -> Path:
    said(folder.parent, "git", "clone", "-q", "--branch", "one", shared.repository, folder)
    assert {path.name for path in (folder / "results").iterdir()} == {"evaluation", "paper"}
    return folder


@pytest.fixture
def kept(tmp_path):
    """The configuration and the results of a clone, and no others that this machine may have."""
    shutil.copytree(PROJECT / "config", tmp_path / "config")
    of_runs = shutil.ignore_patterns("corpus", "features", "semantics", "training", "jobs", "demo")
    return shutil.copytree(PROJECT / "results", tmp_path / "results", ignore=of_runs)


def test_the_first_commands_of_the_page_work_from_a_clone(kept, tmp_path):
    page = (PROJECT / "docs/data_versions.md").read_text("utf-8")
    commands = re.findall(r"^    uv run (fivesentences report \S+(?: --check)?)$", page, flags=re.MULTILINE)
    assert len(commands) == 2
    before = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    for command in commands:
        said(tmp_path, *command.split())
    assert {path: path.read_bytes() for path in before} == before


def test_a_table_or_figure_of_every_study_of_the_evidence_is_drawn_as_it_is_kept(kept, tmp_path):
    """All of them take two minutes; ``report`` without --only draws them."""
    pages = kept / "paper" / "flickr8k_evidence"
    of_study = {path.parent.name: path.with_suffix("") for path in sorted(pages.glob("evidence_*/*.csv"), reverse=True)}
    only = ",".join(f"{study}/{path.name}" for study, path in of_study.items())
    command = f"fivesentences report config/flickr8k_evidence.yaml --only {only} --format csv,svg --out out"
    said(tmp_path, *command.split())
    drawn = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    for path in drawn:
        (kept_as,) = {
            one for one in of_study.values() if one.name == path.stem and path.parent.name in ("out", one.parent.name)
        }
        assert path.read_bytes() == kept_as.with_suffix(path.suffix).read_bytes(), path
    assert len(drawn) >= len(of_study) > 20


def test_a_clone_reports_everything_and_then_remakes_exactly_what_depends_on_a_change(shared, tmp_path):
    reader = clone(shared, tmp_path / "reader")
    said(reader, "dvc", "pull")
    assert "up to date" in said(reader, "dvc", "status")
    paper = {path: path.read_bytes() for path in (reader / PAPER).rglob("*") if path.is_file()}
    said(reader, "fivesentences", "report", MICRO, "--check")
    for name in ("table3", "figure3"):
        for path in (reader / PAPER / "five_sentences").glob(f"{name}.*"):
            path.unlink()
    shown = said(reader, "fivesentences", "report", MICRO)
    assert "table3.html" in shown and "figure3.svg" in shown
    assert {path: path.read_bytes() for path in paper} == paper
    numbers, aside = reader / "results/evaluation/jobs", reader / "aside"
    numbers.rename(aside)  # as in results that a repository keeps: the tidy table has what runs are shown by
    (reader / PAPER / "five_sentences/table3.csv").unlink()
    assert "table3.html" in said(reader, "fivesentences", "report", MICRO)
    assert {path: path.read_bytes() for path in paper} == paper
    shown = said(reader, "fivesentences", "report", MICRO, "--check")
    assert "per_image.parquet" in shown and ".json" not in shown
    aside.rename(numbers)
    assert not [path for path in (reader / "data").rglob("*") if path.is_file() and ".dvc" not in str(path)]
    said(reader, "snakemake", "--touch", "--forceall", "--cores", 1, "--configfile", MICRO)
    assert to_do(reader) == {}

    drawing = {"make_table": 1, "plot_figure": 1, "judge_claims": 1, "write_manifest": 1}
    drawing |= {"make_study_page": 1, "make_page": 1}  # a question of our own shows no claims of the study
    titled = drawing | {"make_study_page": 2, "show_runs": 1, "make_table": 2}  # which show the scale
    config, study = reader / MICRO, reader / "config/studies/five_sentences.yaml"
    evaluated = {
        "contrast_runs": 1,
        "train": 1,
        "score_banks": 1,
        "evaluate": 1,
        "collect_metrics": 1,
        "collect_histories": 1,
    }
    for file, old, new, expected in (
        (config, "epochs: 1", "epochs: 3", evaluated | titled),
        (config, "title: Micro", "title: Small", titled),
        (study, "caption: ", "caption: Anew, ", drawing),
    ):
        before, status = file.read_text(), file.stat()
        file.write_text(before.replace(old, new, 1))
        assert to_do(reader) == expected, (file, new)
        file.write_text(before)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    captions = reader / "results/corpus/scenes.parquet"
    table = pd.read_parquet(captions)
    table.loc[0, "caption"] = "a cat sleeps ."
    table.to_parquet(captions, index=False)
    of_captions = {"extract_part": 2, "join_features": 1, "show_features": 1}  # images are drawn with their captions
    of_captions |= {"prepare_cider": 1, "score_captions": 1, "show_examples": 1}
    assert to_do(reader) == of_captions | evaluated | titled


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
    # Captions alone: without what was trained, and with features as far as pictures show them.
    said(reader, "dvc", "pull", "results/corpus")
    assert not (reader / "results/training").exists() and not (reader / "results/features").exists()
    assert "figure3.svg" in said(reader, "fivesentences", "report", MICRO)


def test_what_is_not_as_it_was_pushed_is_named(shared, tmp_path):
    reader = clone(shared, tmp_path / "reader")
    (reader / PAPER / "contrasts/paired.html").unlink()
    next((reader / "results/evaluation/contrasts").rglob("paired.json")).unlink()
    (reader / PAPER / "contrasts/paired.csv").unlink()  # nothing that is kept can stand for it
    for option in ((), ("--check",)):
        shown = said(reader, "fivesentences", "report", MICRO, *option, code=1)
        assert "dvc pull" in shown and "Traceback" not in shown
    said(reader, "git", "checkout", "-q", "results")
    said(reader, "dvc", "pull")
    config = reader / MICRO
    config.write_text(config.read_text().replace("epochs: 1", "epochs: 3"))
    assert "the setting training is not that" in said(reader, "fivesentences", "report", MICRO, "--check", code=1)
    said(reader, "git", "checkout", "-q", "config")
    numbers = next((reader / "results/evaluation/jobs").rglob("*.json"))
    numbers.unlink()
    numbers.write_text("[]")
    shown = said(reader, "fivesentences", "report", MICRO, "--check", code=1)
    assert f"{numbers.relative_to(reader)}: " in shown and "manifest.json" in shown


def test_what_dvc_keeps_is_not_in_git():
    stages = yaml.safe_load((PROJECT / "dvc.yaml").read_text())["stages"].values()
    outputs = [path for stage in stages for out in stage["outs"] for path in out]
    assert "results/training" in outputs and said(PROJECT, "git", "ls-files", *outputs) == ""


def test_dvc_shows_the_scales_that_git_keeps_in_a_fresh_clone(tmp_path):
    kept = said(PROJECT, "git", "ls-files", "results/paper/*/metrics.json").split()
    if not kept:
        pytest.skip("this is no checkout")
    names = ("metrics.json", "settings.json", "five_sentences/figure3.csv", "manifest.json")
    for name in ("dvc.yaml", ".dvcignore", ".gitignore", ".dvc/config", ".dvc/.gitignore", ".dvc/plots/by_label.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    for path in (f"{Path(one).parent}/{name}" for one in kept for name in names):
        if (PROJECT / path).is_file():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / path, tmp_path / path)
    said(tmp_path, "git", "init", "-q")
    commit = ("git", "-c", "user.email=tests@example.org", "-c", "user.name=Tests", "commit", "-qam")
    said(tmp_path, "git", "add", "-Af")
    said(tmp_path, *commit, "one")
    params = yaml.safe_load((PROJECT / "dvc.yaml").read_text())["params"]
    assert set(params) == {str(Path(path).parent / "settings.json") for path in kept}
    numbered = {path for path in kept if json.loads((PROJECT / path).read_text())}
    shown = said(tmp_path, "dvc", "metrics", "show", "--json")
    table = said(tmp_path, "dvc", "metrics", "show")
    assert set(json.loads(shown)[""]["data"]) == numbered and "failed" not in table
    assert max(map(len, table.splitlines())) <= 140  # a screen's width
    said(tmp_path, "dvc", "plots", "show")
    assert "failed" not in said(tmp_path, "dvc", "params", "diff", "HEAD")
    assert said(tmp_path, "git", "status", "--porcelain") == ""
    settings = tmp_path / Path(min(numbered)).parent / "settings.json"
    settings.write_text(settings.read_text().replace('"seeds"', '"seeds_before"', 1))
    assert list(json.loads(said(tmp_path, "dvc", "params", "diff", "--json"))) == [str(settings.relative_to(tmp_path))]


def test_dvc_compares_headline_numbers_settings_and_curves_of_two_revisions(shared, tmp_path):
    folder = shared.repository
    kinds = ("--targets", f"{PAPER}/headline.json")
    metrics = json.loads(said(folder, "dvc", "metrics", "diff", "one", "two", "--json", "--all", *kinds))
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
    assert all(text in page for text in (*map(json.dumps, set(curves.label)), '"rev": "one"', '"rev": "two"'))
