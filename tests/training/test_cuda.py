"""On a GPU: what is computed there is what a CPU computes, to rounding; runs end, go on and repeat as there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fivesentences.losses import InfoNCE, SemanticAdaptiveMargin, SoftRankLoss, SparingTriplet, TripletLoss
from fivesentences.metrics import Evaluator
from fivesentences.models import MODELS
from fivesentences.training import Run, train_run, train_runs
from fivesentences.training.data import RunData
from fivesentences.training.loop import Training, reproducible
from fivesentences.training.scoring import similarity_of
from kill import killed_after

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device")]
CPU, CUDA = torch.device("cpu"), torch.device("cuda")
LOSSES = {
    "hardest": TripletLoss(margin=0.2, negatives="hardest"),
    "kNN": TripletLoss(margin=0.2, negatives=3),
    "SAM": SemanticAdaptiveMargin(temperature=10, negatives="closest"),
    "SAM, released": SemanticAdaptiveMargin(temperature=10, negatives="furthest", variant="released"),
    "sparing": SparingTriplet(threshold=0.5),
    "DAA": SoftRankLoss(temperature=0.1),
    "InfoNCE": InfoNCE(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_gradients(name):
    similarity, phi = torch.rand(2, 32, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = []
    for device in (CPU, CUDA):
        loss, scores = LOSSES[name], similarity.to(device).detach().requires_grad_()
        value = loss(scores, phi.to(device)) if loss.phi_keys else loss(scores)
        value.backward()
        found.append((value.item(), scores.grad.cpu()))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-9)
    torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_models_score_alike_on_both_devices_within_their_precision(name, inputs_of, model_spec_of):
    training = Training(model_spec_of(name), RunData.read(model_spec_of(name), *inputs_of(name)), CPU)
    with reproducible(1, CPU):
        for batch in training.loader.batches(iter(np.arange(64).reshape(4, 16))):
            training._train_batch(batch)
        expected = similarity_of(training.model, training.data.test)
    training.model.to(CUDA)
    # cuDNN's GRUs use TF32 at any precision: 10 bits behind the binary point.
    for precision, bound in {"float32": 2e-3, "tf32": 5e-3, "bf16": 3e-2}.items():
        with reproducible(1, CUDA, precision=precision):
            found = similarity_of(training.model, training.data.test, precision=precision)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=bound, err_msg=precision)


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
def test_a_run_that_was_killed_and_runs_side_by_side_have_the_bits_of_one_alone(
    precision, inputs, spec_of, tmp_path, outputs_of
):
    spec = spec_of(precision=precision, epochs=3)
    train_run(spec, *inputs, tmp_path / "alone", device="cuda")
    with killed_after(3, Training, "_train_batch"):
        train_run(spec, *inputs, tmp_path / "killed", device="cuda", seconds_between_saves=0)
    train_run(spec, *inputs, tmp_path / "killed", device="cuda")
    runs = [Run(spec.model_copy(update={"seed": seed}), tmp_path / f"{seed}", *inputs) for seed in (spec.seed, 7)]
    train_runs(runs, device="cuda", at_once=2)
    alone = outputs_of(tmp_path / "alone")
    assert outputs_of(tmp_path / "killed") == alone == outputs_of(runs[0].folder)
    assert outputs_of(runs[1].folder) != alone


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_trains_at_every_precision(name, precision, inputs_of, model_spec_of, tmp_path):
    run = Run(model_spec_of(name, epochs=2, precision=precision), tmp_path / "run", *inputs_of(name))
    train_runs([run, replace(run, folder=tmp_path / "again")], device="cuda")
    first, again = (np.load(tmp_path / folder / "similarity_test.npy") for folder in ("run", "again"))
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, again)


def test_an_evaluator_takes_tensors_from_there():
    similarity, phi = torch.rand(6, 30), torch.rand(30, 6)
    settings = {"image_of_caption": np.repeat(np.arange(6), 5), "ms": (1, 3)}
    there = Evaluator(phis={"phi": phi.to(CUDA)}, **settings)(similarity.to(CUDA))
    here = Evaluator(phis={"phi": phi.numpy()}, **settings)(similarity.numpy())
    assert there.tidy().equals(here.tidy())
