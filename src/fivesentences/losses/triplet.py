"""Hinge losses with a fixed margin: all negatives, the hardest one, or the k nearest.

Sources: VSE++ (all and hardest; ``losses.npz`` of the released code), knn_margin equations 2 and 4 (k nearest).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fivesentences.config.reading import check
from fivesentences.losses.batch import checked_batch
from fivesentences.losses.triplet_spec import TripletNegatives, TripletSpec

DEFAULT = TripletSpec()


class TripletLoss(nn.Module):
    """Hinge loss with a fixed margin over all negatives, the hardest one (VSE++) or the k nearest (kNN margin).

    Sum over the batch and both directions of ``[margin - S_ii + S_ij]+`` over the chosen negatives j. Another caption
    of the same image counts as a negative if the batch holds it, as in every released code.

    Args:
        margin: How much more similar a matched pair must be than a negative one, in units of the similarity.
        negatives: ``"all"``; ``"hardest"``, the most similar negative of each query; or k >= 1, the k most
            similar ones. 1 equals ``"hardest"`` and B - 1 or more equals ``"all"``. Of equally similar negatives
            the one with the lower index is taken first (the loss is the same, the gradient is not).

    Raises:
        InputError: If an argument is out of range.
    """

    def __init__(self, margin: float = DEFAULT.margin, negatives: TripletNegatives = DEFAULT.negatives):
        super().__init__()
        spec = check(TripletSpec, {"margin": margin, "negatives": negatives}, "TripletLoss")
        self.margin, self.negatives = spec.margin, spec.negatives

    def forward(self, similarity: Tensor) -> Tensor:
        """The loss, a scalar.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.

        Raises:
            InputError: If it is not square.
        """
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

    def extra_repr(self) -> str:
        """Settings, for printing."""
        return f"margin={self.margin}, negatives={self.negatives!r}"


def nearest_negatives(scores: Tensor, count: int) -> Tensor:
    """The ``count`` largest entries of each row off the diagonal, largest first; ties by lower column."""
    off_diagonal = without_diagonal(scores)
    if count == off_diagonal.shape[1]:
        return off_diagonal
    if count == 1:
        return off_diagonal.max(dim=1, keepdim=True).values  # torch documents: the first of equal maxima
    return off_diagonal.gather(1, off_diagonal.argsort(dim=1, descending=True, stable=True)[:, :count])


def without_diagonal(scores: Tensor) -> Tensor:
    """``[B, B]`` -> ``[B, B - 1]``: each row without its diagonal entry, order kept."""
    batch = len(scores)
    kept = ~torch.eye(batch, dtype=torch.bool, device=scores.device)
    return scores[kept].view(batch, batch - 1)
