"""How runs are shared out among training jobs."""

from __future__ import annotations

import pytest

from fivesentences.config.features import FeatureSpec
from fivesentences.models import model_spec
from fivesentences.reproduction.plan.jobs import shared_out
from fivesentences.training.spec import EnsembleRun, RunSpec


def runs(datasets: dict[str, int]) -> dict[str, RunSpec]:
    features, model = FeatureSpec(extractor="counts"), model_spec("vsepp")
    specs = [
        RunSpec(dataset=dataset, features=features, model=model, seed=seed)
        for dataset, seeds in datasets.items()
        for seed in range(seeds)
    ]
    return {spec.name: spec for spec in specs}


def kind_of(run: RunSpec) -> tuple[str, str]:
    return run.dataset, run.model.name


def test_a_row_added_for_one_dataset_moves_no_run_of_another():
    before, after = (shared_out(given, given, kind_of, 4) for given in (runs({"a": 4, "b": 4}), runs({"a": 5, "b": 4})))
    assert before["b/vsepp/1"] == after["b/vsepp/1"]


def test_members_of_an_ensemble_were_trained_on_the_same_and_are_different_runs():
    first, second = runs({"scenes": 2}).values()
    with pytest.raises(ValueError, match="differ in fraction"):
        EnsembleRun(ensemble="pair", members=[first, second.model_copy(update={"fraction": 0.5})])
    with pytest.raises(ValueError, match="members has two named"):
        EnsembleRun(ensemble="pair", members=[first, first])
