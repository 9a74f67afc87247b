"""Smooth average precision of the one positive of each query: present in DAA's release, but switched off there.

Source: Brown et al., "Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval", as implemented in DAA's
released code. With a single positive, the average precision is one over its rank.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fivesentences.config.reading import check
from fivesentences.losses.batch import checked_batch
from fivesentences.losses.smooth_ap_spec import SmoothAPSpec
from fivesentences.losses.soft_rank import CLAMP

DEFAULT = SmoothAPSpec()


class SmoothAPLoss(nn.Module):
    """Smooth average precision (Brown et al. 2020) of the one positive of each query.

    ``weight * (1 - mean over queries i of 1 / r_i)``, where r_i is the soft rank of the query's own item:
    ``r_i = 1 + sum over j != i of sigmoid((S_ij - S_ii) / temperature)``. Both directions are added.

    Args:
        temperature: Of the sigmoid, in units of the similarity; above 0.
        weight: Factor of the whole loss; 25 in the release.

    Raises:
        InputError: If the temperature or the weight is not above 0.
    """

    def __init__(self, temperature: float = DEFAULT.temperature, weight: float = DEFAULT.weight):
        super().__init__()
        spec = check(SmoothAPSpec, {"temperature": temperature, "weight": weight}, "SmoothAPLoss")
        self.temperature, self.weight = spec.temperature, spec.weight

    def forward(self, similarity: Tensor) -> Tensor:
        """The loss, a scalar.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.

        Raises:
            InputError: If it is not square.
        """
        checked_batch("SmoothAPLoss", similarity)
        return self.one_direction(similarity) + self.one_direction(similarity.T)

    def one_direction(self, scores: Tensor) -> Tensor:
        """The loss of one direction; ``scores`` ``[queries, items]``, positives on the diagonal."""
        gap = scores - scores.diagonal()[:, None]
        # Not torch.sigmoid, whose gradient y (1 - y) loses digits in single precision where y is near 1.
        before = torch.exp((-gap / self.temperature).clamp(-CLAMP, CLAMP)).add(1.0).reciprocal()
        ranks = before.sum(dim=1) - before.diagonal() + 1.0  # the positive itself does not count
        return self.weight * (1.0 - ranks.reciprocal().mean())

    def extra_repr(self) -> str:
        """Settings, for printing."""
        return f"temperature={self.temperature}, weight={self.weight}"
