"""Losses of a similarity matrix of matched pairs, which training minimises.

A batch of B pairs gives ``similarity`` ``[B images, B captions]`` whose diagonal holds the matched pairs, and, for
losses that read one, ``phi`` ``[B captions, B images]`` of the same pairs. Every loss adds both directions. The hinge
losses are sums over the batch, the others are means, as in the released code of each.

A loss is one file with its settings and its arithmetic, and one line of ``LossSpec``. torch is imported when a loss is
first computed, not before.
"""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily
from fivesentences.losses.false_negative_memory import FalseNegativeMemory
from fivesentences.losses.false_negative_weights import FalseNegativeWeights
from fivesentences.losses.info_nce import InfoNCE
from fivesentences.losses.loss import Loss
from fivesentences.losses.positive_aware import PositiveAwareTriplet
from fivesentences.losses.relevance_margin import RelevanceMargin
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.losses.semantic_adaptive_margin import SemanticAdaptiveMargin
from fivesentences.losses.soft_labels import SoftLabels
from fivesentences.losses.soft_rank import SoftRankLoss
from fivesentences.losses.sparing_triplet import SparingTriplet
from fivesentences.losses.spec import LossSpec
from fivesentences.losses.triplet import TripletLoss

if TYPE_CHECKING:
    from fivesentences.losses.scheduled_margin import ScheduledAdaptiveMargin

__all__ = [
    "FalseNegativeMemory",
    "FalseNegativeWeights",
    "InfoNCE",
    "Loss",
    "LossSpec",
    "PositiveAwareTriplet",
    "RelevanceMargin",
    "ScheduledAdaptiveMargin",
    "ScheduledMarginSpec",
    "SemanticAdaptiveMargin",
    "SoftLabels",
    "SoftRankLoss",
    "SparingTriplet",
    "TripletLoss",
]

__getattr__ = lazily(__name__)
