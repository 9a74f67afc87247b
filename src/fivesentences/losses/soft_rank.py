"""DAA's loss: a model should rank a whole batch as a semantic score does.

Source: "A Differentiable Semantic Metric Approximation in Probabilistic Embedding for Cross-Modal Retrieval" (DAA) and
its released code. Average Semantic Precision (ASP) compares two ranks by the smaller over the larger one, and the loss
is ``weight * (1 - ASP of the batch)``, in both directions, with differentiable ranks (``soft_ranks``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fivesentences.config.types import EvaluationPhi, Positive, Variant
from fivesentences.losses.loss import Loss, checked_batch, unless

if TYPE_CHECKING:
    from torch import Tensor

USUAL_WEIGHTS = (10.0, 25.0)  # of the release's README for Flickr30K and MS-COCO


class SoftRankLoss(Loss):
    """DAA's loss: a model should rank a whole batch as phi does; beside (or instead of) the triplet loss.

    ``weight * (1 - mean of min(r_model, r_phi) / max(r_model, r_phi))``, i2t plus t2i, with soft ranks: 1 plus the sum
    over the other items of sigmoid((other - own) / temperature).
    With a temperature of 0.001 only near-ties have a gradient: scores further apart than 50 temperatures have none.
    The released code adds this loss to ``TripletLoss(0.2, "hardest")`` of SGR or SAF with weight 25 (COCO) or
    10 (Flickr30K). Its variant compares the scores of a query and an item with those of the item's row.
    """

    reads = "similarity"
    title = "DAA"
    suffix = "+soft_rank"

    temperature: Positive = 1e-3
    """Temperature of the sigmoid, in units of the scores."""
    weight: Positive = 25.0
    """Factor of the loss; released: 25 (COCO), 10 (Flickr30K)."""
    variant: Variant = "paper"
    """`paper`: a query's items are ranked among that query's items; `released`: a transpose is missing."""
    phi: EvaluationPhi = "tfidf"
    """What ranks are compared with."""

    @property
    def phi_read(self) -> str:
        """Name of the phi that ranks are compared with."""
        return self.phi

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        parts = [f"soft_rank={self.variant}", f"T={self.temperature:g}", f"rank_weight={self.weight:g}"]
        return parts if self.phi == "tfidf" else [*parts, f"rank_phi={self.phi}"]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``by tf-idf, released``, and the settings that differ from the release."""
        settings = [f"by {phis.get(self.phi, self.phi)}", self.variant, *unless(1e-3, self.temperature, "T = {}")]
        return settings if self.weight in USUAL_WEIGHTS else [*settings, f"weight {self.weight:g}"]

    def __call__(self, similarity: Tensor, phi: Tensor) -> Tensor:  # type: ignore[override]
        """Compute the loss, a scalar; the gradient flows into ``similarity`` only.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.
            phi: ``[B captions, B images]`` of the same pairs, any scale (the release: tf-idf cosines, 0..1).

        Raises:
            InputError: If the shapes disagree.
        """
        checked_batch("SoftRankLoss", similarity, phi, needs_phi=True)
        return self.one_direction(similarity, phi.T) + self.one_direction(similarity.T, phi)

    def one_direction(self, scores: Tensor, semantics: Tensor) -> Tensor:
        """Compute the loss of one direction: two ``[queries, items]`` matrices (square), rows are queries."""
        from fivesentences.losses.soft_ranks import rank_agreement, soft_ranks  # imports torch

        semantics = semantics.detach().to(scores.dtype)
        ours, theirs = (soft_ranks(matrix, self.temperature, self.variant) for matrix in (scores, semantics))
        return self.weight * (1.0 - rank_agreement(ours, theirs))
