"""HAL against its formula; released numbers: test_released_losses."""

from __future__ import annotations

import math

import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.losses import HAL


def slow(similarity, gamma: float, epsilon: float) -> float:
    total, size = 0.0, len(similarity)
    for i in range(size):
        for scores in (similarity[i], similarity[:, i]):
            terms = (math.exp(gamma * ((0.0 if j == i else scores[j]) - epsilon)) for j in range(size))
            total += math.log(1 + sum(terms)) / gamma
        total -= math.log(1 + max(0.0, similarity[i, i]))
    return total / size


@pytest.mark.parametrize("settings", HAL.SETTINGS.values(), ids=HAL.SETTINGS)
def test_it_equals_its_formula_and_its_gradient_numerical_ones(settings):
    similarity = 2 * torch.rand(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1
    assert HAL(**settings)(similarity).item() == pytest.approx(slow(similarity.numpy(), **settings), abs=1e-12)
    assert torch.autograd.gradcheck(HAL(**settings), similarity.requires_grad_())


def test_large_scores_do_not_overflow():
    similarity = torch.full((4, 4), 30.0, requires_grad=True)
    value = HAL()(similarity)
    value.backward()
    assert value.isfinite()
    assert similarity.grad is not None
    assert similarity.grad.isfinite().all()


def test_gamma_of_zero_is_refused():
    with pytest.raises(InputError, match="HAL: gamma is 0"):
        HAL(0)
