"""Relevance by a phi that is not held: what metrics read of it, kept from one reading of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import Unheld
from fivesentences.errors import InputError
from fivesentences.metrics.in_blocks import Best, merged
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
        self._rows, self.is_read_before = phi, isinstance(phi, ReadPhi)
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
        """Read every row once, or take what was read of parts of them."""
        phi = self._rows
        read = phi.reading if isinstance(phi, ReadPhi) else read_phi(phi, self.pairing, self._depth, self._expected)
        if read.depth < self._depth:
            what = f"the parts hold the first {read.depth:,} items by phi {phi.name}, and {self._depth:,} are asked for"
            raise InputError(what, cure="make the parts again, with the largest cut-off and m (--ks, --ms)")
        nothing, sizes = np.zeros(0, dtype=np.int64), self.phi.shape
        for side, (items, values) in read.best.items():
            of_ranking = *own_of(items, self.pairing, side), sizes[side == "t2i"], nothing, nothing, nothing
            self._ideal[side] = Ranking(side, items, *of_ranking)
            self._known[side] = [*read.expected[side], (items, values)]
            self._sums[side] = read.sums[side]
        if not read.anything.any():
            check_gains(np.zeros((1, 1)), phi.name)
        self._own_phi, self._blank = read.own, ~read.anything


Listed = tuple[NDArray[np.int64], NDArray[np.float32]]  # ``[queries, items]`` items, and phi of these


@dataclass(frozen=True)
class PhiReading:
    """What one reading of the rows of phi found, or of some of them; arrays of caption queries are of these alone.

    Attributes:
        depth: How many items by phi are kept, where there are so many.
        best: The first items by phi, by direction.
        expected: Items that were named before, by direction; lists of several models.
        sums: ``[queries]`` sums of phi over the gallery, by direction.
        own: ``[captions]`` phi of each caption with its own image.
        anything: ``[images]`` whether phi of the image is above 0 for a caption.
        captions: Indices of the captions that were read, ascending; None for all.
    """

    depth: int
    best: Mapping[Direction, Listed]
    expected: Mapping[Direction, Sequence[Listed]]
    sums: Mapping[Direction, NDArray[np.float64]]
    own: NDArray[np.float64]
    anything: NDArray[np.bool_]
    captions: NDArray[np.int64] | None = None

    @classmethod
    def joined(cls, parts: Sequence[PhiReading], retrieved: NDArray[np.int64]) -> PhiReading:
        """Return the reading of all rows from readings of parts of them, each row in one of them.

        Args:
            parts: The readings, each with one list of expected items by direction.
            retrieved: ``[images, items]`` first items of images, merged of those that parts expected.
        """
        n_captions = sum(len(one.own) for one in parts)

        def scattered(of_parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
            whole: NDArray[Any] | None = None
            for part, some in zip(parts, of_parts, strict=True):
                whole = np.empty((n_captions, *some.shape[1:]), dtype=some.dtype) if whole is None else whole
                whole[part.captions] = some
            return np.zeros(0) if whole is None else whole

        of_retrieved = np.full(retrieved.shape, np.nan, dtype=np.float32)
        for items, phi in (one.expected["i2t"][0] for one in parts):
            for slot in range(items.shape[1]):
                row, column = np.nonzero((retrieved == items[:, slot, None]) & (retrieved >= 0))
                of_retrieved[row, column] = phi[row, slot]
        values, items = merged([one.best["i2t"][1] for one in parts], [one.best["i2t"][0] for one in parts])
        by_phi, found = ([one.best["t2i"] for one in parts], [one.expected["t2i"][0] for one in parts])
        pairs = {"best": by_phi, "expected": found}
        of_captions = {key: tuple(scattered(one[at] for one in lists) for at in (0, 1)) for key, lists in pairs.items()}
        return cls(
            parts[0].depth,
            {"i2t": (items, values), "t2i": of_captions["best"]},  # type: ignore[dict-item]
            {"i2t": [(retrieved, of_retrieved)], "t2i": [of_captions["expected"]]},  # type: ignore[list-item]
            {
                "i2t": np.sum([one.sums["i2t"] for one in parts], axis=0),
                "t2i": scattered(one.sums["t2i"] for one in parts),
            },
            scattered(one.own for one in parts),
            np.any([one.anything for one in parts], axis=0),
        )


class ReadPhi(ScoredPhi):
    """A phi of which nothing is known but what was read of it, part by part.

    Args:
        reading: What was read.
        name: Name of the phi.
    """

    def __init__(self, reading: PhiReading, name: str):
        Unheld.__init__(self, (len(reading.own), len(reading.anything)), np.float32)
        self.reading, self.name = reading, name

    def rows(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Refuse."""
        what = f"parts of an evaluation hold phi {self.name} of the items that were found, and not of others"
        raise InputError(what, cure="give the embeddings")


def read_phi(
    phi: ScoredPhi,
    pairing: NDArray[np.int64],
    depth: int,
    expected: Mapping[Direction, NDArray[np.int64]],
    captions: NDArray[np.int64] | None = None,
) -> PhiReading:
    """Read the rows of phi, or some of them.

    Args:
        phi: ``[captions, images]``.
        pairing: ``[captions]`` image of each caption.
        depth: How many items by phi are kept.
        expected: ``[queries, items]`` whose phi is kept too, by direction; -1 where there is none.
        captions: Indices of the captions to read, ascending; None for all.
    """
    n_captions, n_images = phi.shape
    some = np.arange(n_captions) if captions is None else captions
    read = phi if captions is None else phi[captions, :]
    of_images = Best(n_images, min(depth, n_captions), np.dtype(np.float32))
    items = np.empty((len(some), min(depth, n_images)), dtype=np.int64)
    phi_of_items = np.empty(items.shape, dtype=np.float32)
    sums: dict[Direction, NDArray[np.float64]] = {"i2t": np.zeros(n_images), "t2i": np.empty(len(some))}
    own, anything, seen = np.empty(len(some)), np.zeros(n_images, dtype=bool), -1
    sizes: dict[Direction, int] = {"i2t": n_images, "t2i": len(some)}
    asked = {side: expected.get(side, np.empty((n, 0), dtype=np.int64)) for side, n in sizes.items()}
    found = {side: np.full(lists.shape, np.nan, dtype=np.float32) for side, lists in asked.items()}
    place = np.full(n_captions + 1, len(some))  # behind them what is not read, and the item -1
    place[some] = np.arange(len(some))
    wanted, slots = Wanted(place[asked["i2t"].ravel()], len(some) + 1), max(1, asked["i2t"].shape[1])
    for rows_of, rows in read.rows():
        order = best_first(rows, items.shape[1])
        items[rows_of], phi_of_items[rows_of] = order, np.take_along_axis(rows, order, axis=1)
        found["t2i"][rows_of] = np.take_along_axis(rows, asked["t2i"][rows_of], axis=1)
        row, pair = wanted.of(rows_of)
        found["i2t"].ravel()[pair] = rows[row, pair // slots]
        of_images.offer(slice(0, n_images), rows, some[rows_of], axis=1, later=bool(rows_of[0] > seen))
        seen = max(seen, int(rows_of[-1]))
        sums["i2t"] += rows.sum(axis=0, dtype=np.float64)
        sums["t2i"][rows_of] = rows.sum(axis=1, dtype=np.float64)
        own[rows_of] = rows[np.arange(len(rows_of)), pairing[some[rows_of]]]
        anything |= rows.any(axis=0)
    of_images.finish()
    best: dict[Direction, Listed] = {"i2t": (of_images.items, of_images.scores), "t2i": (items, phi_of_items)}
    lists: dict[Direction, list[Listed]] = {side: [(asked[side], found[side])] for side in sizes}
    return PhiReading(depth, best, lists, sums, own, anything, captions)
