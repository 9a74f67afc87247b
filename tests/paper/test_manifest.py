"""A manifest can be read on another machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fivesentences.documents import read_yaml
from fivesentences.reproduction.paper.manifest import differences_from, read_manifest, write_manifest
from fivesentences.reproduction.plan.plan import plan_of, scale_of


def test_where_snakemake_works_elsewhere_files_have_their_names_in_the_project_and_are_compared(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scale = root / "config" / "coco_captions.yaml"
    plan = plan_of(scale_of(read_yaml(scale), scale), scale.parent)
    write_manifest(plan, plan.scale.scale, {}, tmp_path / "manifest.json")
    manifest = read_manifest(tmp_path / "manifest.json")
    named = [Path(path) for part in ("inputs", "made", "numbers") for path in manifest[part]]
    assert Path("config/studies/five_sentences.yaml") in named and not any(path.is_absolute() for path in named)
    other = manifest | {"inputs": manifest["inputs"] | {"config/studies/five_sentences.yaml": "0" * 64}}
    wrong = set(differences_from(other, plan)) - set(differences_from(manifest, plan))
    assert [str(root / "config/studies/five_sentences.yaml") in sentence for sentence in wrong] == [True]


def test_other_photographs_than_those_of_the_kept_numbers_are_named(root: Path, tmp_path: Path, monkeypatch) -> None:
    scale = root / "config" / "flickr8k_choice.yaml"
    manifest = read_manifest(root / "results" / "paper" / "flickr8k_choice" / "manifest.json")
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
