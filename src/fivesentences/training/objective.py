"""The loss of a run: what its settings name, summed, on what a model gives for a batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from fivesentences.errors import InputError
from fivesentences.losses import HAL, SemanticAdaptiveMargin, SoftRankLoss, TripletLoss
from fivesentences.losses.semantic_adaptive_margin import rules_of
from fivesentences.models.matching import TrainingScores
from fivesentences.plan.losses import LossSpec, SamSpec
from fivesentences.training.batch_phi import BatchPhi, mean_of_batches


class Objective(nn.Module):
    """The sum of the losses of a run.

    Retrieval losses (triplet, HAL) are summed over all similarities that a model wants ranked; semantic ones (SAM, soft
    rank) see the one that evaluation sees (of CVSE its fused vectors), as released. A model's own loss is added as is.

    ``state_dict()`` is part of the state of a run: it holds what shuffled margins draw next.

    Args:
        spec: Which losses.
        phis: phi of the run's training captions by name, for every name in ``spec.phis``.
        seed: Of shuffled margins; the run's.

    Raises:
        InputError: If a phi is missing.
    """

    def __init__(self, spec: LossSpec, phis: Mapping[str, BatchPhi] | None = None, seed: int = 0):
        super().__init__()
        self.spec, self._phis = spec, dict(phis or {})
        missing = [name for name in spec.phis if name not in self._phis]
        if missing:
            raise InputError(f"the loss reads phi {missing[0]!r} of the training captions, but it was not given.")
        self.triplet = None if spec.triplet is None else TripletLoss(spec.margin, spec.triplet)
        self.sam = None if spec.sam is None else sam_of(spec.sam, seed)
        self.soft_rank: SoftRankLoss | None = None
        if spec.soft_rank is not None:
            rank = spec.soft_rank
            self.soft_rank = SoftRankLoss(rank.temperature, rank.weight, rank.variant)
        self.hal = None if spec.hal is None else HAL(spec.hal.gamma, spec.hal.epsilon)

    def forward(self, scores: TrainingScores, rows: np.ndarray) -> Tensor:
        """The loss of a batch.

        Args:
            scores: What the model gave.
            rows: ``[B]`` which training captions the batch holds.

        Returns:
            A scalar: hinge losses are sums over the batch, the others means times their weight.
        """
        similarity = _precise(scores.similarity)
        loss = similarity.new_zeros(()) if scores.extra is None else scores.extra
        for weight, ranked in scores.ranked:
            if self.triplet is not None:
                loss = loss + weight * self.triplet(_precise(ranked))
            if self.hal is not None and self.spec.hal is not None:
                loss = loss + weight * self.spec.hal.weight * self.hal(_precise(ranked))
        if self.sam is not None and self.spec.sam is not None:
            fixed = self.spec.sam.margins == "fixed"
            phi = None if fixed else self.phi(self.spec.sam.phi, rows, similarity.device)
            loss = loss + self.sam(similarity, phi)
        if self.soft_rank is not None and self.spec.soft_rank is not None:
            loss = loss + self.soft_rank(similarity, self.phi(self.spec.soft_rank.phi, rows, similarity.device))
        return loss

    def phi(self, name: str, rows: np.ndarray, device: torch.device | str = "cpu") -> Tensor:
        """phi of a batch, ``[B captions, B images]`` float32; ``a+b`` is the mean of two."""
        block = mean_of_batches([self._phis[one] for one in name.split("+")], rows)
        return torch.from_numpy(block).to(device)


def sam_of(spec: SamSpec, seed: int = 0) -> SemanticAdaptiveMargin:
    """The Semantic Adaptive Margin of a run's settings."""
    return SemanticAdaptiveMargin(
        spec.temperature,
        spec.negatives,
        rules_of(spec.variant, **spec.rules),
        spec.weight,
        spec.max_margin,
        margins=spec.margins,
        margin=spec.margin,
        seed=seed,
    )


def _precise(similarity: Tensor) -> Tensor:
    """At least single precision: half precision has too few steps for ranks and margins."""
    return similarity if similarity.dtype in (torch.float32, torch.float64) else similarity.float()
