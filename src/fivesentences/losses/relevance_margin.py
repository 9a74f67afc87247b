"""Triplet loss whose margin is the relevance that a negative lacks: the relevance-based margin of video retrieval.

Source: Falcon et al., "Relevance-based Margin for Contrastively-trained Video Retrieval Models" (ICMR 2022, arXiv
2204.13001): the margin of a triplet is the relevance of the positive minus that of the negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fivesentences.config.types import EvaluationPhi, Positive
from fivesentences.losses.loss import LossOfPhi, torch, unless
from fivesentences.losses.triplet import hardest_hinges

if TYPE_CHECKING:
    from torch import Tensor


class RelevanceMargin(LossOfPhi):
    """Triplet loss with the hardest negative, and the difference in phi between positive and negative as its margin.

    Unlike SAM's margin it is of the hardest negative, replaces the fixed one, has no weight of its own and is never
    below 0.
    """

    title = "relevance margin"
    suffix = "+relevance_margin"

    scale: Positive = 1.0
    """Factor of the margin; 1 in the paper, whose relevance is 0 to 1."""
    phi: EvaluationPhi = "embedding"
    """Relevance of a caption for an image."""

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [f"relevance_margin={self.scale:g}", f"phi={self.phi}"]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``by MiniLM``, ``scale 0.25``."""
        return [f"by {phis.get(self.phi, self.phi)}", *unless(1.0, self.scale, "scale {}")]

    def computed(self, similarity: Tensor, phi: Tensor) -> Tensor:
        """Compute the loss of a checked batch, see ``LossOfPhi``."""
        phi = phi.detach()
        total, own, nothing = similarity.new_zeros(()), phi.diagonal(), torch.zeros_like(phi, dtype=torch.bool)
        for scores, of_items in ((similarity, phi.T), (similarity.T, phi)):
            total = total + hardest_hinges(scores, nothing, self.scale * (own[:, None] - of_items).clamp(min=0))
        return total
