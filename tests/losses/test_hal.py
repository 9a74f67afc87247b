"""HAL against its formula; released numbers: test_released_losses."""

from __future__ import annotations

import math

import pytest
import torch

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
def test_it_equals_its_formula(settings):
    similarity = 2 * torch.rand(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1
    assert HAL(**settings)(similarity).item() == pytest.approx(slow(similarity.numpy(), **settings), abs=1e-12)
    weighted = HAL(**settings, weight=3)(similarity).item()
    assert weighted == pytest.approx(3 * slow(similarity.numpy(), **settings), abs=1e-12)


def test_large_scores_do_not_overflow():
    similarity = torch.full((4, 4), 30.0, requires_grad=True)
    value = HAL()(similarity)
    value.backward()
    assert value.isfinite()
    assert similarity.grad is not None
    assert similarity.grad.isfinite().all()
