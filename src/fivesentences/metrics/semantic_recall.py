"""Semantic recall: are the items found that phi calls relevant, whether ground truth or not?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fivesentences.metrics.chance import RandomRanking, any_found
from fivesentences.metrics.ranking import Ranking, depth_needed, ranking_of
from fivesentences.metrics.relevance import Relevance, slots
from fivesentences.metrics.values import POLICIES, Scores, after_policy, percent, share_of
from fivesentences.retrieval.arguments import checked_choice, checked_cutoffs, checked_direction
from fivesentences.retrieval.gallery import UNNAMED, Gallery, Similarity


def semantic_recall_scores(
    ranking: Ranking | RandomRanking,
    relevance: Relevance,
    ks: Sequence[int],
    m: int,
    keep_ground_truth: bool,
    formula: str = "released",
    style: str = "recall",
    weighting: str = "hard",
) -> dict[int, Scores]:
    """Return hits among the relevant items, per query; arguments as in ``semantic_recall``."""
    direction = ranking.direction
    if formula == "released":
        alike, sums = relevance.neighbours(m, keep_ground_truth)  # [images, m]
        # The released class fails if the image is in none of its own captions' lists because phi never names it.
        nothing = relevance.blank_images | ~(sums != 0).any(axis=1)
        if direction == "i2t":
            n_relevant = relevance.captions_of(alike).sum(axis=1)
            weight = relevance.phi_of_captions_of(alike).sum(axis=1) if weighting == "soft" else None
        else:
            alike, nothing = alike[relevance.pairing], nothing[relevance.pairing]
            n_relevant = np.count_nonzero(alike >= 0, axis=1)
            weight = relevance.values(alike, direction).sum(axis=1) if weighting == "soft" else None
        if weight is not None:
            nothing = nothing | (weight == 0)
            scale = weight * np.maximum(1, n_relevant)
    else:
        alike = relevance.ideal(direction, m).first(m, keep_ground_truth)
        weight = scale = relevance.values(alike, direction).sum(axis=1)
        nothing = scale == 0
        n_relevant = np.count_nonzero(alike >= 0, axis=1)
    if not isinstance(ranking, Ranking):
        shares = {k: ranking.share(k, keep_ground_truth) for k in ks}
        if weight is not None and weighting == "soft":
            return {k: share_of(share * weight, scale, nothing) for k, share in shares.items()}
        if style == "vse_recall":
            n_items = ranking.n_items(keep_ground_truth)
            shares = {k: any_found(n_relevant, n_items, k) for k in ks}
        return {k: (share, nothing) for k, share in shares.items()}
    items = ranking.first(max(ks), keep_ground_truth)
    of_item = items
    if formula == "released" and direction == "i2t":
        of_item = np.where(items < 0, -1, relevance.pairing[np.maximum(items, 0)])
    hit = slots(of_item, alike) < alike.shape[1]
    if weighting == "soft":
        gained = np.where(hit, relevance.values(items, direction), 0.0)
        return {k: share_of(gained[:, :k].sum(axis=1), scale, nothing) for k in ks}
    if style == "vse_recall":
        return {k: (hit[:, :k].any(axis=1).astype(np.float64), nothing) for k in ks}
    return {k: (np.count_nonzero(hit[:, :k], axis=1) / np.maximum(1, n_relevant), nothing) for k in ks}


def semantic_recall(
    similarity: Similarity,
    phi: ArrayLike,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    m: int = 1,
    keep_ground_truth: bool = False,
    formula: str = "released",
    style: str = "recall",
    weighting: str = "hard",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
) -> dict[int, float]:
    """Compute semantic recall of Five Sentences, mean over queries.

    ``formula="released"`` (ncs_metric, Figure 3): all captions of the m images most like the query image are relevant,
    or for a caption the m images most like its image. Likeness: each caption of an image names the 30 images with the
    highest phi in its row, and phi is summed over these lists. ``formula="paper"`` (eq. 4): the m items of highest phi
    are relevant. If the gallery has fewer than m, the relevant set is smaller and the recall is of that set. Equal
    scores are ordered by index, lower first, everywhere.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        phi: ``[captions, images]``, at least 0, any real dtype, finite.
        ks: Cut-offs, each at least 1; beyond the gallery the whole gallery counts.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        m: Images (released) or items (paper) that count as relevant, at least 1.
        keep_ground_truth: Whether the query's own items stay; if not, they leave the ranking and the relevant set.
        formula: ``"released"`` or ``"paper"``.
        style: ``"recall"``: share of the relevant items found; ``"vse_recall"``: whether any is found.
        weighting: ``"hard"``, or ``"soft"`` to weight relevant items by their phi, normalised to a sum of 1; the
            released formula then also divides by the number of relevant items, so 100 cannot be reached. Style has
            no effect on it. The soft form of the paper's formula is eq. 5.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        empty: A query without relevant items counts 0 (``"zero"``), is left out (``"skip"``) or is an error
            (``"error"``). Released formula: nothing is relevant if phi of the query's image is zero for every
            caption (there the released class stops with an IndexError), or if the likeness of the m images is zero;
            with soft weights also if all weights are zero. Paper: if the phi of the m items is zero.

    Returns:
        Percent for each cut-off.

    Raises:
        InputError: If shapes disagree, a value is not finite, an image has no caption, or an argument is unknown.
    """
    cutoffs = checked_cutoffs(ks)
    (m,) = checked_cutoffs((m,), "m")
    side = checked_direction(direction)
    checked_choice("formula", formula, ("released", "paper"))
    checked_choice("style", style, ("recall", "vse_recall"))
    checked_choice("weighting", weighting, ("hard", "soft"))
    checked_choice("empty", empty, POLICIES)
    gallery = Gallery.of(similarity, image_of_caption, {UNNAMED: phi})
    relevance = Relevance(gallery.phis[UNNAMED], gallery.image_of_caption)
    ranking = ranking_of(gallery, side, depth_needed(max(cutoffs), gallery.image_of_caption, side))
    scores = semantic_recall_scores(ranking, relevance, cutoffs, m, keep_ground_truth, formula, style, weighting)
    return {k: percent(after_policy(of_k, empty, side)) for k, of_k in scores.items()}
