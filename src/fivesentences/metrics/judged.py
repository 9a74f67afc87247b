"""Retrieval against an incomplete pool of judgements: captions as queries, of which some images were judged.

What was not judged is neither right nor wrong. So rankings are *condensed*: items without a judgement are taken out
before average precision, nDCG or Sakai's Q-measure are computed (Sakai, Alternatives to Bpref, SIGIR 2007; Sakai and
Kando, Information Retrieval 11, 2008). bpref (Buckley and Voorhees, SIGIR 2004) reads judged items alone too, and infAP
(Yilmaz and Aslam, CIKM 2006) estimates average precision of the whole ranking from them; both as in trec_eval.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.values import Scores
from fivesentences.retrieval.gallery import Gallery, Similarity

#: What is computed of judgements that are right or wrong, in this order; of graded ones nDCG alone.
JUDGED_METRICS = ("R@1", "R-P", "mAP@R", "AP", "nDCG", "Q", "bpref", "infAP")
_SMOOTHING = 1e-5  # of infAP, as in trec_eval


@dataclass(frozen=True, eq=False)
class Judged:
    """Images that were judged for some captions, and their gains.

    Attributes:
        captions: ``[pairs]`` caption of each judged pair.
        images: ``[pairs]`` its image.
        gain: ``[pairs]`` 0 to 1, where 0 is wrong; without any value between, judgements are right or wrong.
        shape: Images and captions of the gallery.
        own: ``[captions]`` the image that each caption was written for; its gain is 1 where own items are kept.
        queries: ``[queries]`` captions that have a judged image, ascending.

    Raises:
        InputError: If lengths disagree, an index is outside the gallery, a gain is not in 0 to 1, or a pair is there
            twice.
    """

    captions: NDArray[np.int64]
    images: NDArray[np.int64]
    gain: NDArray[np.float64]
    shape: tuple[int, int]
    own: NDArray[np.int64]
    queries: NDArray[np.int64] = field(init=False)
    _pools: dict[bool, tuple[NDArray[np.int64], NDArray[np.float64]]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        n_images, n_captions = self.shape
        for name, size in (("images", n_images), ("captions", n_captions), ("own", n_images)):
            index = np.asarray(getattr(self, name))
            if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
                raise InputError(f"{name} is {index.dtype} {list(index.shape)}; give a list of indices.")
            for at in np.flatnonzero((index < 0) | (index >= size))[:1]:
                raise InputError(f"{name}[{at}] is {index[at]}, but the gallery has {size} of them.")
            object.__setattr__(self, name, index.astype(np.int64))
        gain = np.asarray(self.gain, dtype=np.float64)
        object.__setattr__(self, "gain", gain)
        if not len(self.images) == len(self.captions) == len(gain) or len(self.own) != n_captions:
            lengths = f"{len(self.images)} images, {len(self.captions)} captions, {len(gain)} gains"
            raise InputError(f"there are {lengths} and {len(self.own)} own images of {n_captions} captions.")
        for at in np.flatnonzero(~((gain >= 0) & (gain <= 1)))[:1]:
            raise InputError(f"gain[{at}] is {gain[at]}; a gain lies in 0 to 1.")
        cells, first = np.unique(self.captions * n_images + self.images, return_index=True)
        if len(cells) < len(gain):
            at = int(np.setdiff1d(np.arange(len(gain)), first)[0])
            raise InputError(f"caption {self.captions[at]} and image {self.images[at]} are judged a second time.")
        object.__setattr__(self, "queries", np.unique(self.captions))

    @property
    def is_graded(self) -> bool:
        """Whether some judgement is between right and wrong."""
        return bool(((self.gain > 0) & (self.gain < 1)).any())

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is computed of these judgements."""
        return ("nDCG",) if self.is_graded else JUDGED_METRICS

    def pool(self, keep_own: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the judged images of each query and their gains, both ``[queries, most]``; -1 and 0 behind the last.

        Args:
            keep_own: Whether a query's own image is among them, with gain 1, judged or not; it is left out otherwise.
        """
        if keep_own not in self._pools:
            self._pools[keep_own] = self._pool(keep_own)
        return self._pools[keep_own]

    def _pool(self, keep_own: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        others = self.images != self.own[self.captions]
        captions, images, gain = self.captions[others], self.images[others], self.gain[others]
        if keep_own:
            captions, images = np.r_[captions, self.queries], np.r_[images, self.own[self.queries]]
            gain = np.r_[gain, np.ones(len(self.queries))]
        order = np.lexsort((images, captions))
        row = np.searchsorted(self.queries, captions[order])
        start = np.searchsorted(row, np.arange(len(self.queries)))
        place = np.arange(len(row)) - start[row] if len(row) else row
        width = int(place.max(initial=-1)) + 1
        items, gains = np.full((len(self.queries), width), -1), np.zeros((len(self.queries), width))
        items[row, place], gains[row, place] = images[order], gain[order]
        return items, gains


def places_of(matrix: NDArray, queries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``[queries, images]`` the place of every image in the ranking of some captions, 0 is best."""
    exact = np.float32 if matrix.dtype in (np.float16, np.float32) else np.float64  # integers cannot be negated
    scores = np.ascontiguousarray(matrix[:, queries].T, dtype=exact)
    order = np.argsort(np.negative(scores), axis=1, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(order.shape[1])[None], axis=1)
    return place


def judged_scores(
    matrix: NDArray, judged: Judged, keep_own: bool, place: NDArray[np.int64] | None = None
) -> dict[str, Scores]:
    """Return every metric of a similarity: ``[captions]`` fractions, and which captions have nothing to find.

    Args:
        matrix: ``[images, captions]``, larger is more similar; equal scores are ordered by index, lower first.
        judged: Judgements of the same gallery.
        keep_own: Whether a caption's own image is ranked, as a right one; it is taken out otherwise.
        place: ``places_of`` the judged captions, if it is known.
    """
    items, gains = judged.pool(keep_own)
    here = items >= 0
    place = places_of(matrix, judged.queries) if place is None else place
    if not keep_own:
        own = np.take_along_axis(place, judged.own[judged.queries, None], axis=1)
        place = place - (place > own)
    ranks = np.where(here, np.take_along_axis(place, np.maximum(items, 0), axis=1), judged.shape[0])
    condensed = np.argsort(ranks, axis=1, kind="stable")
    ranked = np.take_along_axis(gains, condensed, axis=1)
    full = np.take_along_axis(ranks, condensed, axis=1) + 1  # in the whole ranking, from 1
    found = of_ranked(ranked, here.sum(axis=1), full)
    nothing = np.asarray(~(gains > 0).any(axis=1))
    return {name: _of_all(found[name], nothing, judged) for name in judged.metrics}


def of_ranked(gains: NDArray[np.float64], n_judged: NDArray[np.int64], full: NDArray) -> dict[str, NDArray[np.float64]]:
    """Return ``[queries]`` values of every metric; 0 where nothing is right.

    Args:
        gains: ``[queries, most]`` gains in the order of the condensed ranking, 0 behind its end. All metrics but nDCG
            count those above 0 as right.
        n_judged: ``[queries]`` length of the condensed ranking.
        full: ``[queries, most]`` place of each item in the whole ranking, from 1.
    """
    right = gains > 0
    place = np.arange(1, gains.shape[1] + 1)
    count = np.cumsum(right, axis=1)
    number = right.sum(axis=1)
    divisor, wrong = np.maximum(number, 1), n_judged - number
    precision = count / place
    until_r = right & (place <= number[:, None])
    discount = 1 / np.log2(place + 1)
    ideal = -np.sort(-gains, axis=1) @ discount
    blended = 2 * count / (np.minimum(place, number[:, None]) + place)  # gains of 1, beta = 1
    ahead = place - count  # wrong ones ahead of a right one
    few = np.maximum(np.minimum(number, wrong), 1)[:, None]
    preferred = np.where(ahead > 0, 1 - np.minimum(ahead, number[:, None]) / few, 1.0)
    before = place - 1
    share = (count - 1 + _SMOOTHING) / (before + 2 * _SMOOTHING)
    inferred = np.where(full == 1, 1.0, 1 / full + before / full * share)
    return {
        "R@1": right[:, :1].any(axis=1).astype(np.float64),
        "R-P": until_r.sum(axis=1) / divisor,
        "mAP@R": (precision * until_r).sum(axis=1) / divisor,
        "AP": (precision * right).sum(axis=1) / divisor,
        "nDCG": (gains @ discount) / np.where(ideal > 0, ideal, 1.0),
        "Q": (blended * right).sum(axis=1) / divisor,
        "bpref": (preferred * right).sum(axis=1) / divisor,
        "infAP": (inferred * right).sum(axis=1) / divisor,
    }


def judged_by_chance(judged: Judged, keep_own: bool) -> dict[str, Scores]:
    """Return expected values of a random ranking, as ``judged_scores`` does; infAP has no closed form."""
    items, gains = judged.pool(keep_own)
    n, number = (items >= 0).sum(axis=1), (gains > 0).sum(axis=1)
    every = np.maximum(n, 1)
    place = np.arange(1, items.shape[1] + 1)
    inside = place <= n[:, None]
    # A right item stands at a place with equal chance, and each other one ahead of it with the chance of its place.
    others = 1 + (place - 1) * ((number - 1) / np.maximum(n - 1, 1))[:, None]
    wrong = n - number
    few = np.minimum(number, wrong)
    # The wrong items ahead of a right one are 0 to all of them, each equally likely.
    lost = np.where(place <= wrong[:, None], np.minimum(place, number[:, None]), 0).sum(axis=1) / (wrong + 1)
    discount = inside / np.log2(place + 1)
    ideal = (-np.sort(-gains, axis=1) / np.log2(place + 1)).sum(axis=1)
    expected = {
        "R@1": number / every,
        "R-P": number / every,
        "mAP@R": (others / place * (place <= number[:, None])).sum(axis=1) / every,
        "AP": (others / place * inside).sum(axis=1) / every,
        "nDCG": gains.sum(axis=1) / every * discount.sum(axis=1) / np.where(ideal > 0, ideal, 1.0),
        "Q": (2 * others / (np.minimum(place, number[:, None]) + place) * inside).sum(axis=1) / every,
        "bpref": 1 - np.where(few > 0, lost / np.maximum(few, 1), 0.0),
    }
    return {name: _of_all(expected[name], number == 0, judged) for name in judged.metrics if name in expected}


def by_judgements(
    similarity: Similarity, judged: Judged, *, keep_ground_truth: bool = True, image_of_caption: ArrayLike | None = None
) -> dict[str, float]:
    """Score captions as queries against judged images, mean over captions with a right one.

    R@1, R-precision, mAP@R, AP, nDCG (linear gains) and Q (Sakai's Q-measure, beta 1) are those of rankings condensed
    to judged items; bpref and infAP are trec_eval's. Graded judgements have nDCG alone. Equal scores are ordered by
    index, lower first.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        judged: Judgements of the same images and captions.
        keep_ground_truth: Whether the own image of a caption counts as right; it is taken out of rankings otherwise.
        image_of_caption: ``[captions]`` image of each caption, checked against the judgements; default equal blocks.

    Returns:
        Fractions by metric.

    Raises:
        InputError: If the shape is another, a value is not finite, a caption has another own image, or no caption has
            a right image.
    """
    gallery = Gallery.of(similarity, image_of_caption)
    check_judged(judged, gallery.shape, gallery.image_of_caption)
    scores = judged_scores(np.asarray(gallery.similarity), judged, keep_ground_truth)
    if all(nothing.all() for _, nothing in scores.values()):
        raise InputError(f"none of the {len(judged.queries):,} judged captions has a right image.")
    return {name: float(values[~nothing].mean()) for name, (values, nothing) in scores.items()}


def check_judged(
    judged: Judged, shape: tuple[int, int], pairing: NDArray[np.int64], name: str = "the judgements"
) -> None:
    """Refuse judgements of another gallery, or of one in another order.

    Raises:
        InputError: If the shape is another, or a caption has another own image.
    """
    if judged.shape != shape:
        raise InputError(
            f"{name} are of {judged.shape[0]} images and {judged.shape[1]} captions but similarity is {list(shape)}, "
            "which is of another gallery; score the whole split, or leave them out."
        )
    if len(wrong := np.flatnonzero(judged.own != pairing)):
        first = int(wrong[0])
        raise InputError(
            f"{name} have caption {first} with image {int(judged.own[first])}, but the similarity has it as a caption "
            f"of image {int(pairing[first])}, and so for {len(wrong):,} of {len(pairing):,} captions: rows or columns "
            "are in another order; name the ids of the rows and columns in their order."
        )


def _of_all(values: NDArray[np.float64], nothing: NDArray[np.bool_], judged: Judged) -> Scores:
    """Return values of queries as those of all captions, of which the others have nothing to find."""
    everyone, is_empty = np.zeros(judged.shape[1]), np.ones(judged.shape[1], dtype=bool)
    everyone[judged.queries], is_empty[judged.queries] = np.where(nothing, 0.0, values), nothing
    return everyone, is_empty
