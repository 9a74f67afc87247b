"""Inverted softmax: a score relative to the item's scores with all other queries."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import Argument, Cure, InputError
from fivesentences.retrieval.arguments import checked_direction
from fivesentences.retrieval.blocks import Output, blocks_of_rows, filled, largest_of_columns, largest_of_rows, range_of
from fivesentences.retrieval.gallery import Similarity, checked_similarity, name_of

LEAST_EXPONENT = 1e-6  # of beta times the range of the scores: float32 has steps of 1e-7 and results are about 1


def inverted_softmax(
    similarity: Similarity, beta: float = 30.0, direction: str = "i2t", include_self: bool = False, out: Output = None
) -> NDArray[np.floating]:
    """Compute the logarithm of the inverted softmax (kNN-margin eq. 5), which lowers the scores of hubs.

    Transductive: the scores of a query depend on all other queries of the test set, so a system could not answer them
    one by one; say so beside the numbers. From images to captions,
    ``log s'(i, t) = beta S[i, t] - log sum over other images i' of exp(beta S[i', t])``; from captions to images the
    sum runs over the other captions of row i. Computed in log space in float64: no beta overflows, and the sum over
    the others is exact also where the query itself outweighs them all.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``.
        beta: Inverse temperature, above 0; 30 in the paper, for cosines.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions. The result serves this direction only.
        include_self: Whether the query itself is in the sum, which gives log probabilities over the queries. If p is
            such a probability, the paper's form is p / (1 - p): every ranking and every recall is the same.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill (``similarity``
            itself is allowed).

    Returns:
        ``[images, captions]`` float32, float64 from float64 (or what ``out`` names), larger is more similar.

    Raises:
        InputError: If ``similarity`` is transposed, repeats its images or is not finite, beta is not above 0, results
            would be equal or infinite as float32, there is only one query and ``include_self`` is off, or ``out``
            does not fit.
    """
    side = checked_direction(direction)
    matrix = checked_similarity(similarity)
    if isinstance(beta, bool) or not isinstance(beta, int | float | np.number) or not 0 < beta < math.inf:
        raise InputError(f"is {beta!r}; it must be a number above 0 (30 in the paper).", where=Argument("beta"))
    if matrix.shape[0 if side == "i2t" else 1] == 1 and not include_self:
        raise InputError(
            "there is only one query, so inverted softmax has no other one to compare it with",
            cure=Cure("pass include_self=True or use the similarity as it is", "give --include-self"),
        )
    beta, span = float(beta), range_of(matrix)
    if span > 0 and beta * span < LEAST_EXPONENT:
        raise InputError(
            f"is {beta}, but the scores range over {span:.2g} only, and float32 would make most results equal; "
            f"it must be at least {LEAST_EXPONENT / span:.1g}, and 30 is usual for cosines.",
            where=Argument("beta"),
        )

    def fill(result: NDArray) -> None:
        if side == "i2t":
            first, second, rest = _column_sums(matrix, beta)
            sums = first[None], second[None], rest[None]
        for part, block in blocks_of_rows(matrix):
            if side == "t2i":
                first, second, rest = _row_sums(block, beta)
                sums = first[:, None], second[:, None], rest[:, None]
            result[part] = _log_scores(block, *sums, beta, include_self)

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))


# For every item: the largest of its scores with the queries, the second largest (equal to it in a tie), and the sum of
# exp(beta (score - second)) over all queries except the one with the largest. From these the sum over the other queries
# follows for every query without subtracting nearly equal numbers.


def _column_sums(matrix: NDArray, beta: float) -> tuple[NDArray, NDArray, NDArray]:
    two = min(2, len(matrix))
    first, second = np.empty((2, matrix.shape[1]))
    for part, top in largest_of_columns(matrix, two):
        first[part], second[part] = top[0], top[-1]
    if two == 1:
        return first, first, np.zeros_like(first)
    total = np.zeros(matrix.shape[1])
    for _, block in blocks_of_rows(matrix):
        total += _sum_up_to(block, second, beta, axis=0)
    return first, second, total - 1.0


def _row_sums(block: NDArray, beta: float) -> tuple[NDArray, NDArray, NDArray]:
    if block.shape[1] == 1:
        return block[:, 0], block[:, 0], np.zeros(len(block))
    first, second = largest_of_rows(block, 2)
    return first, second, _sum_up_to(block, second[:, None], beta, axis=1) - 1.0


def _sum_up_to(block: NDArray, second: NDArray, beta: float, axis: int) -> NDArray:
    """Return the sum of exp(beta (score - second)), in which the largest score counts like the second: as 1."""
    exponent = np.minimum(block, second)
    exponent -= second
    exponent *= beta
    total: NDArray = np.exp(exponent, out=exponent).sum(axis=axis)
    return total


def _log_scores(
    block: NDArray, first: NDArray, second: NDArray, rest: NDArray, beta: float, include_self: bool
) -> NDArray:
    lead = beta * (first - second)
    if include_self:
        everything = np.log1p(np.exp(-lead) * rest)
        block -= first
        block *= beta
        block -= everything
        return block
    is_first = block > second  # nowhere in a tie for first place, where the other form holds as well
    block -= second
    block *= beta
    others = np.exp(np.minimum(block, 0.0))
    np.subtract(rest, others, out=others)
    others *= np.exp(-lead)
    np.maximum(others, 0.0, out=others)
    others += 1.0
    np.log(others, out=others)
    others += lead
    with np.errstate(divide="ignore"):
        block -= np.where(is_first, np.log(rest), others)
    return block
