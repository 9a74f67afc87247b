"""Settings of the triplet loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Count
from fivesentences.losses.term import LossTerm

TripletNegatives = Literal["all", "hardest"] | Count
Margin = Annotated[float, Field(ge=0)]
MARGIN = 0.2  # in every release


class TripletSpec(LossTerm):
    """Hinge loss with a fixed margin over all negatives, the hardest one, or the k nearest (VSE++, kNN margin)."""

    implementation: ClassVar[str] = "fivesentences.losses.triplet:TripletLoss"
    reads: ClassVar[Literal["ranked", "similarity"]] = "ranked"

    negatives: TripletNegatives = Field(
        default="all", description="all of the batch, the most similar one of each query, or the k most similar ones"
    )
    margin: Margin = Field(
        default=MARGIN,
        description="how much more similar a matched pair must be than a negative one, in units of the similarity",
    )

    @property
    def suffix(self) -> str:
        """Nothing: every model is trained with a triplet loss unless its name says otherwise."""
        return ""

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [f"triplet={self.negatives}", f"margin={self.margin:g}"]

    def words(self, phis: Mapping[str, str]) -> tuple[str, list[str]]:
        """``hardest negative``, ``kNN margin, k = 3``."""
        named = {"all": ["all negatives"], "hardest": ["hardest negative"]}
        settings = named.get(str(self.negatives), ["kNN margin", f"k = {self.negatives}"])
        return "", settings if self.margin == MARGIN else [*settings, f"margin {self.margin:g}"]
