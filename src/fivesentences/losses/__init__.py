"""What training minimises, as modules that read a similarity matrix of matched pairs.

A batch of B pairs gives ``similarity`` ``[B images, B captions]`` whose diagonal holds the matched pairs. Every
loss sums over the batch (no mean) and over both directions, as all released code does.
"""

from fivesentences.losses.semantic_adaptive_margin import SemanticAdaptiveMargin
from fivesentences.losses.triplet import TripletLoss

__all__ = ["SemanticAdaptiveMargin", "TripletLoss"]
