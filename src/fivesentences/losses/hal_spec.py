"""Settings of HAL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Positive
from fivesentences.losses.term import LossTerm


class HalSpec(LossTerm):
    """HAL: a hubness-aware loss over all negatives; the defaults are those of its release for Flickr30K."""

    implementation: ClassVar[str] = "fivesentences.losses.hal:HAL"
    reads: ClassVar[Literal["ranked", "similarity"]] = "ranked"

    gamma: Positive = Field(default=60.0, description="sharpness; released: 60 (Flickr30K), 30 (COCO)")
    epsilon: float = Field(
        default=0.7,
        description="similarity from which a negative counts; released: 0.7 (Flickr30K), 0.3 (COCO)",
    )
    weight: Positive = Field(default=1.0, description="factor of the loss")

    @property
    def suffix(self) -> str:
        """``+hal``."""
        return "+hal"

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        parts = [f"gamma={self.gamma:g}", f"epsilon={self.epsilon:g}"]
        return parts if self.weight == 1.0 else [*parts, f"hal_weight={self.weight:g}"]

    def words(self, phis: Mapping[str, str]) -> tuple[str, list[str]]:
        """``HAL γ = 60, ε = 0.7``."""
        settings = [f"γ = {self.gamma:g}", f"ε = {self.epsilon:g}"]
        return "HAL", settings if self.weight == 1.0 else [*settings, f"weight {self.weight:g}"]
