"""Settings of VSE++."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Layers, Layout, Width
from fivesentences.models.spec import ModelSpec


class VSEPPSpec(ModelSpec):
    """VSE++: one vector per image, one per caption, and their dot product (Faghri et al. 2018)."""

    implementation: ClassVar[str] = "fivesentences.models.vsepp:VSEPP"
    layout: ClassVar[Layout] = "global"
    title: ClassVar[str] = "VSE++"

    name: Literal["vsepp"] = "vsepp"
    embedding: Width = Field(default=1024, description="length of the common space")
    word: Width = Field(default=300, description="length of a word vector")
    layers: Layers = Field(default=1, description="GRU layers")
    measure: Literal["cosine", "order"] = Field(
        default="cosine",
        description="`cosine`, or `order`: minus the length of the part of the caption that exceeds the image",
    )
    normalise_images: bool = Field(
        default=True, description="off: image vectors keep their length (released option `no_imgnorm`)"
    )
    use_abs: bool = Field(
        default=False,
        description="absolute values of both vectors after the norm (released option, meant for `order`)",
    )
    initialisation: Literal["released", "xavier"] = Field(
        default="released",
        description="first weights of word vectors and GRU: as released, or Xavier's with zero biases (kNN margin)",
    )
    pooling: Literal["last", "mean", "max"] = Field(
        default="last",
        description="what a caption's vector is made of: the GRU's state at the last word, as released, or the mean or "
        "the largest values of its states at all words (the kNN margin's temporal pooling, of which kind is not said)",
    )
