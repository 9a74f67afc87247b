"""The loss of a run: what its settings name, summed, on what a model gives for a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.losses.false_negative_memory import Remembered
from fivesentences.models.matching import TrainingScores, precise
from fivesentences.training.batch_phi import BatchPhi, mean_of_batches


class Objective:
    """The sum of the losses of a run.

    Retrieval losses (triplet, sparing, InfoNCE) are summed over all similarities that a model wants
    ranked; SAM and soft rank read the one that evaluation reads (of CVSE that of the fused vectors), as released.
    A model's own loss is added as it is.

    Args:
        spec: The losses.
        phis: phi of the run's training captions by name, for every name in ``spec.phi_keys``.
        seed: Seed of the run, for shuffled margins.

    Raises:
        InputError: If a phi is missing.
    """

    def __init__(self, spec: LossSpec, phis: Mapping[str, BatchPhi] | None = None, seed: int = 0):
        self._phis = dict(phis or {})
        missing = [name for name in spec.phi_keys if name not in self._phis]
        if missing:
            raise InputError(f"the loss reads phi {missing[0]!r} of the training captions, but it was not given.")
        terms = [term.build(seed) for term in spec.terms]
        # Those of what is ranked first, as their sum has always been rounded.
        self.terms = sorted(terms, key=lambda term: term.reads != "ranked")

    def __call__(self, scores: TrainingScores, rows: np.ndarray, remembered: Remembered | None = None) -> Tensor:
        """Compute the loss of a batch.

        Args:
            scores: The model's output.
            rows: ``[B]`` which training captions the batch contains.
            remembered: The batch against a memory, for losses that read one.

        Returns:
            A scalar: hinge losses are sums over the batch, the others means times their weight.
        """
        loss = scores.similarity.new_zeros((), dtype=torch.float32) if scores.extra is None else scores.extra
        for term in self.terms:
            if term.reads == "memory":
                loss = loss + term(precise(scores.similarity), remembered)  # type: ignore[call-arg]
                continue
            phis = [self._phis[key] for key in term.phi_keys]
            phi = [torch.from_numpy(mean_of_batches(phis, rows)).to(scores.similarity.device)] if phis else []
            of_term = scores.ranked if term.reads == "ranked" else ((1.0, scores.similarity),)
            for weight, similarity in of_term:
                loss = loss + weight * term(precise(similarity), *phi)  # type: ignore[call-arg]
        return loss

    def parameters(self) -> list[nn.Parameter]:
        """Parameters of the losses, which are trained with the model."""
        return [parameter for term in self.terms for parameter in term.parameters()]

    def learned(self) -> dict[str, float]:
        """Return what the losses themselves have learned so far, by name; empty for most."""
        return {key: value for term in self.terms for key, value in term.learned().items()}

    def state(self) -> list[dict[str, Tensor]]:
        """Everything that changes while a run trains: shuffled margins, and what a loss learns."""
        return [term.state() for term in self.terms]

    def restore(self, state: Sequence[dict[str, Tensor]]) -> None:
        """Go back to a state."""
        for term, of_term in zip(self.terms, state, strict=True):
            term.restore(of_term)
