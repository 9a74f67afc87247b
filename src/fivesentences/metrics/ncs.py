"""Normalised Cumulative Semantic score: how much of the phi that could be retrieved at k has been retrieved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.chance import RandomRanking
from fivesentences.metrics.ranking import Ranking, depth_needed, ranking_of
from fivesentences.metrics.relevance import Relevance, slots
from fivesentences.metrics.values import POLICIES, Scores, after_policy, percent, share_of
from fivesentences.retrieval.arguments import DIRECTIONS, checked_choice, checked_cutoffs, checked_direction
from fivesentences.retrieval.gallery import UNNAMED, Gallery, Similarity

RELEASED_EPSILON = 1e-10  # added to the mean of the ideal


def released_ncs(
    ranking: Ranking | RandomRanking,
    relevance: Relevance,
    ks: Sequence[int],
    keep_ground_truth: bool,
    discount: str | None = None,
) -> dict[int, Scores]:
    """Return the mean phi of the k retrieved items over the mean of the k largest, per query."""
    deepest = max(ks)

    def weights(width: int, k: int) -> NDArray[np.float64]:
        return np.log2(k - np.arange(width) + 1.0) if discount == "log" else np.ones(width)

    def means(ranking: Ranking) -> dict[int, NDArray[np.float64]]:
        items = ranking.first(deepest, keep_ground_truth)
        values, present = relevance.values(items, ranking.direction), items >= 0
        width = {k: min(k, items.shape[1]) for k in ks}
        total = {k: (values[:, : width[k]] * weights(width[k], k)).sum(axis=1) for k in ks}
        return {k: total[k] / np.maximum(1, np.count_nonzero(present[:, : width[k]], axis=1)) for k in ks}

    ideals = means(relevance.ideal(ranking.direction, deepest))
    if isinstance(ranking, Ranking):
        retrieved = means(ranking)
    else:
        n_items, mean = ranking.n_items(keep_ground_truth), relevance.mean_phi(ranking.direction, keep_ground_truth)
        factor = {k: np.concatenate([[0.0], np.cumsum(weights(k, k))]) for k in ks}
        there = {k: np.minimum(n_items, k) for k in ks}
        retrieved = {k: mean * factor[k][there[k]] / np.maximum(1, there[k]) for k in ks}
    return {k: (retrieved[k] / (ideals[k] + RELEASED_EPSILON), ideals[k] == 0) for k in ks}


def paper_ncs(
    ranking: Ranking | RandomRanking,
    relevance: Relevance,
    ks: Sequence[int],
    keep_ground_truth: bool,
    m: int | None = None,
) -> dict[int, Scores]:
    """Return per query the phi of retrieved items among the m best, over the phi of these m; m = k by default."""
    direction, deepest = ranking.direction, max(ks)
    most = m or deepest
    ideal_items = relevance.ideal(direction, most).first(most, keep_ground_truth)
    ideal = relevance.values(ideal_items, direction)
    if isinstance(ranking, Ranking):
        retrieved_items = ranking.first(deepest, keep_ground_truth)
        slot, retrieved = slots(retrieved_items, ideal_items), relevance.values(retrieved_items, direction)
    else:
        of_gallery = np.where(ideal_items < ranking.n_gallery, ideal, 0.0)  # rows beyond it are never retrieved
    scores = {}
    for k in ks:
        size = m or k
        possible = ideal[:, :size].sum(axis=1)
        if isinstance(ranking, Ranking):
            credited = np.where(slot[:, :k] < min(size, ideal_items.shape[1]), retrieved[:, :k], 0.0).sum(axis=1)
        else:
            credited = of_gallery[:, :size].sum(axis=1) * ranking.share(k, keep_ground_truth)
        scores[k] = share_of(credited, possible, possible == 0)
    return scores


def ncs(
    similarity: Similarity,
    phi: ArrayLike,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    keep_ground_truth: bool = True,
    formula: str = "released",
    m: int | None = None,
    discount: str | None = None,
    ideal_pool: str = "gallery",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
) -> dict[int, float]:
    """Compute the Normalised Cumulative Semantic score of Five Sentences, macro average over queries.

    ``formula="released"`` (ncs_metric, the papers' tables): mean phi of the k retrieved items over the mean of the k
    largest phi of the query. ``formula="paper"`` (eq. 5): phi of the retrieved items that are among the m items of
    highest phi, over the phi of these m. From captions to images, which the paper does not define, both read the
    caption's row of phi, as released. Equal scores are ordered by index, lower first, in both rankings.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        phi: ``[captions, images]``, at least 0, any real dtype, finite.
        ks: Cut-offs, each at least 1; beyond the gallery the whole gallery counts.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        keep_ground_truth: Whether the query's own items stay; if not, they leave the ranking and the ideal.
        formula: ``"released"`` or ``"paper"``.
        m: Size of the relevant set of ``formula="paper"``; default m = k.
        discount: ``"log"`` weights position p (from 0) by log2(k - p + 1) in both sums (released formula; the form
            that selects models for Flickr30K in the released training code).
        ideal_pool: ``"gallery"``, or ``"given_rows"`` to take an image's ideal over all rows of a phi that has more
            captions than similarity (the released 1K evaluation); captions as queries are not affected by it.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        empty: A query whose ideal is zero counts 0 (``"zero"``, as released), is left out (``"skip"``) or is an error
            (``"error"``).

    Returns:
        Percent for each cut-off.

    Raises:
        InputError: If shapes disagree, a value is not finite, an image has no caption, or arguments contradict each
            other.
    """
    cutoffs, side = checked_cutoffs(ks), checked_direction(direction)
    checked_choice("formula", formula, ("released", "paper"))
    checked_choice("discount", discount, (None, "log"))
    checked_choice("ideal_pool", ideal_pool, ("gallery", "given_rows"))
    checked_choice("empty", empty, POLICIES)
    if formula == "released" and m is not None:
        raise InputError(f"m is {m} but the released formula has m = k; leave m out or pass formula='paper'.")
    if formula == "paper" and discount is not None:
        raise InputError("discount='log' belongs to formula='released'; the paper's eq. 5 has no discount.")
    gallery = Gallery.of(similarity, image_of_caption, {UNNAMED: phi}, more_rows=ideal_pool == "given_rows")
    relevance = Relevance(gallery.phis[UNNAMED], gallery.image_of_caption)
    ranking = ranking_of(gallery, side, depth_needed(max(cutoffs), gallery.image_of_caption, side))
    if formula == "released":
        scores = released_ncs(ranking, relevance, cutoffs, keep_ground_truth, discount)
    else:
        size = None if m is None else checked_cutoffs((m,), "m")[0]
        scores = paper_ncs(ranking, relevance, cutoffs, keep_ground_truth, size)
    return {k: percent(after_policy(score, empty, side)) for k, score in scores.items()}


def nsum(
    similarity: Similarity,
    phi: ArrayLike,
    ks: Sequence[int] = (1, 5, 10),
    keep_ground_truth: bool = True,
    formula: str = "released",
    image_of_caption: ArrayLike | None = None,
    *,
    m: int | None = None,
    discount: str | None = None,
    ideal_pool: str = "gallery",
    empty: str = "zero",
) -> float:
    """Return the sum of ``ncs`` over cut-offs and both directions: Nsum, or Nsum(N) with the ground truth removed.

    Arguments and errors as in ``ncs``; 0 to 600 for three cut-offs.
    """
    gallery = Gallery.of(similarity, image_of_caption)
    given = keep_ground_truth, formula, m, discount, ideal_pool
    return sum(sum(ncs(gallery, phi, ks, side, *given, empty=empty).values()) for side in DIRECTIONS)
