"""The loss of a run: what its settings name, summed, on what a model gives for a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.models.matching import TrainingScores
from fivesentences.training.batch_phi import BatchPhi, mean_of_batches


class Objective(nn.Module):
    """The sum of the losses of a run.

    Retrieval losses (triplet, HAL, InfoNCE, smooth AP) are summed over all similarities that a model wants ranked;
    semantic ones (SAM, soft rank) read the one that evaluation reads (of CVSE that of the fused vectors), as released.
    A model's own loss is added as it is.

    ``state_dict()`` is part of the state of a run: it contains the state of shuffled margins and what a loss learns.

    Args:
        spec: The losses.
        phis: phi of the run's training captions by name, for every name in ``spec.phi_keys``.
        seed: Of shuffled margins; the run's.

    Raises:
        InputError: If a phi is missing.
    """

    def __init__(self, spec: LossSpec, phis: Mapping[str, BatchPhi] | None = None, seed: int = 0):
        super().__init__()
        self._phis = dict(phis or {})
        missing = [name for name in spec.phi_keys if name not in self._phis]
        if missing:
            raise InputError(f"the loss reads phi {missing[0]!r} of the training captions, but it was not given.")
        semantic = [term for term in spec.terms if term.reads == "similarity"]
        self.ranking = nn.ModuleList(term.build(seed) for term in spec.terms if term.reads == "ranked")
        self.semantic = nn.ModuleList(term.build(seed) for term in semantic)
        self._phi_keys = [term.phi_keys for term in semantic]

    def forward(self, scores: TrainingScores, rows: np.ndarray) -> Tensor:
        """The loss of a batch.

        Args:
            scores: What the model returned.
            rows: ``[B]`` which training captions the batch contains.

        Returns:
            A scalar: hinge losses are sums over the batch, the others means times their weight.
        """
        similarity = _precise(scores.similarity)
        loss = similarity.new_zeros(()) if scores.extra is None else scores.extra
        for weight, ranked in scores.ranked:
            for term in self.ranking:
                loss = loss + weight * term(_precise(ranked))
        for term, keys in zip(self.semantic, self._phi_keys, strict=True):
            loss = loss + term(similarity, self.phi(keys, rows, similarity.device) if keys else None)
        return loss

    def learned(self) -> dict[str, float]:
        """What the losses themselves have learned so far, by name; empty for most."""
        values: dict[str, float] = {}
        for term in (*self.ranking, *self.semantic):
            if hasattr(term, "learned"):
                values |= term.learned()
        return values

    def phi(self, keys: Sequence[str], rows: np.ndarray, device: torch.device | str = "cpu") -> Tensor:
        """phi of a batch, ``[B captions, B images]`` float32; the mean of several."""
        block = mean_of_batches([self._phis[key] for key in keys], rows)
        return torch.from_numpy(block).to(device)


def _precise(similarity: Tensor) -> Tensor:
    """At least single precision: half precision has too few steps for ranks and margins."""
    return similarity if similarity.dtype in (torch.float32, torch.float64) else similarity.float()
