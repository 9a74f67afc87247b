"""HAL: a hubness-aware loss in which every negative of the batch counts, closer ones more.

Source: Liu et al., "HAL: Improved Text-Image Matching by Mitigating Visual Semantic Hubs", its local form, and the
released code (github.com/hardyqr/HAL) without its optional memory bank.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from fivesentences.config.reading import check
from fivesentences.losses.batch import checked_batch
from fivesentences.losses.hal_spec import HalSpec

DEFAULT = HalSpec()


class HAL(nn.Module):
    """Hubness-aware loss (Liu et al. 2020): every negative of the batch counts, closer ones more.

    Mean over the batch of ``softsum_row + softsum_column - log(1 + [S_ii]+)`` with
    ``softsum = log(1 + sum over j of exp(gamma * (S_ij - epsilon))) / gamma``. The release replaces ``S_ii`` by 0
    *inside the sum* (the term stays), which adds a constant to it; so does this.

    Unlike the hinge losses this one is a mean over the batch, as released.

    Args:
        gamma: Sharpness; the larger, the more the closest negative decides. 30 (COCO, batch 512) or 60 (Flickr30K,
            batch 128); above 0.
        epsilon: Similarity from which a negative counts; 0.3 (COCO) or 0.7 (Flickr30K).
        weight: Factor of the whole loss.

    Raises:
        InputError: If gamma or the weight is not above 0.
    """

    SETTINGS: ClassVar[dict[str, dict[str, float]]] = {
        "coco": {"gamma": 30.0, "epsilon": 0.3},
        "f30k": {"gamma": 60.0, "epsilon": 0.7},
    }

    def __init__(self, gamma: float = DEFAULT.gamma, epsilon: float = DEFAULT.epsilon, weight: float = DEFAULT.weight):
        super().__init__()
        spec = check(HalSpec, {"gamma": gamma, "epsilon": epsilon, "weight": weight}, "HAL")
        self.gamma, self.epsilon, self.weight = spec.gamma, spec.epsilon, spec.weight

    def forward(self, similarity: Tensor) -> Tensor:
        """The loss, a scalar.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal; cosines.

        Raises:
            InputError: If it is not square.
        """
        checked_batch("HAL", similarity)
        own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
        negatives = self.gamma * (similarity.masked_fill(own, 0.0) - self.epsilon)
        # log(1 + sum exp(x)) = logsumexp over x and a 0, which cannot overflow.
        rows, columns = (torch.logsumexp(nn.functional.pad(x, (1, 0)), dim=1) for x in (negatives, negatives.T))
        loss = ((rows + columns) / self.gamma - torch.log1p(similarity.diagonal().clamp(min=0))).mean()
        return loss if self.weight == 1 else self.weight * loss

    def extra_repr(self) -> str:
        """Settings, for printing."""
        return f"gamma={self.gamma}, epsilon={self.epsilon}, weight={self.weight}"
