"""Hinge losses with a fixed margin: all negatives, the hardest one, or the k nearest.

Sources: VSE++ (all and hardest; ``losses.npz`` of the released code), knn_margin equations 2 and 4 (k nearest).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

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

    margin: Margin = MARGIN
    """How much more similar a matched pair must be than a negative one, in units of the similarity."""
    negatives: TripletNegatives = "all"
    """All of the batch, the most similar one of each query, or the k most similar ones."""

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
        batch = len(scores)  # [queries, items]; each query's positive is on the diagonal
        negative = scores[~torch.eye(batch, dtype=torch.bool, device=scores.device)].view(batch, batch - 1)
        most = {"all": batch, "hardest": 1}.get(str(self.negatives)) or int(self.negatives)
        if most < batch - 1:  # the last batch of an epoch may hold fewer than k others
            if most == 1:
                negative = negative.max(dim=1, keepdim=True).values  # torch documents: the first of equal maxima
            else:
                negative = negative.gather(1, negative.argsort(dim=1, descending=True, stable=True)[:, :most])
        return (self.margin + negative - scores.diagonal()[:, None]).clamp(min=0).sum()


def hardest_hinges(scores: Tensor, masked: Tensor, margin: float | Tensor) -> Tensor:
    """Return the sum of the hinges of each query with the most similar item that is not masked.

    Args:
        scores: ``[queries, items]``, each query's positive on the diagonal.
        masked: ``[queries, items]`` True for items that are no negatives; the positive never is one.
        margin: One margin, or ``[queries, items]``.
    """
    negatives = scores.masked_fill(masked | torch.eye(len(scores), dtype=torch.bool, device=scores.device), -torch.inf)
    found = negatives.max(dim=1)
    if isinstance(margin, torch.Tensor):
        margin = margin.gather(1, found.indices[:, None])[:, 0]
    return (margin + found.values - scores.diagonal()).clamp(min=0).sum()
