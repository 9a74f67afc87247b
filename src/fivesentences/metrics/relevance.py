"""Relevance by phi: the best items of every query, and the images that are most alike.

Computed once for a phi matrix and used for every similarity matrix, cut-off and m.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fivesentences.metrics.ranking import ELEMENTS_PER_BLOCK, Ranking, depth_needed, parts, rank
from fivesentences.retrieval.arguments import Direction
from fivesentences.semantics.references import References, ranges

NEIGHBOURS_PER_CAPTION = 30  # images that the released code reads from each caption's row


class Relevance:
    """Rankings of the gallery by phi, computed when first asked for and kept.

    Args:
        phi: ``[captions or more, images]``, checked; rows beyond ``pairing`` belong to no image of the gallery and
            take part in nothing but the ideal of an image.
        pairing: ``[captions]`` image of each caption.
    """

    is_read_before = False  # whether phi is known of the items alone that parts of an evaluation found

    def __init__(self, phi: NDArray, pairing: NDArray[np.int64]):
        self.phi, self.pairing = phi, pairing
        self.n_captions, self.n_images = len(pairing), phi.shape[1]
        self._ideal: dict[Direction, Ranking] = {}
        self._sums: dict[Direction, NDArray[np.float64]] = {}
        self._neighbours: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
        self._own = References(pairing)

    def ideal(self, direction: Direction, k: int) -> Ranking:
        """Return the ranking by phi itself, deep enough for ``k`` items without the ground truth."""
        depth = depth_needed(k, self.pairing, direction)
        known = self._ideal.get(direction)
        if known is None or known.items.shape[1] < min(depth, known.n_gallery):
            known = rank(self.phi.T, self.pairing, direction, depth, find_ground_truth=False)
            self._ideal[direction] = known
        return known

    def values(
        self, items: NDArray[np.int64], direction: Direction, queries: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return phi between each query, or some, and its items, ``[queries, items]``; 0 where an item is -1."""
        queries = np.arange(len(items))[:, None] if queries is None else queries[:, None]
        present = np.maximum(items, 0)
        found = self.phi[present, queries] if direction == "i2t" else self.phi[queries, present]
        return np.where(items < 0, 0.0, found.astype(np.float64))

    def _cells(self, captions: NDArray[np.int64], images: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return ``[pairs]`` phi of captions and images."""
        return self.phi[captions, images]

    def mean_phi(self, direction: Direction, keep_ground_truth: bool = True) -> NDArray[np.float64]:
        """Return ``[queries]`` mean phi over the gallery, with the query's own items or without them; 0 without any."""
        if direction not in self._sums:
            of_gallery = self.phi[: self.n_captions]
            self._sums[direction] = of_gallery.sum(axis=0 if direction == "i2t" else 1, dtype=np.float64)
        own = self.phi[np.arange(self.n_captions), self.pairing] if not keep_ground_truth else self._sums[direction][:0]
        return self._mean(self._sums[direction], own.astype(np.float64), direction, keep_ground_truth)

    def _mean(
        self, total: NDArray[np.float64], own: NDArray[np.float64], direction: Direction, keep_ground_truth: bool
    ) -> NDArray[np.float64]:
        """Return the mean of sums of phi, less phi ``[captions]`` of own pairs unless ground truth is kept."""
        size = np.full(len(total), self.n_captions if direction == "i2t" else self.n_images)
        if not keep_ground_truth and direction == "i2t":
            total, size = total - np.bincount(self.pairing, own, self.n_images), size - self._own.count
        elif not keep_ground_truth:
            total, size = total - own, size - 1
        return np.asarray(np.where(size > 0, total, 0.0) / np.maximum(1, size))

    @cached_property
    def blank_images(self) -> NDArray[np.bool_]:
        """``[images]`` whether phi of the image is zero for every caption."""
        anything = np.zeros(self.n_images, dtype=bool)
        for part in parts(self.phi[: self.n_captions], ELEMENTS_PER_BLOCK):
            anything |= self.phi[part].any(axis=0)
        return ~anything

    def neighbours(self, m: int, keep_ground_truth: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the ``m`` images most like each image, as released.

        Each caption of an image names the 30 images with the highest phi in its row; phi is summed per image over
        these lists, and the images are ordered by the sum. The image itself is left out unless ground truth is kept.

        Returns:
            ``[images, at most m]`` image indices, -1 where there are fewer, and their sums (0 there).
        """
        known = self._neighbours
        if known is None or known[0].shape[1] < min(m + 1, self.n_images):
            known = self._neighbours = self._find_neighbours(m + 1)
        images, sums = known
        if not keep_ground_truth:
            own = images == np.arange(self.n_images)[:, None]
            others_first = np.argsort(own, axis=1, kind="stable")
            images, sums = (
                np.take_along_axis(np.where(own, nothing, values), others_first, axis=1)
                for values, nothing in ((images, -1), (sums, 0.0))
            )
        return images[:, :m], sums[:, :m]

    def _find_neighbours(self, m: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the neighbours and sums with ground truth kept."""
        lists = self.ideal("t2i", NEIGHBOURS_PER_CAPTION).items[:, :NEIGHBOURS_PER_CAPTION][self._own.by_image]
        phi_of_lists = self.values(lists, "t2i", self._own.by_image)
        m = min(m, self.n_images)
        of = np.repeat(self.pairing[self._own.by_image], lists.shape[1])
        pairs, which = np.unique(of * self.n_images + lists.ravel(), return_inverse=True)
        total = np.bincount(which, weights=phi_of_lists.ravel())
        image, named = np.divmod(pairs, self.n_images)
        order = np.lexsort((named, -total, image))
        often = np.bincount(image, minlength=self.n_images)
        place = np.arange(len(order)) - np.repeat(np.cumsum(often) - often, often)
        order, place = order[place < m], place[place < m]
        neighbours, sums = np.full((self.n_images, m), -1, dtype=np.int64), np.zeros((self.n_images, m))
        neighbours[image[order], place], sums[image[order], place] = named[order], total[order]
        return neighbours, sums

    def captions_of(self, images: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of captions of each image; 0 for -1."""
        return np.where(images < 0, 0, self._own.count[np.maximum(images, 0)])

    def phi_of_captions_of(self, images: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum phi between query image ``i`` and all captions of image ``images[i, s]``: ``[queries, slots]``."""
        flat = np.maximum(images, 0).ravel()
        count = self._own.count[flat]
        first = np.cumsum(count) - count
        captions = self._own.by_image[ranges(self._own.first[flat], count)]
        query = np.repeat(np.repeat(np.arange(len(images)), images.shape[1]), count)
        summed = np.add.reduceat(self._cells(captions, query).astype(np.float64), first)
        return np.where(images < 0, 0.0, summed.reshape(images.shape))


def slots(items: NDArray[np.int64], lists: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``[rows, items]`` position of each item in its row's list; the list's length if it is not in it.

    -1 marks a missing item in either, which matches nothing.
    """
    width = lists.shape[1]
    found = np.full(items.shape, width, dtype=np.int64)
    for slot in reversed(range(width)):  # so that the first of equal items counts
        found[items == lists[:, slot, None]] = slot
    found[items < 0] = width
    return found
