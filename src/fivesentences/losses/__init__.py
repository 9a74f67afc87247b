"""What training minimises, as modules that read a similarity matrix of matched pairs.

A batch of B pairs gives ``similarity`` ``[B images, B captions]`` whose diagonal holds the matched pairs, and, where a
loss asks for meaning, ``phi`` ``[B captions, B images]`` of the same pairs. Every loss adds both directions. The hinge
losses sum over the batch, the others are means, as in the released code of each.
"""

from fivesentences.losses.hal import HAL
from fivesentences.losses.semantic_adaptive_margin import SemanticAdaptiveMargin
from fivesentences.losses.smooth_ap import SmoothAPLoss
from fivesentences.losses.soft_rank import SoftRankLoss
from fivesentences.losses.triplet import TripletLoss

__all__ = ["HAL", "SemanticAdaptiveMargin", "SmoothAPLoss", "SoftRankLoss", "TripletLoss"]
