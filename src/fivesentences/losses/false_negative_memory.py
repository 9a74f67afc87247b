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
            known = scores.detach()
            of_query, item, weight = self.candidates_of(known, remembered.same)
            drawn = _drawn(of_query, item, weight, len(scores))
            without = (drawn < 0).nonzero()[:, 0]
            if len(without):
                others = known[without].masked_fill(remembered.same[without], -torch.inf)
                drawn[without] = torch.where(others.amax(dim=1) > -torch.inf, others.argmax(dim=1), -1)
            found = drawn >= 0  # a batch of one image's captions may have no negative
            negative = scores.gather(1, drawn.clamp(min=0)[:, None])[:, 0]
            total = total + (self.margin + negative - scores.diagonal())[found].clamp(min=0).sum()
        return total

    def candidates_of(self, scores: Tensor, same: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the items that may be drawn, ordered by query: the query, the item and its weight, ``[candidates]``.

        Items of the query's own image, and easy ones, are none; of a large memory nearly all are easy.
        """
        near = ~same
        if self.known[0, 0]:
            near &= scores > float(self.known[0, 1] / self.known[0, 0]) - self.margin
        of_query, item = near.nonzero(as_tuple=True)
        some, of_own = scores[of_query, item], scores.diagonal()[of_query]
        positive, negative = self.distributions()
        if positive is not None and negative is not None:
            return of_query, item, self.weight_of(some, of_own, positive, negative)
        return of_query, item, torch.exp(-self.decay * (some - of_own) ** 2)

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


def _drawn(of_query: Tensor, item: Tensor, weight: Tensor, queries: int) -> Tensor:
    """Return ``[queries]`` an item of each, drawn by the weights of its candidates; -1 for a query without any."""
    drawn = torch.full((queries,), -1, device=item.device)
    counts = torch.bincount(of_query, minlength=queries)
    some = counts.nonzero()[:, 0]
    if len(some):
        last = counts.cumsum(0)[some] - 1
        first, ends = last - counts[some] + 1, weight.double().cumsum(0)
        before = ends[first] - weight[first]
        point = before + torch.rand(len(some), device=item.device, dtype=ends.dtype) * (ends[last] - before)
        place = torch.searchsorted(ends, point, right=True)
        drawn[some] = item[torch.minimum(torch.maximum(place, first), last)]  # where a sum rounds
    return drawn
