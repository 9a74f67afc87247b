"""Settings of the scheduled adaptive margin (sched_sam, eq. 5 to 10), and its schedule; planning reads nothing else."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import model_validator

from fivesentences.config.types import Positive, Share, Strict

FeatureNorm = Literal["max", "max_cross", "minmax", "modality_max", "modality_minmax"]


def activation(t: float, start: float, steepness: float, epochs: int) -> float:
    """alpha(t): how far the scheduled margin has moved to the one that it leads to (eq. 6).

    Args:
        t: The epoch, any number.
        start: fₐ, in 0..1: the share of the epochs at which alpha is 1/2.
        steepness: k, per epoch, above 0.
        epochs: nₑ: how many epochs there are.

    Returns:
        ``1 / (1 + exp(-k (t - fₐ nₑ)))``, in 0..1; it never overflows.
    """
    x = steepness * (t - start * epochs)
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)  # of a negative number: at most 1
    return grown / (1.0 + grown)


class ScheduledMarginSpec(Strict):
    """Triplets of two modalities whose margin moves from a fixed one to another while training goes on."""

    margin: Positive = 1.0
    """m: the fixed margin, before the schedule is active."""
    toward: Literal["nothing", "adaptive", "constant"] = "adaptive"
    """Where the schedule leads; `nothing`: the margin stays fixed."""
    constant: Positive | None = None
    """The constant that the schedule leads to."""
    shuffled: bool = False
    """A control: in each batch anew, each pair has the adaptive margin of another pair."""
    start: Share = 0.4
    """fₐ: the share of the epochs at which the schedule is half active."""
    steepness: Positive = 0.1
    """k, per epoch."""
    first_epoch: Literal[0, 1] = 0
    """t of the first epoch, which the paper leaves open."""
    always: bool = False
    """α = 1 from the first epoch, as in the paper's ablation."""
    feature_share: Share = 0.05
    """λ: weight of the distance of features in the mix."""
    feature_norm: FeatureNorm = "max"
    """What distances of features are divided by to reach 0..1: their maximum, or that of pairs of different category
    (max_cross), less their minimum (minmax), or likewise in each modality."""
    feature_scope: Literal["corpus", "batch"] = "corpus"
    """The pairs that `feature_norm` reads: of all training documents, or of the batch."""
    centroids: Literal["unit", "raw"] = "unit"
    """Centroids of outputs after or before the L2 norm."""
    centroid_similarity: Literal["cosine", "dot"] = "cosine"
    """Similarity of two centroids."""
    refresh: Literal["epoch", "step"] = "epoch"
    """When centroids are computed again."""
    anchor: Literal["both", "own"] = "both"
    """Eq. 8's distance: the mean of both modalities, or that of the anchor's alone."""
    negatives: Literal["all", "hardest", "one"] = "all"
    """Items of another category in the batch: all, the one with the largest hinge, or one at random."""
    reduction: Literal["batch", "triplets"] = "batch"
    """What the sum of hinges is divided by: the batch size, or the number of triplets."""

    @model_validator(mode="after")
    def _constant_where_it_leads(self) -> ScheduledMarginSpec:
        if (self.toward == "constant") != (self.constant is not None):
            raise ValueError("constant belongs to toward: constant, which needs it")
        if self.shuffled and self.toward != "adaptive":
            raise ValueError("shuffled belongs to toward: adaptive; only adaptive margins differ between pairs")
        if self.always and self.toward == "nothing":
            raise ValueError("always belongs to a margin that leads somewhere, but toward is nothing")
        return self

    def alpha(self, epoch: int, epochs: int) -> float:
        """alpha of an epoch; 0 where the margin stays fixed, 1 where the schedule is always active.

        Args:
            epoch: From 1 to ``epochs``, as in a history.
            epochs: How many there are.
        """
        if self.toward == "nothing":
            return 0.0
        if self.always:
            return 1.0
        return activation(epoch - 1 + self.first_epoch, self.start, self.steepness, epochs)

    @property
    def reads_features(self) -> bool:
        """Whether the margin depends on distances of features."""
        return self.toward == "adaptive" and self.feature_share > 0

    @property
    def reads_centroids(self) -> bool:
        """Whether the margin depends on the centroids of categories."""
        return self.toward == "adaptive" and self.feature_share < 1
