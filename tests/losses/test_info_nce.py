"""InfoNCE against CLIP's released loss, closed forms and a slow loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses import InfoNCE, LossSpec
from fivesentences.models.matching import TrainingScores
from fivesentences.training.objective import Objective

# ClipLoss()(images, captions, logit_scale) of open_clip_torch 3.3.0 (PyPI), in float64 with torch 2.15 on a CPU, of
# these embeddings, each divided by its norm: the value, its gradient in the first image (before the norm), and its
# gradient in the logarithm of the logit scale.
IMAGES = [[6.0, -5.0, -9.0], [-9.0, 2.0, -2.0], [-4.0, 0.0, 0.0], [-5.0, 4.0, -8.0]]
CAPTIONS = [[-6.0, -2.0, 7.0], [6.0, -8.0, 2.0], [9.0, -3.0, 1.0], [9.0, 0.0, 1.0]]
CLIP = {
    1.0: (1.9458072087021059, [0.02064058244273541, 0.0059458583468834, 0.010457133657999494], 0.7235217767890794),
    0.07: (16.908857365349412, [0.4316251389617329, 0.05762998202433184, 0.25573343596097087], 16.74253444094324),
    0.01: (117.82191388385937, [3.1049763588295005, 0.513993853896169, 1.78443209816624], 117.81709094378017),
}


def rand(size: int) -> torch.Tensor:
    return 2 * torch.rand(size, size, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("temperature", CLIP)
def test_values_and_gradients_are_those_of_open_clip(temperature, learned):
    value, of_image, of_log_scale = CLIP[temperature]
    images = torch.tensor(IMAGES, dtype=torch.float64, requires_grad=True)
    captions = torch.tensor(CAPTIONS, dtype=torch.float64)
    loss = InfoNCE(temperature, learned)
    if loss.log_scale is not None:
        loss.log_scale.data = torch.tensor(-math.log(temperature), dtype=torch.float64)
    normalised = [rows / rows.norm(dim=1, keepdim=True) for rows in (images, captions)]
    ours = loss(normalised[0] @ normalised[1].T)
    ours.backward()
    assert ours.item() == pytest.approx(value, rel=1e-12)
    assert images.grad is not None
    np.testing.assert_allclose(images.grad[0].numpy(), of_image, rtol=1e-10)
    if loss.log_scale is not None:
        assert loss.log_scale.grad is not None
        assert loss.log_scale.grad.item() == pytest.approx(of_log_scale, rel=1e-12)


def test_it_equals_its_formula_one_query_at_a_time():
    similarity, total = rand(5), 0.0
    for i in range(5):
        for scores in (similarity[i], similarity[:, i]):
            total += math.log(sum(math.exp((scores[j] - scores[i]) / 0.2) for j in range(5)))
    assert InfoNCE(0.2)(similarity).item() == pytest.approx(total / 2 / 5, abs=1e-12)
    assert InfoNCE(0.2, weight=3)(similarity).item() == pytest.approx(3 * total / 2 / 5, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 128])
def test_equal_similarities_cost_the_logarithm_of_the_batch(size):
    value = InfoNCE(0.07)(torch.full((size, size), 0.3, dtype=torch.float64))
    assert value.item() == pytest.approx(math.log(size), abs=1e-12)


def test_one_gap_everywhere_has_a_closed_form():
    similarity = 0.4 * torch.eye(9, dtype=torch.float64) - 0.1
    assert InfoNCE(0.1)(similarity).item() == pytest.approx(math.log1p(8 * math.exp(-0.4 / 0.1)), abs=1e-12)


def test_large_scores_do_not_overflow():
    similarity = (1000 * rand(4)).float().requires_grad_()
    value = InfoNCE(0.01)(similarity)
    value.backward()
    assert value.isfinite()
    assert similarity.grad is not None
    assert similarity.grad.isfinite().all()


def test_a_learned_temperature_starts_where_it_is_told_and_stays_at_001_or_above():
    loss = InfoNCE(0.07, learn_temperature=True)
    assert loss.learned() == {"temperature": pytest.approx(0.07, rel=1e-6)}
    assert loss.log_scale is not None
    steepest = torch.eye(4)  # all right already, so that a lower temperature always costs less
    optimizer = torch.optim.SGD(loss.parameters(), lr=1e6)
    for _ in range(3):
        optimizer.zero_grad()
        loss(steepest).backward()
        optimizer.step()
    assert loss(steepest).item() == pytest.approx(InfoNCE(0.01)(steepest).item(), abs=1e-12)
    assert loss.temperature == pytest.approx(0.01)
    # At the limit it can still rise again: here every query is answered wrongly.
    optimizer.zero_grad()
    loss(-steepest).backward()
    assert loss.log_scale.grad is not None and loss.log_scale.grad.item() > 0
    assert list(InfoNCE().parameters()) == [] and InfoNCE().learned() == {}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": 0}, r"temperature is 0; "),
        ({"temperature": -0.07}, r"temperature is -0\.07; "),
        ({"weight": 0}, r"weight is 0; "),
        ({"learn_temperature": "always"}, r"learn_temperature is 'always'"),
        ({"temperature": 0.001, "learn_temperature": True}, r"temperature is 0\.001, but one that is learned"),
    ],
)
def test_a_setting_out_of_range_is_refused_in_one_sentence(settings: dict[str, Any], said: str):
    with pytest.raises(InputError, match=rf"^InfoNCE: {said}[^\n]*\.?$"):
        InfoNCE(**settings)


def test_one_temperature_serves_all_similarities_that_a_model_ranks():
    objective = Objective(LossSpec(triplet=None, info_nce={"learn_temperature": True}))
    (log_scale,) = objective.parameters()
    one, other = rand(4), -rand(4)
    value = objective(TrainingScores(one, ((2.0, one), (1.0, other))), np.arange(4))
    value.backward()
    fixed = InfoNCE(objective.learned()["temperature"])
    assert value.item() == pytest.approx(2 * fixed(one).item() + fixed(other).item(), rel=1e-6)
    assert log_scale.grad is not None and log_scale.grad.item() != 0
