"""Semantic Adaptive Margin (SAM): a triplet's margin grows with how much better its positive describes the image.

Source: "Is An Image Worth Five Sentences?", section 5, and its released code. Apart from names and the weight the two
differ in six rules that move the numbers: the largest margin, and those of ``RULES``, each of which can be switched,
read and tested by itself.

Its closest relatives are a margin made from relevance (Falcon et al., "Relevance-based Margin", 2022) and the ladder
loss with its chain of margins (Zhou et al., 2020); see CITATION.bib.

Controls of ours separate the effect of one more negative from that of a semantic margin (``margins``): the same
negative with a *fixed* margin, with the *mean* of the adaptive ones, or with that of another triplet. Not in the paper
either are margins made from phi that is standardised or ranked within the batch, and negatives chosen by phi.

Below, ``phi`` is ``[captions, images]`` of the batch: ``phi[c, i]`` = how well caption c describes image i. The
negatives of a batch are two tensors ``[B]``, i2t and t2i: ``i2t[i]`` is the negative caption of image i. Searched down
columns, ``t2i[j]`` is the negative image of caption j; searched along rows, ``t2i[i]`` is the caption whose negative is
image i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from pydantic import PrivateAttr, model_validator

from fivesentences.config.types import EvaluationPhi, Negatives, Positive, References, Variant
from fivesentences.losses.loss import MARGIN, Loss, Margin, checked_batch, torch, unless

if TYPE_CHECKING:
    from torch import Tensor

    Pair = tuple[Tensor, Tensor]  # of i2t and t2i

Scaling = Literal["raw", "standardised", "ranked"]
BY_PHI: tuple[Negatives, ...] = ("closest_unlike", "furthest_alike")
# Where the paper and the released code differ, beside the largest margin (none; 1).
RULES: dict[str, dict[Variant, str]] = {
    # excluded: a negative is never the query's own positive. skipped: the positive is not masked; the *second* entry of
    # the ranking is taken in the hope that the first is the positive. So `closest` is the positive itself when exactly
    # one item ranks above it (a constant term without gradient), and `furthest` is the second furthest item.
    "positive": {"paper": "excluded", "released": "skipped"},
    # columns: a caption looks for its negative image down its column. rows: the search for t2i runs along rows too;
    # entry (i, m_i) then reads "image i is the negative of caption m_i": some captions get none and others several.
    "t2i_search": {"paper": "columns", "released": "rows"},
    # What is ranked: the similarity, or its gap to the positive, S_ij - S_ii for i2t and S_ij - S_jj for t2i. The gap
    # orders items differently only along rows.
    "ranking": {"paper": "similarity", "released": "gap"},
    # own: a margin is made from the negative that enters its hinge. crossed: i2t hinges use the margins made from the
    # t2i negatives, and the reverse.
    "margin_negative": {"paper": "own", "released": "crossed"},
    # query: a hinge uses the margin of its own query. column: margins are spread over the columns of the cost matrix,
    # so that the hinge at (image i, caption n) uses the margin of sample n.
    "margin_of": {"paper": "query", "released": "column"},
}
# Of the README for Flickr30K (MS-COCO: 10); a variant does not set the weight.
USUAL_WEIGHT: dict[Variant, float] = {"paper": 1.0, "released": 5.0}


class Hinges(NamedTuple):
    """Comparisons of the B hinges of one direction, and the sources of their margins; each ``[B]`` samples.

    Attributes:
        image: Image of the negative pair.
        caption: Caption of the negative pair.
        positive: Sample whose positive pair it is compared with.
        margin: Sample whose margin it takes.
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
      or rather the second furthest. Of equal scores the lower index comes first. Two more are not in the paper and are
      chosen by similarity and phi, see ``search_by_phi``: ``"closest_unlike"`` (close in similarity, far in meaning)
      and ``"furthest_alike"`` (the reverse), with the paper's rules only.
    - ``margins``: ``"adaptive"``, or a control. ``"fixed"``: every margin is ``margin``. ``"averaged"``: the hinges of
      a direction all have their mean margin in the batch, and nothing that is known of a pair. ``"shuffled"``: in each
      batch every pair takes the place of another one in phi (rows and columns alike, drawn for each batch): scores of
      matched pairs stay scores of matched pairs and all values stay in the batch, but a pair's margin says nothing
      about that pair. Negatives chosen by phi are then others at the same ranks by similarity: each sample takes the
      rank of another one's. The shuffling has a generator of its own (``build(seed)``), so that negatives are drawn as
      they would be without it.
    - ``positive`` to ``margin_of`` switch single differences between the paper and the released code (``RULES``);
      null: as the variant.
    """

    reads = "similarity"

    temperature: Positive = 10.0
    """The paper's τ: 3, 5 or 10 for CIDEr, which is 0 to 10."""
    negatives: Negatives = "random"
    """The one negative per direction: drawn, by similarity, or (not in the paper) by similarity and φ: close in
    similarity and far in meaning, or the reverse."""
    variant: Variant = "paper"
    """Equation 7, or the published code."""
    weight: Positive = 1.0
    """Factor of the loss; released: 5 (Flickr30K), 10 (COCO)."""
    max_margin: float | None = None
    """Largest margin; null: 1 if released, otherwise none."""
    margins: Literal["adaptive", "averaged", "fixed", "shuffled"] = "adaptive"
    """The others are controls: `averaged`, the mean margin of the batch; `fixed`, one margin for all; `shuffled`, the
    margins of other pairs."""
    margin: Margin = MARGIN
    """The margin where `margins` is `fixed`; the mean one where φ is standardised."""
    references: References = "kept"
    """Whether φ of a positive counts the caption among its own references, as in the paper; `own_left_out`: CIDEr and
    embeddings only."""
    scaling: Scaling = "raw"
    """φ as it is, or (not in the paper) within the batch: standardised, positives and negatives each by themselves, or
    the share of an image's negatives that are worse."""
    phi: EvaluationPhi = "cider"
    """What margins are made from."""
    positive: Literal["excluded", "skipped"] | None = None
    """Whether the positive can be its own negative."""
    t2i_search: Literal["columns", "rows"] | None = None
    """Where t2i looks for negatives."""
    ranking: Literal["similarity", "gap"] | None = None
    """What negatives are ranked by."""
    margin_negative: Literal["own", "crossed"] | None = None
    """Whose negative makes a margin."""
    margin_of: Literal["query", "column"] | None = None
    """Whose margin a hinge takes."""

    _seed: int = PrivateAttr(default=0)

    def rule(self, name: str) -> str:
        """Return the variant's rule, or the one that is switched by itself."""
        return self.switched.get(name, RULES[name][self.variant])

    @property
    def switched(self) -> dict[str, str]:
        """The differences that are switched by themselves."""
        return {name: value for name in RULES if (value := getattr(self, name)) is not None}

    @property
    def phi_read(self) -> str | None:
        """A fixed margin reads no phi, unless negatives are chosen by it."""
        return None if self.margins == "fixed" and self.negatives not in BY_PHI else self.phi

    @property
    def phi_keys(self) -> list[str]:
        """The parts of ``phi_read``; CIDEr and embeddings may leave a caption out of its own references."""
        return [key if self.references == "kept" else f"{key}|{self.references}" for key in super().phi_keys]

    @property
    def suffix(self) -> str:  # type: ignore[override]
        """``+sam``, or ``+extra_negative`` where margins are fixed."""
        return "+extra_negative" if self.margins == "fixed" else "+sam"

    @property
    def parts(self) -> list[str]:
        """Readable settings for a folder name."""
        size = f"extra_margin={self.margin:g}" if self.margins == "fixed" else f"tau={self.temperature:g}"
        parts = [size, f"negatives={self.negatives}", f"variant={self.variant}", f"weight={self.weight:g}"]
        if self.scaling != "raw":
            parts += [f"scaling={self.scaling}", *unless(MARGIN, self.margin, "mean_margin={}")]
        parts += [] if self.references == "kept" else [f"references={self.references}"]
        parts += [] if self.max_margin is None else [f"max_margin={self.max_margin:g}"]
        parts += ["margins=averaged"] if self.margins == "averaged" else []
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
        """``τ = 10, random negatives``; ``random negatives, fixed margin``; what differs from the variant's usual."""
        chosen, _, by_phi = self.negatives.partition("_")
        negatives = f"{chosen} negatives" + (f" {by_phi} in φ" if by_phi else "")
        if self.margins == "fixed":
            settings = [negatives, "fixed margin", *unless(MARGIN, self.margin, "margin {}")]
            settings += [] if self.variant == "paper" else [self.variant]
        else:
            settings = [f"τ = {self.temperature:g}", negatives, *([] if self.variant == "paper" else [self.variant])]
            if self.scaling != "raw":
                settings += [f"φ {self.scaling}", *unless(MARGIN, self.margin, "mean margin {}")]
            settings += [] if self.references == "kept" else ["own caption left out"]
            settings += [] if self.phi == "cider" else [f"by {phis.get(self.phi, self.phi)}"]
            settings += {"shuffled": ["φ shuffled"], "averaged": ["one margin for all"]}.get(self.margins, [])
        settings += unless(USUAL_WEIGHT[self.variant], self.weight, "weight {}")
        settings += [] if self.max_margin is None else [f"margins to {self.max_margin:g}"]
        return settings + [f"{key} {value}" for key, value in self.switched.items()]

    @property
    def largest_margin(self) -> float | None:
        """The largest margin: the setting, or the variant's; None: there is none. There is no smallest."""
        return 1.0 if self.max_margin is None and self.variant == "released" else self.max_margin

    @property
    def mean_margin(self) -> float:
        """Number that is added to margins made from standardised phi."""
        return self.margin if self.scaling == "standardised" else 0.0

    def build(self, seed: int = 0) -> Self:
        """Return a copy whose shuffling draws from ``seed``."""
        built = super().build()
        built._seed = seed
        return built

    @cached_property
    def shuffling(self) -> Any:
        """The generator of shuffled margins; None of others."""
        return torch.Generator().manual_seed(self._seed) if self.margins == "shuffled" else None

    def state(self) -> dict[str, Tensor]:
        """State of the shuffling."""
        return {} if self.shuffling is None else {"shuffling": self.shuffling.get_state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state of the shuffling."""
        if self.shuffling is not None:
            self.shuffling.set_state(state["shuffling"].cpu())

    @model_validator(mode="after")
    def _used(self) -> Self:
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
        if self.references != "kept" and not self.phi.startswith(("cider", "embedding")):
            raise ValueError(f"references: {self.references} is known for phi: cider and embedding, not for {self.phi}")
        return self

    def __call__(  # type: ignore[override]
        self, similarity: Tensor, phi: Tensor | None = None, indices: Pair | None = None
    ) -> Tensor:
        """Compute the loss, a scalar; the gradient flows into ``similarity`` only.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.
            phi: ``[B captions, B images]`` of the same pairs; not needed with fixed margins, unless negatives are
                chosen by phi.
            indices: The negatives of i2t and t2i, each ``[B]``, instead of choosing them here.

        Raises:
            InputError: If the shapes disagree.
        """
        batch = checked_batch("SemanticAdaptiveMargin", similarity, phi, needs_phi=self.phi_read is not None)
        if batch < 2:
            return similarity.sum() * 0.0  # there is no negative
        with torch.no_grad():
            place = None if self.shuffling is None else random_cycle(batch, self.shuffling).to(similarity.device)
            chosen = self.choose(similarity, phi, place) if indices is None else indices
            if phi is not None and place is not None:
                phi = phi[place][:, place]
            if self.margins == "fixed" or phi is None:
                margins = (similarity.new_full((batch,), self.margin),) * 2
            else:
                margins = self.margins_of(phi, chosen)
        costs, positive = [], similarity.diagonal()
        for hinge, margin in zip(self.hinges(chosen), margins, strict=True):
            taken = margin[hinge.margin]
            if self.margins == "averaged":  # over hinges: a sample's margin may be taken by several, or by none
                taken = taken.mean().expand_as(taken)
            gap = similarity[hinge.image, hinge.caption] - positive[hinge.positive]
            costs.append((gap + taken).clamp(min=0).sum())
        return self.weight * (costs[0] + costs[1])

    def choose(self, similarity: Tensor, phi: Tensor | None = None, place: Tensor | None = None) -> Pair:
        """Choose the negatives of a batch, i2t and t2i.

        Args:
            similarity: ``[B images, B captions]``.
            phi: ``[B captions, B images]``; read only where negatives are chosen by it.
            place: ``[B]``, of shuffled margins: which sample's rank by similarity each takes, where they are chosen by
                phi.
        """
        if self.negatives == "random":
            return random_others(similarity), random_others(similarity)
        if phi is not None and self.negatives in BY_PHI:
            found = []
            for scores in (similarity, similarity.T):
                negative = search_by_phi(scores, phi, alike=self.negatives == "furthest_alike")
                found.append(negative if place is None else at_ranks_of(scores, negative, place))
            return found[0], found[1]
        own = similarity.diagonal()
        by_gap, by_column = self.rule("ranking") == "gap", self.rule("t2i_search") == "columns"
        of_i2t = similarity - own[:, None] if by_gap else similarity
        of_t2i = similarity - own if by_gap else similarity
        return self._pick_in_rows(of_i2t), self._pick_in_rows(of_t2i.T if by_column else of_t2i)

    def _pick_in_rows(self, scores: Tensor) -> Tensor:
        closest = self.negatives == "closest"
        if self.rule("positive") == "skipped":
            return scores.argsort(dim=1, descending=closest, stable=True)[:, 1]
        others = scores.masked_fill(_diagonal(scores), -torch.inf if closest else torch.inf)
        return others.argmax(dim=1) if closest else others.argmin(dim=1)  # of equals the first

    def margins_of(self, phi: Tensor, indices: Pair) -> Pair:
        """Compute the adaptive margins of i2t and t2i hinges, each ``[B]`` by sample, before the rule ``margin_of``.

        A margin is ``(phi_positive - phi_negative) / temperature``, both against the sample's own image.
        """
        phi = scaled(phi, self.scaling)
        sample = torch.arange(len(phi), device=phi.device)
        gained = [(phi.diagonal() - phi[negative, sample]) / self.temperature for negative in indices]
        cap = math.inf if self.largest_margin is None else self.largest_margin
        i2t, t2i = ((self.mean_margin + one).clamp(max=cap) for one in gained)
        return (t2i, i2t) if self.rule("margin_negative") == "crossed" else (i2t, t2i)

    def hinges(self, chosen: Pair) -> tuple[Hinges, Hinges]:
        """Return the hinges of i2t and of t2i under the rules."""
        i2t, t2i = chosen
        sample = torch.arange(len(i2t), device=i2t.device)
        image, caption = (t2i, sample) if self.rule("t2i_search") == "columns" else (sample, t2i)
        of_i2t, of_t2i = (i2t, caption) if self.rule("margin_of") == "column" else (sample, sample)
        from_i2t, from_t2i = (t2i, i2t) if self.rule("margin_negative") == "crossed" else (i2t, t2i)
        return (
            Hinges(sample, i2t, sample, of_i2t, from_i2t[of_i2t]),
            Hinges(image, caption, caption, of_t2i, from_t2i[of_t2i]),
        )


def search_by_phi(similarity: Tensor, phi: Tensor, alike: bool) -> Tensor:
    """Choose negatives by similarity and phi: close in similarity and far in meaning, or the reverse.

    Not in the paper; relevance-aware mining (Falcon et al., 2022) chooses negatives by relevance, too.

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
    own = _diagonal(similarity)
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
    own = _diagonal(similarity)
    order = similarity.masked_fill(own, -torch.inf).argsort(dim=1, descending=True, stable=True)  # own items last
    rank = (order == chosen[:, None]).int().argmax(dim=1)
    return order.gather(1, rank[place][:, None])[:, 0]


def random_others(similarity: Tensor) -> Tensor:
    """Draw another sample for each of B, uniformly by torch's global CPU generator (on any device); ``[B]``."""
    batch = len(similarity)
    drawn = torch.randint(batch - 1, (batch,))
    return (drawn + (drawn >= torch.arange(batch))).to(similarity.device)


def random_cycle(batch: int, generator: torch.Generator | None) -> Tensor:
    """Draw another sample for each of B, each taken once (one cycle through all, uniform); ``[B]`` on the CPU."""
    order = torch.randperm(batch, generator=generator)
    other = torch.empty_like(order)
    other[order] = order.roll(-1)
    return other


def scaled(phi: Tensor, scaling: Scaling) -> Tensor:
    """Scale phi of a batch as margins read it; ``"standardised"`` and ``"ranked"`` are not in the paper.

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
    own = _diagonal(phi)
    if scaling == "standardised":
        positive, negative = phi.diagonal(), phi[~own]
        values = _standardised(phi, negative)
        values[own] = _standardised(positive, positive)
        return values
    negatives = phi.masked_fill(own, torch.inf).sort(dim=0).values.T.contiguous()  # [images, captions], own ones last
    asked = phi.T.contiguous()
    worse = torch.searchsorted(negatives, asked)
    not_better = torch.searchsorted(negatives, asked, right=True)
    shares = (worse + not_better - 1).to(phi.dtype).T / 2 / max(len(phi) - 2, 1)  # without the caption itself
    return shares.masked_fill(own, 1.0)


def _standardised(values: Tensor, among: Tensor) -> Tensor:
    spread = among.std(correction=0)
    return (values - among.mean()) / torch.where(spread > 0, spread, torch.ones_like(spread))


def _diagonal(matrix: Tensor) -> Tensor:
    """Return ``[B, B]`` True on the diagonal."""
    return torch.eye(len(matrix), dtype=torch.bool, device=matrix.device)
