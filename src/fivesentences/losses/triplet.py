"""Hinge losses with a fixed margin: all negatives, the hardest one, or the k nearest.

Sources: VSE++ (all and hardest; ``losses.npz`` of the released code), knn_margin equations 2 and 4 (k nearest).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from fivesentences.config.types import Count
from fivesentences.losses.loss import MARGIN, Loss, Margin, checked_batch, torch, unless

if TYPE_CHECKING:
    from torch import Tensor

TripletNegatives = Literal["all", "hardest"] | Count


class TripletLoss(Loss):
    """Hinge loss with a fixed margin over all negatives, the hardest one (VSE++) or the k nearest (kNN margin).

    Sum over the batch and both directions of ``[margin - S_ii + S_ij]+`` over the chosen negatives j. Another caption
    of the same image counts as a negative if the batch holds it, as in every released code.

    1 nearest negative equals ``"hardest"``, and B - 1 or more equals ``"all"``. Of equally similar negatives the one
    with the lower index is taken first (the loss is the same, the gradient is not).
    """

    margin: Margin = Field(
        default=MARGIN,
        description="how much more similar a matched pair must be than a negative one, in units of the similarity",
    )
    negatives: TripletNegatives = Field(
        default="all", description="all of the batch, the most similar one of each query, or the k most similar ones"
    )

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [f"triplet={self.negatives}", f"margin={self.margin:g}"]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``hardest negative``, ``kNN margin, k = 3``."""
        named = {"all": ["all negatives"], "hardest": ["hardest negative"]}
        settings = named.get(str(self.negatives), ["kNN margin", f"k = {self.negatives}"])
        return settings + unless(MARGIN, self.margin, "margin {}")

    def __call__(self, similarity: Tensor) -> Tensor:
        """Compute the loss of ``[B images, B captions]``, a scalar."""
        checked_batch("TripletLoss", similarity)
        return self._one_direction(similarity) + self._one_direction(similarity.T)

    def _one_direction(self, scores: Tensor) -> Tensor:
        # scores: [queries, items]; each query's positive is on the diagonal
        negative = nearest_negatives(scores, self._count(len(scores)))  # [queries, k]
        return (self.margin + negative - scores.diagonal()[:, None]).clamp(min=0).sum()

    def _count(self, batch: int) -> int:
        others = max(batch - 1, 0)
        if self.negatives == "all":
            return others
        # The last batch of an epoch may hold fewer than k others.
        return min(1 if self.negatives == "hardest" else int(self.negatives), others)


def nearest_negatives(scores: Tensor, count: int) -> Tensor:
    """Return the ``count`` largest entries of each row off the diagonal, largest first; ties by lower column."""
    off_diagonal = without_diagonal(scores)
    if count == off_diagonal.shape[1]:
        return off_diagonal
    if count == 1:
        return off_diagonal.max(dim=1, keepdim=True).values  # torch documents: the first of equal maxima
    return off_diagonal.gather(1, off_diagonal.argsort(dim=1, descending=True, stable=True)[:, :count])


def without_diagonal(scores: Tensor) -> Tensor:
    """Remove the diagonal entry of each row, order kept: ``[B, B]`` -> ``[B, B - 1]``."""
    batch = len(scores)
    kept = ~torch.eye(batch, dtype=torch.bool, device=scores.device)
    return scores[kept].view(batch, batch - 1)
