"""How runs are shared out among training jobs."""

from __future__ import annotations

import pytest

from fivesentences.config import FeatureSpec
from fivesentences.models import model_spec
from fivesentences.plan.ensembles import EnsembleRun
from fivesentences.plan.jobs import evaluation_jobs, training_jobs
from fivesentences.plan.runs import RunSpec


def runs(datasets: dict[str, int]) -> dict[str, RunSpec]:
    features, model = FeatureSpec(extractor="counts"), model_spec("vsepp")
    specs = [
        RunSpec(dataset=dataset, features=features, model=model, seed=seed)
        for dataset, seeds in datasets.items()
        for seed in range(seeds)
    ]
    return {spec.name: spec for spec in specs}


def test_every_run_is_in_one_job_and_jobs_are_equally_long():
    given = runs({"flickr8k": 7, "scenes": 2})
    jobs = training_jobs(given, 3)
    assert [run for names in jobs.values() for run in names] == list(given)
    assert {job: len(names) for job, names in jobs.items()} == {
        "train_flickr8k_vsepp_1": 2,
        "train_flickr8k_vsepp_2": 2,
        "train_flickr8k_vsepp_3": 3,
        "train_scenes_vsepp_1": 2,
    }


def test_one_run_a_job():
    given = runs({"scenes": 3})
    assert list(training_jobs(given, 1).values()) == [[name] for name in given]


def test_a_row_added_for_one_dataset_moves_no_run_of_another():
    before, after = training_jobs(runs({"a": 4, "b": 4}), 4), training_jobs(runs({"a": 5, "b": 4}), 4)
    assert before["train_b_vsepp_1"] == after["train_b_vsepp_1"]


def test_names_of_jobs_are_names_of_rules_and_differ():
    names = list(training_jobs(runs({"my.data": 1, "my-data": 1}), 1))
    assert names == ["train_my_data_vsepp_1", "train_my_data_vsepp_2"]


def test_what_is_trained_in_one_job_is_evaluated_in_one_and_ensembles_of_a_dataset_together():
    given = runs({"scenes": 3})
    members = list(given.values())
    pairs = [EnsembleRun(ensemble=name, members=members[:2]) for name in ("pair", "other")]
    ensembles = {pair.name: pair for pair in pairs}
    assert evaluation_jobs(training_jobs(given, 2), ensembles) == {
        "evaluate_train_scenes_vsepp_1": list(given)[:1],
        "evaluate_train_scenes_vsepp_2": list(given)[1:],
        "evaluate_ensembles_scenes": list(ensembles),
    }


def test_members_of_an_ensemble_were_trained_on_the_same_and_are_different_runs():
    first, second = runs({"scenes": 2}).values()
    with pytest.raises(ValueError, match="differ in fraction"):
        EnsembleRun(ensemble="pair", members=[first, second.model_copy(update={"fraction": 0.5})])
    with pytest.raises(ValueError, match="occurs twice in an ensemble"):
        EnsembleRun(ensemble="pair", members=[first, first])
