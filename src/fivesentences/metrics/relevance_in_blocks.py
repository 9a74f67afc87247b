"""Relevance by a phi that is not held: what metrics read of it, kept from one reading of its rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fivesentences.metrics.in_blocks import Best
from fivesentences.metrics.ranking import Ranking, depth_needed, own_of
from fivesentences.metrics.relevance import NEIGHBOURS_PER_CAPTION, Relevance
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.blocks import best_first
from fivesentences.semantics.scored import ScoredPhi, Wanted
from fivesentences.semantics.validation import check_gains


class RelevanceInBlocks(Relevance):
    """As ``Relevance``, to the last digit, of a phi that is scored where it is read.

    One reading keeps the first items of every ranking by phi, sums, and phi of the items that were retrieved, which
    ``expect`` names before; what else is asked for takes another reading.

    Args:
        phi: ``[captions, images]``.
        pairing: ``[captions]`` image of each caption.
    """

    def __init__(self, phi: ScoredPhi, pairing: NDArray[np.int64]):
        super().__init__(phi, pairing)  # type: ignore[arg-type]  # nothing that is not overridden reads its cells
        self._rows = phi
        self._expected: dict[Direction, NDArray[np.int64]] = {}
        self._depth = NEIGHBOURS_PER_CAPTION + 1
        self._known: dict[Direction, list[tuple[NDArray[np.int64], NDArray[np.float32]]]] = {}
        self._own_phi = np.zeros(0)
        self._blank = np.zeros(0, dtype=bool)

    def expect(self, rankings: Mapping[Direction, Ranking]) -> None:
        """Name the items whose phi will be asked for, and so how deep rankings by phi have to be."""
        self._expected = {side: ranking.items for side, ranking in rankings.items()}
        self._depth = max(self._depth, *(items.shape[1] for items in self._expected.values()))
        self._known.clear()

    def ideal(self, direction: Direction, k: int) -> Ranking:
        """Return the ranking by phi itself, deep enough for ``k`` items without the ground truth."""
        known, depth = self._ideal.get(direction), depth_needed(k, self.pairing, direction)
        if known is None or known.items.shape[1] < min(depth, known.n_gallery):
            self._depth = max(self._depth, depth)
            self._read()
        return self._ideal[direction]

    def values(
        self, items: NDArray[np.int64], direction: Direction, queries: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return phi between each query, or some, and its items, ``[queries, items]``; 0 where an item is -1."""
        if not self._known:
            self._read()
        found = np.full(items.shape, np.nan)
        for listed, phi in self._known[direction]:
            some = slice(None) if queries is None else queries
            for slot in range(listed.shape[1]):
                at = items == listed[some, slot, None]
                found[at] = np.broadcast_to(phi[some, slot, None], items.shape)[at]
        row, column = np.nonzero(np.isnan(found) & (items >= 0))
        if len(row):
            asked = (row if queries is None else queries[row]), items[row, column]
            found[row, column] = self._cells(*(asked if direction == "t2i" else asked[::-1]))
        return np.where(items < 0, 0.0, found)

    def mean_phi(self, direction: Direction, keep_ground_truth: bool = True) -> NDArray[np.float64]:
        """Return ``[queries]`` mean phi over the gallery, with the query's own items or without them; 0 without any."""
        if direction not in self._sums:
            self._read()
        return self._mean(self._sums[direction], self._own_phi, direction, keep_ground_truth)

    @property
    def blank_images(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """``[images]`` whether phi of the image is zero for every caption."""
        if not len(self._blank):
            self._read()
        return self._blank

    def _cells(self, captions: NDArray[np.int64], images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return ``[pairs]`` phi of captions and images, of one reading."""
        return self._rows.read_cells(captions, images)

    def _read(self) -> None:
        """Read every row once."""
        n_captions, n_images = self.n_captions, self.n_images
        depth = min(self._depth, n_captions), min(self._depth, n_images)
        of_images = Best(n_images, depth[0], np.dtype(np.float32))
        items = np.empty((n_captions, depth[1]), dtype=np.int64)
        phi_of_items = np.empty((n_captions, depth[1]), dtype=np.float32)
        sums, own = {"i2t": np.zeros(n_images), "t2i": np.empty(n_captions)}, np.empty(n_captions)
        anything, seen = np.zeros(n_images, dtype=bool), -1
        sizes: dict[Direction, int] = {"i2t": n_images, "t2i": n_captions}
        expected = {side: self._expected.get(side, np.empty((n, 0), dtype=np.int64)) for side, n in sizes.items()}
        found = {side: np.full(asked.shape, np.nan, dtype=np.float32) for side, asked in expected.items()}
        wanted, slots = Wanted(expected["i2t"].ravel(), n_captions), max(1, expected["i2t"].shape[1])
        for captions, rows in self._rows.rows():
            order = best_first(rows, depth[1])
            items[captions], phi_of_items[captions] = order, np.take_along_axis(rows, order, axis=1)
            found["t2i"][captions] = np.take_along_axis(rows, expected["t2i"][captions], axis=1)
            row, pair = wanted.of(captions)
            found["i2t"].ravel()[pair] = rows[row, pair // slots]
            of_images.offer(slice(0, n_images), rows, captions, axis=1, later=bool(captions[0] > seen))
            seen = max(seen, int(captions[-1]))
            sums["i2t"] += rows.sum(axis=0, dtype=np.float64)
            sums["t2i"][captions] = rows.sum(axis=1, dtype=np.float64)
            own[captions] = rows[np.arange(len(captions)), self.pairing[captions]]
            anything |= rows.any(axis=0)
        of_images.finish()
        nothing = np.zeros(0, dtype=np.int64)
        best = {"i2t": (of_images.items, of_images.scores), "t2i": (items, phi_of_items)}
        for side in sizes:
            n_gallery = n_captions if side == "i2t" else n_images
            given = best[side][0], *own_of(best[side][0], self.pairing, side), n_gallery, nothing, nothing, nothing
            self._ideal[side] = Ranking(side, *given)
            self._known[side] = [(expected[side], found[side]), best[side]]
            self._sums[side] = sums[side]
        if not anything.any():
            check_gains(np.zeros((1, 1)), self._rows.name)
        self._own_phi, self._blank = own, ~anything
