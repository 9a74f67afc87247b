"""Semantic recall: are items found that phi calls relevant, ground truth or not?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.metrics.ncs import Scores
from fivesentences.metrics.ranking import (
    Ranking,
    checked_choice,
    checked_cutoffs,
    checked_phi,
    checked_similarity,
    depth_needed,
    mean_over_queries,
    rank,
)
from fivesentences.metrics.recall import PerQuery
from fivesentences.metrics.relevance import Relevance, slots
from fivesentences.retrieval.matrices import checked_direction


def released_semantic_recall(
    ranking: Ranking,
    relevance: Relevance,
    ks: Sequence[int],
    m: int,
    keep_ground_truth: bool,
    style: str = "recall",
    weighting: str = "hard",
) -> dict[int, Scores]:
    """Hits among the captions of the m images most alike to the query's image (or these images), per query."""
    direction = ranking.direction
    items = ranking.first(max(ks), keep_ground_truth)
    alike, sums = relevance.neighbours(m, keep_ground_truth)  # [images, m]
    # The released class fails where the image is in none of its own captions' lists because phi never names it.
    nothing = relevance.blank_images | ~(sums != 0).any(axis=1)
    if direction == "i2t":
        image_of_item = np.where(items < 0, -1, relevance.pairing[np.maximum(items, 0)])
        hit = slots(image_of_item, alike) < alike.shape[1]
        n_relevant = relevance.captions_of(alike).sum(axis=1)
    else:
        alike, nothing = alike[relevance.pairing], nothing[relevance.pairing]
        hit = slots(items, alike) < alike.shape[1]
        n_relevant = np.count_nonzero(alike >= 0, axis=1)
    if weighting == "hard":
        return {k: (_recall(hit[:, :k], n_relevant, style), nothing) for k in ks}
    weights = relevance.phi_of_captions_of(alike) if direction == "i2t" else relevance.values(alike, direction)
    total = weights.sum(axis=1)
    nothing = nothing | (total == 0)
    gained = np.where(hit, relevance.values(items, direction), 0.0)
    scale = np.where(nothing, 1.0, total * np.maximum(1, n_relevant))
    return {k: (gained[:, :k].sum(axis=1) / scale, nothing) for k in ks}


def paper_semantic_recall(
    ranking: Ranking,
    relevance: Relevance,
    ks: Sequence[int],
    m: int,
    keep_ground_truth: bool,
    style: str = "recall",
    weighting: str = "hard",
) -> dict[int, Scores]:
    """Hits among the m items of highest phi, per query."""
    direction = ranking.direction
    items = ranking.first(max(ks), keep_ground_truth)
    best = relevance.ideal(direction, m).first(m, keep_ground_truth)
    total = relevance.values(best, direction).sum(axis=1)
    nothing = total == 0
    hit = slots(items, best) < best.shape[1]
    if weighting == "hard":
        n_relevant = np.count_nonzero(best >= 0, axis=1)
        return {k: (_recall(hit[:, :k], n_relevant, style), nothing) for k in ks}
    gained = np.where(hit, relevance.values(items, direction), 0.0)
    return {k: (gained[:, :k].sum(axis=1) / np.where(nothing, 1.0, total), nothing) for k in ks}


def _recall(hit: NDArray[np.bool_], n_relevant: NDArray[np.int64], style: str) -> NDArray[np.float64]:
    if style == "vse_recall":
        return np.asarray(hit.any(axis=1), dtype=np.float64)
    return np.asarray(np.count_nonzero(hit, axis=1) / np.maximum(1, n_relevant))


@overload
def semantic_recall(
    similarity: ArrayLike,
    phi: ArrayLike,
    ks: Sequence[int] = ...,
    direction: str = ...,
    m: int = ...,
    keep_ground_truth: bool = ...,
    formula: str = ...,
    style: str = ...,
    weighting: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[False] = ...,
) -> dict[int, float]: ...
@overload
def semantic_recall(
    similarity: ArrayLike,
    phi: ArrayLike,
    ks: Sequence[int] = ...,
    direction: str = ...,
    m: int = ...,
    keep_ground_truth: bool = ...,
    formula: str = ...,
    style: str = ...,
    weighting: str = ...,
    image_of_caption: ArrayLike | None = ...,
    *,
    empty: str = ...,
    per_query: Literal[True],
) -> PerQuery: ...
def semantic_recall(
    similarity: ArrayLike,
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
    per_query: bool = False,
) -> dict[int, float] | PerQuery:
    """Semantic recall of Five Sentences, mean over queries.

    ``formula="released"`` (ncs_metric, Figure 3): relevant are all captions of the m images most alike to the query
    image, or for a caption the m images most alike to its image. Likeness: each caption of an image names the 30
    images of highest phi in its row, and phi is summed over these lists. ``formula="paper"`` (eq. 4): relevant are
    the m items of highest phi. Where the gallery has fewer than m, the relevant set is smaller and the recall is of
    that set. Equal scores are ordered by index, lower first, everywhere.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite.
        phi: ``[captions, images]``, any real dtype, finite.
        ks: Cut-offs, each at least 1; beyond the gallery the whole gallery counts.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        m: Images (released) or items (paper) that count as relevant, at least 1.
        keep_ground_truth: Whether the query's own items stay; if not they leave the ranking and the relevant set.
        formula: ``"released"`` or ``"paper"``.
        style: ``"recall"``: share of the relevant items found; ``"vse_recall"``: whether any is found.
        weighting: ``"hard"``, or ``"soft"`` to weight relevant items by their phi, normalised to a sum of 1; the
            released formula then divides by the number of relevant items too, so 100 cannot be reached. Style has
            no effect on it. The soft form of the paper's formula is eq. 5.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        empty: A query without relevant items counts 0 (``"zero"``), is left out (``"skip"``; NaN per query) or is
            an error (``"error"``). Released formula: nothing is relevant if phi of the query's image is zero for
            every caption (there the released class stops with an IndexError), or if the likeness of the m images
            is zero; with soft weights also if all weights are zero. Paper: if the phi of the m items is zero.
        per_query: Return one value a query.

    Returns:
        Percent for each cut-off, or ``[queries]`` percent.

    Raises:
        InputError: If shapes disagree, a value is not finite, an image has no caption, or an argument is unknown.
    """
    cutoffs = checked_cutoffs(ks)
    (m,) = checked_cutoffs((m,), "m")
    side = checked_direction(direction)
    checked_choice("formula", formula, ("released", "paper"))
    checked_choice("style", style, ("recall", "vse_recall"))
    checked_choice("weighting", weighting, ("hard", "soft"))
    checked_choice("empty", empty, ("zero", "skip", "error"))
    matrix, pairing = checked_similarity(similarity, image_of_caption)
    relevance = Relevance(checked_phi(phi, *matrix.shape), pairing)
    ranking = rank(matrix, pairing, side, depth_needed(max(cutoffs), pairing, side))
    score = released_semantic_recall if formula == "released" else paper_semantic_recall
    scores = score(ranking, relevance, cutoffs, m, keep_ground_truth, style, weighting)
    return {k: mean_over_queries(*pair, empty, per_query, side) for k, pair in scores.items()}  # type: ignore[return-value]
