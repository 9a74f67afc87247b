"""Smooth average precision of the one positive of each query: present in DAA's release, but switched off there.

Source: Brown et al., "Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval", as implemented in DAA's
released code. With a single positive, the average precision is one over its rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fivesentences.config.types import Positive
from fivesentences.losses.loss import Loss, checked_batch, torch

if TYPE_CHECKING:
    from torch import Tensor

CLAMP = 50.0  # the release cuts gap / temperature there, as in its soft ranks


class SmoothAPLoss(Loss):
    """Smooth average precision (Brown et al. 2020) of the one positive of each query.

    ``weight * (1 - mean over queries i of 1 / r_i)``, where r_i is the soft rank of the query's own item:
    ``r_i = 1 + sum over j != i of sigmoid((S_ij - S_ii) / temperature)``. Both directions are added.
    """

    title = "smooth AP"
    suffix = "+smooth_ap"

    temperature: Positive = 1e-3
    """Temperature of the sigmoid, in units of the similarity."""
    weight: Positive = 25.0
    """Factor of the loss; 25 in the release."""

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [f"smooth_ap={self.temperature:g}", f"ap_weight={self.weight:g}"]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``T = 0.001, weight 25``."""
        return [f"T = {self.temperature:g}", f"weight {self.weight:g}"]

    def __call__(self, similarity: Tensor) -> Tensor:
        """Compute the loss of ``[B images, B captions]``, a scalar."""
        checked_batch("SmoothAPLoss", similarity)
        return self.one_direction(similarity) + self.one_direction(similarity.T)

    def one_direction(self, scores: Tensor) -> Tensor:
        """Compute the loss of one direction; ``scores`` ``[queries, items]``, positives on the diagonal."""
        gap = scores - scores.diagonal()[:, None]
        # Not torch.sigmoid, whose gradient y (1 - y) loses digits in single precision where y is near 1.
        before = torch.exp((-gap / self.temperature).clamp(-CLAMP, CLAMP)).add(1.0).reciprocal()
        ranks = before.sum(dim=1) - before.diagonal() + 1.0  # the positive itself does not count
        return self.weight * (1.0 - ranks.reciprocal().mean())
