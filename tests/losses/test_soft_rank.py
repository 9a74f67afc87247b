"""Soft ranks and their losses against slow loops, hard ranks and numerical derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fivesentences.losses import SoftRankLoss
from fivesentences.losses.soft_rank import soft_ranks
from fivesentences.metrics import asp


def matrices(size: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    similarity, phi = torch.rand(2, size, size, generator=generator, dtype=torch.float64)
    return similarity, phi


def slow_ranks(scores: np.ndarray, temperature: float, variant: str) -> np.ndarray:
    """One comparison at a time, from losses.md: the release compares X[a, b] where X[b, a] is meant."""
    size = len(scores)
    ranks = np.ones((size, size))
    for b in range(size):
        for c in range(size):
            for a in range(size):
                if a != c:
                    other = scores[b, a] if variant == "paper" else scores[a, b]
                    ranks[b, c] += 1 / (1 + math.exp(-(other - scores[b, c]) / temperature))
    return ranks


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_ranks_and_loss_equal_a_slow_loop(variant, tied):
    similarity, phi = ((matrix * 4).round() / 4 if tied else matrix for matrix in matrices(6))
    np.testing.assert_allclose(
        soft_ranks(similarity, 0.1, variant).numpy(), slow_ranks(similarity.numpy(), 0.1, variant), atol=1e-12
    )
    expected = 0.0
    for scores, semantics in ((similarity.numpy(), phi.numpy().T), (similarity.numpy().T, phi.numpy())):
        ours, theirs = slow_ranks(scores, 0.1, variant), slow_ranks(semantics, 0.1, variant)
        expected += 7.0 * (1 - np.mean(np.minimum(ours, theirs) / np.maximum(ours, theirs)))
    assert SoftRankLoss(0.1, 7.0, variant)(similarity, phi).item() == pytest.approx(expected, abs=1e-12)


def test_with_a_tiny_temperature_the_papers_loss_is_one_minus_asp():
    similarity, phi = matrices(9)
    expected = sum(1 - asp(similarity.numpy(), phi.numpy(), direction) / 100 for direction in ("i2t", "t2i"))
    assert SoftRankLoss(1e-9, 1.0)(similarity, phi).item() == pytest.approx(expected, abs=1e-9)


def test_the_block_size_changes_nothing_and_rectangles_can_be_ranked():
    scores = torch.rand(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    results = []
    for block_elements in (1, 60, 10**6):
        ranks = soft_ranks(scores, 0.05, block_elements=block_elements)
        (gradient,) = torch.autograd.grad((ranks**2).sum(), scores)
        results.append((ranks.detach().numpy(), gradient.numpy()))
    for ranks, gradient in results[1:]:
        np.testing.assert_allclose(ranks, results[0][0], atol=1e-12)
        np.testing.assert_allclose(gradient, results[0][1], atol=1e-11)


def test_gaps_beyond_fifty_temperatures_teach_nothing():
    similarity = torch.tensor([[0.0, 0.2, 0.6], [0.9, 0.5, 0.1], [0.3, 0.7, 0.0]], requires_grad=True)
    SoftRankLoss(1e-3)(similarity, torch.rand(3, 3)).backward()
    assert similarity.grad is not None
    assert similarity.grad.abs().max() < 1e-15
