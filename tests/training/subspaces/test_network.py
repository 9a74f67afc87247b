"""The network's gradients are autograd's, its optimiser is torch's, and dropout drops what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from fivesentences.training.subspaces.network import (
    Branch,
    NesterovSGD,
    NetworkProjector,
    Widths,
    dropout_mask,
    initial_weights,
    layers,
    outputs_of,
)

WIDTHS = Widths(7, 11, 4)


def as_printed(weights: Tensor, inputs: Tensor, mask: Tensor | float = 1.0) -> Tensor:
    """Section 3.5 in plain torch, before the L2 norm."""
    first, first_bias, second, second_bias = layers(weights, WIDTHS)
    return torch.tanh((torch.tanh(inputs @ first + first_bias) * mask) @ second + second_bias)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_gradients_are_those_of_autograd(dropout):
    rng = np.random.default_rng(0)
    weights = initial_weights(WIDTHS, rng) + 0.1 * torch.randn(WIDTHS.size)
    gradients = torch.zeros_like(weights)
    branch = Branch(WIDTHS, weights, gradients)
    for rows in (9, 3, 9):  # arrays of another batch size must not be mixed up
        inputs, slope = torch.randn(rows, 7), torch.randn(rows, 4)
        mask = dropout_mask(torch.empty(rows, 11), dropout, np.random.default_rng(5)) if dropout else 1.0
        plain = weights.clone().requires_grad_()
        expected = torch.nn.functional.normalize(as_printed(plain, inputs, mask))
        (wanted,) = torch.autograd.grad(expected, plain, slope)
        ours = branch.forward(inputs, dropout, np.random.default_rng(5))
        torch.testing.assert_close(ours, expected.detach(), rtol=0, atol=1e-6)
        branch.backward(inputs, slope.clone(), dropout)
        torch.testing.assert_close(gradients, wanted, rtol=1e-4, atol=1e-5)


def test_projecting_in_blocks_is_the_network_without_dropout():
    weights = initial_weights(WIDTHS, np.random.default_rng(0))
    inputs = torch.randn(1100, 7)
    torch.testing.assert_close(outputs_of(weights, WIDTHS, inputs), as_printed(weights, inputs), rtol=0, atol=1e-6)
    projector = NetworkProjector(weights, WIDTHS, weights, WIDTHS)
    images, _ = projector(inputs.numpy().astype(np.float64), inputs[:5].numpy())
    assert images.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1, atol=1e-6)


def test_steps_are_those_of_torch():
    ours, theirs = torch.linspace(-1, 1, 20), torch.linspace(-1, 1, 20).requires_grad_()
    gradients = torch.zeros(20)
    sgd = NesterovSGD(ours, gradients, 0.9)
    reference = torch.optim.SGD([theirs], lr=0.1, momentum=0.9, nesterov=True)
    for _ in range(6):
        reference.zero_grad()
        (theirs**4).sum().backward()
        reference.step()
        gradients.copy_(4 * ours**3)
        sgd.step(0.1)
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-6)


def test_weights_are_glorots_and_dropout_leaves_out_its_share():
    widths = Widths(200, 300, 100)
    first, first_bias, second, second_bias = layers(initial_weights(widths, np.random.default_rng(0)), widths)
    for weights in (first, second):
        assert weights.std().item() == pytest.approx(math.sqrt(2 / sum(weights.shape)), rel=0.02)
    assert not first_bias.any() and not second_bias.any()
    mask = dropout_mask(torch.empty(1000, 1000), 0.1, np.random.default_rng(0))
    assert (mask == 0).float().mean().item() == pytest.approx(0.1, abs=0.001)
    assert mask[mask > 0].unique().numel() == 1 and mask.mean().item() == pytest.approx(1.0, abs=0.001)
