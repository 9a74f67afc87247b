"""A manifest can be read on another machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from fivesentences.documents import read_yaml
from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.paper.manifest import (
    differences_from,
    metrics_of,
    read_manifest,
    reasons_of,
    write_manifest,
)
from fivesentences.reproduction.plan.plan import plan_of, scale_of


def test_where_snakemake_works_elsewhere_files_have_their_names_in_the_project_and_are_compared(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scale = root / "config" / "papers_captions.yaml"
    plan = plan_of(scale_of(read_yaml(scale), scale), scale.parent)
    write_manifest(plan, plan.scale.scale, {}, tmp_path / "manifest.json")
    manifest = read_manifest(tmp_path / "manifest.json")
    named = [Path(path) for part in ("inputs", "made", "numbers") for path in manifest[part]]
    assert Path("config/studies/five_sentences.yaml") in named and not any(path.is_absolute() for path in named)
    other = manifest | {"inputs": manifest["inputs"] | {"config/studies/five_sentences.yaml": "0" * 64}}
    wrong = set(differences_from(other, plan)) - set(differences_from(manifest, plan))
    assert [str(root / "config/studies/five_sentences.yaml") in sentence for sentence in wrong] == [True]


def test_other_photographs_than_those_of_the_kept_numbers_are_named(root: Path, tmp_path: Path, monkeypatch) -> None:
    scale = root / "config" / "flickr8k_evidence.yaml"
    manifest = read_manifest(root / "results" / "paper" / "flickr8k_evidence" / "manifest.json")
    ((path, what),) = (
        (path, known[manifest["inputs"][path]])
        for path, known in plan_of(scale_of(read_yaml(scale), scale), scale.parent).datasets.variants().items()
    )
    monkeypatch.chdir(tmp_path)
    Path(path).parent.mkdir(parents=True)
    Path(path).write_bytes(b"the originals")
    plan = plan_of(scale_of(read_yaml(scale), scale), scale.parent)
    (found,) = (one for one in differences_from(manifest, plan) if one.startswith(path))
    assert what in found


LISTED = subprocess.run(
    ["git", "ls-files", ":/results/paper/*/manifest.json"], cwd=Path(__file__).parent, capture_output=True, text=True
)
KEPT = [Path(line).parent.name for line in LISTED.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("scale", KEPT)
def test_results_that_the_repository_keeps_are_those_of_their_manifest(scale: str, root, monkeypatch) -> None:
    monkeypatch.chdir(root)  # where results are
    file = Path("config") / f"{scale}.yaml"
    plan = plan_of(scale_of(read_yaml(file), file), file.parent)
    manifest = read_manifest(plan.places.manifest(scale))
    assert differences_from(manifest, plan) == []
    assert differences_from(manifest | {"numbers": {str(plan.places.manifest(scale)): "0" * 64}}, plan)


def test_a_scale_that_is_named_by_its_whole_path_is_compared_alike(root, monkeypatch) -> None:
    monkeypatch.chdir(root)
    for file in (Path("config/captions.yaml"), root / "config" / "captions.yaml"):
        plan = plan_of(scale_of(read_yaml(file), file), file.parent)
        manifest = read_manifest(plan.places.manifest("captions"))
        assert differences_from(manifest, plan) == []
        other = {"config/studies/meaning.yaml": "0" * 64}
        (wrong,) = differences_from(manifest | {"inputs": manifest["inputs"] | other}, plan)
        assert "config/studies/meaning.yaml" in wrong


@pytest.mark.parametrize("scale", KEPT)
def test_a_kept_manifest_has_the_digest_of_what_its_numbers_came_from_or_says_why_not(scale: str, root) -> None:
    file = root / "config" / f"{scale}.yaml"
    plan = plan_of(scale_of(read_yaml(file), file), file.parent)
    manifest = read_manifest(root / plan.places.manifest(scale))
    runs = [plan.all_runs[name] for name in plan.trained_at(scale)]
    datasets = {run.dataset for run in runs}
    came_from = {plan.places.phi(dataset, "test", f"{phi}.npy") for dataset in datasets for phi in plan.phi.single_phis}
    came_from |= {plan.features.of_run(run) for run in runs} | set(map(plan.places.corpus, datasets))
    digests = manifest["inputs"] | manifest["made"] | manifest["numbers"]
    unexplained = {name for name in {*digests, *map(str, came_from)} if not digests.get(name)}
    sources = {str(plan.places.source_of_features(run.dataset, run.features)) for run in runs}
    unexplained |= {*sources.difference(manifest["weights"]), *manifest["git"]["changed"]}
    assert unexplained <= set(manifest["reasons"])
    held = json.loads((root / plan.places.manifest(scale)).with_name("metrics.json").read_text())
    assert held == metrics_of(manifest["headline"], plan.scale.finding, root / "results" / "paper" / scale)


def test_files_that_are_not_here_and_those_that_were_not_committed_have_a_reason() -> None:
    made = {"results/corpus/a.parquet": None, "results/semantics/a/test/cider.npy": "0" * 64}
    changed = ["config/a.yaml", "results/paper/a/table.csv"]
    content = {"inputs": {"data/a.zip": None}, "made": made, "numbers": {}, "git": {"changed": changed}}
    assert list(reasons_of(content)) == ["config/a.yaml", "data/a.zip", "results/corpus/a.parquet", changed[1]]
    assert reasons_of(content | {"git": {"changed": None}}).keys() == {"data/a.zip", "results/corpus/a.parquet"}


def test_a_few_numbers_of_every_scale_are_those_of_its_kinds_of_run() -> None:
    kinds = {"a": {"Rsum": 70.0, "Nsum": 110.0, "seeds": 10}, "b": {"Rsum": 83.5, "seeds": 3}}
    held = metrics_of({"flickr8k": {"vsepp": kinds}}, None, Path())
    assert held == {"runs": 13, "Rsum from": 70.0, "Rsum to": 83.5, "Nsum from": 110.0, "Nsum to": 110.0}
    assert metrics_of({}, None, Path()) == {}


def test_a_difference_whose_table_is_not_made_is_left_out(root, tmp_path) -> None:
    finding = Finding(**read_yaml(root / "config" / "studies" / "evidence_choice.yaml")["finding"])
    assert metrics_of({}, finding, tmp_path) == {}
    assert metrics_of({}, finding, root / "results/paper/flickr8k_evidence")["low"] > 0
