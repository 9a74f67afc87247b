"""Rankings of a similarity that is not held: both directions from one reading of its blocks.

The first items of every query are kept while blocks pass, and the items before its own are counted. Numbers equal those
of the whole matrix to the last digit: the blocks have its bits, and equal scores are ordered by index, lower first.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fivesentences.arrays import Unheld
from fivesentences.console import Bar
from fivesentences.errors import InputError
from fivesentences.machine import threads
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.blocks import best_first
from fivesentences.retrieval.products import Block, Products
from fivesentences.semantics.references import References
from fivesentences.semantics.scoring import SECONDS_WITHOUT_BAR

LONGEST = 255  # what a byte counts to
WAITING = 1_000_000  # items that were offered and are not yet merged


class Best:
    """The first items of some queries' rankings, of the blocks that were offered so far.

    Args:
        n_queries: Number of queries.
        depth: How many items of each ranking are kept.
        dtype: Type of the scores.

    Attributes:
        scores: ``[queries, depth]``, best first; minus infinity where there were fewer items. After ``finish``.
        items: ``[queries, depth]``; -1 there.
    """

    def __init__(self, n_queries: int, depth: int, dtype: np.dtype):
        self.scores = np.full((n_queries, depth), -np.inf, dtype=dtype)
        self.items = np.full((n_queries, depth), -1, dtype=np.int64)
        self._waiting: list[tuple[NDArray[np.int64], NDArray, NDArray[np.int64]]] = []
        self._n_waiting = 0

    def offer(
        self, queries: slice, block: NDArray, items: NDArray[np.int64], axis: int = 0, later: bool = True
    ) -> None:
        """Read the scores of some items for some queries.

        Args:
            queries: Which queries.
            block: ``[queries, items]``; with ``axis`` 1 ``[items, queries]``.
            items: ``[items]`` their indices, ascending.
            axis: Side of the block that the queries are.
            later: Whether these items come behind all that these queries have seen, so that ties are lost.
        """
        depth = self.scores.shape[1]
        bound = self.scores[queries, -1]
        if later and len(items) >= depth and (self.items[queries] < 0).all():
            rows = block if axis == 0 else np.ascontiguousarray(block.T)
            order = best_first(rows, depth)
            self.scores[queries], self.items[queries] = np.take_along_axis(rows, order, axis=1), items[order]
            return
        bounds = np.expand_dims(bound, 1 - axis)
        row, column = np.divmod(np.flatnonzero(block > bounds if later else block >= bounds), block.shape[1])
        query, item = (row, column) if axis == 0 else (column, row)
        scores, found = block[row, column], items[item]
        if not later:  # of items that tie with the last one, those with a lower index
            better = (scores > bound[query]) | (found < self.items[queries, -1][query])
            better |= self.items[queries, -1][query] < 0
            query, scores, found = query[better], scores[better], found[better]
        if len(query):  # merged by many, since a merge sorts whole lists
            self._waiting.append((query + queries.start, scores, found))
            self._n_waiting += len(query)
        if self._n_waiting > WAITING:
            self.finish()

    def finish(self) -> None:
        """Merge what was offered into the lists, which are only then up to date."""
        if not self._waiting:
            return
        query, scores, items = (np.concatenate(some) for some in zip(*self._waiting, strict=True))
        self._waiting, self._n_waiting = [], 0
        changed, which = np.unique(query, return_inverse=True)
        depth = self.scores.shape[1]
        row = np.concatenate([np.repeat(np.arange(len(changed)), depth), which])
        score = np.concatenate([self.scores[changed].ravel(), scores])
        item = np.concatenate([self.items[changed].ravel(), items])
        order = np.lexsort((item, -score, row))
        often = np.bincount(row)
        first = np.repeat(np.cumsum(often) - often, often)
        kept = order[np.arange(len(order)) - first < depth]
        self.scores[changed], self.items[changed] = (kept_of[kept].reshape(-1, depth) for kept_of in (score, item))


@dataclass
class Places:
    """Where the best own item of each query stands, counted while blocks pass.

    Attributes:
        best: ``[queries]`` the best score of an own item.
        target: ``[queries]`` the first own item that has it.
        ahead: ``[queries]`` items with a higher score.
        equal: ``[queries]`` items with this score.
        earlier: ``[queries]`` those of them that come before ``target``.
    """

    best: NDArray
    target: NDArray[np.int64]
    ahead: NDArray[np.int64]
    equal: NDArray[np.int64]
    earlier: NDArray[np.int64]

    @classmethod
    def of(cls, best: NDArray, target: NDArray[np.int64]) -> Places:
        """Begin to count."""
        return cls(best, target, *(np.zeros(len(best), dtype=np.int64) for _ in range(3)))

    def offer(self, queries: slice, block: NDArray, items: NDArray[np.int64], axis: int = 0) -> None:
        """Read the scores of some items for some queries; arguments as in ``Best.offer``."""
        bounds = np.expand_dims(self.best[queries], 1 - axis)
        self.ahead[queries] += _counts(block > bounds, axis)
        row, column = np.divmod(np.flatnonzero(block == bounds), block.shape[1])
        query, item = (row, column) if axis == 0 else (column, row)
        size = queries.stop - queries.start
        self.equal[queries] += np.bincount(query, minlength=size)
        query = query[items[item] < self.target[queries][query]]
        self.earlier[queries] += np.bincount(query, minlength=size)


def _counts(flags: NDArray[np.bool_], axis: int) -> NDArray[np.int64]:
    """Count what is true for each row (axis 0) or each column (axis 1) of a C-ordered block."""
    if axis == 0:
        return np.array([np.count_nonzero(row) for row in flags], dtype=np.int64)
    found = np.zeros(flags.shape[1], dtype=np.int64)
    for start in range(0, len(flags), LONGEST):  # many times as fast as a sum of larger integers
        found += np.add.reduce(flags[start : start + LONGEST].view(np.uint8), axis=0, dtype=np.uint8)
    return found


@dataclass(frozen=True)
class Reading:
    """What one reading of a similarity found, or of some of its captions, whose arrays are of these alone.

    Attributes:
        pairing: ``[captions]`` image of each caption.
        depth: How many items of each ranking are kept, where there are so many.
        best: The first items by direction.
        places: The places of own items by direction.
        own_equal: ``[queries]`` own items with the best score of an own item, by direction.
        captions: Indices of the captions that were read, ascending; None for all.
    """

    pairing: NDArray[np.int64]
    depth: int
    best: dict[Direction, Best]
    places: dict[Direction, Places]
    own_equal: dict[Direction, NDArray[np.int64]]
    captions: NDArray[np.int64] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Reading]) -> Reading:
        """Return the reading of a whole similarity from readings of parts of its captions, each in one of them."""
        first, of_images = parts[0], [one.best["i2t"] for one in parts]
        own, target = first.places["i2t"].best, first.places["i2t"].target
        best = {"i2t": Best(len(own), first.depth_of("i2t"), own.dtype)}
        best["i2t"].scores, best["i2t"].items = merged(
            [one.scores for one in of_images], [one.items for one in of_images]
        )
        places = {"i2t": Places.of(own, target)}
        for name in ("ahead", "equal", "earlier"):
            setattr(places["i2t"], name, sum(getattr(one.places["i2t"], name) for one in parts))
        n_captions, of_captions = len(first.pairing), [one.best["t2i"] for one in parts]
        best["t2i"] = Best(n_captions, first.depth_of("t2i"), own.dtype)
        places["t2i"] = Places.of(np.empty(n_captions, dtype=own.dtype), first.pairing)
        for part, lists in zip(parts, of_captions, strict=True):
            best["t2i"].scores[part.captions], best["t2i"].items[part.captions] = lists.scores, lists.items
            for name in ("best", "ahead", "equal", "earlier"):
                getattr(places["t2i"], name)[part.captions] = getattr(part.places["t2i"], name)
        own_equal = {"i2t": first.own_equal["i2t"], "t2i": np.ones(n_captions, dtype=np.int64)}
        return cls(first.pairing, first.depth, best, places, own_equal)  # type: ignore[arg-type]

    def depth_of(self, direction: Direction) -> int:
        """Return how many items the lists of a direction hold, which ends with the gallery."""
        n_images = len(self.places["i2t"].best)
        return min(self.depth, len(self.pairing) if direction == "i2t" else n_images)


def merged(scores: Sequence[NDArray], items: Sequence[NDArray[np.int64]], *others: Sequence[NDArray]) -> list[NDArray]:
    """Merge lists of equal length of other items each, by score, equal ones by index, to one of that length.

    Args:
        scores: ``[queries, depth]`` of each list.
        items: ``[queries, depth]`` of each list; -1 where there is none.
        others: Values that belong to the items, likewise.

    Returns:
        ``[queries, depth]`` scores, items and others.
    """
    beside = [np.concatenate(some, axis=1) for some in (scores, items, *others)]
    order = np.lexsort((beside[1], -beside[0]), axis=1)[:, : scores[0].shape[1]]
    return [np.take_along_axis(some, order, axis=1) for some in beside]


class ReadBefore(Unheld):
    """A similarity of which nothing is known but what was read of it, part by part.

    Args:
        reading: What was read.
        dtype: Type of its cells.
    """

    def __init__(self, reading: Reading, dtype: npt.DTypeLike):
        super().__init__((len(reading.places["i2t"].best), len(reading.pairing)), dtype)
        self.ranked = reading

    def cells(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray:
        """Refuse."""
        raise self._without_cells()

    def part(self, rows: NDArray[np.int64] | None, columns: NDArray[np.int64] | None) -> Unheld:
        """Refuse."""
        raise self._without_cells()

    def computed(self) -> NDArray:
        """Refuse."""
        raise self._without_cells()

    @staticmethod
    def _without_cells() -> InputError:
        return InputError("parts of an evaluation hold first items and ranks, and no cells", cure="give the embeddings")


def reading_of(products: Products | ReadBefore, pairing: NDArray[np.int64], depth: int) -> Reading:
    """Return what one reading finds, which is done once for a similarity unless it was not deep enough.

    Args:
        products: ``[images, captions]``.
        pairing: ``[captions]`` image of each caption.
        depth: How many items of each ranking are kept.

    Raises:
        InputError: If the similarity was read before, less deep.
    """
    known = products.ranked
    if isinstance(products, ReadBefore):
        if depth > products.ranked.depth:
            what = f"the parts hold the first {products.ranked.depth:,} items of a ranking, and {depth:,} are asked for"
            raise InputError(what, cure="make the parts again, with the largest cut-off (--ks)")
        return products.ranked
    if isinstance(known, Reading) and known.pairing is pairing and known.depth >= depth:
        return known
    products.ranked = read = read_products(products, pairing, depth)
    return read


def read_products(
    products: Products, pairing: NDArray[np.int64], depth: int, captions: NDArray[np.int64] | None = None
) -> Reading:
    """Read a similarity, or some of its captions.

    Args:
        products: ``[images, captions]``.
        pairing: ``[captions]`` image of each caption.
        depth: How many items of each ranking are kept.
        captions: Indices of the captions to read, ascending; None for all.
    """
    if products.device is not None:
        from fivesentences.metrics.on_device import read_on_device  # which imports torch

        return read_on_device(products, pairing, depth, captions)
    n_images, n_captions = products.shape
    own, every = np.empty(n_captions, dtype=products.dtype), np.arange(n_captions)
    for block in products.blocks_of(pairing, every):
        of_block = every[block.captions]
        inside = of_block[(pairing[of_block] >= block.images.start) & (pairing[of_block] < block.images.stop)]
        own[inside] = block.scores[pairing[inside] - block.images.start, inside - block.captions.start]
    best, target, own_equal = best_own(own, pairing)
    some = every if captions is None else captions
    read = products if captions is None else products[:, captions]
    found = Reading(
        pairing,
        depth,
        {
            "i2t": Best(n_images, min(depth, n_captions), products.dtype),
            "t2i": Best(len(some), min(depth, n_images), products.dtype),
        },
        {"i2t": Places.of(best, target), "t2i": Places.of(own[some], pairing[some])},
        {"i2t": own_equal, "t2i": np.ones(len(some), dtype=np.int64)},
        captions,
    )

    def of_image_queries(block: Block) -> None:
        items = some[block.captions]
        found.best["i2t"].offer(block.images, block.scores, items)
        found.places["i2t"].offer(block.images, block.scores, items)

    def of_caption_queries(block: Block) -> None:
        items = np.arange(block.images.start, block.images.stop)
        found.best["t2i"].offer(block.captions, block.scores, items, axis=1)
        found.places["t2i"].offer(block.captions, block.scores, items, axis=1)

    what = f"rank {n_images:,} images and {len(some):,} captions"
    with (
        ThreadPoolExecutor(min(2, threads())) as pool,  # numpy releases the interpreter lock
        Bar(what, read.n_blocks, delay=SECONDS_WITHOUT_BAR) as bar,
    ):
        for block in read.blocks():
            for done in [pool.submit(work, block) for work in (of_image_queries, of_caption_queries)]:
                done.result()
            bar.advance()
    for one in found.best.values():
        one.finish()
    return found


def best_own(own: NDArray, pairing: NDArray[np.int64]) -> tuple[NDArray, NDArray[np.int64], NDArray[np.int64]]:
    """Find the best own captions of every image.

    Args:
        own: ``[captions]`` score of each caption with its own image.
        pairing: ``[captions]`` image of each caption.

    Returns:
        ``[images]`` the best score, the first own caption that has it, and how many own captions have it.
    """
    of = References(pairing)
    by_image = own[of.by_image]
    best = np.maximum.reduceat(by_image, of.first)
    is_best = by_image == np.repeat(best, of.count)
    target = np.minimum.reduceat(np.where(is_best, of.by_image, len(own)), of.first)
    return best, target, np.add.reduceat(is_best.astype(np.int64), of.first)
