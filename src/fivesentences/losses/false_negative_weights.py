"""Negatives sampled by how unlikely they are to be false: the weights of FNE.

Source: Li et al., "Your Negative May not Be True Negative" (ACM MM 2023, arXiv 2308.04380) and its released code
(LuminosityX/FNE), whose constants are the defaults. Here the batch is the memory and gives the distributions, so that
the loss has no state; ``fne_memory`` has the momentum memory of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fivesentences.config.types import Count, Positive
from fivesentences.losses.loss import MARGIN, Loss, Margin, checked_batch, torch, unless

if TYPE_CHECKING:
    from torch import Tensor

DECAY, CANDIDATES, CERTAINTY = 0.5, 10_000, 0.999  # as released
FEWEST = 2  # pairs that rank each other first, for a distribution


class FalseNegativeWeights(Loss):
    """Triplet loss with one negative per query, drawn by weights from the model's own similarity; it reads no phi.

    Pairs that rank each other first give a normal distribution of positives, and their hardest negatives one of
    negatives. Bayes' rule gives the probability that a candidate is a positive; a candidate that may be one has the
    weight ``exp(-decay p)``, another ``exp(-decay (s - s_positive)^2)``, an easy one (below the mean positive by the
    margin) none. A query without a candidate, or a batch without distributions, takes the hardest negative.
    """

    title = "FNE"
    suffix = "+fne"

    decay: Positive = DECAY
    """How fast a weight falls with the probability of a false negative, and with distance from the positive."""
    candidates: Count = CANDIDATES
    """Of so many candidates one is taken to be a positive: the prior of Bayes' rule."""
    certainty: Annotated[float, Field(gt=0, lt=1)] = CERTAINTY
    """A candidate may be a positive if the probability that it is a negative is below this."""
    margin: Margin = MARGIN
    """How much more similar a matched pair must be than a negative one, in units of the similarity."""

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [
            f"fne={self.decay:g}",
            *unless(CANDIDATES, self.candidates, "candidates={}"),
            *unless(CERTAINTY, self.certainty, "certainty={}"),
            f"margin={self.margin:g}",
        ]

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """Words for settings that differ from the release's."""
        return [
            *unless(DECAY, self.decay, "decay {}"),
            *unless(CANDIDATES, self.candidates, "{} candidates"),
            *unless(CERTAINTY, self.certainty, "certainty {}"),
            *unless(MARGIN, self.margin, "margin {}"),
        ]

    def label(self, phis: Mapping[str, str], alone: bool = False) -> str:
        """Return ``FNE``, which is a triplet loss by itself, with what differs."""
        return ", ".join([self.title, *self.words(phis)])

    def __call__(self, similarity: Tensor) -> Tensor:
        """Compute the loss of ``[B images, B captions]``, a scalar; negatives are drawn by torch's global generator."""
        if checked_batch("FalseNegativeWeights", similarity) == 1:
            return 0 * similarity.sum()
        known = similarity.detach()
        total, positives = similarity.new_zeros(()), distributions_of(known)
        for scores, found in ((similarity, known), (similarity.T, known.T)):
            weights = self.weights(found, *positives) if positives else torch.zeros_like(found)
            hardest = found.masked_fill(_own(found), -torch.inf).argmax(dim=1)
            rows = weights.sum(dim=1) == 0
            weights[rows, hardest[rows]] = 1
            negative = scores.gather(1, torch.multinomial(weights, 1))[:, 0]
            total = total + (self.margin + negative - scores.diagonal()).clamp(min=0).sum()
        return total

    def weights(self, scores: Tensor, positive: tuple[float, float], negative: tuple[float, float]) -> Tensor:
        """Return the weight with which each item is drawn as the negative of each query.

        Args:
            scores: ``[B queries, B or more items]`` similarities, each query's positive on the diagonal.
            positive: Mean and standard deviation of similarities of positives.
            negative: The same of negatives.
        """
        weights = self.weight_of(scores, scores.diagonal()[:, None], positive, negative)
        return weights.masked_fill(_own(scores) | (scores <= positive[0] - self.margin), 0)

    def weight_of(
        self, scores: Tensor, of_own: Tensor, positive: tuple[float, float], negative: tuple[float, float]
    ) -> Tensor:
        """Return the weight of items by their similarities and those of their queries' positives, of one shape."""
        odds = _log_normal(scores, *positive) - _log_normal(scores, *negative) - math.log(self.candidates - 1)
        probability = torch.sigmoid(odds)
        weights = torch.exp(-self.decay * (scores - of_own) ** 2)
        suspected = 1 - probability < self.certainty
        return torch.where(suspected, torch.exp(-self.decay * probability), weights)


def distributions_of(scores: Tensor) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return mean and standard deviation of positives and of hardest negatives of pairs that rank each other first.

    None if fewer than two pairs do, or all of their values are equal.
    """
    sides = ranked_first(scores)
    if len(sides[0]) < FEWEST:
        return None
    found = [(float(side.mean()), float(side.std(correction=0))) for side in sides]
    return (found[0], found[1]) if all(spread > 0 for _, spread in found) else None


def ranked_first(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return similarities of pairs that rank each other first, and of their hardest negatives in both directions."""
    place = torch.arange(len(scores), device=scores.device)
    first = (scores.argmax(dim=1) == place) & (scores.argmax(dim=0) == place)
    others = scores.masked_fill(_own(scores), -torch.inf)
    return scores.diagonal()[first], torch.cat([others.amax(dim=1)[first], others.amax(dim=0)[first]])


def _own(scores: Tensor) -> Tensor:
    return torch.eye(*scores.shape, dtype=torch.bool, device=scores.device)


def _log_normal(values: Tensor, mean: float, deviation: float) -> Tensor:
    """Return the logarithm of a normal density, up to the constant that every density has."""
    return -(((values - mean) / deviation) ** 2) / 2 - math.log(deviation)
