"""InfoNCE in both directions: the cross entropy by which CLIP and most models since are trained.

Sources: van den Oord et al. 2018, "Representation Learning with Contrastive Predictive Coding", equation 4; Zhang et
al. 2020, "Contrastive Learning of Medical Visual Representations from Paired Images and Text" (ConVIRT), with images
and captions; Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision" (CLIP),
Figure 3, whose values and learned temperature these are.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from fivesentences.config.reading import check
from fivesentences.losses.batch import checked_batch
from fivesentences.losses.info_nce_spec import LOWEST, InfoNCESpec

DEFAULT = InfoNCESpec()


class InfoNCE(nn.Module):
    """InfoNCE in both directions, the loss of CLIP: a cross entropy over the batch.

    ``weight * (i2t + t2i) / 2``, where i2t is the mean over i of ``log sum over j of exp((S_ij - S_ii) / T)``.
    The sum over j contains i itself, and t2i is the same on the transpose. A batch of B pairs whose similarities are
    all equal costs log B. Like CLIP's it is a mean over the batch, unlike the triplet losses, which are sums. Training
    limits the gradient's norm and Adam divides by its size, so that alone it trains at the learning rates of the
    others; beside a triplet loss, a weight of B puts both on one scale.

    Another caption of the same image counts as a negative if the batch holds it, as in CLIP and in the triplet losses.

    Args:
        temperature: T, in units of the similarity; above 0. It expects cosines: with 0.07, a negative that is 0.16
            less similar than the positive has a tenth of its share.
        learn_temperature: Whether ``log(1 / T)`` is a parameter of this module, trained by the optimiser of the model
            (``training.loop`` does so). T stays at 0.01 or above, as in CLIP.
        weight: Factor of the whole loss.

    Raises:
        InputError: If the temperature or the weight is not above 0, or a learned temperature starts below 0.01.
    """

    def __init__(
        self,
        temperature: float = DEFAULT.temperature,
        learn_temperature: bool = DEFAULT.learn_temperature,
        weight: float = DEFAULT.weight,
    ):
        super().__init__()
        given = {"temperature": temperature, "learn_temperature": learn_temperature, "weight": weight}
        spec = check(InfoNCESpec, given, "InfoNCE")
        self.weight, self._fixed = spec.weight, spec.temperature
        self.log_scale: nn.Parameter | None = None
        if spec.learn_temperature:
            self.log_scale = nn.Parameter(torch.tensor(-math.log(spec.temperature)))

    @property
    def temperature(self) -> float:
        """T as it is now."""
        return self._fixed if self.log_scale is None else max(LOWEST, math.exp(-self.log_scale.item()))

    def learned(self) -> dict[str, float]:
        """The temperature if it is trained, for the history of a run."""
        return {} if self.log_scale is None else {"temperature": self.temperature}

    def forward(self, similarity: Tensor) -> Tensor:
        """The loss, a scalar.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal; cosines.

        Raises:
            InputError: If it is no square matrix of floating numbers.
        """
        checked_batch("InfoNCE", similarity)
        if self.log_scale is None:
            scores = similarity / self._fixed
        else:
            scores = similarity * self._scale(self.log_scale, similarity.device)
        rows, columns = (torch.logsumexp(scores, dim=dim) for dim in (1, 0))
        loss = ((rows + columns) / 2 - scores.diagonal()).mean()
        return loss if self.weight == 1 else self.weight * loss

    def _scale(self, log_scale: nn.Parameter, device: torch.device) -> Tensor:
        # Clipped itself, before it is used, rather than in the product, whose gradient would be 0 beyond the limit for
        # good. This equals clipping after each step, as CLIP does.
        with torch.no_grad():
            log_scale.clamp_(max=-math.log(LOWEST))
        return log_scale.exp().to(device)

    def extra_repr(self) -> str:
        """Settings, for printing."""
        learned = "" if self.log_scale is None else ", learned"
        return f"temperature={self.temperature:g}{learned}, weight={self.weight}"
