"""What a run minimises: a sum of losses, its readable name and its label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pydantic import Field, model_validator

from fivesentences.config.types import Strict
from fivesentences.losses.hal_spec import HalSpec
from fivesentences.losses.info_nce_spec import InfoNCESpec
from fivesentences.losses.semantic_adaptive_margin_spec import SamSpec
from fivesentences.losses.smooth_ap_spec import SmoothAPSpec
from fivesentences.losses.soft_rank_spec import SoftRankSpec
from fivesentences.losses.term import LossTerm
from fivesentences.losses.triplet_spec import MARGIN, Margin, TripletNegatives, TripletSpec

USUAL_TRIPLET = TripletSpec(negatives="hardest")  # of most models; a label names the triplet only where it is another


class LossSpec(Strict):
    """What a run minimises: the sum of the losses that are given. A new loss is one line here."""

    triplet: TripletNegatives | None = Field(
        default="hardest",
        description="negatives of the triplet loss: all, the hardest, or the k nearest; null: no triplet",
    )
    margin: Margin = Field(default=MARGIN, description="of the triplet loss")
    sam: SamSpec | None = Field(default=None, description="Semantic Adaptive Margin")
    soft_rank: SoftRankSpec | None = Field(default=None, description="DAA's soft ranks")
    hal: HalSpec | None = Field(default=None, description="HAL")
    info_nce: InfoNCESpec | None = Field(default=None, description="InfoNCE, the loss of CLIP")
    smooth_ap: SmoothAPSpec | None = Field(default=None, description="smooth average precision")

    @classmethod
    def optional_terms(cls) -> dict[str, type[LossTerm]]:
        """The losses beside the triplet loss, by their keys."""
        return {
            name: kind
            for name, field in cls.model_fields.items()
            for kind in get_args(field.annotation)
            if isinstance(kind, type) and issubclass(kind, LossTerm)
        }

    @property
    def terms(self) -> list[LossTerm]:
        """The losses of the sum, the triplet loss first."""
        triplet = [] if self.triplet is None else [TripletSpec(negatives=self.triplet, margin=self.margin)]
        given = (getattr(self, name) for name in type(self).model_fields)
        return [*triplet, *(term for term in given if isinstance(term, LossTerm))]

    @property
    def phis(self) -> list[str]:
        """The phi of the training captions that this loss reads, each once."""
        return list(dict.fromkeys(key.partition("|")[0] for key in self.phi_keys))

    @property
    def phi_keys(self) -> list[str]:
        """The same as training opens them; see ``LossTerm.phi_keys``."""
        return list(dict.fromkeys(key for term in self.terms for key in term.phi_keys))

    @property
    def suffix(self) -> str:
        """What follows the model's name in a folder, such as ``+sam``; empty for a triplet loss alone."""
        return "".join(term.suffix for term in self.terms)

    @property
    def folder(self) -> str:
        """Readable settings for a folder name, such as ``triplet=hardest,margin=0.2``."""
        return ",".join(part for term in self.terms for part in term.parts)

    def label(self, phis: Mapping[str, str] | None = None) -> str:
        """What tables call it: ``hardest negative``, ``+ SAM τ = 10, random, paper``, ``SAM alone, τ = 3, ...``.

        Args:
            phis: What tables call a phi, by its name; None: its name.
        """
        terms, phis = self.terms, phis or {}
        alone = len(terms) == 1 and not isinstance(terms[0], TripletSpec)
        usual = len(terms) > 1 and terms[0] == USUAL_TRIPLET
        return " + ".join("" if usual and not i else term.label(phis, alone) for i, term in enumerate(terms)).strip()

    @model_validator(mode="after")
    def _something_to_minimise(self) -> LossSpec:
        if not self.terms:
            *names, last = (name for name in type(self).model_fields if name != "margin")
            raise ValueError(f"{', '.join(names)} and {last} are all null, so there is nothing to minimise; give one")
        return self
