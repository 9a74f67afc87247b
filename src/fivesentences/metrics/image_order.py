"""Do matrices about the same images and captions have them in the order of a similarity?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from fivesentences.arrays import Unheld
from fivesentences.metrics.positives import Positives
from fivesentences.semantics.misplaced import (
    ANCHORS,
    SURE,
    UNLIKELY,
    Misplaced,
    Order,
    breaks,
    longest_run,
    misplaced,
    z_of,
)

Alike = Callable[[Order, Order], NDArray]  # how alike some images and others are, [some, others]
EQUAL = 0.5  # share of equal scores beyond which an image has no profile, as after an assignment
FEWEST_ANCHORS, CELLS = 50, 32_000_000  # of a matrix that is not held: anchors, and scores with their captions
COIN = 0.48  # exponent of Lundberg's bound for steps of 1 and -2 that are equally probable
Profiles = NDArray[np.float32]


class ImageOrder:
    """The order of the images of a similarity, with which that of other matrices is compared.

    An image is known by its scores with captions of up to 400 others, the anchors, and those of its captions with
    these images. Scores of an image with its own captions are left out. Of matrices that are not held, the scores with
    captions of anchors alone are read.

    Args:
        similarity: ``[images, captions]``.
        image_of_caption: ``[captions]`` image of each caption.
    """

    def __init__(self, similarity: NDArray, image_of_caption: NDArray[np.int64]):
        self._n, self._whole = len(similarity), not isinstance(similarity, Unheld)
        anchors = ANCHORS if self._whole else max(FEWEST_ANCHORS, min(ANCHORS, CELLS // similarity.shape[1]))
        self._anchors = np.linspace(0, self._n - 1, min(self._n, anchors)).astype(np.int64)
        self._captions = np.argsort(image_of_caption, kind="stable")
        self._counts = np.bincount(image_of_caption, minlength=self._n)
        self._starts = np.cumsum(self._counts) - self._counts
        ends = self._captions[self._starts + self._counts - 1]
        # A line too much or too few puts one caption of every image into another's block.
        edges = {"last": ends, "first": self._captions[self._starts]} if (self._counts > 1).all() else {}
        in_order = np.arange(self._n)
        self._edges = edges
        self._profiles = self._of_pairs(similarity, in_order)
        self._of_edges = {name: (at, self._of_captions(similarity, at)) for name, at in edges.items() if self._whole}
        half = self._profiles[:, : len(self._anchors)]
        self._profiles[(half == np.median(half, axis=1, keepdims=True)).mean(axis=1) > EQUAL] = 0

    def where_own_apart(self, similarity: NDArray) -> str:
        """Say which captions of the similarity itself seem to belong to other images; empty if none.

        A neighbour that scores higher than the own image counts 1, and -2 otherwise: where it is a coin's toss, the
        largest sum of a run exceeds x with a probability of at most n exp(-0.48 x), by Lundberg's bound.
        """
        enough = np.log(self._n / UNLIKELY) / COIN
        owner = np.repeat(np.arange(self._n), self._counts)  # of each caption, in the order of self._captions

        def of_blocks(rows: Order) -> NDArray:
            scores = np.asarray(similarity[rows[owner], self._captions], dtype=np.float64)
            return np.add.reduceat(scores, self._starts) / self._counts

        tried: dict[str, tuple[Callable[[Order], NDArray], tuple[int, ...]]] = {"the captions": (of_blocks, (1, -1))}
        for name, at in self._edges.items():
            tried[f"the {name} caption"] = (lambda rows, at=at: similarity[rows, at], (1 if name == "last" else -1,))  # type: ignore[misc]
        for name, (scores, steps) in tried.items():
            own = scores(np.arange(self._n))
            for step in steps:
                other = scores(np.clip(np.arange(self._n) + step, 0, self._n - 1))
                start, end, excess = longest_run(np.where(other > own, 1.0, -2.0))
                if excess > enough:
                    run = Misplaced(start, end - 1, end - start, self._n)
                    side = "next image" if step > 0 else "image before"
                    return f"{name} of {run.words(self._line(start))}, score higher with the {side}"
        half = self._means(similarity, np.arange(self._n), self._anchors)
        half[self._anchors, np.arange(len(self._anchors))] = np.nan
        spread = np.nanstd(half, axis=1)
        above = of_blocks(np.arange(self._n)) - np.nanmean(half, axis=1)
        found = breaks(np.where(spread > 0, above / np.maximum(spread, 1e-12), np.nan))
        return "" if found is None else f"the captions of {found.words(self._line(found.first))}, score by chance"

    def where_apart(self, other: NDArray) -> str:
        """Say which images another matrix ``[images, captions]`` has elsewhere; empty if none."""
        in_order = np.arange(self._n)
        profiles = self._of_pairs(other, in_order)  # which are asked for twice

        def of_pairs(order: Order) -> Profiles:
            return profiles if np.array_equal(order, in_order) else self._of_pairs(other, order)

        own = self._profiles[:, : profiles.shape[1]]
        found = misplaced(own, of_pairs, len(self._anchors))
        if found is not None:
            return found.words(self._line(found.first))
        if isinstance(other, Unheld):
            return ""
        z = z_of(own, profiles)
        if np.nansum(z) < SURE * np.sqrt(len(z)):  # one caption of an image tells less than all
            return ""
        for name, (at, profiles) in self._of_edges.items():
            # Bound here, since a closure in a loop would see the last ones.
            found = misplaced(profiles, lambda order, at=at: self._of_captions(other, at[order]))  # type: ignore[misc]
            if found is not None:
                return f"the {name} caption of {found.words(int(at[found.first]) + 1)}"
        return ""

    def where_labels_apart(self, alike: Alike) -> str:
        """Say which images labels have elsewhere, as ``alike_by`` reads them; empty if none."""

        def profiles(order: Order) -> Profiles:
            half = self._centred(alike(order, order[self._anchors]))
            return np.hstack([half, half]) if self._whole else half

        found = misplaced(self._profiles, profiles, len(self._anchors))
        return "" if found is None else found.words(found.first + 1)

    def _line(self, image: int) -> int:
        """Return the line of the first caption of an image, from 1."""
        return int(self._captions[self._starts[image]]) + 1

    def _of_pairs(self, matrix: NDArray, order: Order) -> Profiles:
        """Return ``[images, 2 anchors]`` scores of images with captions of anchors, and of anchors with theirs.

        The former alone, ``[images, anchors]``, where a matrix is not held.
        """
        anchors = order[self._anchors]
        half = self._centred(self._means(matrix, order, anchors))
        if not self._whole or isinstance(matrix, Unheld):
            return half
        return np.hstack([half, self._centred(self._means(matrix, anchors, order).T)])

    def _means(self, matrix: NDArray, rows: Order, columns: Order) -> Profiles:
        """Return ``[rows, columns]`` mean scores of images with all captions of an image."""
        counts = self._counts[columns]
        ends = np.cumsum(counts)
        within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        chosen = _or_all(self._captions[np.repeat(self._starts[columns], counts) + within], matrix.shape[1])
        at = _or_all(rows, len(matrix))
        scores = matrix[at][:, chosen] if len(rows) < len(columns) else matrix[:, chosen][at]
        sums = np.add.reduceat(np.asarray(scores, dtype=np.float32), ends - counts, axis=1)
        return np.asarray(sums / counts, dtype=np.float32)

    def _of_captions(self, matrix: NDArray, captions: Order) -> Profiles:
        """Return ``[images, anchors]`` scores of anchors with one caption of each image."""
        return self._centred(np.ascontiguousarray(matrix[np.ix_(self._anchors, captions)].T))

    def _centred(self, values: NDArray) -> Profiles:
        """Return values less the means of their rows and columns, all without those of an anchor with itself."""
        values = np.array(values, dtype=np.float32)
        own = self._anchors, np.arange(len(self._anchors))
        others = np.full(len(values), float(len(self._anchors)), dtype=np.float32)
        others[self._anchors] -= 1
        for number, axis in ((others, 1), (np.float32(self._n - 1), 0), (others, 1)):
            values[own] = 0
            values -= np.expand_dims(values.sum(axis=axis) / np.maximum(number, 1), axis)
        values[own] = 0
        return values


def _or_all(chosen: Order, size: int) -> Order | slice:
    """Return a slice if all of an axis are chosen in order, so that nothing is copied."""
    return slice(None) if len(chosen) == size and np.array_equal(chosen, np.arange(size)) else chosen


def alike_by(labels: NDArray | Positives, image_of_caption: NDArray[np.int64]) -> Alike:
    """Return how alike images are by what is known of them.

    Args:
        labels: ``[images, classes]`` 0/1, ``[images]`` categories, or positives, by which images are alike whose
            captions are positives of each other.
        image_of_caption: ``[captions]`` image of each caption.
    """
    if isinstance(labels, Positives):
        owned = np.ones(len(image_of_caption), dtype=np.float32)
        onto = scipy.sparse.csr_array((owned, (np.arange(len(owned)), image_of_caption)))
        pairs = (labels.i2t.astype(np.float32) + labels.t2i.astype(np.float32)) @ onto
        return lambda some, others: (pairs + pairs.T).tocsr()[some][:, others].toarray()
    if labels.ndim == 1:
        return lambda some, others: labels[some][:, None] == labels[others]
    values = np.asarray(labels, dtype=np.float32)
    values = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
    return lambda some, others: values[some] @ values[others].T
