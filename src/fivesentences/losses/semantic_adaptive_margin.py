"""Semantic Adaptive Margin (SAM): a triplet's margin grows with how much better its positive describes the image.

Source: "Is An Image Worth Five Sentences?", section 5, and its released code. Apart from names and the weight the two
differ in six rules that move the numbers. Each is one field of ``Rules``, so that each can be switched, read and tested
by itself; ``PAPER`` and ``RELEASED`` are the two ends.

Controls, which no paper has, separate the effect of one more negative from that of a semantic margin (``margins``): the
same negative with a *fixed* margin, with the *mean* of the adaptive ones, or with that of another triplet. Nor has any
paper margins made from phi that is standardised or ranked within the batch, or negatives chosen by phi.

Below, ``phi`` is ``[captions, images]`` of the batch: ``phi[c, i]`` = how well caption c describes image i.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, PrivateAttr, model_validator

from fivesentences.config.types import EvaluationPhi, Negatives, Positive, References, Variant
from fivesentences.losses.loss import MARGIN, Loss, Margin, checked_batch, torch, unless

if TYPE_CHECKING:
    from torch import Tensor

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


class Chosen(NamedTuple):
    """The negative of each of the B samples.

    Attributes:
        i2t: ``[B]``; ``i2t[i]`` = the negative caption of image i.
        t2i: ``[B]``; searched down columns, ``t2i[j]`` = the negative image of caption j; searched along rows,
            ``t2i[i]`` = the caption whose negative is image i.
    """

    i2t: Tensor
    t2i: Tensor


class Hinges(NamedTuple):
    """What the B hinges of one direction compare, and where their margins come from; each ``[B]`` samples.

    Attributes:
        image: Image of the negative pair.
        caption: Caption of the negative pair.
        positive: Whose positive pair it is compared with.
        margin: Whose margin it takes.
        margin_negative: The negative that this margin was made from, by the sample whose caption it is.
    """

    image: Tensor
    caption: Tensor
    positive: Tensor
    margin: Tensor
    margin_negative: Tensor


class SemanticAdaptiveMargin(Loss):
    """Semantic Adaptive Margin (SAM): a triplet loss whose margin is a difference in phi; and its controls.

    One negative per direction, with the margin ``(phi_positive - phi_negative) / temperature``. Both phi are taken
    against the reference captions of the positive's image. The paper adds this loss to an ordinary ``TripletLoss``; the
    released code gives it the weight 5 (Flickr30K) or 10 (COCO).

    - ``negatives``: ``"random"`` (drawn from torch's global CPU generator, uniformly over the others, for each
      direction separately), ``"closest"`` or ``"furthest"`` (by similarity). The paper calls ``closest`` "hard" and
      ``furthest`` "soft"; the released options are the other way round: "soft" is ``closest``, "hard" is ``furthest``,
      or rather the second furthest. Of equal scores the lower index comes first. Two more, in no paper, are chosen by
      similarity and phi, see ``search_by_phi``: ``"closest_unlike"`` (close in similarity, far in meaning) and
      ``"furthest_alike"`` (the reverse), with the paper's rules only.
    - ``margins``: ``"adaptive"``, or a control. ``"fixed"``: every margin is ``margin``. ``"averaged"``: the hinges of
      a direction all have their mean margin in the batch, and nothing that is known of a pair. ``"shuffled"``: in each
      batch every pair takes the place of another one in phi (rows and columns alike, drawn for each batch): scores of
      matched pairs stay scores of matched pairs and all values stay in the batch, but a pair's margin says nothing
      about that pair. Negatives chosen by phi are then others at the same ranks by similarity: each sample takes the
      rank of another one's. The shuffling has a generator of its own (``build(seed)``), so that negatives are drawn as
      they would be without it.
    - ``positive`` to ``margin_of`` switch single differences between the paper and the released code (``Rules``);
      null: as the variant.
    """

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

    _generator: Any = PrivateAttr(default=None)

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
    def suffix(self) -> str:  # type: ignore[override]
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

    @property
    def title(self) -> str:  # type: ignore[override]
        """``SAM``, or nothing where margins are fixed."""
        return "" if self.margins == "fixed" else "SAM"

    def words(self, phis: Mapping[str, str]) -> list[str]:
        """``τ = 10, random, paper``; ``random, fixed margin``; a weight that is not the variant's usual one."""
        negatives = self.negatives.replace("_", ", ")
        if self.margins == "fixed":
            settings = [negatives, "fixed margin", *unless(MARGIN, self.margin, "margin {}")]
            settings += [] if self.variant == "paper" else [self.variant]
        else:
            settings = [f"τ = {self.temperature:g}", negatives, self.variant]
            if self.scaling != "raw":
                settings += [f"φ {self.scaling}", *unless(MARGIN, self.margin, "mean margin {}")]
            settings += [] if self.references == "kept" else ["own caption left out"]
            settings += [] if self.phi == "cider" else [f"by {phis.get(self.phi, self.phi)}"]
            settings += {"shuffled": ["φ shuffled"], "averaged": ["margins averaged"]}.get(self.margins, [])
        settings += unless(USUAL_WEIGHT[self.variant], self.weight, "weight {}")
        settings += [] if self.max_margin is None else [f"margins to {self.max_margin:g}"]
        return settings + [f"{key} {value}" for key, value in self.switched.items()]

    @property
    def largest_margin(self) -> float | None:
        """The largest margin: the setting, or that of the rules; None: there is none."""
        return self.rules.cap if self.max_margin is None else self.max_margin

    @property
    def mean_margin(self) -> float:
        """Number that is added to margins made from standardised phi."""
        return self.margin if self.scaling == "standardised" else 0.0

    def build(self, seed: int = 0) -> Self:
        """Return a copy whose shuffling draws from ``seed``."""
        built = self.model_copy()
        built._generator = torch.Generator().manual_seed(seed) if self.margins == "shuffled" else None
        return built

    @property
    def _shuffling(self) -> torch.Generator | None:
        if self.margins == "shuffled" and self._generator is None:
            self._generator = torch.Generator().manual_seed(0)
        generator: torch.Generator | None = self._generator
        return generator

    def state(self) -> dict[str, Tensor]:
        """State of the shuffling."""
        return {} if self._shuffling is None else {"shuffling": self._shuffling.get_state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state of the shuffling."""
        if self._shuffling is not None:
            self._shuffling.set_state(state["shuffling"].cpu())

    @model_validator(mode="after")
    def _used(self) -> SemanticAdaptiveMargin:
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

    def __call__(  # type: ignore[override]
        self, similarity: Tensor, phi: Tensor | None = None, indices: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """Compute the loss, a scalar; the gradient flows into ``similarity`` only.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.
            phi: ``[B captions, B images]`` of the same pairs; not needed with fixed margins, unless negatives are
                chosen by phi.
            indices: The negatives (i2t, t2i) as in ``Chosen``, each ``[B]``, instead of choosing them here.

        Raises:
            InputError: If the shapes disagree.
        """
        batch = checked_batch("SemanticAdaptiveMargin", similarity, phi, needs_phi=self.phi_read is not None)
        if batch < 2:
            return similarity.sum() * 0.0  # there is no negative
        with torch.no_grad():
            shuffling = self._shuffling
            place = None if shuffling is None else random_cycle(batch, shuffling).to(similarity.device)
            chosen = self.choose(similarity, phi, place) if indices is None else Chosen(*indices)
            if phi is not None and place is not None:
                phi = phi[place][:, place]
            margin_i2t, margin_t2i = self._margins(similarity, phi, chosen)
        return self.weight * self._hinges(similarity, chosen, margin_i2t, margin_t2i)

    def choose(self, similarity: Tensor, phi: Tensor | None = None, place: Tensor | None = None) -> Chosen:
        """Choose the negatives of a batch.

        Args:
            similarity: ``[B images, B captions]``.
            phi: ``[B captions, B images]``; read only where negatives are chosen by it.
            place: ``[B]``, of shuffled margins: which sample's rank by similarity each takes, where they are chosen by
                phi.
        """
        if self.negatives == "random":
            return Chosen(random_others(similarity), random_others(similarity))
        if self.negatives in BY_PHI:
            assert phi is not None
            alike = self.negatives == "furthest_alike"
            of_directions = (similarity, similarity.T)
            i2t, t2i = (search_by_phi(scores, phi, alike) for scores in of_directions)
            if place is not None:
                i2t, t2i = (at_ranks_of(s, found, place) for s, found in zip(of_directions, (i2t, t2i), strict=True))
            return Chosen(i2t, t2i)
        return Chosen(
            search_i2t(similarity, self.negatives, self.rules), search_t2i(similarity, self.negatives, self.rules)
        )

    def margins_of(self, phi: Tensor, indices: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Compute the margins of the i2t and of the t2i hinges, each ``[B]`` by sample, before ``Rules.margin_of``."""
        phi = scaled(phi, self.scaling)
        from_i2t, from_t2i = (
            adaptive_margin(phi, negative, self.temperature, self.largest_margin, self.mean_margin)
            for negative in indices
        )
        return (from_t2i, from_i2t) if self.rules.margin_negative == "crossed" else (from_i2t, from_t2i)

    def _margins(self, similarity: Tensor, phi: Tensor | None, chosen: Chosen) -> tuple[Tensor, Tensor]:
        if self.margins == "fixed":
            fixed = similarity.new_full((len(similarity),), self.margin)
            return fixed, fixed
        assert phi is not None
        return self.margins_of(phi, chosen)

    def hinges(self, chosen: Chosen) -> tuple[Hinges, Hinges]:
        """Return the hinges of i2t and of t2i under the rules."""
        sample = torch.arange(len(chosen.i2t), device=chosen.i2t.device)
        if self.rules.t2i_search == "columns":
            t2i_image, t2i_caption = chosen.t2i, sample
        else:
            t2i_image, t2i_caption = sample, chosen.t2i
        spread = self.rules.margin_of == "column"
        of_i2t, of_t2i = (chosen.i2t, t2i_caption) if spread else (sample, sample)
        from_i2t, from_t2i = (
            (chosen.t2i, chosen.i2t) if self.rules.margin_negative == "crossed" else (chosen.i2t, chosen.t2i)
        )
        return (
            Hinges(sample, chosen.i2t, sample, of_i2t, from_i2t[of_i2t]),
            Hinges(t2i_image, t2i_caption, t2i_caption, of_t2i, from_t2i[of_t2i]),
        )

    def _hinges(self, similarity: Tensor, chosen: Chosen, margin_i2t: Tensor, margin_t2i: Tensor) -> Tensor:
        positive = similarity.diagonal()
        i2t, t2i = self.hinges(chosen)
        taken_i2t, taken_t2i = margin_i2t[i2t.margin], margin_t2i[t2i.margin]
        if (
            self.margins == "averaged"
        ):  # over hinges: under some rules a sample's margin is taken by several, or by none
            taken_i2t, taken_t2i = (taken.mean().expand_as(taken) for taken in (taken_i2t, taken_t2i))
        cost_i2t = (similarity[i2t.image, i2t.caption] - positive + taken_i2t).clamp(min=0)
        cost_t2i = (similarity[t2i.image, t2i.caption] - positive[t2i.positive] + taken_t2i).clamp(min=0)
        return cost_i2t.sum() + cost_t2i.sum()


def search_i2t(similarity: Tensor, negatives: Negatives, rules: Rules) -> Tensor:
    """Find the negative caption of each image, ``[B]``: ``closest`` or ``furthest`` under ``rules``."""
    ranked = similarity - similarity.diagonal()[:, None] if rules.ranking == "gap" else similarity
    return _pick_in_rows(ranked, negatives, rules)


def search_t2i(similarity: Tensor, negatives: Negatives, rules: Rules) -> Tensor:
    """Find the t2i negatives, ``[B]``; the meaning of an entry depends on ``rules.t2i_search``, see ``Chosen``."""
    ranked = similarity - similarity.diagonal()[None, :] if rules.ranking == "gap" else similarity
    return _pick_in_rows(ranked.T if rules.t2i_search == "columns" else ranked, negatives, rules)


def _pick_in_rows(scores: Tensor, negatives: Negatives, rules: Rules) -> Tensor:
    closest = negatives == "closest"
    if rules.positive == "skipped":
        return scores.argsort(dim=1, descending=closest, stable=True)[:, 1]
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    if closest:
        return scores.masked_fill(own, -torch.inf).argmax(dim=1)  # argmax and argmin: the first of equals
    return scores.masked_fill(own, torch.inf).argmin(dim=1)


def search_by_phi(similarity: Tensor, phi: Tensor, alike: bool) -> Tensor:
    """Choose negatives by similarity and phi: close in similarity and far in meaning, or the reverse; in no paper.

    The items of the batch are ranked by similarity and by phi, equal ones in its order. Chosen is the negative whose
    rank by similarity is highest above its rank by phi, or (``alike``) furthest below it; of equals the first.

    Args:
        similarity: ``[B queries, B items]``.
        phi: ``[B captions, B images]``; column q is what the captions of the batch say of the query's image, for image
            and for caption queries, as in a margin.
        alike: Whether it is the furthest in similarity that is near in meaning.

    Returns:
        ``[B]``, never the query's own.
    """
    own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    lead = similarity.argsort(dim=1, stable=True).argsort(dim=1) - phi.T.argsort(dim=1, stable=True).argsort(dim=1)
    largest = len(similarity)
    return lead.masked_fill(own, largest).argmin(dim=1) if alike else lead.masked_fill(own, -largest).argmax(dim=1)


def at_ranks_of(similarity: Tensor, chosen: Tensor, place: Tensor) -> Tensor:
    """Choose negatives at the ranks by similarity of other queries' chosen ones; a control for ``search_by_phi``.

    Args:
        similarity: ``[B queries, B items]``, a query's own item on the diagonal.
        chosen: ``[B]``, a negative of each query.
        place: ``[B]``, whose rank each query takes.

    Returns:
        ``[B]``, never the query's own.
    """
    own = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    order = similarity.masked_fill(own, -torch.inf).argsort(dim=1, descending=True, stable=True)  # own items last
    rank = (order == chosen[:, None]).int().argmax(dim=1)
    return order.gather(1, rank[place][:, None])[:, 0]


def random_others(similarity: Tensor) -> Tensor:
    """Draw another sample for each of B, uniformly by torch's global CPU generator (on any device); ``[B]``."""
    batch = len(similarity)
    drawn = torch.randint(batch - 1, (batch,))
    return (drawn + (drawn >= torch.arange(batch))).to(similarity.device)


def random_cycle(batch: int, generator: torch.Generator) -> Tensor:
    """Draw another sample for each of B, each taken once (one cycle through all, uniform); ``[B]`` on the CPU."""
    order = torch.randperm(batch, generator=generator)
    other = torch.empty_like(order)
    other[order] = order.roll(-1)
    return other


def scaled(phi: Tensor, scaling: Scaling) -> Tensor:
    """Scale phi of a batch as margins read it; ``"standardised"`` and ``"ranked"`` are in no paper.

    Raw phi of a random negative hardly differs from 0, so that a margin is made from the positive alone.

    Args:
        phi: ``[B captions, B images]``, matched pairs on the diagonal.
        scaling: ``"raw"``: as it is. ``"standardised"``: mean 0 and (population) standard deviation 1, positives among
            positives and negatives among negatives, so that half of a margin's variance is the negative's; values that
            are all equal become 0. ``"ranked"``: for each image the share of the other negatives of the batch that are
            worse than a caption, equal ones counted half, in 0..1; every positive is 1.

    Returns:
        ``[B, B]``.
    """
    if scaling == "raw":
        return phi
    batch = len(phi)
    own = torch.eye(batch, dtype=torch.bool, device=phi.device)
    if scaling == "standardised":
        positive, negative = phi.diagonal(), phi[~own]
        values = _standardised(phi, negative)
        values[own] = _standardised(positive, positive)
        return values
    negatives = phi.masked_fill(own, torch.inf).sort(dim=0).values.T.contiguous()  # [images, captions], own ones last
    asked = phi.T.contiguous()
    worse = torch.searchsorted(negatives, asked)
    not_better = torch.searchsorted(negatives, asked, right=True)
    shares = (worse + not_better - 1).to(phi.dtype).T / 2 / max(batch - 2, 1)  # without the caption itself
    return shares.masked_fill(own, 1.0)


def _standardised(values: Tensor, among: Tensor) -> Tensor:
    spread = among.std(correction=0)
    return (values - among.mean()) / torch.where(spread > 0, spread, torch.ones_like(spread))


def adaptive_margin(phi: Tensor, negative: Tensor, temperature: float, cap: float | None, mean: float = 0.0) -> Tensor:
    """Compute ``(phi_positive - phi_negative) / temperature``, at most ``cap``; both against the sample's own image.

    Args:
        phi: ``[B captions, B images]``.
        negative: ``[B]``, the sample whose caption is the negative of each sample.
        temperature: Divides the difference.
        cap: Largest margin or None; there is no smallest.
        mean: Added, where phi is standardised.

    Returns:
        ``[B]`` margins in units of the similarity.
    """
    sample = torch.arange(len(phi), device=phi.device)
    margin = mean + (phi.diagonal() - phi[negative, sample]) / temperature
    return margin if cap is None else margin.clamp(max=cap)
