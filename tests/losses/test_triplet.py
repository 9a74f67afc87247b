"""Triplet losses against a slow version written from the equations; released numbers: test_released_losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.losses import TripletLoss


def slow(similarity: np.ndarray, margin: float, k: int) -> float:
    total = 0.0
    for scores in (similarity, similarity.T):
        for i, row in enumerate(scores):
            nearest = sorted((row[j] for j in range(len(row)) if j != i), reverse=True)[:k]
            total += sum(max(0.0, margin - row[i] + other) for other in nearest)
    return total


@given(st.sampled_from(["hardest", "all", 1, 2, 3, 100]), st.integers(1, 9), st.integers(0, 10**6))
def test_any_number_of_negatives_equals_a_slow_version_of_the_equation(negatives, size, seed):
    similarity = torch.rand(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    expected = slow(similarity.numpy(), 0.2, {"hardest": 1, "all": size}.get(negatives, negatives))
    assert TripletLoss(0.2, negatives)(similarity).item() == pytest.approx(expected, abs=1e-12)


def test_of_equal_negatives_the_lower_index_gets_the_gradient():
    similarity = torch.full((4, 4), 0.5, dtype=torch.float64)
    for negatives in ("hardest", 1):
        scores = similarity.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(TripletLoss(0.2, negatives)(scores), scores)
        # Row 0 picks column 1, every other row column 0; columns likewise; each positive is pushed twice.
        expected = np.diag([-2.0] * 4)
        for i in range(4):
            other = 1 if i == 0 else 0
            expected[i, other] += 1
            expected[other, i] += 1
        np.testing.assert_array_equal(gradient.numpy(), expected)
