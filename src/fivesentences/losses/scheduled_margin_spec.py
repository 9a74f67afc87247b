"""Settings of the scheduled adaptive margin and of its controls; see ``scheduled_margin.py``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Positive, Share, Strict


class ScheduledMarginSpec(Strict):
    """Triplets of two modalities whose margin moves from a fixed one to another while training goes on."""

    margin: Positive = Field(default=1.0, description="m: the fixed margin, before the schedule is active")
    toward: Literal["nothing", "adaptive", "constant"] = Field(
        default="adaptive", description="where the schedule leads; `nothing`: the margin stays fixed"
    )
    constant: float | None = Field(default=None, gt=0, description="the constant that the schedule leads to")
    shuffled: bool = Field(default=False, description="a control: each pair has the adaptive margin of another pair")
    start: Share = Field(default=0.4, description="f_a: the share of the epochs at which the schedule is half active")
    steepness: Positive = Field(default=0.1, description="k, per epoch")
    always: bool = Field(default=False, description="alpha = 1 from the first epoch, as in the paper's ablation")
    feature_share: Share = Field(default=0.05, description="lambda: weight of the distance of features in the mix")
    feature_norm: Literal["max", "max_cross", "minmax", "modality_max", "modality_minmax"] = Field(
        default="max", description="how distances of features are brought to 0..1"
    )
    feature_scope: Literal["corpus", "batch"] = Field(default="corpus", description="whose distances that reads")
    centroids: Literal["unit", "raw"] = Field(default="unit", description="of outputs after or before the L2 norm")
    centroid_similarity: Literal["cosine", "dot"] = "cosine"
    refresh: Literal["epoch", "step"] = Field(default="epoch", description="when centroids are computed again")
    anchor: Literal["both", "own"] = Field(
        default="both", description="eq. 8's distance: over both modalities, or over that of the anchor alone"
    )
    negatives: Literal["all", "hardest", "one"] = Field(default="all", description="of another category in the batch")
    reduction: Literal["batch", "triplets"] = Field(
        default="batch", description="the sum over the batch size, or over the number of triplets"
    )

    @model_validator(mode="after")
    def _constant_where_it_leads(self) -> ScheduledMarginSpec:
        if (self.toward == "constant") != (self.constant is not None):
            raise ValueError("constant belongs to toward: constant, which needs it")
        if self.shuffled and self.toward != "adaptive":
            raise ValueError("shuffled belongs to toward: adaptive; only adaptive margins differ between pairs")
        return self
