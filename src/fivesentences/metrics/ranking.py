"""Rankings of a gallery for every query, in blocks, with one rule for ties: the lower index first.

Queries are images and the gallery captions (``"i2t"``), or the other way round (``"t2i"``). Only as many items as a
metric reads are sorted; ranks of ground-truth items are counted without sorting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.stable_order import stable_order
from fivesentences.retrieval.matrices import Direction, NotFinite, refuse_repeats
from fivesentences.semantics.scoring import threads
from fivesentences.semantics.validation import checked_pairing

DIRECTIONS: tuple[Direction, Direction] = ("i2t", "t2i")
UNNAMED = "phi"  # name of a phi that is given without one
TIE_RULE = "equal scores are ordered by index, lower first"
ELEMENTS_PER_BLOCK = 2_000_000
QUERIES_PER_BLOCK = 64  # at least: with fewer, reading columns of a row-major file touches every page too often


# --- what is given ------------------------------------------------------------------------------------------


def checked_choice(name: str, value: str | None, choices: Sequence[str | None]) -> None:
    """Refuse a ``value`` of the argument ``name`` that is not among ``choices``.

    Raises:
        InputError: If it is not.
    """
    if value not in choices:
        raise InputError(f"{name} is {value!r}; expected {' or '.join(map(repr, choices))}.")


def checked_cutoffs(ks: Sequence[int], name: str = "ks") -> tuple[int, ...]:
    """Cut-offs as a tuple of ints.

    Raises:
        InputError: If there is none, or one is not a whole number of at least 1.
    """
    if isinstance(ks, str | bytes) or not isinstance(ks, Sequence | np.ndarray) or not len(ks):
        raise InputError(f"{name} is {ks!r}; give a list of cut-offs such as (1, 5, 10).")
    for k in ks:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise InputError(f"{name} holds {k!r}; a cut-off is a whole number of at least 1.")
    return tuple(int(k) for k in ks)


def as_array(values: Any) -> NDArray:
    """A numpy array of what was given; a torch tensor is taken off its graph and its device, and torch is not needed.

    A tensor on the CPU shares its memory with the array; bfloat16, which numpy lacks, becomes float32.
    """
    if not isinstance(values, np.ndarray) and hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()
        values = values.numpy()
    return np.asarray(values)


def _matrix(values: ArrayLike, name: str) -> NDArray:
    matrix = as_array(values)
    if matrix.ndim != 2 or matrix.size == 0 or matrix.dtype.kind not in "fiub":
        raise InputError(
            f"{name} is {matrix.dtype} of shape {list(matrix.shape)}; a matrix of real numbers is expected."
        )
    return matrix


def checked_similarity(similarity: ArrayLike, image_of_caption: ArrayLike | None) -> tuple[NDArray, NDArray[np.int64]]:
    """The similarity matrix and whose caption each of its columns is.

    Args:
        similarity: ``[images, captions]``, any real dtype.
        image_of_caption: ``[captions]`` image index; default equal, image-major blocks.

    Raises:
        InputError: If the shapes disagree, the matrix looks transposed, or it repeats each image as often as that has
            captions.
    """
    matrix = _matrix(similarity, "similarity")
    n_images, n_captions = matrix.shape
    if n_images == n_captions:  # only then can each image stand there once for each of its captions
        refuse_repeats(matrix, "similarity")
    shape = list(matrix.shape)
    if image_of_caption is None:
        if n_images > n_captions:  # every image has a caption
            raise InputError(
                f"similarity is {shape} and looks transposed: rows are images and columns captions; pass similarity.T."
            )
        if n_captions % n_images:
            raise InputError(
                f"similarity is {shape}: {n_captions} captions are not equal blocks for {n_images} images; "
                "pass image_of_caption, the image index of each caption."
            )
        return matrix, np.repeat(np.arange(n_images), n_captions // n_images)
    given = np.asarray(image_of_caption)
    if given.shape == (n_images,) and n_images != n_captions and given.size and int(given.max()) + 1 == n_captions:
        raise InputError(
            f"similarity is {shape} but image_of_caption names {n_captions} images and {n_images} captions: "
            "similarity looks transposed; pass similarity.T."
        )
    return matrix, checked_pairing(given, n_captions, n_images)


def checked_phi(
    phi: ArrayLike, n_images: int, n_captions: int, more_rows: bool = False, name: str = UNNAMED
) -> NDArray:
    """The phi matrix, if it fits a similarity of that many images and captions.

    Args:
        phi: ``[captions, images]``.
        n_images: Images of the similarity.
        n_captions: Captions of the similarity.
        more_rows: Whether phi may have further captions below those of the similarity.
        name: What phi is called.

    Raises:
        InputError: If it does not fit, or looks transposed.
    """
    called = words_of_phi(name)
    matrix = _matrix(phi, called)
    rows, columns = matrix.shape
    if columns == n_images and (rows == n_captions or (more_rows and rows > n_captions)):
        return matrix
    fit = f"{called} is [{rows}, {columns}] but similarity has {n_images} images and {n_captions} captions"
    if (rows, columns) == (n_images, n_captions):
        raise InputError(f"{fit}: phi looks transposed, its rows are captions and its columns images; transpose it.")
    if columns == n_images and rows > n_captions:
        raise InputError(
            f"{fit}: to score a part of what phi covers keep its first {n_captions} rows, or choose the ideal pool "
            "'given_rows' if the ideal of NCS is to be taken over all rows."
        )
    raise InputError(f"{fit}: the caption file differs from the one phi was made of.")


def words_of_phi(name: str) -> str:
    """What to call a phi in a sentence: its name, after "phi" if it has one of its own."""
    return name if name == UNNAMED else f"{UNNAMED} {name}"


# --- blocks and order ---------------------------------------------------------------------------------------


def parts_of_queries(n_queries: int, n_gallery: int) -> list[slice]:
    """Consecutive queries, in parts whose scores make one block."""
    step = max(QUERIES_PER_BLOCK, ELEMENTS_PER_BLOCK // n_gallery)
    return [slice(start, min(n_queries, start + step)) for start in range(0, n_queries, step)]


def block_of_queries(matrix: NDArray, direction: Direction, name: str, part: slice) -> NDArray[np.floating]:
    """Scores ``[queries of the part, gallery]``, checked to be finite; arguments as in ``blocks_of_queries``.

    Raises:
        NotFinite: If a value is NaN or infinite.
    """
    block = matrix[part] if direction == "i2t" else matrix[:, part].T
    # Half precision is slow to sort and integers cannot be negated; both conversions keep order and ties.
    kind = np.float32 if block.dtype == np.float16 else block.dtype
    kind = np.dtype(np.float64) if block.dtype.kind in "iub" else kind
    block = np.ascontiguousarray(block, dtype=kind)
    finite = np.isfinite(block)
    if not finite.all():
        query, item = (int(index[0]) for index in np.nonzero(~finite))
        image, caption = (part.start + query, item) if direction == "i2t" else (item, part.start + query)
        raise NotFinite(name, image, caption, float(block[query, item]))
    return block


def blocks_of_queries(matrix: NDArray, direction: Direction, name: str) -> Iterator[tuple[slice, NDArray]]:
    """Consecutive queries and their scores ``[queries of the block, gallery]``, checked to be finite.

    Args:
        matrix: ``[images, captions]``.
        direction: Whether rows (``"i2t"``) or columns (``"t2i"``) are queries.
        name: What to call the matrix where a value is not finite; "phi ..." is located in its own orientation.

    Raises:
        NotFinite: If a value is NaN or infinite.
    """
    for part in parts_of_queries(*(matrix.shape if direction == "i2t" else matrix.shape[::-1])):
        yield part, block_of_queries(matrix, direction, name, part)


def in_threads(work: Callable[[slice], None], parts: Sequence[slice]) -> None:
    """Call ``work`` with every part, some at a time: numpy releases the interpreter lock where it spends the time.

    Raises:
        Exception: What the first part that failed raised.
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


def whole_order(scores: NDArray) -> NDArray[np.int64]:
    """Indices of all scores of each row, largest first, equal ones by index.

    Args:
        scores: ``[rows, items]``; minus infinity is allowed, NaN is not.

    Returns:
        ``[rows, items]``.
    """
    if scores.dtype in (np.float32, np.float64):
        return stable_order(scores)
    return np.argsort(-scores, axis=1, kind="stable")


def positions_of(order: NDArray[np.int64]) -> NDArray[np.int32]:
    """``[rows, items]`` place of every item in its row's ``order``, 0 is best."""
    positions = np.empty(order.shape, dtype=np.int32)
    places = np.arange(order.shape[1], dtype=np.int32)
    for row, items in zip(positions, order, strict=True):
        row[items] = places
    return positions


@dataclass(frozen=True)
class QueryBlock:
    """Some queries' scores and complete rankings, made when first asked for.

    Attributes:
        direction: Which side the queries are.
        part: Which queries.
        scores: ``[queries of the part, gallery]``.
    """

    direction: Direction
    part: slice
    scores: NDArray

    @property
    def queries(self) -> NDArray[np.int64]:
        """``[queries of the part]`` their indices."""
        return np.arange(self.part.start, self.part.stop)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """``[queries of the part, gallery]`` items, best first, equal ones by index."""
        return whole_order(self.scores)

    @cached_property
    def positions(self) -> NDArray[np.int32]:
        """``[queries of the part, gallery]`` place of every item, 0 is best."""
        return positions_of(self.order)


def best_first(scores: NDArray, depth: int) -> NDArray[np.int64]:
    """Indices of the ``depth`` largest scores of each row, largest first, equal ones by index.

    Args:
        scores: ``[rows, items]``; minus infinity is allowed.
        depth: How many; all items if there are fewer.

    Returns:
        ``[rows, min(depth, items)]``.
    """
    n_rows, n_items = scores.shape
    if 4 * depth >= n_items:
        return whole_order(scores)[:, :depth]
    # Selection in numpy slows down twentyfold where most scores are equal, as in a phi of many zeros, so it only
    # sees maxima of groups: at least `depth` scores reach the depth-th largest of these.
    n_groups = min(n_items, max(64, 4 * depth))
    whole = n_items // n_groups * n_groups
    maxima = scores[:, :whole].reshape(n_rows, -1, n_groups).max(axis=1)
    np.maximum(maxima[:, : n_items - whole], scores[:, whole:], out=maxima[:, : n_items - whole])
    bound = np.partition(maxima, n_groups - depth, axis=1)[:, n_groups - depth, None]
    candidate = scores >= bound
    often = np.count_nonzero(candidate, axis=1)
    crowded = np.flatnonzero(often > 2 * depth)
    if len(crowded):  # mostly scores equal to the bound: of these only those of lowest index
        above, equal = scores[crowded] > bound[crowded], candidate[crowded]
        equal ^= above
        missing = depth - np.count_nonzero(above, axis=1)
        early = np.cumsum(equal, axis=1, dtype=np.int32) <= missing[:, None]
        candidate[crowded] = above | (equal & early)
        often[crowded] = np.count_nonzero(candidate[crowded], axis=1)
    row, item = np.divmod(np.flatnonzero(candidate), n_items)
    # The candidates of a row, by index, and then minus infinity: a stable sort leaves what is no item at the end.
    place = np.arange(len(row)) - np.repeat(np.cumsum(often) - often, often)
    values = np.full((n_rows, int(often.max())), -np.inf, dtype=scores.dtype)
    items = np.zeros(values.shape, dtype=np.int64)
    values[row, place], items[row, place] = scores[row, item], item
    in_order = np.argsort(-values, axis=1, kind="stable")[:, :depth]
    return np.take_along_axis(items, in_order, axis=1)


@dataclass(frozen=True)
class Ranking:
    """The beginning of every query's ranking.

    Attributes:
        direction: Which side the queries are.
        items: ``[queries, depth]`` gallery indices, best first.
        own: ``[queries, depth]`` whether the item is ground truth of the query.
        n_own: ``[queries]`` ground-truth items of each query in the gallery.
        n_gallery: Items of the gallery.
        ground_truth_rank: ``[queries]`` position, 0 is best, of the best-placed ground-truth item; empty if not
            asked for.
    """

    direction: Direction
    items: NDArray[np.int64]
    own: NDArray[np.bool_]
    n_own: NDArray[np.int64]
    n_gallery: int
    ground_truth_rank: NDArray[np.int64]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.items)

    def first(self, k: int, keep_ground_truth: bool = True) -> NDArray[np.int64]:
        """The first ``k`` items, with the query's own items or after taking them out.

        Returns:
            ``[queries, at most k]``; -1 where a query has fewer.
        """
        if keep_ground_truth:
            return self.items[:, :k]
        others_first = np.argsort(self.own, axis=1, kind="stable")[:, :k]
        items = np.take_along_axis(self.items, others_first, axis=1)
        return np.where(np.take_along_axis(self.own, others_first, axis=1), -1, items)


def depth_needed(k: int, pairing: NDArray[np.int64], direction: Direction) -> int:
    """Items to rank so that ``k`` are left after taking out the ground truth."""
    return k + (int(np.bincount(pairing).max()) if direction == "i2t" else 1)


def rank(
    matrix: NDArray,
    pairing: NDArray[np.int64],
    direction: Direction,
    depth: int,
    name: str = "similarity",
    find_ground_truth: bool = True,
    visit: Callable[[QueryBlock], None] | None = None,
) -> Ranking:
    """Rank the gallery for every query, some blocks of queries at a time, each in its own thread.

    Args:
        matrix: ``[images, captions]`` scores; there may be more captions than ``pairing`` names, which are nobody's.
        pairing: ``[captions]`` image of each caption.
        direction: Which side the queries are.
        depth: How many items of each ranking are kept.
        name: What to call the matrix in an error.
        find_ground_truth: Whether to find the rank of the ground truth.
        visit: Called with every block of queries, for what reads more than the beginning of the rankings; from
            several threads, each block once.

    Raises:
        InputError: If a value is not finite.
    """
    n_queries, n_gallery = matrix.shape if direction == "i2t" else (len(pairing), matrix.shape[0])
    depth = min(depth, n_gallery)
    captions_by_image = np.argsort(pairing, kind="stable")
    captions_of_image = np.bincount(pairing, minlength=matrix.shape[0])
    first_of_image = np.cumsum(captions_of_image) - captions_of_image
    # Captions that are nobody's match no query.
    owner = np.full(matrix.shape[1], -1)
    owner[: len(pairing)] = pairing
    items = np.empty((n_queries, depth), dtype=np.int64)
    own = np.empty((n_queries, depth), dtype=bool)
    ranks = np.empty(n_queries if find_ground_truth else 0, dtype=np.int64)
    of_queries = matrix[:, : len(pairing)] if direction == "t2i" else matrix

    def work(part: slice) -> None:
        scores = block_of_queries(of_queries, direction, name, part)
        block = QueryBlock(direction, part, scores)
        if visit is not None:
            visit(block)
        # What a visitor has sorted is not sorted again.
        items[part] = block.order[:, :depth] if "order" in block.__dict__ else best_first(scores, depth)
        queries = block.queries
        if direction == "i2t":
            own[part] = owner[items[part]] == queries[:, None]
        else:
            own[part] = items[part] == pairing[queries][:, None]
        if not find_ground_truth:
            return
        if direction == "i2t":
            begin = first_of_image[queries]
            captions = captions_by_image[begin[0] : begin[-1] + captions_of_image[queries[-1]]]
            own_scores = scores[pairing[captions] - part.start, captions]
            best = np.maximum.reduceat(own_scores, begin - begin[0])
            is_best = own_scores == np.repeat(best, captions_of_image[queries])
            target = np.minimum.reduceat(np.where(is_best, captions, n_gallery), begin - begin[0])
        else:
            target = pairing[queries]
            best = scores[np.arange(len(queries)), target]
        ranks[part] = _positions(scores, best, target)

    in_threads(work, parts_of_queries(n_queries, n_gallery))
    n_own = captions_of_image if direction == "i2t" else np.ones(n_queries, dtype=np.int64)
    return Ranking(direction, items, own, n_own, n_gallery, ranks)


def _positions(scores: NDArray, best: NDArray, target: NDArray[np.int64]) -> NDArray[np.int64]:
    """``[rows]`` position in its row's order of the item ``target``, whose score is ``best``."""
    before: NDArray[np.int64] = np.count_nonzero(scores > best[:, None], axis=1)
    equal = scores == best[:, None]
    for row in np.flatnonzero(np.count_nonzero(equal, axis=1) > 1):
        before[row] += np.count_nonzero(equal[row, : target[row]])
    return before


# --- from queries to a number -------------------------------------------------------------------------------


def mean_over_queries(
    values: NDArray[np.float64], is_empty: NDArray[np.bool_], empty: str, per_query: bool, direction: Direction
) -> float | NDArray[np.float64]:
    """Percent from a fraction per query, after the policy for queries that have nothing to find.

    Args:
        values: ``[queries]`` fractions.
        is_empty: ``[queries]`` queries without relevant items, or whose ideal sum is zero.
        empty: ``"zero"`` counts them 0, ``"skip"`` leaves them out (NaN per query), ``"error"`` refuses.
        per_query: Whether to return one value a query.
        direction: For the error's words.

    Raises:
        InputError: If there is an empty query and ``empty`` is ``"error"``, or every query would be left out.
    """
    checked_choice("empty", empty, ("zero", "skip", "error"))
    if is_empty.any():
        first = int(np.flatnonzero(is_empty)[0])
        query = f"{'image' if direction == 'i2t' else 'caption'} {first}"
        if empty == "error":
            raise InputError(
                f"{int(is_empty.sum())} of {len(is_empty)} queries have no relevant item or an ideal of zero, the "
                f"first is {query}; pass empty='zero' to count them 0 or empty='skip' to leave them out."
            )
        if empty == "skip" and is_empty.all():
            raise InputError("no query has a relevant item, so empty='skip' leaves none; check phi.")
        values = np.where(is_empty, np.nan if empty == "skip" else 0.0, values)
    if per_query:
        return np.asarray(100.0 * values)
    return float(100.0 * np.nanmean(values))
