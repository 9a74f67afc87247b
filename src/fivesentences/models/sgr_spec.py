"""Settings of SGR."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from fivesentences.config.types import Layers, Positive
from fivesentences.models.similarity_vectors_spec import SimilarityVectorsSpec, attention_temperature


class SGRSpec(SimilarityVectorsSpec):
    """SGR: similarity graph reasoning over the similarity vectors of a pair (Diao et al. 2021)."""

    implementation: ClassVar[str] = "fivesentences.models.sgr:SGR"
    title: ClassVar[str] = "SGR"

    name: Literal["sgr"] = "sgr"
    steps: Layers = Field(default=3, description="steps of reasoning, each with its own weights")
    temperature: Positive = attention_temperature()
