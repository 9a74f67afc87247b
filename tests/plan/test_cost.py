"""What a plan costs: the time that extraction is granted, and steps and seconds of trainings."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from fivesentences.documents import read_yaml
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.cost import seconds_per_step, steps_of, training_of
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of
from fivesentences.training.spec import RunSpec
from plan.conftest import leave_job

CONFIG = Path(__file__).parents[2] / "config"

DETECTOR = {"extractor": "bottom_up", "layout": "regions", "weights": "mine.pkl"}
VGG19 = {"extractor": "vgg19", "layout": "global"}


def plan_with(*, gpu: bool = True, **features: object) -> Plan:
    """A plan without runs for MS-COCO's 123,287 images and Flickr8k's 8,000."""
    content = {
        "scale": "one",
        "title": "One",
        "datasets": {"coco": {"loader": "karpathy"}, "flickr8k": {"loader": "flickr8k"}},
        "studies": ["metric_agreement"],
        "features": features,
        "training": {"gpu": gpu},
    }
    return plan_of(Scale.model_validate(content), CONFIG)


@pytest.mark.parametrize(
    ("dataset", "gpu", "features", "minutes"),
    [
        ("flickr8k", True, VGG19, 240),  # the least: start, reading, a busy machine
        ("coco", True, DETECTOR | {"parts": 8}, 317),  # an hour, and 15,411 seconds
        ("coco", True, DETECTOR | {"parts": 32}, 240),
        ("coco", False, VGG19 | {"parts": 2}, 574),
        ("coco", False, DETECTOR | {"parts": 8}, 1440),  # 86 hours: it goes on at the next attempt
    ],
)
def test_the_time_of_an_extraction_grows_with_its_photographs(dataset, gpu, features, minutes) -> None:
    plan = plan_with(gpu=gpu, **features)
    (extracted,) = plan.features.extracted_features
    assert plan.features.minutes_to_extract(dataset, extracted) == minutes


@pytest.mark.slow
def test_drawn_features_need_no_gpu() -> None:
    for extractor, needed in (("grid_descriptors", False), ("vgg19", True)):
        plan = plan_with(extractor=extractor)
        (extracted,) = plan.features.extracted_features
        assert plan.features.on_gpu(extracted) == needed


# --- trainings --------------------------------------------------------------------------------------------------------


def planned(content: dict[str, object], path: Path = CONFIG / "mine.yaml") -> Plan:
    return plan_of(scale_of(content, path), CONFIG)


@pytest.fixture(scope="module")
def paper() -> Plan:
    return planned(read_yaml(CONFIG / "paper.yaml"), CONFIG / "paper.yaml")


@pytest.mark.slow
def test_the_steps_of_the_papers_are_those_of_their_data_batches_and_epochs(paper) -> None:
    # 29,000 and 113,287 images with five captions, batches of 128 and each release's epochs.
    def steps(model: str, dataset: str, fraction: float = 1.0) -> set[int | None]:
        runs = (run for run in paper.runs.values() if (run.model.name, run.dataset) == (model, dataset))
        return {
            steps_of(run, paper.datasets.sizes_of(dataset))
            for run in runs
            if run.fraction == fraction and run.captions_per_image is None
        }

    assert steps("scan", "flickr30k") == {30 * math.ceil(145_000 / 128)}
    assert steps("cvse", "flickr30k", 0.1) == {50 * math.ceil(14_500 / 128)}
    assert steps("vsrn", "coco") == {30 * math.ceil(566_435 / 128)}
    every = [steps_of(run, paper.datasets.sizes_of(run.dataset)) for run in paper.runs.values()]
    assert sum(filter(None, every)) == 7_854_416 and None not in every


@pytest.mark.parametrize(("fraction", "captions_per_image"), [(1.0, None), (0.3, None), (1.0, 2), (0.5, 3), (1.0, 9)])
def test_steps_are_the_batches_that_training_would_take(fraction, captions_per_image) -> None:
    plan = planned(SCENES)
    run = next(iter(plan.runs.values())).model_copy(
        update={"fraction": fraction, "captions_per_image": captions_per_image}
    )
    sizes = {"train": (40, 200)}
    images = np.repeat(np.arange(40), 5)
    kept = images[: int(200 * fraction)]
    place = np.arange(len(kept)) - np.searchsorted(kept, kept)
    trained = int(np.count_nonzero(place < (captions_per_image or 9)))
    assert steps_of(run, sizes) == 2 * math.ceil(trained / 16)


SCENES = {
    "scale": "drawn",
    "title": "Drawn",
    "roles": {"flickr30k": "scenes"},
    "datasets": {"scenes": {"loader": "scenes", "train": 40, "dev": 8, "test": 8}},
    "features": {"extractor": "grid_descriptors"},
    "training": {"epochs": 2, "batch_size": 16, "runs_per_job": 4},
    "studies": ["five_sentences"],
    "only": ["table3"],
    "keep": [{"model": ["vsepp", "sgr"], "loss": "hardest", "fraction": 1.0}],
}


def test_seconds_of_a_step_come_from_jobs_that_ran_whatever_their_epochs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = planned(SCENES)
    assert seconds_per_step(plan.places, plan.datasets) == {}
    batches = math.ceil(200 / 16)
    leave_job(plan, "scenes/vsepp/1", seconds=26.0, epochs=1)  # one epoch of two
    assert seconds_per_step(plan.places, plan.datasets) == {"vsepp": pytest.approx(26.0 / batches)}
    leave_job(plan, "scenes/vsepp/1", seconds=26.0, epochs=2)
    assert seconds_per_step(plan.places, plan.datasets) == {"vsepp": pytest.approx(13.0 / batches)}
    leave_job(plan, "scenes/sgr/1", seconds=5.0, epochs=1)
    Path("logs/benchmarks/training/scenes/sgr/1.tsv").write_text("cut")
    Path("logs/benchmarks/training/scenes/other").mkdir()
    Path("logs/benchmarks/training/scenes/other/1.tsv").write_text("s\n3\n")  # its record is gone
    assert set(seconds_per_step(plan.places, plan.datasets)) == {"vsepp"}


def test_a_run_that_two_tables_share_counts_once_and_what_is_unknown_is_said(paper) -> None:
    runs: list[RunSpec] = [run for run in paper.runs.values() if run.model.name in ("scan", "cvse")]
    once, twice = (training_of(some, paper.datasets, {"scan": 0.011}) for some in (runs, runs + runs))
    assert once == twice and once.runs == len(runs) and once.models == ("cvse",)
    steps = sum(steps_of(run, paper.datasets.sizes_of(run.dataset)) or 0 for run in runs if run.model.name == "scan")
    assert once.seconds == pytest.approx(0.011 * steps) and once.hours == f"{once.seconds / 3600:.1f} + unknown"
    assert training_of([], paper.datasets, {}).hours == ""


def test_runs_on_data_of_unknown_size_have_no_steps() -> None:
    mine = {"loader": "folder", "photographs": "images", "captions": "captions.csv"}
    plan = planned(SCENES | {"datasets": {"scenes": mine}})
    cost = training_of(plan.runs.values(), plan.datasets, {"vsepp": 1.0, "sgr": 1.0})
    assert (cost.steps, cost.unsized, cost.hours) == (0, len(plan.runs), "unknown")


@pytest.mark.slow
def test_the_trial_of_the_documentation_trains_one_epoch_of_each_model_of_flickr30k() -> None:
    page = (CONFIG.parent / "docs/paper_scale.md").read_text(encoding="utf-8")
    trial = yaml.safe_load(page.split("```yaml\n# trial.yaml")[1].split("```")[0].partition("\n")[2])
    plan = planned(trial | {"extends": str(CONFIG / "flickr30k.yaml")}, CONFIG / "trial.yaml")
    whole = planned(read_yaml(CONFIG / "flickr30k.yaml"), CONFIG / "flickr30k.yaml")
    assert {run.training.epochs for run in plan.runs.values()} == {1} and plan.runs.keys() <= whole.runs.keys()
    assert {run.model.name for run in plan.runs.values()} == {run.model.name for run in whole.runs.values()}
