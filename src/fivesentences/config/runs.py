"""One run: which features, model and loss, and how it is trained."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.blocks import CaptionsPerImage, Fraction, Name, Strict
from fivesentences.config.losses import LossSpec
from fivesentences.config.models import ModelSpec


class FeatureSpec(Strict):
    """Which image features a model reads, and how they are prepared from training statistics."""

    extractor: Name
    layout: Literal["global", "grid"] = "global"
    prepare: Literal["as_stored", "standardise", "normalise"] = "standardise"
    regions: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="a grid pooled to so many regions, a square number; null: its cells as they are"
    )
    dimensions: Annotated[int, Field(ge=1)] | None = Field(
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
            raise ValueError(f"regions is {self.regions}; only a grid has regions: a square number such as 36")
        return self


class RunSpec(Strict):
    """One training run, complete: what ``fivesentences train`` and the rules of ``training.smk`` are given."""

    dataset: Name
    features: FeatureSpec
    model: ModelSpec
    loss: LossSpec = LossSpec()
    fraction: Fraction = 1.0
    captions_per_image: CaptionsPerImage | None = Field(
        default=None, description="only so many first captions of each training image; null: all"
    )
    draw: Literal["first", "seeded"] = "first"
    seed: int = Field(default=0, ge=0)
    epochs: int = Field(default=30, ge=1)
    batch_size: int = Field(default=128, ge=2)
    learning_rate: float = Field(default=2e-4, gt=0)
    drop_after: float = Field(default=0.5, gt=0, le=1, description="share of the epochs before the rate falls tenfold")
    gradient_clip: float = Field(default=2.0, gt=0)
    min_word_count: int = Field(default=4, ge=1, description="words seen less often in training captions are <unk>")
    selection: Literal["rsum", "ncs"] = "rsum"
    selection_images: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="only so many first dev images are scored after each epoch; null: all"
    )
    bucketing: bool = Field(default=False, description="batches of captions of similar length: less padding")
    threads: int = Field(default=1, ge=1, description="CPU threads; part of the result, since sums depend on it")
    features_named: bool = Field(default=False, description="the folder's name says which features were read")

    @property
    def name(self) -> str:
        """Folder of the run below ``results/training``; equal names mean equal runs within a scale."""
        return self.named(self.model.folder)

    def named(self, model: str) -> str:
        """Such a folder, with another word for the model."""
        features = f"@{self.features.stem}" if self.features_named else ""
        captions = "" if self.captions_per_image is None else f",captions_per_image={self.captions_per_image}"
        part = f"fraction={self.fraction:g}{captions}"
        return f"{self.dataset}/{model}{self.loss.suffix}{features}/{self.loss.folder}/{part}/seed={self.seed}"


class RunFile(Strict):
    """``run.yaml``: a run's settings and the files it read."""

    corpus: str
    features: str
    run: RunSpec
