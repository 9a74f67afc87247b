"""InfoNCE in both directions: the cross entropy by which CLIP and most models since are trained.

Sources: van den Oord et al. 2018, "Representation Learning with Contrastive Predictive Coding", equation 4; Zhang et
al. 2020, "Contrastive Learning of Medical Visual Representations from Paired Images and Text" (ConVIRT), with images
and captions; Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision" (CLIP),
Figure 3, whose values and learned temperature these are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pydantic import model_validator

from fivesentences.config.types import Positive
from fivesentences.losses.loss import Loss, checked_batch, torch, unless

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

LOWEST = 0.01  # CLIP clips its learned factor 1 / temperature at 100


class InfoNCE(Loss):
    """InfoNCE, the loss of CLIP: a cross entropy over the batch, in both directions.

    ``weight * (i2t + t2i) / 2``, where i2t is the mean over i of ``log sum over j of exp((S_ij - S_ii) / T)``.
    The sum over j contains i itself, and t2i is the same on the transpose. A batch of B pairs whose similarities are
    all equal costs log B. Like CLIP's it is a mean over the batch, unlike the triplet losses, which are sums. Training
    limits the gradient's norm and Adam divides by its size, so that alone it trains at the learning rates of the
    others; beside a triplet loss, a weight of B puts both on one scale.

    It expects cosines: with T = 0.07, a negative that is 0.16 less similar than the positive has a tenth of its share.
    A learned temperature is ``log(1 / T)`` as a parameter, trained by the optimiser of the model; T stays at 0.01 or
    above, as in CLIP. Another caption of the same image counts as a negative if the batch holds it.
    """

    title = "InfoNCE"
    suffix = "+info_nce"

    temperature: Positive = 0.07
    """Temperature of the softmax, in units of the similarity; CLIP starts from 0.07."""
    learn_temperature: bool = False
    """Train the temperature with the model, from that value, as CLIP does; at least 0.01."""
    weight: Positive = 1.0
    """Factor of the loss, which is a mean over the batch; the triplet loss is a sum."""

    @model_validator(mode="after")
    def _learned_in_its_range(self) -> Self:
        if self.learn_temperature and self.temperature < LOWEST:
            raise ValueError(f"temperature is {self.temperature:g}; one that is learned starts at {LOWEST:g} or above")
        return self

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        learned = ["temperature=learned"] if self.learn_temperature else []
        return [f"info_nce={self.temperature:g}", *learned, *unless(1.0, self.weight, "info_nce_weight={}")]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``T = 0.07``, ``T learned from 0.07``."""
        learned = f"T {'learned from' if self.learn_temperature else '='} {self.temperature:g}"
        return [learned, *unless(1.0, self.weight, "weight {}")]

    @cached_property
    def log_scale(self) -> Any:
        """``log(1 / T)``, a scalar parameter; None unless it is trained."""
        return torch.nn.Parameter(torch.tensor(-math.log(self.temperature))) if self.learn_temperature else None

    def parameters(self) -> Sequence[Parameter]:
        """Return the learned temperature."""
        return [self.log_scale] if self.learn_temperature else []

    def learned(self) -> dict[str, float]:
        """Return the temperature as training has left it, if it is trained."""
        return {"temperature": max(LOWEST, math.exp(-self.log_scale.item()))} if self.learn_temperature else {}

    def __call__(self, similarity: Tensor) -> Tensor:
        """Compute the loss of ``[B images, B captions]``, a scalar."""
        checked_batch("InfoNCE", similarity)
        if self.log_scale is None:
            scores = similarity / self.temperature
        else:
            # Clipped itself, before it is used, rather than in the product, whose gradient would be 0 beyond the limit
            # for good. This equals clipping after each step, as CLIP does.
            with torch.no_grad():
                self.log_scale.clamp_(max=-math.log(LOWEST))
            scores = similarity * self.log_scale.exp().to(similarity.device)
        rows, columns = (torch.logsumexp(scores, dim=dim) for dim in (1, 0))
        return self.weight * ((rows + columns) / 2 - scores.diagonal()).mean()
