"""Adam against torch's optimiser class."""

from __future__ import annotations

import torch

from fivesentences.training.adam import Adam


def parameters():
    torch.manual_seed(0)
    return [torch.randn(size, requires_grad=True) for size in ((7, 3), (5,), (2,))]


def gradients(step: int):
    generator = torch.Generator().manual_seed(step)
    some = [torch.randn(7, 3, generator=generator), torch.randn(5, generator=generator), None]
    return some if step % 3 else [some[0], None, None]  # the last parameter never gets one


def test_every_step_equals_torchs_optimiser_bit_for_bit_also_after_a_resume():
    ours, theirs = parameters(), parameters()
    adam, optimiser = Adam(ours), torch.optim.Adam(theirs, fused=True)
    for step in range(20):
        rate = 0.1 if step < 10 else 0.01
        if step == 8:
            state, adam = adam.state, Adam(ours)
            adam.restore(state)
        for mine, other, gradient in zip(ours, theirs, gradients(step), strict=True):
            mine.grad, other.grad = gradient, gradient
        adam.step(rate)
        optimiser.param_groups[0]["lr"] = rate
        optimiser.step()
        assert all(torch.equal(mine, other) for mine, other in zip(ours, theirs, strict=True))
    adam.zero_grad()
    assert all(parameter.grad is None for parameter in ours)
