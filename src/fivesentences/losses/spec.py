"""The loss of a run: a sum of losses, its readable name and its label. A new loss is one line of ``LossSpec``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, get_args

from pydantic import model_validator

from fivesentences.config.types import Strict
from fivesentences.losses.false_negative_memory import FalseNegativeMemory
from fivesentences.losses.false_negative_weights import FalseNegativeWeights
from fivesentences.losses.info_nce import InfoNCE
from fivesentences.losses.loss import MARGIN, Loss, Margin
from fivesentences.losses.positive_aware import PositiveAwareTriplet
from fivesentences.losses.relevance_margin import RelevanceMargin
from fivesentences.losses.semantic_adaptive_margin import SemanticAdaptiveMargin
from fivesentences.losses.soft_labels import SoftLabels
from fivesentences.losses.soft_rank import SoftRankLoss
from fivesentences.losses.sparing_triplet import SparingTriplet
from fivesentences.losses.triplet import TripletLoss, TripletNegatives


class LossSpec(Strict):
    """The loss of a run: the sum of the losses that are given."""

    triplet: TripletNegatives | None = "hardest"
    """Negatives of the triplet loss: all, the hardest, or the k nearest; null: no triplet."""
    margin: Margin = MARGIN
    """Margin of the triplet loss."""
    sam: SemanticAdaptiveMargin | None = None
    """Semantic Adaptive Margin."""
    soft_rank: SoftRankLoss | None = None
    """DAA's soft ranks."""
    info_nce: InfoNCE | None = None
    """InfoNCE, the loss of CLIP."""
    sparing: SparingTriplet | None = None
    """Triplet loss that masks likely false negatives by a threshold."""
    positive_aware: PositiveAwareTriplet | None = None
    """Triplet loss that masks what fits nearly as well as the positive, as GIST and NV-Retriever do."""
    fne: FalseNegativeWeights | None = None
    """Triplet loss with negatives drawn by FNE's weights."""
    fne_memory: FalseNegativeMemory | None = None
    """The same from FNE's momentum memory, as published; for models with one vector per image and caption."""
    relevance_margin: RelevanceMargin | None = None
    """Triplet loss with the relevance that the negative lacks as its margin."""
    soft_labels: SoftLabels | None = None
    """KL divergence to a softmax of phi."""

    @classmethod
    def optional_terms(cls) -> dict[str, type[Loss]]:
        """Return the losses beside the triplet loss, by their keys."""
        fields = {name: get_args(field.annotation)[0] for name, field in cls.model_fields.items() if name != "margin"}
        return {name: kind for name, kind in fields.items() if isinstance(kind, type) and issubclass(kind, Loss)}

    @property
    def terms(self) -> list[Loss]:
        """The losses of the sum, the triplet loss first."""
        triplet = [] if self.triplet is None else [TripletLoss(negatives=self.triplet, margin=self.margin)]
        return [*triplet, *(term for name in type(self).model_fields if isinstance(term := getattr(self, name), Loss))]

    @property
    def phis(self) -> list[str]:
        """The phi of the training captions that this loss reads, each once."""
        return list(dict.fromkeys(key.partition("|")[0] for key in self.phi_keys))

    @property
    def phi_keys(self) -> list[str]:
        """The same as training opens them; see ``Loss.phi_keys``."""
        return list(dict.fromkeys(key for term in self.terms for key in term.phi_keys))

    @property
    def suffix(self) -> str:
        """Text that follows the model's name in a folder, such as ``+sam``; empty for a triplet loss alone."""
        return "".join(term.suffix for term in self.terms)

    @property
    def folder(self) -> str:
        """Readable settings for a folder name, such as ``triplet=hardest,margin=0.2``."""
        return ",".join(part for term in self.terms for part in term.parts)

    def label(self, phis: Mapping[str, str] | None = None) -> str:
        """Return the label in tables: ``hardest negative``, ``+ SAM τ = 10, random, paper``, ``SAM alone, τ = 3, ...``.

        The triplet loss is named unless it is the usual one (hardest negative) beside another loss.

        Args:
            phis: Names of phi in tables, by phi; None: the phi's own.
        """
        alone = len(self.terms) == 1 and self.triplet is None
        labels = [term.label(phis or {}, alone) for term in self.terms]
        if len(labels) > 1 and (self.triplet, self.margin) == ("hardest", MARGIN):
            labels[0] = ""
        return " + ".join(labels).strip()

    @model_validator(mode="after")
    def _something_to_minimise(self) -> Self:
        if not self.terms:
            keys = ", ".join(name for name in type(self).model_fields if name != "margin")
            raise ValueError(f"all of {keys} are null, so there is nothing to minimise; give one")
        return self
