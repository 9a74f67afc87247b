"""Settings of DAA's soft-rank loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import EvaluationPhi, Positive, Variant
from fivesentences.losses.term import LossTerm

USUAL_WEIGHTS = (10.0, 25.0)  # of the release's README for Flickr30K and MS-COCO


class SoftRankSpec(LossTerm):
    """DAA: a model should rank a whole batch as phi does; beside (or instead of) the triplet loss."""

    implementation: ClassVar[str] = "fivesentences.losses.soft_rank:SoftRankLoss"
    reads: ClassVar[Literal["ranked", "similarity"]] = "similarity"

    temperature: Positive = Field(default=1e-3, description="of the sigmoid, in units of the scores")
    weight: Positive = Field(default=25.0, description="factor of the loss; released: 25 (COCO), 10 (Flickr30K)")
    variant: Variant = Field(
        default="paper",
        description="`paper`: a query's items are ranked among that query's items; `released`: a transpose is missing",
    )
    phi: EvaluationPhi = Field(default="tfidf", description="what ranks are compared with")

    @property
    def phi_read(self) -> str:
        """What ranks are compared with."""
        return self.phi

    @property
    def suffix(self) -> str:
        """``+soft_rank``."""
        return "+soft_rank"

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [
            f"soft_rank={self.variant}",
            f"T={self.temperature:g}",
            f"rank_weight={self.weight:g}",
            *([] if self.phi == "tfidf" else [f"rank_phi={self.phi}"]),
        ]

    def words(self, phis: Mapping[str, str]) -> tuple[str, list[str]]:
        """``DAA by tf-idf, released``, and what is not as in the release."""
        settings = [f"by {phis.get(self.phi, self.phi)}", self.variant]
        settings += [] if self.temperature == 1e-3 else [f"T = {self.temperature:g}"]
        return "DAA", settings + ([] if self.weight in USUAL_WEIGHTS else [f"weight {self.weight:g}"])

    def arguments(self, seed: int) -> dict[str, Any]:
        """Of the class, which is given phi with each batch."""
        return {name: getattr(self, name) for name in ("temperature", "weight", "variant")}
