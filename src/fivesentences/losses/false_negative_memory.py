"""FNE as published: negatives drawn from a momentum memory, by distributions that are averaged over training.

Source: Li et al., "Your Negative May not Be True Negative" (ACM MM 2023, arXiv 2308.04380) and its released code
(LuminosityX/FNE), whose constants are the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from fivesentences.config.types import Count
from fivesentences.losses.false_negative_weights import FalseNegativeWeights, ranked_first
from fivesentences.losses.loss import checked_batch, torch, unless
from fivesentences.losses.triplet import TripletLoss

if TYPE_CHECKING:
    from torch import Tensor

SIZE, MOMENTUM, PAIRS = 8224, 0.995, 200  # as released


class Remembered(NamedTuple):
    """A batch of B pairs against a memory of M: what ``training.memory`` gives.

    Attributes:
        captions: ``[B images, B + M captions]`` similarities, captions embedded by the momentum copy of the model;
            first those of the batch, matched pairs on the diagonal.
        images: ``[B captions, B + M images]``, the same for captions as queries.
        same: ``[B, B + M]`` whether both are of one image.
    """

    captions: Tensor
    images: Tensor
    same: Tensor


class FalseNegativeMemory(FalseNegativeWeights):
    """FNE with its memory: a negative per query is drawn from the batch and the last items, see ``training.memory``.

    The weights are those of ``FalseNegativeWeights``, with the distributions of all pairs so far that rank each other
    first. Before there are enough, none is suspected. Captions and images of the query's own image are never drawn. The
    first epoch, in which the memory is empty, takes the hardest negative of the batch.
    """

    reads: ClassVar[Literal["ranked", "similarity", "memory"]] = "memory"
    title = "FNE, with memory"
    suffix = "+fne_memory"

    size: Count = SIZE
    """Captions, and images, that the memory holds."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = MOMENTUM
    """Share of itself that the momentum copy of the model keeps at each step."""
    pairs: Annotated[int, Field(ge=2)] = PAIRS
    """False negatives are suspected after more pairs than this have ranked each other first."""

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        first, *others = super().parts
        memory = [f"memory={self.size}", f"momentum={self.momentum:g}", *unless(PAIRS, self.pairs, "pairs={}")]
        return [first, *memory, *others]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """Words for settings that differ from the release's."""
        return [
            *unless(SIZE, self.size, "of {}"),
            *unless(MOMENTUM, self.momentum, "momentum {}"),
            *unless(PAIRS, self.pairs, "after {} pairs"),
            *super().words(phis),
        ]

    @cached_property
    def known(self) -> Any:
        """``[2, 3]`` float64, of positives and of hardest negatives: count, sum, squared deviations."""
        return torch.zeros(2, 3, dtype=torch.float64)

    def __call__(self, similarity: Tensor, remembered: Remembered | None = None) -> Tensor:
        """Compute the loss of a batch, a scalar; negatives are drawn by torch's global generator.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.
            remembered: The batch against the memory; None in the first epoch.
        """
        if remembered is None:
            return TripletLoss(negatives="hardest", margin=self.margin)(similarity)
        checked_batch(type(self).__name__, similarity)
        self._count(similarity.detach())
        total = similarity.new_zeros(())
        for scores in (remembered.captions, remembered.images):
            weights = self.drawn(scores.detach(), remembered.same)
            some = weights.sum(dim=1) > 0  # a batch of one image's captions may have no negative
            if bool(some.any()):
                negative = scores[some].gather(1, torch.multinomial(weights[some], 1))[:, 0]
                total = total + (self.margin + negative - scores.diagonal()[some]).clamp(min=0).sum()
        return total

    def drawn(self, scores: Tensor, same: Tensor) -> Tensor:
        """Return the weight ``[B, B + M]`` with which each item is drawn as the negative of each query."""
        positive, negative = self.distributions()
        if positive is not None and negative is not None:
            weights = self.weights(scores, positive, negative)
        else:
            weights = torch.exp(-self.decay * (scores - scores.diagonal()[:, None]) ** 2)
            if self.known[0, 0]:
                mean = float(self.known[0, 1] / self.known[0, 0])
                weights = weights.masked_fill(scores <= mean - self.margin, 0)
        weights = weights.masked_fill(same, 0)
        hardest = scores.masked_fill(same, -torch.inf)
        rows = (weights.sum(dim=1) == 0) & ~same.all(dim=1)
        weights[rows, hardest.argmax(dim=1)[rows]] = 1
        return weights

    def distributions(self) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
        """Return mean and standard deviation of positives and of hardest negatives; None before enough are known."""
        count, total, squares = self.known.T
        if count[0] <= self.pairs or not bool((squares > 0).all()):
            return None, None
        of_positives, of_negatives = zip((total / count).tolist(), (squares / (count - 1)).sqrt().tolist(), strict=True)
        return of_positives, of_negatives

    def _count(self, scores: Tensor) -> None:
        """Add a batch; deviations are from the mean of all so far, as released."""
        for row, values in zip(self.known, ranked_first(scores), strict=True):
            values = values.double().cpu()
            if len(values):
                row[0] += len(values)
                row[1] += values.sum()
                row[2] += ((values - row[1] / row[0]) ** 2).sum()

    def state(self) -> dict[str, Tensor]:
        """What is known of both distributions."""
        return {"known": self.known.clone()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""
        self.known.copy_(state["known"])
