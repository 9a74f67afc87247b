"""Differentiable ranks: one plus the number of items that score higher, counted with a sigmoid instead of a step.

Source: "A Differentiable Semantic Metric Approximation in Probabilistic Embedding for Cross-Modal Retrieval" (DAA) and
its released code, which compares the score of a query and an item with the scores of *the item's* row instead of the
query's (a missing transpose); the two agree only for a symmetric matrix.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from fivesentences.config.types import Variant

CLAMP = 50.0  # the release cuts (other - own) / temperature there: gaps beyond 50 temperatures have no gradient
# Differences in memory at once: on a CPU a block that stays in a core's cache; a GPU needs few, large ones.
BLOCK_ELEMENTS = {"cpu": 2**18, "cuda": 2**26}


def rank_agreement(ours: Tensor, theirs: Tensor) -> Tensor:
    """Compute the mean of the smaller over the larger of two ranks, 0 to 1: ASP (DAA, equation 1)."""
    return (torch.minimum(ours, theirs) / torch.maximum(ours, theirs)).mean()


def soft_ranks(
    scores: Tensor, temperature: float, variant: Variant = "paper", block_elements: int | None = None
) -> Tensor:
    """``1 + sum over a != c of sigmoid((scores[b, a] - scores[b, c]) / temperature)``; differentiable once.

    Args:
        scores: ``[queries, items]``; square for ``"released"``, which puts ``scores[a, b]`` for ``scores[b, a]``.
        temperature: Temperature of the sigmoid.
        variant: As in ``SoftRankLoss``.
        block_elements: Most differences in memory at once; None: what suits the device. It affects memory and speed,
            and the ranks by rounding only.

    Returns:
        ``[queries, items]`` ranks from 1 (best) to the number of items; equal scores share the mean of their ranks.
    """
    if block_elements is None:
        block_elements = BLOCK_ELEMENTS.get(scores.device.type, BLOCK_ELEMENTS["cuda"])
    others = scores if variant == "paper" else scores.T
    ranks: Tensor = _SoftRanks.apply(others, scores, temperature, block_elements)  # type: ignore[no-untyped-call]
    return ranks


class _SoftRanks(torch.autograd.Function):
    """``rank[b, c] = 1 + sum over a != c of sigmoid((others[b, a] - own[b, c]) / temperature)``.

    An autograd function because B x B x B sigmoids kept for the backward pass take gigabytes from B = 512 on; here they
    are computed block by block, and computed again for the gradient.
    """

    @staticmethod
    def forward(ctx: Any, others: Tensor, own: Tensor, temperature: float, block_elements: int) -> Tensor:
        ctx.save_for_backward(others, own)
        ctx.temperature, ctx.block_elements = temperature, block_elements
        ranks = torch.empty_like(own, memory_format=torch.contiguous_format)
        for rows in _blocks(own, block_elements):
            torch.sum(_sigmoid(_differences(others[rows], own[rows]), temperature), dim=2, out=ranks[rows])
        # The sum included a = c.
        return ranks.sub_(_sigmoid(others - own, temperature)).add_(1.0)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        others, own = ctx.saved_tensors  # type: ignore[attr-defined]
        temperature: float = ctx.temperature  # type: ignore[attr-defined]
        gradient = gradients[0] / temperature  # [queries, items]
        into_others, into_own = torch.empty_like(gradient), torch.empty_like(gradient)
        for rows in _blocks(own, ctx.block_elements):  # type: ignore[attr-defined]
            slopes = _slope(_differences(others[rows], own[rows]), temperature)  # [rows, c, a]
            torch.sum(slopes, dim=2, out=into_own[rows])
            into_others[rows] = torch.bmm(gradient[rows, None, :], slopes)[:, 0]
        itself = _slope(others - own, temperature).mul_(gradient)
        into_own.mul_(gradient).sub_(itself).neg_()
        return into_others.sub_(itself), into_own, None, None


def _blocks(own: Tensor, block_elements: int) -> list[slice]:
    queries, items = own.shape
    size = max(1, block_elements // max(1, items * items))
    return [slice(start, start + size) for start in range(0, queries, size)]


def _differences(others: Tensor, own: Tensor) -> Tensor:
    """Return ``[rows, items c, items a]``: by how much item a is before item c."""
    return others[:, None, :] - own[:, :, None]


def _sigmoid(difference: Tensor, temperature: float) -> Tensor:
    """In place."""
    return difference.mul_(1.0 / temperature).clamp_(-CLAMP, CLAMP).sigmoid_()


def _slope(difference: Tensor, temperature: float) -> Tensor:
    """Derivative of the sigmoid, in place. Even, so taken on the side where ``y (1 - y)`` loses no digits."""
    y = difference.abs_().mul_(-1.0 / temperature).clamp_(min=-CLAMP).sigmoid_()
    return y.addcmul_(y, y, value=-1.0)
