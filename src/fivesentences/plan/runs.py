"""One run: which features, model and loss, and how it is trained."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fivesentences.config.features import FeatureSpec
from fivesentences.config.types import CaptionsPerImage, Fraction, Name, Strict
from fivesentences.losses import LossSpec
from fivesentences.models import AnyModelSpec


class RunSpec(Strict):
    """One training run, complete: what ``fivesentences train`` and the rules of ``training.smk`` are given."""

    dataset: Name
    features: FeatureSpec
    model: AnyModelSpec
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
