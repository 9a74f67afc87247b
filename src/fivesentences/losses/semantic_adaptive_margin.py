"""Semantic Adaptive Margin (SAM): a triplet's margin grows with how much better its positive describes the image.

Source: "Is An Image Worth Five Sentences?", section 5, and its released code. Apart from names and the weight the two
differ in six rules that move the numbers. Each is one field of ``Rules`` (``semantic_adaptive_margin_spec.py``), so
that each can be switched, read and tested by itself; ``PAPER`` and ``RELEASED`` are the two ends.

Controls, which no paper has, separate the effect of one more negative from that of a semantic margin (``margins``): the
same negative with a *fixed* margin, with the *mean* of the adaptive ones, or with that of another triplet. Nor has any
paper margins made from phi that is standardised or ranked within the batch, or negatives chosen by phi.

Below, ``phi`` is ``[captions, images]`` of the batch: ``phi[c, i]`` = how well caption c describes image i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fivesentences.config.reading import check
from fivesentences.config.types import Negatives, Variant
from fivesentences.losses.batch import checked_batch
from fivesentences.losses.semantic_adaptive_margin_spec import (
    BY_PHI,
    PAPER,
    RELEASED,
    Margins,
    Rules,
    SamSpec,
    Scaling,
    rules_of,
)

__all__ = ["PAPER", "RELEASED", "Chosen", "Hinges", "Rules", "SemanticAdaptiveMargin", "rules_of"]

DEFAULT = SamSpec()


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


class SemanticAdaptiveMargin(nn.Module):
    """Semantic Adaptive Margin (SAM): a triplet loss whose margin is a difference in phi.

    One negative per direction, with the margin ``(phi_positive - phi_negative) / temperature``. Both phi are taken
    against the reference captions of the positive's image. The paper adds this loss to an ordinary ``TripletLoss``; the
    released code gives it the weight 5 (Flickr30K) or 10 (COCO).

    Args:
        temperature: tau of the paper, 3, 5 or 10 for CIDEr's 0..10 scale; above 0.
        negatives: ``"random"`` (drawn from torch's global CPU generator, uniformly over the others, for each direction
            separately), ``"closest"`` or ``"furthest"`` (by similarity). The paper calls ``closest`` "hard" and
            ``furthest`` "soft"; the released options are the other way round: "soft" is ``closest``, "hard" is
            ``furthest``, or rather the second furthest. Of equal scores the lower index comes first. Two more, in no
            paper, are chosen by similarity and phi, see ``search_by_phi``: ``"closest_unlike"`` (close in similarity,
            far in meaning) and ``"furthest_alike"`` (the reverse), with the paper's rules only.
        variant: ``"paper"``, ``"released"``, or your own ``Rules``.
        weight: Factor of the whole loss.
        max_margin: Largest margin; None: 1.0 if released, otherwise none.
        margins: ``"adaptive"``, or a control. ``"fixed"``: every margin is ``margin``; phi, temperature and
            ``max_margin`` have no effect. ``"averaged"``: the hinges of a direction all have their mean margin in the
            batch, and nothing that is known of a pair. ``"shuffled"``: in each batch every pair takes the place of
            another one in phi (rows and columns alike, drawn for each batch): scores of matched pairs stay scores of
            matched pairs and all values stay in the batch, but a pair's margin says nothing about that pair. Negatives
            chosen by phi are then others at the same ranks by similarity: each sample takes the rank of another one's.
        margin: The margin of ``"fixed"``, in units of the similarity; the mean margin where phi is standardised.
        scaling: What margins are made from, see ``scaled``: phi as it is, or (in no paper) standardised or ranked
            within the batch.
        seed: Of the shuffling, which has its own generator, so that negatives are drawn as they would be without it.
            ``state_dict()`` contains its state.

    Raises:
        InputError: If an argument is out of range.
    """

    def __init__(
        self,
        temperature: float,
        negatives: Negatives = DEFAULT.negatives,
        variant: Variant | Rules = DEFAULT.variant,
        weight: float = DEFAULT.weight,
        max_margin: float | None = DEFAULT.max_margin,
        margins: Margins = DEFAULT.margins,
        margin: float = DEFAULT.margin,
        seed: int = 0,
        scaling: Scaling = DEFAULT.scaling,
    ):
        super().__init__()
        given: dict[str, Any] = {"negatives": negatives, "weight": weight, "margins": margins}
        if margins == "fixed":
            given |= {"margin": margin}
        else:
            given |= {"temperature": temperature, "max_margin": max_margin, "scaling": scaling}
            given |= {"margin": margin} if scaling == "standardised" else {}
        given |= {} if isinstance(variant, Rules) else {"variant": variant}
        spec = check(SamSpec, given, "SemanticAdaptiveMargin")
        self.temperature, self.negatives, self.weight = spec.temperature, spec.negatives, spec.weight
        self.scaling, self.mean_margin = spec.scaling, spec.margin if spec.scaling == "standardised" else 0.0
        self.rules = variant if isinstance(variant, Rules) else spec.rules
        self.max_margin = self.rules.cap if max_margin is None else max_margin
        self.fixed_margin = spec.margin if margins == "fixed" else None
        self.averaged = spec.margins == "averaged"
        self.shuffling = torch.Generator().manual_seed(seed) if margins == "shuffled" else None

    def forward(
        self, similarity: Tensor, phi: Tensor | None = None, indices: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """The loss, a scalar; the gradient flows into ``similarity`` only.

        Args:
            similarity: ``[B images, B captions]``, matched pairs on the diagonal.
            phi: ``[B captions, B images]`` of the same pairs; not needed with fixed margins, unless negatives are
                chosen by phi.
            indices: The negatives (i2t, t2i) as in ``Chosen``, each ``[B]``, instead of choosing them here.

        Raises:
            InputError: If the shapes disagree.
        """
        needs_phi = self.fixed_margin is None or self.negatives in BY_PHI
        batch = checked_batch("SemanticAdaptiveMargin", similarity, phi, needs_phi=needs_phi)
        if batch < 2:
            return similarity.sum() * 0.0  # there is no negative
        with torch.no_grad():
            place = None if self.shuffling is None else random_cycle(batch, self.shuffling).to(similarity.device)
            chosen = self.choose(similarity, phi, place) if indices is None else Chosen(*indices)
            if phi is not None and place is not None:
                phi = phi[place][:, place]
            margin_i2t, margin_t2i = self._margins(similarity, phi, chosen)
        return self.weight * self._hinges(similarity, chosen, margin_i2t, margin_t2i)

    def choose(self, similarity: Tensor, phi: Tensor | None = None, place: Tensor | None = None) -> Chosen:
        """The negatives of a batch.

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

    def margins(self, phi: Tensor, indices: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Margins of the i2t and of the t2i hinges, each ``[B]`` by sample, before ``Rules.margin_of``."""
        phi = scaled(phi, self.scaling)
        from_i2t, from_t2i = (
            adaptive_margin(phi, negative, self.temperature, self.max_margin, self.mean_margin) for negative in indices
        )
        return (from_t2i, from_i2t) if self.rules.margin_negative == "crossed" else (from_i2t, from_t2i)

    def _margins(self, similarity: Tensor, phi: Tensor | None, chosen: Chosen) -> tuple[Tensor, Tensor]:
        if self.fixed_margin is not None or phi is None:
            fixed = similarity.new_full((len(similarity),), self.fixed_margin or 0.0)
            return fixed, fixed
        return self.margins(phi, chosen)

    def get_extra_state(self) -> Tensor:
        """State of the shuffling, part of ``state_dict``; empty without one."""
        return torch.empty(0, dtype=torch.uint8) if self.shuffling is None else self.shuffling.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        """Go back to a state of the shuffling."""
        if self.shuffling is not None:
            self.shuffling.set_state(state.cpu())

    def hinges(self, chosen: Chosen) -> tuple[Hinges, Hinges]:
        """The hinges of i2t and of t2i under the rules."""
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
        if self.averaged:  # over hinges: under some rules a sample's margin is taken by several, or by none
            taken_i2t, taken_t2i = (taken.mean().expand_as(taken) for taken in (taken_i2t, taken_t2i))
        cost_i2t = (similarity[i2t.image, i2t.caption] - positive + taken_i2t).clamp(min=0)
        cost_t2i = (similarity[t2i.image, t2i.caption] - positive[t2i.positive] + taken_t2i).clamp(min=0)
        return cost_i2t.sum() + cost_t2i.sum()

    def extra_repr(self) -> str:
        """Settings, for printing."""
        return (
            f"temperature={self.temperature}, negatives={self.negatives!r}, rules={self.rules}, "
            f"weight={self.weight}, max_margin={self.max_margin}, fixed_margin={self.fixed_margin}, "
            f"averaged={self.averaged}, shuffled={self.shuffling is not None}, scaling={self.scaling!r}, "
            f"mean_margin={self.mean_margin}"
        )


def search_i2t(similarity: Tensor, negatives: Negatives, rules: Rules) -> Tensor:
    """The negative caption of each image, ``[B]``: ``closest`` or ``furthest`` under ``rules``."""
    ranked = similarity - similarity.diagonal()[:, None] if rules.ranking == "gap" else similarity
    return _pick_in_rows(ranked, negatives, rules)


def search_t2i(similarity: Tensor, negatives: Negatives, rules: Rules) -> Tensor:
    """The t2i negatives, ``[B]``; what an entry means depends on ``rules.t2i_search``, see ``Chosen``."""
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
    """Negatives by similarity and phi: close in similarity and far in meaning, or the reverse; in no paper.

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
    """Negatives at the ranks by similarity that other queries' chosen ones have; a control for ``search_by_phi``.

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
    """For each of B samples another one, drawn uniformly by torch's global CPU generator (on any device); ``[B]``."""
    batch = len(similarity)
    drawn = torch.randint(batch - 1, (batch,))
    return (drawn + (drawn >= torch.arange(batch))).to(similarity.device)


def random_cycle(batch: int, generator: torch.Generator) -> Tensor:
    """For each of B samples another one, each taken once (one cycle through all, uniform); ``[B]`` on the CPU."""
    order = torch.randperm(batch, generator=generator)
    other = torch.empty_like(order)
    other[order] = order.roll(-1)
    return other


def scaled(phi: Tensor, scaling: Scaling) -> Tensor:
    """phi of a batch as margins read it; ``"standardised"`` and ``"ranked"`` are in no paper.

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
    """``(phi_positive - phi_negative) / temperature``, at most ``cap``; both against the sample's own image.

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
