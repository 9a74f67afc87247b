"""Lower precision changes what a model computes within rounding, and nothing else."""

from __future__ import annotations

import math
from contextlib import nullcontext
from unittest import mock

import numpy as np
import pytest
import torch

from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.losses import LossSpec
from fivesentences.models import MODELS
from fivesentences.reproduction.evaluation.scoring import score_split
from fivesentences.training import train_run
from fivesentences.training.data import RunData
from fivesentences.training.loop import Training, reproducible
from fivesentences.training.objective import Objective
from fivesentences.training.scoring import similarity_of

CPU = torch.device("cpu")


@pytest.mark.parametrize("arithmetic", ["reference", "fast"])
@pytest.mark.parametrize("name", MODELS)
def test_bf16_trains_and_scores_as_float32_within_rounding(name, arithmetic, inputs_of, model_spec_of, monkeypatch):
    spec = model_spec_of(name, precision="bf16", arithmetic=arithmetic, loss=LossSpec(triplet="all"))
    training, compute = Training(spec, RunData.read(spec, *inputs_of(name)), CPU), Objective.__call__
    losses = []

    def recorded(objective, *given):
        assert not torch.is_autocast_enabled("cpu")
        losses.append(compute(objective, *given))
        return losses[-1]

    monkeypatch.setattr(Objective, "__call__", recorded)
    with reproducible(1, CPU, arithmetic):
        for batch in training.loader.batches(iter(np.arange(64).reshape(4, 16))):
            training._train_batch(batch)
        split = training.data.test
        low, full = (similarity_of(training.model, split, precision=precision) for precision in ("bf16", "float32"))
    assert all(loss.dtype == torch.float32 and math.isfinite(loss.item()) for loss in losses) and len(losses) == 4
    assert {weight.dtype for weight in training.model.parameters()} == {torch.float32}
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, full, atol=0.01)  # cosines, or between 0 and 1; bfloat16 has steps of 0.004 below 1
    assert not np.array_equal(low, full)
    # Two items of a ranking are as seldom equal as in float32: the last step of a score is taken in it.
    assert len(np.unique(low)) > 0.9 * len(np.unique(full))


def test_a_run_scores_from_its_files_in_the_precision_that_it_had(inputs, spec_of, tmp_path):
    train_run(spec_of(precision="bf16"), *inputs, tmp_path)
    _, again = score_split(tmp_path, "test")
    np.testing.assert_array_equal(again, np.load(tmp_path / "similarity_test.npy"))


def test_float32_is_recorded_as_before_there_was_a_choice():
    assert "precision" not in Hyperparameters().model_dump()
    assert Hyperparameters(precision="bf16").model_dump()["precision"] == "bf16"


def test_tf32_is_a_setting_of_products_on_cuda_and_nothing_on_a_cpu(inputs, spec_of, tmp_path, monkeypatch):
    for precision in ("float32", "tf32"):
        train_run(spec_of(precision=precision, epochs=1), *inputs, tmp_path / precision)
    first, second = (np.load(tmp_path / f"{one}/similarity_test.npy") for one in ("float32", "tf32"))
    np.testing.assert_array_equal(first, second)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    with mock.patch("torch.random.fork_rng", lambda devices: nullcontext()):  # which asks CUDA
        for precision, expected in (("float32", "highest"), ("tf32", "high"), ("bf16", "highest")):
            with reproducible(1, torch.device("cuda"), precision=precision):
                assert torch.get_float32_matmul_precision() == expected
            assert torch.get_float32_matmul_precision() == "highest"
