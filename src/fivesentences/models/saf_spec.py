"""Settings of SAF."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fivesentences.config.types import Positive
from fivesentences.models.similarity_vectors_spec import SimilarityVectorsSpec, attention_temperature

if TYPE_CHECKING:
    from fivesentences.models.saf import SAF


class SAFSpec(SimilarityVectorsSpec):
    """SAF: similarity attention filtration of the similarity vectors of a pair (Diao et al. 2021)."""

    title: ClassVar[str] = "SAF"

    name: Literal["saf"] = "saf"
    temperature: Positive = attention_temperature()

    @classmethod
    def implementation(cls) -> type[SAF]:
        """The model's class."""
        from fivesentences.models.saf import SAF

        return SAF
