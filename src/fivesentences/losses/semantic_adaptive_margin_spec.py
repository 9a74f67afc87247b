"""Settings of the Semantic Adaptive Margin (SAM), and the rules in which the paper and the released code differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import EvaluationPhi, Negatives, Positive, References, Variant
from fivesentences.losses.term import LossTerm
from fivesentences.losses.triplet_spec import MARGIN, Margin

Margins = Literal["adaptive", "averaged", "fixed", "shuffled"]
Scaling = Literal["raw", "standardised", "ranked"]
BY_PHI: tuple[Negatives, ...] = ("closest_unlike", "furthest_alike")
OfPositive = Literal["excluded", "skipped"]
T2ISearch = Literal["columns", "rows"]
Ranking = Literal["similarity", "gap"]
MarginNegative = Literal["own", "crossed"]
MarginOf = Literal["query", "column"]


@dataclass(frozen=True)
class Rules:
    """Where the paper and the released code differ.

    Attributes:
        positive: ``"excluded"``: a negative is never the query's own positive. ``"skipped"``: the positive is not
            masked; the *second* entry of the ranking is taken in the hope that the first is the positive. So
            ``closest`` is the positive itself when exactly one item ranks above it (a constant term without gradient),
            and ``furthest`` is the second furthest item.
        t2i_search: ``"columns"``: a caption looks for its negative image down its column. ``"rows"``: the search
            for t2i runs along rows too; entry (i, m_i) then reads "image i is the negative of caption m_i", so that
            some captions get none and others several.
        ranking: What is ranked: the ``"similarity"``, or its ``"gap"`` to the positive, ``S_ij - S_ii`` for i2t and
            ``S_ij - S_jj`` for t2i. The gap orders items differently only along rows.
        margin_negative: ``"own"``: a margin is made from the negative that enters its hinge. ``"crossed"``: i2t hinges
            use the margins made from the t2i negatives, and the reverse.
        margin_of: ``"query"``: a hinge uses the margin of its own query. ``"column"``: margins are spread over the
            columns of the cost matrix, so that the hinge at (image i, caption n) uses the margin of sample n.
        cap: Largest margin, or None. There is no lower bound: a margin may be negative.
    """

    positive: OfPositive = "excluded"
    t2i_search: T2ISearch = "columns"
    ranking: Ranking = "similarity"
    margin_negative: MarginNegative = "own"
    margin_of: MarginOf = "query"
    cap: float | None = None


PAPER = Rules()
RELEASED = Rules(
    positive="skipped",
    t2i_search="rows",
    ranking="gap",
    margin_negative="crossed",
    margin_of="column",
    cap=1.0,
)
RULES = tuple(field.name for field in fields(Rules) if field.name != "cap")
# Of the README for Flickr30K (MS-COCO: 10); a variant does not set the weight.
USUAL_WEIGHT: dict[Variant, float] = {"paper": 1.0, "released": 5.0}


def rules_of(variant: Variant, **switched: Any) -> Rules:
    """The rules of a variant, with single fields of ``Rules`` switched."""
    return replace(PAPER if variant == "paper" else RELEASED, **switched)


class SamSpec(LossTerm):
    """Semantic Adaptive Margin, and its controls with a fixed margin or with the margins of other pairs.

    ``positive`` to ``margin_of`` switch single differences between the paper and the released code; null: as the
    variant.
    """

    implementation: ClassVar[str] = "fivesentences.losses.semantic_adaptive_margin:SemanticAdaptiveMargin"
    reads: ClassVar[Literal["ranked", "similarity"]] = "similarity"

    temperature: Positive = Field(default=10.0, description="the paper's τ: 3, 5 or 10 for CIDEr, which is 0 to 10")
    negatives: Negatives = Field(
        default="random",
        description="the one negative per direction: drawn, by similarity, or (in no paper) by similarity and φ: close "
        "in similarity and far in meaning, or the reverse",
    )
    variant: Variant = Field(default="paper", description="equation 7, or the published code")
    weight: Positive = Field(default=1.0, description="factor of the loss; released: 5 (Flickr30K), 10 (COCO)")
    max_margin: float | None = Field(default=None, description="largest margin; null: 1 if released, otherwise none")
    margins: Margins = Field(
        default="adaptive",
        description="the others are controls: `averaged`, the mean margin of the batch; `fixed`, one margin for all; "
        "`shuffled`, the margins of other pairs",
    )
    margin: Margin = Field(
        default=MARGIN, description="the margin where `margins` is `fixed`; the mean one where φ is standardised"
    )
    references: References = Field(
        default="kept",
        description="whether φ of a positive counts the caption among its own references, as in the paper; "
        "`own_left_out`: CIDEr only",
    )
    scaling: Scaling = Field(
        default="raw",
        description="φ as it is, or (in no paper) within the batch: standardised, positives and negatives each by "
        "themselves, or the share of an image's negatives that are worse",
    )
    phi: EvaluationPhi = Field(default="cider", description="what margins are made from")
    positive: OfPositive | None = Field(default=None, description="whether the positive can be its own negative")
    t2i_search: T2ISearch | None = Field(default=None, description="where t2i looks for negatives")
    ranking: Ranking | None = Field(default=None, description="what negatives are ranked by")
    margin_negative: MarginNegative | None = Field(default=None, description="whose negative makes a margin")
    margin_of: MarginOf | None = Field(default=None, description="whose margin a hinge takes")

    @property
    def rules(self) -> Rules:
        """The variant's rules, with the differences that are switched by themselves."""
        return rules_of(self.variant, **self.switched)

    @property
    def switched(self) -> dict[str, str]:
        """The differences that are switched by themselves."""
        given = {key: getattr(self, key) for key in RULES}
        return {key: value for key, value in given.items() if value is not None}

    @property
    def phi_read(self) -> str | None:
        """A fixed margin reads no phi, unless negatives are chosen by it."""
        return None if self.margins == "fixed" and self.negatives not in BY_PHI else self.phi

    @property
    def phi_keys(self) -> list[str]:
        """The parts of ``phi_read``; CIDEr may leave a caption out of its own references."""
        return [key if self.references == "kept" else f"{key}|{self.references}" for key in super().phi_keys]

    @property
    def suffix(self) -> str:
        """``+sam``, or ``+extra_negative`` where margins are fixed."""
        return "+extra_negative" if self.margins == "fixed" else "+sam"

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        if self.margins == "fixed":
            parts = [f"extra_margin={self.margin:g}", f"negatives={self.negatives}"]
        else:
            parts = [f"tau={self.temperature:g}", f"negatives={self.negatives}"]
        parts += [f"variant={self.variant}", f"weight={self.weight:g}"]
        if self.scaling != "raw":
            parts.append(f"scaling={self.scaling}")
            parts += [] if self.margin == MARGIN else [f"mean_margin={self.margin:g}"]
        if self.references != "kept":
            parts.append(f"references={self.references}")
        if self.max_margin is not None:
            parts.append(f"max_margin={self.max_margin:g}")
        if self.margins == "averaged":
            parts.append("margins=averaged")
        if self.margins == "shuffled":
            parts.append("phi=shuffled" if self.phi == "cider" else f"phi=shuffled_{self.phi}")
        elif self.phi != "cider" and self.phi_read is not None:
            parts.append(f"phi={self.phi}")
        return parts + [f"{key}={value}" for key, value in self.switched.items()]

    def words(self, phis: Mapping[str, str]) -> tuple[str, list[str]]:
        """``SAM τ = 10, random, paper``; ``random, fixed margin``; a weight that is not the variant's usual one."""
        if self.margins == "fixed":
            title, settings = "", [self.negatives.replace("_", ", "), "fixed margin"]
            settings += [] if self.margin == MARGIN else [f"margin {self.margin:g}"]
            settings += [] if self.variant == "paper" else [self.variant]
        else:
            negatives = self.negatives.replace("_", ", ")
            title, settings = "SAM", [f"τ = {self.temperature:g}", negatives, self.variant]
            settings += [] if self.scaling == "raw" else [f"φ {self.scaling}"]
            settings += [] if self.scaling == "raw" or self.margin == MARGIN else [f"mean margin {self.margin:g}"]
            settings += [] if self.references == "kept" else ["own caption left out"]
            settings += [] if self.phi == "cider" else [f"by {phis.get(self.phi, self.phi)}"]
            settings += {"shuffled": ["φ shuffled"], "averaged": ["margins averaged"]}.get(self.margins, [])
        settings += [] if self.weight == USUAL_WEIGHT[self.variant] else [f"weight {self.weight:g}"]
        settings += [] if self.max_margin is None else [f"margins to {self.max_margin:g}"]
        return title, settings + [f"{key} {value}" for key, value in self.switched.items()]

    def arguments(self, seed: int) -> dict[str, Any]:
        """Of the class: the rules take the place of the variant and what is switched in it."""
        names = ("temperature", "negatives", "weight", "max_margin", "margins", "margin", "scaling")
        return {name: getattr(self, name) for name in names} | {"variant": self.rules, "seed": seed}

    @model_validator(mode="after")
    def _used(self) -> SamSpec:
        """Refuse settings that the margins would not use: two runs with different settings would be the same."""
        unused: dict[str, str] = {}
        if self.margins == "fixed":
            keys = ("temperature", "max_margin", "margin_negative", "margin_of", "scaling", "references")
            unused = dict.fromkeys(keys + (() if self.phi_read else ("phi",)), f"margins: {self.margins}")
        elif self.scaling == "raw":
            unused = {"margin": f"margins: {self.margins}"}
        elif self.scaling == "ranked":
            unused = dict.fromkeys(("margin", "references"), "scaling: ranked, where every positive is the best")
        if self.negatives in BY_PHI:
            unused |= dict.fromkeys(("ranking", "t2i_search", "positive"), f"negatives: {self.negatives}")
        for key, why in unused.items():
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"{key} has no effect with {why}; leave it out")
        if self.negatives in BY_PHI and self.variant != "paper":
            raise ValueError(f"negatives: {self.negatives} is defined for variant: paper only; leave the variant out")
        if self.references != "kept" and self.phi.partition("-")[0] != "cider":
            raise ValueError(f"references: {self.references} is known for phi: cider only, not for {self.phi}")
        return self
