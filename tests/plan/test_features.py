"""Whose regions the runs of a scale read: as released, or our own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of
from plan.conftest import FETCHED, count, dry_run

CONFIG = Path(__file__).parents[2] / "config"
WEIGHTS = Path("mine.pkl")
OWN = "bottom_up@mine-regions36"
BLOCK = {"extractor": "bottom_up", "layout": "regions", "prepare": "as_stored", "weights": str(WEIGHTS), "parts": 3}


@pytest.fixture
def planned(tmp_path, monkeypatch) -> Callable[..., Plan]:
    """Plan the first page on Flickr30K in an empty folder, with changes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)

    def plan(**changes: Any) -> Plan:
        file = CONFIG / "flickr30k.yaml"
        return plan_of(scale_of(read_yaml(file) | {"own_grid_features": BLOCK} | changes, file), CONFIG)

    return plan


def read_by_scan(plan: Plan) -> set[str]:
    """Names of the features that SCAN's runs read."""
    return {run.features.stem for run in plan.runs.values() if run.model.name == "scan"}


@pytest.mark.parametrize(
    ("setting", "there", "read"),
    [
        ("fetch", False, "bottom_up-grid"),
        ("fetch", True, "bottom_up-grid"),
        ("here", False, OWN),
        ("here", True, "bottom_up-grid"),
        ("never", False, OWN),
        ("never", True, OWN),
    ],
)
def test_released_regions_are_read_or_our_own_in_their_place(planned, setting, there, read):
    folder = Path("data/f30k_precomp")
    if there:
        folder.mkdir(parents=True)
    plan = planned(released_regions=setting)
    assert read_by_scan(plan) == {read}
    features = plan.features.of_run(next(run for run in plan.runs.values() if run.model.name == "scan"))
    (line,) = plan.features.sources_of_regions()
    files = plan.files_no_rule_makes("flickr30k")
    if read == OWN:
        assert features == Path(f"results/features/flickr30k/{OWN}.npy")
        assert OWN in line and f"released_regions: {setting}" in line
        assert WEIGHTS in files and Path("data/flickr30k/flickr30k-images.zip") in files and folder not in files
        assert OWN in plan.features.extracted_here(parts=True) and not plan.features.released_regions
    else:
        assert features == Path("results/features/flickr30k/bottom_up-grid.json")
        assert line == "Regions of flickr30k: as released, in data/f30k_precomp."
        read_in = [folder] if there else plan.datasets.archives_of(folder)
        assert set(read_in) <= set(files) and WEIGHTS not in files
        assert ("flickr30k", OWN) not in plan.features.extracted


@pytest.mark.slow
def test_a_folder_that_arrives_later_takes_no_run_on_our_own_regions_away(planned):
    """Runs on either have folders of their own."""
    before = set(planned(released_regions="here").runs)
    Path("data/f30k_precomp").mkdir(parents=True)
    after = set(planned(released_regions="here").runs)
    assert len(before) == len(after) and not before & after
    assert after == set(planned(released_regions="fetch", own_grid_features=None).runs)


@pytest.mark.slow
def test_each_dataset_has_the_regions_that_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data/coco_precomp").mkdir(parents=True)
    changes = {
        "released_regions": "here",
        "own_grid_features": BLOCK,
        "studies": ["five_sentences"],
        "only": ["table3"],
    }
    content = {"extends": "paper.yaml", "scale": "mine", "categories": None, "weights": {"resnet152": None}, **changes}
    plan = plan_of(scale_of(content, CONFIG / "mine.yaml"), CONFIG)
    read = {(run.dataset, run.features.stem) for run in plan.runs.values()}
    assert read == {("flickr30k", OWN), ("coco", "bottom_up-grid")}
    assert plan.features.released_regions == ["coco"]
    assert [line.partition(":")[0] for line in plan.features.sources_of_regions()] == [
        "Regions of coco",
        "Regions of flickr30k",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"released_regions": "never", "own_grid_features": None}, "released_regions is 'never'.*own_grid_features"),
        ({"own_grid_features": {"extractor": "vgg19", "layout": "global"}}, "own_grid_features.layout is 'global'"),
        (
            {"own_grid_features": {"extractor": "bottom_up", "layout": "grid", "weights": None}},
            "grid_features are 'bottom_up-grid' too",
        ),
        ({"released_regions": "sometimes"}, "released_regions"),
    ],
)
def test_settings_that_do_not_fit_are_refused(planned, changes, said):
    with pytest.raises(InputError, match=said):
        planned(**changes)


@pytest.mark.slow
@pytest.mark.workflow
def test_our_own_regions_are_made_in_parts_of_the_photographs(planned, tmp_path):
    plan = planned(released_regions="never")
    for file in (WEIGHTS, *FETCHED):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    sample = {"photographs": "few", "regions": "few.tsv"}
    Path("few").mkdir()
    Path("few.tsv").touch()
    content = {"extends": str(CONFIG / "flickr30k.yaml"), "released_regions": "never", "own_grid_features": BLOCK}
    content |= {"released_sample": sample}
    Path("mine.yaml").write_text(yaml.safe_dump(content))
    with ThreadPoolExecutor(1) as thread:
        jobs = thread.submit(dry_run, tmp_path / "mine.yaml", ()).result()
    counts = count(jobs)
    assert (counts["extract_part"], counts["join_features"], counts["describe_precomp"]) == (3, 1, 0)
    trained = {job.inputs["features"] for job in jobs if job.rule == "train"}
    assert trained == {f"results/features/flickr30k/{OWN}.npy"}
    assert counts["train"] == len([job for job in plan.jobs if "/complete/" not in job])
    # Weights are compared on a few photographs before any part is made, which is not made again for their sake.
    (checked,) = [job.outputs for job in jobs if job.rule == "check_regions"]
    parts = [job for job in jobs if job.rule == "extract_part"]
    assert all(job.inputs["checked"] == checked and checked[0] not in job.by_time for job in parts)
    read = set(planned(released_regions="never", released_sample=sample).files_no_rule_makes("flickr30k"))
    assert {Path("few"), Path("few.tsv")} <= read


def test_bottom_up_regions_are_checked_by_default_on_photographs_that_are_downloaded(planned):
    def sample(**changes: Any) -> set[str]:
        files = planned(released_regions="never", **changes).files_no_rule_makes("flickr30k")
        return {file.name for file in files if "butd_sample" in file.parts}

    names = sample()
    assert len(names) == 11 and "train2014_obj36.tsv" in names
    assert sample(released_sample=None) == set()
    assert sample(own_grid_features={"extractor": "faster_rcnn", "layout": "regions", "prepare": "as_stored"}) == set()
    assert sample(own_grid_features={"extractor": "vgg19", "layout": "grid", "prepare": "as_stored"}) == set()
    assert not [file for file in planned().files_no_rule_makes("flickr30k") if "butd_sample" in file.parts]
