"""Settings that SGR and SAF share."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from fivesentences.config.types import Layers, Layout, Share, Width
from fivesentences.models.spec import ModelSpec


class SimilarityVectorsSpec(ModelSpec):
    """A model that reasons over similarity vectors of words and regions (Diao et al. 2021)."""

    layout: ClassVar[Layout] = "grid"
    counts_regions: ClassVar[bool] = True

    embedding: Width = Field(default=1024, description="length of the common space")
    word: Width = Field(default=300, description="length of a word vector")
    similarity_dim: Width = Field(default=256, description="length of a similarity vector")
    layers: Layers = Field(default=1, description="GRU layers")
    bidirectional: bool = Field(default=True, description="captions are read in both directions")
    dropout: Share = Field(default=0.4, description="of word vectors and of the poolings, in training")


def attention_temperature() -> Any:
    """The last setting of both models: in folder names SGR's steps come before it."""
    return Field(default=9.0, description="factor in the attention's softmax")
