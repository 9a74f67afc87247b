"""Settings of SCAN."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Direction, Layers, Layout, Positive, Width
from fivesentences.models.spec import ModelSpec

RawNorm = Literal["clipped_l2norm", "l2norm", "softmax", "clipped", "no_norm"]
Aggregation = Literal["LogSumExp", "Mean", "Max", "Sum"]
# Released temperatures by direction: of the attention's softmax, of LogSumExp (i2t on COCO: 20).
TEMPERATURES: dict[Direction, tuple[float, float]] = {"t2i": (9.0, 6.0), "i2t": (4.0, 5.0)}


class SCANSpec(ModelSpec):
    """SCAN: stacked cross attention between the words of a caption and the regions of an image (Lee et al. 2018)."""

    implementation: ClassVar[str] = "fivesentences.models.scan:SCAN"
    layout: ClassVar[Layout] = "grid"
    title: ClassVar[str] = "SCAN"

    name: Literal["scan"] = "scan"
    embedding: Width = Field(default=1024, description="length of the common space")
    word: Width = Field(default=300, description="length of a word vector")
    layers: Layers = Field(default=1, description="GRU layers")
    bidirectional: bool = Field(default=True, description="captions are read in both directions")
    normalise_images: bool = Field(
        default=True, description="off: region vectors keep their length (released option `no_imgnorm`)"
    )
    normalise_captions: bool = Field(
        default=True, description="off: word vectors keep their length (released option `no_txtnorm`)"
    )
    direction: Direction = Field(
        default="t2i", description="`t2i`: every word attends to regions; `i2t`: every region attends to words"
    )
    aggregation: Aggregation = Field(
        default="LogSumExp", description="how the cosines of the attending items become one score"
    )
    raw_norm: RawNorm = Field(
        default="clipped_l2norm",
        description="norm of the raw attention across the attending items (released `raw_feature_norm`)",
    )
    softmax_temperature: Positive | None = Field(
        default=None, description="factor in the attention's softmax (`lambda_softmax`); null: 9 (t2i), 4 (i2t)"
    )
    pooling_temperature: Positive | None = Field(
        default=None,
        description="factor in LogSumExp (`lambda_lse`); null: 6 (t2i), 5 (i2t; the release has 20 on COCO)",
    )
    projection: Literal["basic", "weight_norm"] = Field(
        default="basic",
        description="`weight_norm` trains the length of the image layer's weight separately (released option)",
    )

    @property
    def temperatures(self) -> tuple[float, float]:
        """Factors in the attention's softmax and in LogSumExp: those given, or the direction's released ones."""
        softmax, pooling = TEMPERATURES[self.direction]
        return (
            softmax if self.softmax_temperature is None else self.softmax_temperature,
            pooling if self.pooling_temperature is None else self.pooling_temperature,
        )
