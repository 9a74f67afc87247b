"""Soft labels: the model's distribution over the batch is drawn to that of phi.

Sources: CUSA (Huang et al., AAAI 2024, arXiv 2403.05261), whose cross-modal soft labels come from a text encoder, and
BCLS (arXiv 2210.11319). Both put the divergence beside a contrastive loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fivesentences.config.types import EvaluationPhi, Positive
from fivesentences.losses.loss import LossOfPhi, torch, unless

if TYPE_CHECKING:
    from torch import Tensor

TEMPERATURE = 0.07  # of InfoNCE


class SoftLabels(LossOfPhi):
    """KL divergence from the softmax of phi to that of the similarity, averaged over queries and directions."""

    title = "soft labels"
    suffix = "+soft_labels"

    phi: EvaluationPhi = "embedding"
    """Labels are a softmax over the batch of this φ."""
    phi_temperature: Positive = 0.1
    """Temperature of the labels, in units of φ."""
    temperature: Positive = TEMPERATURE
    """Temperature of the similarity."""
    weight: Positive = 1.0
    """Factor of the loss."""

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        temperatures = [f"soft_labels={self.phi_temperature:g}", f"T={self.temperature:g}"]
        return [*temperatures, f"phi={self.phi}", *unless(1.0, self.weight, "soft_weight={}")]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``by MiniLM, T = 0.1``."""
        return [
            f"by {phis.get(self.phi, self.phi)}",
            f"T = {self.phi_temperature:g}",
            *unless(TEMPERATURE, self.temperature, "T of the similarity {}"),
            *unless(1.0, self.weight, "weight {}"),
        ]

    def computed(self, similarity: Tensor, phi: Tensor) -> Tensor:
        """Compute the loss of a checked batch, see ``LossOfPhi``."""
        phi = phi.detach()
        total = similarity.new_zeros(())
        for scores, labels in ((similarity, phi.T), (similarity.T, phi)):  # each [queries, items]
            wanted = torch.log_softmax(labels / self.phi_temperature, dim=1)
            found = torch.log_softmax(scores / self.temperature, dim=1)
            total = total + (wanted.exp() * (wanted - found)).sum(dim=1).mean()
        return self.weight * total / 2
