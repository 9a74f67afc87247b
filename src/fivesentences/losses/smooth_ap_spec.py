"""Settings of smooth average precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Positive
from fivesentences.losses.term import LossTerm


class SmoothAPSpec(LossTerm):
    """Smooth average precision of the one positive of each query: in DAA's release, switched off there."""

    implementation: ClassVar[str] = "fivesentences.losses.smooth_ap:SmoothAPLoss"
    reads: ClassVar[Literal["ranked", "similarity"]] = "ranked"

    temperature: Positive = Field(default=1e-3, description="of the sigmoid, in units of the similarity")
    weight: Positive = Field(default=25.0, description="factor of the loss; 25 in the release")

    @property
    def suffix(self) -> str:
        """``+smooth_ap``."""
        return "+smooth_ap"

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [f"smooth_ap={self.temperature:g}", f"ap_weight={self.weight:g}"]

    def words(self, phis: Mapping[str, str]) -> tuple[str, list[str]]:
        """``smooth AP T = 0.001, weight 25``."""
        return "smooth AP", [f"T = {self.temperature:g}", f"weight {self.weight:g}"]
