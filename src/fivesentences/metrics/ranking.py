"""Rankings of a gallery for every query, in blocks, with one rule for ties: the lower index first.

Queries are images and the gallery captions (``"i2t"``), or the other way round (``"t2i"``). Only as many items as a
metric reads are sorted; ranks of ground-truth items are counted without sorting. The matrices have been checked: see
``retrieval.gallery``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fivesentences.machine import threads
from fivesentences.metrics.in_blocks import ReadBefore, reading_of
from fivesentences.retrieval.arguments import Direction
from fivesentences.retrieval.blocks import best_first, transposed, whole_order
from fivesentences.retrieval.gallery import Gallery
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.products import Products
from fivesentences.semantics.references import References

#: How all rankings order equal scores; every table repeats it.
TIE_RULE = "equal scores are ordered by index, lower first"
ELEMENTS_PER_BLOCK = 2_000_000
ELEMENTS_AT_ONCE = 65_536  # what stays in the processor's cache
QUERIES_PER_BLOCK = 64  # at least: with fewer, reading columns of a row-major file touches every page too often


def parts(block: NDArray, elements: int | None = None) -> Iterator[slice]:
    """Yield consecutive rows of a block, few enough to hold no more than so many elements."""
    step = max(1, (elements or ELEMENTS_AT_ONCE) // max(1, block.shape[1]))
    for start in range(0, len(block), step):
        yield slice(start, min(len(block), start + step))


def parts_of_queries(n_queries: int, n_gallery: int) -> list[slice]:
    """Return consecutive queries, in parts whose scores form one block."""
    step = max(QUERIES_PER_BLOCK, ELEMENTS_PER_BLOCK // n_gallery)
    return [slice(start, min(n_queries, start + step)) for start in range(0, n_queries, step)]


def block_of_queries(matrix: NDArray, direction: Direction, part: slice) -> NDArray[np.floating]:
    """Return scores ``[queries of the part, gallery]``; arguments as in ``blocks_of_queries``."""
    # Half precision is slow to sort and integers cannot be negated; both conversions keep order and ties.
    kind = np.float32 if matrix.dtype == np.float16 else matrix.dtype
    kind = np.dtype(np.float64) if matrix.dtype.kind in "iub" else kind
    block = matrix[part] if direction == "i2t" else matrix[:, part].T
    in_order = abs(block.strides[0]) >= abs(block.strides[1])
    return np.ascontiguousarray(block, dtype=kind) if in_order else transposed(block.T, kind)


def blocks_of_queries(matrix: NDArray, direction: Direction) -> Iterator[tuple[slice, NDArray]]:
    """Yield consecutive queries and their scores ``[queries of the block, gallery]``.

    Args:
        matrix: ``[images, captions]``.
        direction: Whether rows (``"i2t"``) or columns (``"t2i"``) are queries.
    """
    for part in parts_of_queries(*(matrix.shape if direction == "i2t" else matrix.shape[::-1])):
        yield part, block_of_queries(matrix, direction, part)


def in_threads(work: Callable[[slice], None], parts: Sequence[slice]) -> None:
    """Call ``work`` with every part, several at a time: numpy releases the interpreter lock where it spends its time.

    Raises:
        Exception: The exception of the first part that failed.
    """
    if len(parts) == 1 or threads() == 1:
        for part in parts:
            work(part)
        return
    pool = ThreadPoolExecutor(threads())
    try:
        for done in [pool.submit(work, part) for part in parts]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class QueryBlock:
    """Some queries' scores and complete rankings, made when first asked for.

    Attributes:
        part: Which queries.
        scores: ``[queries of the part, gallery]``.
    """

    part: slice
    scores: NDArray

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """``[queries of the part, gallery]`` items, best first, equal ones by index."""
        return whole_order(self.scores)


@dataclass(frozen=True)
class Ranking:
    """The beginning of every query's ranking.

    Attributes:
        direction: Which side the queries are.
        items: ``[queries, depth]`` gallery indices, best first.
        own: ``[queries, depth]`` whether the item is ground truth of the query.
        n_own: ``[queries]`` ground-truth items of each query in the gallery.
        n_gallery: Items of the gallery.
        ground_truth_rank: ``[queries]`` position, 0 is best, of the best-placed ground-truth item; empty if it was
            not asked for.
        tied: ``[queries]`` items of others whose score equals that item's, so that only their order decides; empty
            with ``ground_truth_rank``.
        ahead: ``[queries]`` items whose score is higher.
    """

    direction: Direction
    items: NDArray[np.int64]
    own: NDArray[np.bool_]
    n_own: NDArray[np.int64]
    n_gallery: int
    ground_truth_rank: NDArray[np.int64]
    tied: NDArray[np.int64]
    ahead: NDArray[np.int64]

    def first(self, k: int, keep_ground_truth: bool = True) -> NDArray[np.int64]:
        """Return the first ``k`` items, with the query's own items or without them.

        Returns:
            ``[queries, at most k]``; -1 where a query has fewer.
        """
        if keep_ground_truth:
            return self.items[:, :k]
        others_first = np.argsort(self.own, axis=1, kind="stable")[:, :k]
        items = np.take_along_axis(self.items, others_first, axis=1)
        return np.where(np.take_along_axis(self.own, others_first, axis=1), -1, items)


def read_rankings(matrix: NDArray, direction: Direction, read: Callable[[QueryBlock], None]) -> None:
    """Show every block of queries to a reader, from several threads, each block once.

    Args:
        matrix: ``[images, captions]`` scores.
        direction: Which side the queries are.
        read: Called with each block.
    """

    def work(part: slice) -> None:
        read(QueryBlock(part, block_of_queries(matrix, direction, part)))

    in_threads(work, parts_of_queries(*(matrix.shape if direction == "i2t" else matrix.shape[::-1])))


def depth_needed(k: int, pairing: NDArray[np.int64], direction: Direction) -> int:
    """Return how many items to rank so that ``k`` are left without the ground truth."""
    return k + (int(np.bincount(pairing).max()) if direction == "i2t" else 1)


def ranking_of(gallery: Gallery, direction: Direction, depth: int) -> Ranking:
    """Return the beginning of every query's ranking by similarity.

    Args:
        gallery: Gallery to rank.
        direction: Which side the queries are.
        depth: How many items of each ranking are kept.
    """
    return rank(gallery.similarity, gallery.image_of_caption, direction, depth)


def rank(
    matrix: NDArray,
    pairing: NDArray[np.int64],
    direction: Direction,
    depth: int,
    find_ground_truth: bool = True,
    visit: Callable[[QueryBlock], None] | None = None,
) -> Ranking:
    """Rank the gallery for every query, several blocks of queries at a time, each in its own thread.

    Args:
        matrix: ``[images, captions]`` scores; captions beyond those of ``pairing`` belong to no image.
        pairing: ``[captions]`` image of each caption.
        direction: Which side the queries are.
        depth: How many items of each ranking are kept.
        find_ground_truth: Whether to find the rank of the ground truth.
        visit: Called with every block of queries, for metrics that read more than the beginning of the rankings; from
            several threads, each block once.
    """
    if isinstance(matrix, ItemLists):
        return _rank_of_lists(matrix, pairing, direction, depth)
    if isinstance(matrix, Products | ReadBefore):
        return _rank_in_blocks(matrix, pairing, direction, depth)
    n_queries, n_gallery = matrix.shape if direction == "i2t" else (len(pairing), matrix.shape[0])
    depth = min(depth, n_gallery)
    own_of = References(pairing)
    # Captions that belong to no image match no query.
    owner = np.full(matrix.shape[1], -1)
    owner[: len(pairing)] = pairing
    items = np.empty((n_queries, depth), dtype=np.int64)
    own = np.empty((n_queries, depth), dtype=bool)
    ranks, tied, ahead = (np.empty(n_queries if find_ground_truth else 0, dtype=np.int64) for _ in range(3))
    of_queries = matrix[:, : len(pairing)] if direction == "t2i" else matrix

    def work(part: slice) -> None:
        block = QueryBlock(part, block_of_queries(of_queries, direction, part))
        scores, queries = block.scores, np.arange(part.start, part.stop)
        if visit is not None:
            visit(block)
        # A block that a visitor has sorted is not sorted again.
        items[part] = block.order[:, :depth] if "order" in block.__dict__ else best_first(scores, depth)
        owners = (owner[items[part]], queries) if direction == "i2t" else (items[part], pairing[part])
        own[part] = owners[0] == owners[1][:, None]
        if not find_ground_truth:
            return
        if direction == "i2t":
            captions, begin = own_of.of_images(part), own_of.first[part] - own_of.first[part.start]
            own_scores = scores[pairing[captions] - part.start, captions]
            best = np.maximum.reduceat(own_scores, begin)
            is_best = own_scores == np.repeat(best, own_of.count[part])
            target = np.minimum.reduceat(np.where(is_best, captions, n_gallery), begin)
            own_equal = np.add.reduceat(is_best.astype(np.int64), begin)
        else:
            target, own_equal = pairing[part], np.ones(len(queries), dtype=np.int64)
            best = scores[np.arange(len(queries)), target]
        # The position of the item `target`, whose score is `best`, in its query's order.
        before = np.count_nonzero(scores > best[:, None], axis=1)
        equal = scores == best[:, None]
        n_equal = np.count_nonzero(equal, axis=1)
        ahead[part], tied[part] = before, n_equal - own_equal
        for row in np.flatnonzero(n_equal > 1):
            before[row] += np.count_nonzero(equal[row, : target[row]])
        ranks[part] = before

    in_threads(work, parts_of_queries(n_queries, n_gallery))
    n_own = own_of.count if direction == "i2t" else np.ones(n_queries, dtype=np.int64)
    return Ranking(direction, items, own, n_own, n_gallery, ranks, tied, ahead)


def own_of(
    items: NDArray[np.int64], pairing: NDArray[np.int64], direction: Direction
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return ``[queries, depth]`` which items are the query's own, and ``[queries]`` how many own ones there are."""
    if direction == "i2t":
        return pairing[items] == np.arange(len(items))[:, None], np.bincount(pairing)
    return items == pairing[:, None], np.ones(len(items), dtype=np.int64)


def _rank_in_blocks(
    products: Products | ReadBefore, pairing: NDArray[np.int64], direction: Direction, depth: int
) -> Ranking:
    """Rank the gallery of a similarity that is not held."""
    read = reading_of(products, pairing, depth)
    items, places = read.best[direction].items[:, :depth], read.places[direction]
    return Ranking(
        direction,
        items,
        *own_of(items, pairing, direction),
        products.shape[direction == "i2t"],
        places.ahead + places.earlier,
        places.equal - read.own_equal[direction],
        places.ahead,
    )


def _rank_of_lists(lists: ItemLists, pairing: NDArray[np.int64], direction: Direction, depth: int) -> Ranking:
    """Return what is known of rankings: an own item that is in no list counts as the item behind its end."""
    items, scores = lists.items[direction], lists.scores[direction]
    own, n_own = own_of(items, pairing, direction)
    found, first = np.asarray(own.any(axis=1)), own.argmax(axis=1)
    ranks = np.where(found, first, items.shape[1])
    alike = (scores == np.take_along_axis(scores, first[:, None], axis=1)) & ~own & found[:, None]
    ahead = ranks - np.count_nonzero(alike & (np.arange(items.shape[1]) < ranks[:, None]), axis=1)
    n_gallery = lists.shape[direction == "i2t"]
    given = items[:, :depth], own[:, :depth], n_own, n_gallery, ranks, np.count_nonzero(alike, axis=1), ahead
    return Ranking(direction, *given)
