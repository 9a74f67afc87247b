"""Average Semantic Precision: does the model order the whole gallery as phi does?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import new_array
from fivesentences.errors import InputError
from fivesentences.metrics.chance import harmonic_numbers
from fivesentences.metrics.ranking import QueryBlock, block_of_queries, blocks_of_queries, parts, read_rankings
from fivesentences.metrics.values import percent
from fivesentences.retrieval.arguments import Direction, checked_choice, checked_direction
from fivesentences.retrieval.blocks import whole_order
from fivesentences.retrieval.gallery import UNNAMED, Similarity, as_array, checked_phi, checked_similarity

#: What ranks equal scores have in ``asp``.
ASP_TIES = ("index", "average")

KEPT_ELEMENTS = 2**28  # of a phi whose ranks are kept: half a gigabyte a direction

#: ``[queries, items]`` twice the rank of each item by phi, 0 where it is not known yet; by name of phi, rule for ties
#: and direction.
KeptRanks = dict[tuple[str, str, Direction], NDArray[np.uint16]]


class AspReader:
    """ASP of every query, filled block by block as ``read_rankings`` (or ``rank``) shows them.

    Args:
        phis: ``[captions, images]`` by name, checked.
        direction: Which side the queries are.
        ties: Rules for ties, of ``ASP_TIES``.
        kept: Where ranks by phi are kept for the next similarity, filled here; None to compute them without keeping.

    Attributes:
        values: For each name and rule ``[queries]`` fractions.
    """

    def __init__(
        self, phis: Mapping[str, NDArray], direction: Direction, ties: Sequence[str], kept: KeptRanks | None = None
    ):
        self.phis, self.direction, self.ties, self.kept = phis, direction, tuple(ties), {} if kept is None else kept
        self.values: dict[tuple[str, str], NDArray[np.float64]] = {}
        for rule, (name, phi) in itertools.product(self.ties, phis.items()):
            n_queries, n_items = phi.shape[::-1] if direction == "i2t" else phi.shape
            self.values[name, rule] = np.full(n_queries, np.nan)
            if kept is not None and 2 * n_items < 2**16 and phi.size <= KEPT_ELEMENTS:
                kept.setdefault((name, rule, direction), np.zeros((n_queries, n_items), dtype=np.uint16))

    def __call__(self, block: QueryBlock) -> None:
        """Read one block."""
        by_index = _doubled_by_index(block.scores.shape[1])
        for name, phi in self.phis.items():
            kept = {
                rule: self.kept[name, rule, self.direction][block.part]
                for rule in self.ties
                if (name, rule, self.direction) in self.kept
            }
            known = bool(kept) and all(ranks[:, 0].all() for ranks in kept.values())  # 0 is no rank
            of_phi = None if known else block_of_queries(phi.T, self.direction, block.part)
            for rows in parts(block.scores):
                order = block.order[rows]
                phi_order = None if of_phi is None else whole_order(of_phi[rows])
                for rule in self.ties:
                    by_phi = kept[rule][rows] if kept else np.empty(order.shape, dtype=by_index.dtype)
                    if of_phi is not None and phi_order is not None:
                        in_order = _doubled_in_order(of_phi[rows], phi_order, rule, by_index)
                        for row, ranks in enumerate(by_phi):  # numpy is fastest with one index for one axis
                            ranks[phi_order[row]] = in_order[row]
                    by_model = _doubled_in_order(block.scores[rows], order, rule, by_index)
                    other = np.empty(order.shape, dtype=by_index.dtype)
                    for row, ranks in enumerate(by_phi):
                        ranks.take(order[row], out=other[row], mode="clip")
                    lower, higher = np.minimum(by_model, other), np.maximum(by_model, other)
                    found = np.divide(lower, higher, dtype=np.float64).mean(axis=1)
                    self.values[name, rule][block.part.start + rows.start : block.part.start + rows.stop] = found


def asp_by_chance(phi: NDArray, direction: Direction, ties: str) -> NDArray[np.float64]:
    """Return ``[queries]`` the expected ASP of a random ranking without ties.

    An item of rank r by phi has any rank s of n with the same probability. Over all r and s the mean of
    min(r, s) / max(r, s) is (n + 1) / (2 n), whatever phi is; where equal phi share a rank, the mean is over theirs.

    Args:
        phi: ``[captions, images]``, checked.
        direction: Which side the queries are.
        ties: Rule for equal phi, of ``ASP_TIES``.
    """
    n_items, n_queries = phi.shape if direction == "i2t" else phi.shape[::-1]
    if ties == "index":
        return np.full(n_queries, (n_items + 1) / (2 * n_items))
    harmonic = harmonic_numbers(n_items)
    doubled = np.arange(1, 2 * n_items + 1)  # twice a rank, which may be a half
    below = doubled // 2
    of_rank = (below * (below + 1) / doubled + doubled / 2 * (harmonic[-1] - harmonic[below])) / n_items
    expected = np.empty(n_queries)
    for part, of_phi in blocks_of_queries(phi.T, direction):
        ranks = _doubled_in_order(of_phi, whole_order(of_phi), ties, _doubled_by_index(n_items))
        expected[part] = of_rank[ranks.astype(np.int64) - 1].mean(axis=1)
    return expected


def _doubled_by_index(n_items: int) -> NDArray[np.integer]:
    """Return twice the ranks 1 to ``n_items``."""
    return np.arange(2, 2 * n_items + 2, 2, dtype=np.uint16 if 2 * n_items < 2**16 else np.int32)


def _doubled_in_order(
    scores: NDArray, order: NDArray[np.int64], ties: str, by_index: NDArray[np.integer]
) -> NDArray[np.integer]:
    """Return twice the rank of each item in order; doubled, an average rank is a whole number."""
    n_rows, n_items = order.shape
    if ties == "index":
        return np.broadcast_to(by_index, order.shape)
    in_order = np.take_along_axis(scores, order, axis=1)
    new = np.ones(order.shape, dtype=bool)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=new[:, 1:])
    start = np.flatnonzero(new)
    if len(start) == order.size:
        return np.broadcast_to(by_index, order.shape)
    often = np.diff(start, append=order.size)
    # A run of equal scores from place s on (from 0) has the ranks s + 1 to s + often.
    return np.repeat((2 * (start % n_items) + often + 1).astype(by_index.dtype), often).reshape(n_rows, n_items)


def asp(similarity: Similarity, phi: ArrayLike, direction: str = "i2t", ties: str = "index") -> float:
    """Compute Average Semantic Precision (Li et al. 2022, DAA, eq. 1), mean over queries.

    Of one query: the mean over all items of the gallery of min(Rc, Rs) / max(Rc, Rs), where Rc is the item's rank by
    phi and Rs its rank by similarity, both from 1. 100 if both order the gallery alike. The query's own items take
    part like all others.

    The released phi is ``tfidf_matrix``, which its authors call CIDEr; the paper names CIDEr, BLEU and ROUGE. ASP(A)
    is the ASP of ``mean_phi`` of the three. The released code leaves ties to an unstable sort, so where phi has many
    equal values (zeros) it is reproducible up to the rule: released values differ by 0.2 to 1.5 points from
    ``"index"`` on heavily tied matrices, and up to 6 points from ``"average"``.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite. Or a ``Gallery``.
        phi: ``[captions, images]``, any real dtype, finite.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions.
        ties: Ranks of equal scores, in both rankings: ``"index"``, distinct ranks with the lower index first (as for
            the other metrics, and closest to the release); ``"average"``, each the mean of the ranks they share, which
            does not depend on any order but is much higher where most of phi is zero.

    Returns:
        Percent in (0, 100].

    Raises:
        InputError: If shapes disagree, a value is not finite, or an argument is unknown.
    """
    checked_choice("ties", ties, ASP_TIES)
    side = checked_direction(direction)
    matrix = checked_similarity(similarity)
    reader = AspReader({UNNAMED: checked_phi(phi, matrix.shape, gains=False)}, side, (ties,))
    read_rankings(matrix, side, reader)
    return percent(reader.values[UNNAMED, ties])


def mean_phi(phis: Sequence[ArrayLike], out: NDArray[np.floating] | None = None) -> NDArray[np.floating]:
    """Return the mean of several phi matrices, cell by cell and without scaling, as released for ASP(A).

    A phi with a larger range has more weight: CIDEr reaches 10, BLEU and ROUGE 1.

    Args:
        phis: Each ``[captions, images]``, any real dtype.
        out: ``[captions, images]`` to write into, such as a memory map; default a new array, float32 if no phi has
            more than 32 bits, else float64. Sums are computed in float64.

    Returns:
        ``[captions, images]``.

    Raises:
        InputError: If there is none, or shapes disagree.
    """
    matrices = [as_array(phi) for phi in phis]
    if not matrices:
        raise InputError("there is no phi to average; give at least one matrix.")
    shape = matrices[0].shape
    for number, matrix in enumerate(matrices):
        if matrix.shape != shape or matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            what = f"phi {number} is {matrix.dtype} {list(matrix.shape)} but phi 0 is {list(shape)}"
            raise InputError(f"{what}; only matrices of one shape have a mean.")
    if out is None:
        small = all(matrix.dtype.kind == "f" and matrix.dtype.itemsize <= 4 for matrix in matrices)
        out = new_array(shape, np.float32 if small else np.float64, "the mean of phi")
    elif out.shape != shape:
        raise InputError(f"out is {list(out.shape)} but phi is {list(shape)}.")
    for rows in parts(matrices[0]):
        total = np.zeros((rows.stop - rows.start, shape[1]))
        for matrix in matrices:
            total += matrix[rows]
        out[rows] = total / len(matrices)
    return out
