"""What training minimises, as modules that read a similarity matrix of matched pairs.

A batch of B pairs gives ``similarity`` ``[B images, B captions]`` whose diagonal holds the matched pairs, and, for
losses that read one, ``phi`` ``[B captions, B images]`` of the same pairs. Every loss adds both directions. The hinge
losses are sums over the batch, the others are means, as in the released code of each.

A loss is a specification (settings, ranges, names; no torch), a module beside it, and one line of ``LossSpec``.
Importing this package does not import torch; asking it for a module does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fivesentences.config.named import class_among
from fivesentences.losses.hal_spec import HalSpec
from fivesentences.losses.info_nce_spec import InfoNCESpec
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.losses.semantic_adaptive_margin_spec import SamSpec
from fivesentences.losses.smooth_ap_spec import SmoothAPSpec
from fivesentences.losses.soft_rank_spec import SoftRankSpec
from fivesentences.losses.spec import LossSpec
from fivesentences.losses.term import LossTerm
from fivesentences.losses.triplet_spec import TripletSpec

if TYPE_CHECKING:
    from fivesentences.losses.hal import HAL
    from fivesentences.losses.info_nce import InfoNCE
    from fivesentences.losses.scheduled_margin import ScheduledAdaptiveMargin
    from fivesentences.losses.semantic_adaptive_margin import SemanticAdaptiveMargin
    from fivesentences.losses.smooth_ap import SmoothAPLoss
    from fivesentences.losses.soft_rank import SoftRankLoss
    from fivesentences.losses.triplet import TripletLoss

# It reads categories and epochs, not a similarity matrix alone, so it is no term of ``LossSpec``.
SCHEDULED = "fivesentences.losses.scheduled_margin:ScheduledAdaptiveMargin"


def __getattr__(name: str) -> Any:
    kinds: list[type[LossTerm]] = [TripletSpec, *LossSpec.optional_terms().values()]
    return class_among(__name__, name, [*(kind.implementation for kind in kinds), SCHEDULED])


__all__ = [
    "HAL",
    "HalSpec",
    "InfoNCE",
    "InfoNCESpec",
    "LossSpec",
    "LossTerm",
    "SamSpec",
    "ScheduledAdaptiveMargin",
    "ScheduledMarginSpec",
    "SemanticAdaptiveMargin",
    "SmoothAPLoss",
    "SmoothAPSpec",
    "SoftRankLoss",
    "SoftRankSpec",
    "TripletLoss",
    "TripletSpec",
]
