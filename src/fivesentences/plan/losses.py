"""What a run minimises: a sum of losses of ``fivesentences.losses``, and its readable name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import EvaluationPhi, Negatives, Strict, Variant


class SamSpec(Strict):
    """Semantic Adaptive Margin beside (or instead of) the triplet loss, and its controls.

    ``positive`` to ``margin_of`` switch single differences between print and released code; None: as the variant.
    """

    temperature: float = Field(default=10.0, gt=0)
    negatives: Negatives = "random"
    variant: Variant = "paper"
    weight: float = Field(default=1.0, gt=0)
    max_margin: float | None = None
    margins: Literal["adaptive", "fixed", "shuffled"] = "adaptive"
    margin: float = Field(default=0.2, ge=0, description="the margin where margins is fixed")
    phi: EvaluationPhi = "cider"
    positive: Literal["excluded", "skipped"] | None = None
    t2i_search: Literal["columns", "rows"] | None = None
    ranking: Literal["similarity", "gap"] | None = None
    margin_negative: Literal["own", "crossed"] | None = None
    margin_of: Literal["query", "column"] | None = None

    @property
    def rules(self) -> dict[str, str]:
        """The differences that are switched by themselves."""
        given = {key: getattr(self, key) for key in RULES}
        return {key: value for key, value in given.items() if value is not None}

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        if self.margins == "fixed":
            parts = [f"extra_margin={self.margin:g}", f"negatives={self.negatives}"]
        else:
            parts = [f"tau={self.temperature:g}", f"negatives={self.negatives}"]
        parts += [f"variant={self.variant}", f"weight={self.weight:g}"]
        if self.max_margin is not None:
            parts.append(f"max_margin={self.max_margin:g}")
        if self.margins == "shuffled":
            parts.append("phi=shuffled" if self.phi == "cider" else f"phi=shuffled_{self.phi}")
        elif self.phi != "cider":
            parts.append(f"phi={self.phi}")
        return parts + [f"{key}={value}" for key, value in self.rules.items()]

    @model_validator(mode="after")
    def _used(self) -> SamSpec:
        """Refuse settings that the margins would not use: two runs of different settings would be the same."""
        if self.margins == "fixed":
            unused: tuple[str, ...] = ("temperature", "max_margin", "phi", "margin_negative", "margin_of")
        else:
            unused = ("margin",)
        for key in unused:
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"{key} has no part in margins: {self.margins}; leave it out")
        return self


RULES = ("positive", "t2i_search", "ranking", "margin_negative", "margin_of")


class SoftRankSpec(Strict):
    """DAA's soft-rank loss beside (or instead of) the triplet loss."""

    temperature: float = Field(default=1e-3, gt=0)
    weight: float = Field(default=25.0, gt=0)
    variant: Variant = "paper"
    phi: EvaluationPhi = "tfidf"

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        return [
            f"soft_rank={self.variant}",
            f"T={self.temperature:g}",
            f"rank_weight={self.weight:g}",
            *([] if self.phi == "tfidf" else [f"rank_phi={self.phi}"]),
        ]


class HalSpec(Strict):
    """HAL; the defaults are those of its release for Flickr30K (COCO: gamma 30, epsilon 0.3)."""

    gamma: float = Field(default=60.0, gt=0)
    epsilon: float = 0.7
    weight: float = Field(default=1.0, gt=0)

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        parts = [f"gamma={self.gamma:g}", f"epsilon={self.epsilon:g}"]
        return parts if self.weight == 1.0 else [*parts, f"hal_weight={self.weight:g}"]


class LossSpec(Strict):
    """What a run minimises: the sum of the losses that are given."""

    triplet: Literal["all", "hardest"] | Annotated[int, Field(ge=1)] | None = "hardest"
    margin: float = Field(default=0.2, ge=0)
    sam: SamSpec | None = None
    soft_rank: SoftRankSpec | None = None
    hal: HalSpec | None = None

    @model_validator(mode="after")
    def _something_to_minimise(self) -> LossSpec:
        if self.triplet is None and self.sam is None and self.soft_rank is None and self.hal is None:
            raise ValueError("triplet, sam, soft_rank and hal are all null, so there is nothing to minimise; give one")
        return self

    @property
    def phis(self) -> list[str]:
        """The phi of the training captions that this loss reads, each once."""
        read = []
        if self.sam is not None and self.sam.margins != "fixed":
            read += self.sam.phi.split("+")
        if self.soft_rank is not None:
            read += self.soft_rank.phi.split("+")
        return list(dict.fromkeys(read))

    @property
    def suffix(self) -> str:
        """What stands behind the model's name, such as ``+sam``; empty for a triplet loss alone."""
        extra = self.sam is not None and self.sam.margins == "fixed"
        given = {
            "+extra_negative": extra,
            "+sam": self.sam is not None and not extra,
            "+soft_rank": self.soft_rank is not None,
            "+hal": self.hal is not None,
        }
        return "".join(name for name, there in given.items() if there)

    @property
    def folder(self) -> str:
        """Readable settings for a folder name, such as ``triplet=hardest,margin=0.2``."""
        parts = [] if self.triplet is None else [f"triplet={self.triplet}", f"margin={self.margin:g}"]
        for block in (self.sam, self.soft_rank, self.hal):
            parts += [] if block is None else block.parts
        return ",".join(parts)
