"""One run: which features, model and loss, and how it is trained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fivesentences.config.blocks import Fraction, Name, Strict
from fivesentences.config.losses import LossSpec


class FeatureSpec(Strict):
    """Which image features a model reads, and how they are prepared from training statistics."""

    extractor: Name
    layout: Literal["global", "grid"] = "global"
    prepare: Literal["as_stored", "standardise", "normalise"] = "standardise"

    @property
    def stem(self) -> str:
        """File name of the features without its suffix, such as ``mobilenetv2_100-global``."""
        return f"{self.extractor}-{self.layout}"


class ModelSpec(Strict):
    """A model of ``fivesentences.models`` and its widths."""

    name: Literal["vsepp"]
    embedding: int = Field(default=1024, ge=1, le=65536)
    word: int = Field(default=300, ge=1, le=65536)


class RunSpec(Strict):
    """One training run, complete: what ``fivesentences train`` and the rule ``train_model`` are given."""

    dataset: Name
    features: FeatureSpec
    model: ModelSpec
    loss: LossSpec = LossSpec()
    fraction: Fraction = 1.0
    draw: Literal["first", "seeded"] = "first"
    seed: int = Field(default=0, ge=0)
    epochs: int = Field(default=30, ge=1)
    batch_size: int = Field(default=128, ge=2)
    learning_rate: float = Field(default=2e-4, gt=0)
    drop_after: float = Field(default=0.5, gt=0, le=1, description="share of the epochs before the rate falls tenfold")
    gradient_clip: float = Field(default=2.0, gt=0)
    min_word_count: int = Field(default=4, ge=1, description="words seen less often in training captions are <unk>")
    selection: Literal["rsum", "ncs"] = "rsum"
    threads: int = Field(default=1, ge=1, description="CPU threads; part of the result, since sums depend on it")

    @property
    def name(self) -> str:
        """Folder of the run below ``results/training``; equal names mean equal runs within a scale."""
        model = self.model.name + self.loss.suffix
        return f"{self.dataset}/{model}/{self.loss.folder}/fraction={self.fraction:g}/seed={self.seed}"
