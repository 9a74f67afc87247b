"""One run: which features, model and loss, and how it is trained."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.blocks import Fraction, Name, Negatives, Strict, Variant


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


class SamSpec(Strict):
    """Semantic Adaptive Margin beside (or instead of) the triplet loss; see ``losses``."""

    temperature: float = Field(default=10.0, gt=0)
    negatives: Negatives = "random"
    variant: Variant = "paper"
    weight: float = Field(default=1.0, gt=0)
    max_margin: float | None = None


class LossSpec(Strict):
    """What a run minimises: a triplet loss, a Semantic Adaptive Margin, or their sum."""

    triplet: Literal["all", "hardest"] | Annotated[int, Field(ge=1)] | None = "hardest"
    margin: float = Field(default=0.2, ge=0)
    sam: SamSpec | None = None

    @model_validator(mode="after")
    def _something_to_minimise(self) -> LossSpec:
        if self.triplet is None and self.sam is None:
            raise ValueError("triplet and sam are both null, so there is nothing to minimise; give one of them")
        return self

    @property
    def folder(self) -> str:
        """Readable settings for a folder name, such as ``triplet=hardest,margin=0.2``."""
        parts = [] if self.triplet is None else [f"triplet={self.triplet}", f"margin={self.margin:g}"]
        if self.sam is not None:
            sam = self.sam
            parts += [f"tau={sam.temperature:g}", f"negatives={sam.negatives}"]
            parts += [f"variant={sam.variant}", f"weight={sam.weight:g}"]
            if sam.max_margin is not None:
                parts.append(f"max_margin={sam.max_margin:g}")
        return ",".join(parts)


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
        model = self.model.name + ("+sam" if self.loss.sam is not None else "")
        return f"{self.dataset}/{model}/{self.loss.folder}/fraction={self.fraction:g}/seed={self.seed}"
