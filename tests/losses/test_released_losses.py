"""Every number of ``losses.npz``: what the released losses returned, and their gradients."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from fivesentences.losses import LossSpec, SoftRankLoss, TripletLoss
from fivesentences.models.matching import TrainingScores
from fivesentences.training.objective import Objective

NOT_COMPARED = {
    # Made in the release from tf-idf vectors that the file gives; the way from captions is tested in tests/semantics.
    "sems": "an input of the losses here"
}
NOT_OURS = "/(hal|smooth_ap)_"  # released losses that the package does not have
FLOAT32_INSIDE = {"daa_total"}  # the release adds its parts in single precision
Loss = Callable[[Tensor], Tensor]


def losses_of(settings: dict, semantics: np.ndarray, dtype: torch.dtype) -> dict[str, Loss]:
    """Our loss for each released name; ``semantics`` is [image, caption] as released."""
    rank = SoftRankLoss(temperature=settings["daa_temperature"], weight=settings["daa_weight"], variant="released")
    sems = torch.as_tensor(semantics, dtype=dtype)
    spec = SoftRankLoss(temperature=rank.temperature, weight=rank.weight, variant="released")
    total = Objective(LossSpec(triplet="hardest", margin=0.2, soft_rank=spec), {"tfidf": lambda rows: semantics.T})
    losses: dict[str, Loss] = {
        "daa_i2t": lambda s: rank.one_direction(s, sems),
        "daa_t2i": lambda s: rank.one_direction(s.T, sems.T),
        "daa_total": lambda s: total(TrainingScores(s, ((1.0, s),)), np.arange(len(s))),
    }
    for margin in settings["margins"]:
        losses[f"triplet_max_m{margin:g}"] = TripletLoss(margin=margin, negatives="hardest")
        losses[f"triplet_sum_m{margin:g}"] = TripletLoss(margin=margin, negatives="all")
    return losses


def assert_close(ours: np.ndarray | float, theirs: np.ndarray, tolerance: float, name: str) -> None:
    size = max(float(np.abs(theirs).max()), 1e-3)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * size, err_msg=name)


@pytest.mark.parity
@pytest.mark.parametrize(
    "out, dtype, tolerance", [("out64", torch.float64, 1e-9), ("out", torch.float32, 1e-4)], ids=["float64", "float32"]
)
def test_every_released_loss_and_gradient_is_ours(parity, out, dtype, tolerance):
    fixture = parity("losses")
    settings = json.loads(str(fixture["hparams"]))
    left = {key for key in fixture if key.startswith(f"{out}/") and not re.search(NOT_OURS, key)}
    for key in sorted(left):
        match = re.fullmatch(rf"{out}/(B\d+)_(\w+)/(\w[^/]*)/loss", key)
        if match is None:
            continue
        batch, kind, name = match.groups()
        loss = losses_of(settings, fixture[f"{out}/{batch}/sems"], dtype)[name]
        similarity = torch.as_tensor(fixture[f"in/{batch}_{kind}/S"], dtype=dtype).requires_grad_()
        value = loss(similarity)
        (gradient,) = torch.autograd.grad(value, similarity)
        allowed = max(tolerance, 1e-6) if name in FLOAT32_INSIDE else tolerance
        assert_close(value.item(), fixture[key], allowed, key)
        slope = key.removesuffix("loss") + "dloss_dS"
        assert_close(gradient.numpy(), fixture[slope], allowed, slope)
        left -= {key, slope}
    left -= compare_pcme(fixture, settings, out, dtype, tolerance)
    assert {key.split("/")[-1] for key in left} <= set(NOT_COMPARED), left


def compare_pcme(fixture, settings: dict, out: str, dtype: torch.dtype, tolerance: float) -> set[str]:
    """PCME-DAA: K samples of each item against one another; its second input has no part in it."""
    samples = torch.as_tensor(fixture["in/pcme/input1"], dtype=dtype).requires_grad_()
    items, each, _ = samples.shape
    flat = samples.flatten(0, 1)
    semantics = torch.as_tensor(fixture["in/pcme/cider_map"], dtype=dtype)
    semantics = semantics.repeat_interleave(each, 0).repeat_interleave(each, 1)
    loss = SoftRankLoss(temperature=settings["pcme_temperature"], weight=1.0, variant="released").one_direction(
        flat @ flat.T, semantics
    )
    (gradient,) = torch.autograd.grad(loss, samples)
    value, slope = f"{out}/pcme/coco_daa_unweighted", f"{out}/pcme/dloss_dinput1"
    assert_close(loss.item(), fixture[value], tolerance, value)
    assert_close(gradient.numpy(), fixture[slope], tolerance, slope)
    assert len(semantics) == items * each
    return {value, slope}
