"""HAL: a hubness-aware loss in which every negative of the batch counts, the closer the more.

Source: Liu et al., "HAL: Improved Text-Image Matching by Mitigating Visual Semantic Hubs", its local form, and the
released code (github.com/hardyqr/HAL) without its optional memory bank.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from fivesentences.errors import InputError


class HAL(nn.Module):
    """Mean over the batch of ``softsum_row + softsum_column - log(1 + [S_ii]+)``.

    ``softsum = log(1 + sum over j of exp(gamma * (S_ij - epsilon))) / gamma``. In place of ``S_ii`` the release puts 0
    *into the sum* (it keeps the term), which adds a constant to it: so does this.

    Unlike the hinge losses this one is a mean over the batch, as released.

    Args:
        gamma: Sharpness; the larger, the more the closest negative decides. 30 (COCO, batch 512) or 60 (Flickr30K,
            batch 128); above 0.
        epsilon: Similarity from which a negative counts; 0.3 (COCO) or 0.7 (Flickr30K).

    Raises:
        InputError: If gamma is not above 0.
    """

    SETTINGS: ClassVar[dict[str, dict[str, float]]] = {
        "coco": {"gamma": 30.0, "epsilon": 0.3},
        "f30k": {"gamma": 60.0, "epsilon": 0.7},
    }

    def __init__(self, gamma: float = 60.0, epsilon: float = 0.7):
        super().__init__()
        if not gamma > 0:
            raise InputError(f"HAL: gamma is {gamma}; it must be above 0.")
        self.gamma, self.epsilon = gamma, epsilon

    def forward(self, similarity: Tensor) -> Tensor:
        """The loss, a scalar.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal; cosines.
        """
        own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
        negatives = self.gamma * (similarity.masked_fill(own, 0.0) - self.epsilon)
        # log(1 + sum exp(x)) = logsumexp over x and a 0, which cannot overflow.
        rows, columns = (torch.logsumexp(nn.functional.pad(x, (1, 0)), dim=1) for x in (negatives, negatives.T))
        return ((rows + columns) / self.gamma - torch.log1p(similarity.diagonal().clamp(min=0))).mean()

    def extra_repr(self) -> str:
        """Settings, for printing."""
        return f"gamma={self.gamma}, epsilon={self.epsilon}"
