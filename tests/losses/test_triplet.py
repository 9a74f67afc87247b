"""Triplet losses against a slow version written from the equations; released numbers: test_released_losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.losses import TripletLoss


def random_similarity(batch: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(batch, batch, generator=generator, dtype=torch.float64).requires_grad_()


def value_and_gradient(loss, similarity, *more):
    similarity = similarity.detach().clone().requires_grad_()
    value = loss(similarity, *more)
    (gradient,) = torch.autograd.grad(value, similarity)
    return value.item(), gradient.numpy()


def slow_knn_margin(similarity: np.ndarray, margin: float, k: int) -> float:
    total = 0.0
    for scores in (similarity, similarity.T):
        for i, row in enumerate(scores):
            nearest = sorted((row[j] for j in range(len(row)) if j != i), reverse=True)[:k]
            total += sum(max(0.0, margin - row[i] + other) for other in nearest)
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_nearest_k_equals_a_slow_version_of_the_equation(k):
    similarity = random_similarity(7)
    expected = slow_knn_margin(similarity.detach().numpy(), 0.2, k)
    assert TripletLoss(0.2, k)(similarity).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k, same", [(1, "hardest"), (8, "all"), (100, "all")])
def test_k_of_one_is_the_hardest_and_k_of_all_others_is_all(k, same):
    ours = value_and_gradient(TripletLoss(0.2, k), random_similarity(9))
    theirs = value_and_gradient(TripletLoss(0.2, same), random_similarity(9))
    assert ours[0] == pytest.approx(theirs[0], abs=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12)


def test_of_equal_negatives_the_lower_index_gets_the_gradient():
    similarity = torch.full((4, 4), 0.5, dtype=torch.float64)
    for negatives in ("hardest", 1):
        _, gradient = value_and_gradient(TripletLoss(0.2, negatives), similarity)
        # Row 0 picks column 1, every other row column 0; columns likewise; each positive is pushed twice.
        expected = np.diag([-2.0] * 4)
        for i in range(4):
            other = 1 if i == 0 else 0
            expected[i, other] += 1
            expected[other, i] += 1
        np.testing.assert_array_equal(gradient, expected)
