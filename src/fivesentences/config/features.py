"""Which image features a model reads."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Count, Layout, Name, Strict


class FeatureSpec(Strict):
    """Which image features a model reads, and how they are prepared from training statistics."""

    extractor: Name
    layout: Layout = "global"
    prepare: Literal["as_stored", "standardise", "normalise"] = "standardise"
    regions: Count | None = Field(
        default=None,
        description="the cells of a grid are pooled to so many regions, a square number; null: the cells themselves",
    )
    dimensions: Count | None = Field(
        default=None, description="principal components of the training images' features; null: all dimensions"
    )

    @property
    def source(self) -> str:
        """File name, without its suffix, of the features before reduction, such as ``mobilenetv2_100-global``."""
        return f"{self.extractor}-{self.layout}"

    @property
    def stem(self) -> str:
        """File name of the features without its suffix, such as ``mobilenetv2_100-grid-36regions-110d``."""
        regions = "" if self.regions is None else f"-{self.regions}regions"
        return self.source + regions + ("" if self.dimensions is None else f"-{self.dimensions}d")

    @model_validator(mode="after")
    def _regions_of_a_grid(self) -> FeatureSpec:
        if self.regions is not None and (self.layout != "grid" or math.isqrt(self.regions) ** 2 != self.regions):
            raise ValueError(f"regions is {self.regions}; only a grid has regions, a square number such as 36")
        return self
