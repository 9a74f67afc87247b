"""Settings of SAF."""

from __future__ import annotations

from typing import ClassVar, Literal

from fivesentences.config.types import Positive
from fivesentences.models.similarity_vectors_spec import SimilarityVectorsSpec, attention_temperature


class SAFSpec(SimilarityVectorsSpec):
    """SAF: similarity attention filtration of the similarity vectors of a pair (Diao et al. 2021)."""

    implementation: ClassVar[str] = "fivesentences.models.saf:SAF"
    title: ClassVar[str] = "SAF"

    name: Literal["saf"] = "saf"
    temperature: Positive = attention_temperature()
