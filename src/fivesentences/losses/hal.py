"""HAL: a hubness-aware loss in which every negative of the batch counts, closer ones more.

Source: Liu et al., "HAL: Improved Text-Image Matching by Mitigating Visual Semantic Hubs", its local form, and the
released code (github.com/hardyqr/HAL) without its optional memory bank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from fivesentences.config.types import Positive
from fivesentences.losses.loss import Loss, checked_batch, torch, unless

if TYPE_CHECKING:
    from torch import Tensor


class HAL(Loss):
    """Hubness-aware loss (Liu et al. 2020) over all negatives; the defaults are those of its release for Flickr30K.

    Mean over the batch of ``softsum_row + softsum_column - log(1 + [S_ii]+)`` with
    ``softsum = log(1 + sum over j of exp(gamma * (S_ij - epsilon))) / gamma``. The release replaces ``S_ii`` by 0
    *inside the sum* (the term stays), which adds a constant to it; so does this.

    Unlike the hinge losses this one is a mean over the batch, as released. It expects cosines.
    """

    title = "HAL"
    suffix = "+hal"
    SETTINGS: ClassVar = {"coco": {"gamma": 30.0, "epsilon": 0.3}, "f30k": {"gamma": 60.0, "epsilon": 0.7}}

    gamma: Positive = 60.0
    """Sharpness; released: 60 (Flickr30K), 30 (COCO)."""
    epsilon: float = 0.7
    """Similarity from which a negative counts; released: 0.7 (Flickr30K), 0.3 (COCO)."""
    weight: Positive = 1.0
    """Factor of the loss."""

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [f"gamma={self.gamma:g}", f"epsilon={self.epsilon:g}", *unless(1.0, self.weight, "hal_weight={}")]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``γ = 60, ε = 0.7``."""
        return [f"γ = {self.gamma:g}", f"ε = {self.epsilon:g}", *unless(1.0, self.weight, "weight {}")]

    def __call__(self, similarity: Tensor) -> Tensor:
        """Compute the loss of ``[B images, B captions]``, a scalar."""
        checked_batch("HAL", similarity)
        own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
        negatives = self.gamma * (similarity.masked_fill(own, 0.0) - self.epsilon)
        # log(1 + sum exp(x)) = logsumexp over x and a 0, which cannot overflow.
        rows, columns = (torch.logsumexp(torch.nn.functional.pad(x, (1, 0)), dim=1) for x in (negatives, negatives.T))
        return self.weight * ((rows + columns) / self.gamma - torch.log1p(similarity.diagonal().clamp(min=0))).mean()
