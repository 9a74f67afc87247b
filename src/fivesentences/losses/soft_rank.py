"""DAA's loss: a model should rank a whole batch as a semantic score does.

Source: "A Differentiable Semantic Metric Approximation in Probabilistic Embedding for Cross-Modal Retrieval" (DAA) and
its released code. A rank is one plus the number of items that score higher; counting with a sigmoid instead of a step
makes it differentiable. Average Semantic Precision (ASP) compares two ranks by the smaller over the larger one, and the
loss is ``weight * (1 - ASP of the batch)``, in both directions.

The released code compares the score of a query and an item with the scores of *the item's* row instead of the query's
(a missing transpose), for the model's scores and for the semantic ones; the two agree only for a symmetric matrix.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from fivesentences.config.reading import check
from fivesentences.config.types import Variant
from fivesentences.losses.batch import checked_batch
from fivesentences.losses.soft_rank_spec import SoftRankSpec

DEFAULT = SoftRankSpec()
CLAMP = 50.0  # the release cuts (other - own) / temperature there: gaps beyond 50 temperatures have no gradient
# Differences in memory at once: on a CPU a block that stays in a core's cache; a GPU needs few, large ones.
BLOCK_ELEMENTS = {"cpu": 2**18, "cuda": 2**26}


class SoftRankLoss(nn.Module):
    """DAA's loss: the model should rank the items of a batch as phi does.

    ``weight * (1 - mean of min(r_model, r_phi) / max(r_model, r_phi))``, i2t plus t2i, with soft ranks: 1 plus the sum
    over the other items of sigmoid((other - own) / temperature).
    With a temperature of 0.001 only near-ties have a gradient: scores further apart than 50 temperatures have none.
    The released code adds this loss to ``TripletLoss(0.2, "hardest")`` of SGR or SAF with weight 25 (COCO) or
    10 (Flickr30K).

    Args:
        temperature: Of the sigmoid, in units of the scores (the same one for both matrices, as released); above 0.
        weight: Factor of the whole loss.
        variant: ``"paper"``: a query's items are ranked among that query's items. ``"released"``: the
            scores of a query and an item are compared with those of the item's row, since a transpose is missing.

    Raises:
        InputError: If an argument is out of range.
    """

    def __init__(
        self,
        temperature: float = DEFAULT.temperature,
        weight: float = DEFAULT.weight,
        variant: Variant = DEFAULT.variant,
    ):
        super().__init__()
        given = {"temperature": temperature, "weight": weight, "variant": variant}
        spec = check(SoftRankSpec, given, "SoftRankLoss")
        self.temperature, self.weight, self.variant = spec.temperature, spec.weight, spec.variant

    def forward(self, similarity: Tensor, phi: Tensor) -> Tensor:
        """The loss, a scalar; the gradient flows into ``similarity`` only.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.
            phi: ``[B captions, B images]`` of the same pairs, any scale (the release: tf-idf cosines, 0..1).

        Raises:
            InputError: If the shapes disagree.
        """
        checked_batch("SoftRankLoss", similarity, phi, needs_phi=True)
        return self.one_direction(similarity, phi.T) + self.one_direction(similarity.T, phi)

    def one_direction(self, scores: Tensor, semantics: Tensor) -> Tensor:
        """The loss of one direction: two ``[queries, items]`` matrices (square), rows are queries."""
        semantics = semantics.detach().to(scores.dtype)
        ours, theirs = (soft_ranks(matrix, self.temperature, self.variant) for matrix in (scores, semantics))
        return self.weight * (1.0 - rank_agreement(ours, theirs))

    def extra_repr(self) -> str:
        """Settings, for printing."""
        return f"temperature={self.temperature}, weight={self.weight}, variant={self.variant!r}"


def rank_agreement(ours: Tensor, theirs: Tensor) -> Tensor:
    """Mean of the smaller over the larger of two ranks, 0 to 1: Average Semantic Precision (DAA, equation 1)."""
    return (torch.minimum(ours, theirs) / torch.maximum(ours, theirs)).mean()


def soft_ranks(
    scores: Tensor,
    temperature: float,
    variant: Variant = DEFAULT.variant,
    block_elements: int | None = None,
) -> Tensor:
    """``1 + sum over a != c of sigmoid((scores[b, a] - scores[b, c]) / temperature)``; differentiable once.

    Args:
        scores: ``[queries, items]``; square for ``"released"``, which puts ``scores[a, b]`` for ``scores[b, a]``.
        temperature: Of the sigmoid.
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
    """``[rows, items c, items a]``: by how much item a is before item c."""
    return others[:, None, :] - own[:, :, None]


def _sigmoid(difference: Tensor, temperature: float) -> Tensor:
    """In place."""
    return difference.mul_(1.0 / temperature).clamp_(-CLAMP, CLAMP).sigmoid_()


def _slope(difference: Tensor, temperature: float) -> Tensor:
    """Derivative of the sigmoid, in place. Even, so taken on the side where ``y (1 - y)`` loses no digits."""
    y = difference.abs_().mul_(-1.0 / temperature).clamp_(min=-CLAMP).sigmoid_()
    return y.addcmul_(y, y, value=-1.0)
