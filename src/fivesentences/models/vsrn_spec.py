"""Settings of VSRN."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Layout, Share, Width
from fivesentences.models.spec import ModelSpec


class VSRNSpec(ModelSpec):
    """VSRN: relations between regions, a GRU over them, and a captioning loss in training (Li et al. 2019)."""

    implementation: ClassVar[str] = "fivesentences.models.vsrn:VSRN"
    layout: ClassVar[Layout] = "grid"
    title: ClassVar[str] = "VSRN"

    name: Literal["vsrn"] = "vsrn"
    embedding: Width = Field(default=2048, description="length of the common space")
    word: Width = Field(default=300, description="length of a word vector of the sentence GRU")
    caption_hidden: Width = Field(default=512, description="state of the captioner's GRUs")
    caption_word: Width = Field(default=300, description="length of the captioner's own word vectors")
    recipe: Literal["flickr30k", "coco"] = Field(
        default="flickr30k",
        description="the release has two: `flickr30k` puts a batch norm behind the GRU over regions, `coco` an L2 norm "
        "before the relation blocks instead",
    )
    captioning: float = Field(
        default=1.0,
        ge=0,
        description="weight of the captioning loss; 0: no captioner at all (the authors' checkpoints have none)",
    )
    caption_longest: int = Field(
        default=60, ge=2, le=10_000, description="most words that the captioner writes, `<start>` and `<end>` included"
    )
    captioner_steps: Literal[1, 2] = Field(
        default=1,
        description="how often the captioner's weights stand in the optimiser's list; the release names them twice, so "
        "that they take two steps per batch",
    )
    caption_dropout: Share = Field(default=0.2, description="of the input of both GRUs of the captioner")
