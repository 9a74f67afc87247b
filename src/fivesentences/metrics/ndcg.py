"""Normalised discounted cumulative gain with phi as graded relevance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.chance import RandomRanking
from fivesentences.metrics.ranking import Ranking, ranking_of
from fivesentences.metrics.relevance import Relevance
from fivesentences.metrics.values import POLICIES, Scores, after_policy, share_of
from fivesentences.retrieval.arguments import checked_choice, checked_cutoffs, checked_direction
from fivesentences.retrieval.gallery import UNNAMED, Gallery, Similarity

GAINS = ("linear", "exponential")
LARGEST_EXPONENT = 900  # sums over a gallery stay below 2**1024


def ndcg_scores(ranking: Ranking | RandomRanking, relevance: Relevance, k: int, gains: str = "linear") -> Scores:
    """Return the discounted gain of the first k items over that of the k items of highest phi, per query.

    A random ranking has linear gains.
    """

    def weights(width: int) -> NDArray[np.float64]:
        return 1 / np.log2(np.arange(2, width + 2))

    def discounted(items: NDArray[np.int64]) -> NDArray[np.float64]:
        gain = relevance.values(items[:, :k], ranking.direction)
        gain = np.exp2(gain) - 1 if gains == "exponential" else gain
        return np.asarray(gain @ weights(gain.shape[1]))

    ideal = discounted(relevance.ideal(ranking.direction, k).items)
    if isinstance(ranking, Ranking):
        return share_of(discounted(ranking.items), ideal, ideal == 0)
    expected = relevance.mean_phi(ranking.direction) * weights(min(k, ranking.n_gallery)).sum()
    return share_of(expected, ideal, ideal == 0)


def ndcg(
    similarity: Similarity,
    phi: ArrayLike,
    ks: Sequence[int] = (1, 5, 10),
    direction: str = "i2t",
    gains: str = "linear",
    image_of_caption: ArrayLike | None = None,
    *,
    empty: str = "zero",
) -> dict[int, float]:
    """Compute nDCG@k with phi as graded relevance, mean over queries.

    The gain of position p (from 1) is divided by log2(p + 1). NCS (``formula="released"``) is the same ratio without
    the discount: ``ndcg`` asks whether what is right comes early among the first k, NCS only whether it is there; at
    k = 1 they are equal. Equal scores are ordered by index, lower first, in both rankings.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        phi: ``[captions, images]``, at least 0, any real dtype, finite.
        ks: Cut-offs, each at least 1; beyond the gallery the whole gallery counts.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        gains: ``"linear"``, phi itself (Jarvelin and Kekalainen 2002; trec_eval), or ``"exponential"``, 2^phi - 1
            (Burges et al. 2005).
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        empty: A query whose phi is 0 everywhere counts 0 (``"zero"``), is left out (``"skip"``) or is an error
            (``"error"``).

    Returns:
        A fraction for each cut-off.

    Raises:
        InputError: If shapes disagree, a value is not finite, an image has no caption, or there is no such direction,
            gain or policy.
    """
    cutoffs, side = checked_cutoffs(ks), checked_direction(direction)
    checked_choice("gains", gains, GAINS)
    checked_choice("empty", empty, POLICIES)
    gallery = Gallery.of(similarity, image_of_caption, {UNNAMED: phi})
    if gains == "exponential" and (highest := float(gallery.phis[UNNAMED].max())) > LARGEST_EXPONENT:
        raise InputError(f"phi reaches {highest:.4g}, and 2 to that power is no float; scale it, or use linear gains.")
    relevance = Relevance(gallery.phis[UNNAMED], gallery.image_of_caption)
    ranking = ranking_of(gallery, side, max(cutoffs))
    scores = {k: ndcg_scores(ranking, relevance, k, gains) for k in cutoffs}
    return {k: float(np.nanmean(after_policy(score, empty, side))) for k, score in scores.items()}
