"""Settings of InfoNCE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Positive
from fivesentences.losses.term import LossTerm

LOWEST = 0.01  # CLIP clips its learned factor 1 / temperature at 100


class InfoNCESpec(LossTerm):
    """InfoNCE, the loss of CLIP: which item of the batch is the query's own, as a cross entropy."""

    implementation: ClassVar[str] = "fivesentences.losses.info_nce:InfoNCE"
    reads: ClassVar[Literal["ranked", "similarity"]] = "ranked"

    temperature: Positive = Field(
        default=0.07, description="of the softmax, in units of the similarity; CLIP starts from 0.07"
    )
    learn_temperature: bool = Field(
        default=False, description="train the temperature with the model, from that value, as CLIP does; at least 0.01"
    )
    weight: Positive = Field(
        default=1.0,
        description="factor of the loss, which is a mean over the batch; the triplet loss is a sum",
    )

    @property
    def suffix(self) -> str:
        """``+info_nce``."""
        return "+info_nce"

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        parts = [f"info_nce={self.temperature:g}"]
        parts += ["temperature=learned"] if self.learn_temperature else []
        return parts if self.weight == 1.0 else [*parts, f"info_nce_weight={self.weight:g}"]

    def words(self, phis: Mapping[str, str]) -> tuple[str, list[str]]:
        """``InfoNCE T = 0.07``, ``InfoNCE T learned from 0.07``."""
        settings = [f"T {'learned from' if self.learn_temperature else '='} {self.temperature:g}"]
        return "InfoNCE", settings if self.weight == 1.0 else [*settings, f"weight {self.weight:g}"]

    @model_validator(mode="after")
    def _learned_in_its_range(self) -> InfoNCESpec:
        if self.learn_temperature and self.temperature < LOWEST:
            raise ValueError(
                f"temperature is {self.temperature:g}, but one that is learned is kept at {LOWEST:g} or above; "
                "start from such a value, or leave learn_temperature out"
            )
        return self
