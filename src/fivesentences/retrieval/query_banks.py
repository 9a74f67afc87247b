"""QB-Norm and dual banks: hubs are found by queries of the training set, so that each test query is answered alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.choices import Direction
from fivesentences.errors import Argument, InputError
from fivesentences.retrieval.arguments import checked_count, checked_direction
from fivesentences.retrieval.blocks import Output, best_first, blocks_of_rows, filled
from fivesentences.retrieval.gallery import Similarity, checked_matrix, checked_similarity, name_of, refuse_not_finite

BETA = 20.0  # as released with QB-Norm, for cosines
GALLERY_BETA = 3.0  # as released with dual banks
TAKEN = 1  # items of each query of a bank that count as retrieved


@dataclass(frozen=True, eq=False)
class Bank:
    """Similarities of a bank with the items of a gallery, as far as re-scoring reads them.

    Attributes:
        log_sums: ``[items]`` logarithm of the sum over the bank of exp(beta times similarity): large for a hub.
        retrieved: ``[items]`` True for an item that is among the k most similar ones of a member of the bank.
        beta: Inverse temperature of the sums.
        k: Number of items of each member that count as retrieved.
    """

    log_sums: NDArray[np.float64]
    retrieved: NDArray[np.bool_]
    beta: float = BETA
    k: int = TAKEN

    @classmethod
    def of(cls, similarity: ArrayLike, beta: float = BETA, k: int = TAKEN, name: str = "bank") -> Self:
        """Read a bank once, some rows at a time.

        Args:
            similarity: ``[bank, items]``: a row for each member of the bank, a column for each item of the gallery.
            beta: Inverse temperature, above 0.
            k: Number of items of each member that count as retrieved; equal ones by index.
            name: Name of the similarity in errors.

        Raises:
            InputError: If it is not a matrix of finite real numbers, or a setting is out of range.
        """
        matrix, beta, k = checked_matrix(similarity, name), _checked_beta("beta", beta), checked_count("k", k)
        refuse_not_finite(matrix, name, "row {0}, column {1}, from 0", "compute the similarities of the bank again")
        largest = np.full(matrix.shape[1], -np.inf)
        retrieved = np.zeros(matrix.shape[1], dtype=bool)
        for _, block in blocks_of_rows(matrix):
            np.maximum(largest, block.max(axis=0), out=largest)
            retrieved[best_first(block, min(k, matrix.shape[1]))] = True
        total = np.zeros_like(largest)
        for _, block in blocks_of_rows(matrix):
            block -= largest
            block *= beta
            total += np.exp(block, out=block).sum(axis=0)
        return cls(beta * largest + np.log(total), retrieved, beta, k)

    def part(self, items: Any) -> Self:
        """Return the bank for some items of the gallery: a slice or their indices."""
        return replace(self, log_sums=self.log_sums[items], retrieved=self.retrieved[items])


#: Of one direction, by the name of the argument: the bank of queries and, for dual banks, that of items.
BanksOfDirection = Mapping[str, Bank]


def qb_norm(
    similarity: Similarity,
    bank: ArrayLike | Bank,
    beta: float = BETA,
    k: int = TAKEN,
    direction: str = "i2t",
    out: Output = None,
) -> NDArray[np.floating]:
    """Re-score by QB-Norm with the dynamic inverted softmax (Bogolin et al., CVPR 2022, section 3).

    Not transductive: of the test set it reads the gallery and one query at a time. The inverted softmax of a query q
    and an item g is ``exp(beta S[q, g]) / sum over the bank's queries b of exp(beta S[b, g])``. It is used for those
    queries whose nearest item is retrieved by the bank, that is among the k nearest items of one of its queries; all
    others keep their own order. The result is its logarithm, and ``beta S`` of the others, so that scores compare
    within one query.

    Args:
        similarity: ``[images, captions]``, larger is more similar; any real dtype, finite; each image once. Or a
            ``Gallery``.
        bank: ``[bank, items]`` similarity of training queries with the items of this gallery: of training images with
            its captions for "i2t", of training captions with its images for "t2i". Or a ``Bank`` of the same settings.
        beta: Inverse temperature, above 0; 20 as released, for cosines.
        k: Number of items of each of the bank's queries that count as retrieved; 1 as released.
        direction: ``"i2t"`` queries with images, ``"t2i"`` with captions. The result serves this direction only.
        out: None, the path of a ``.npy`` file, or a floating array ``[images, captions]`` to fill.

    Returns:
        ``[images, captions]`` float32, float64 from float64 (or what ``out`` names), larger is more similar.

    Raises:
        InputError: If the bank is of another gallery or of other settings, a value is not finite, or a setting is out
            of range.
    """
    matrix, side = checked_similarity(similarity), checked_direction(direction)
    beta, k = _checked_beta("beta", beta), checked_count("k", k)
    of_queries = _checked_bank("bank", bank, beta, k, matrix.shape, side)

    def fill(result: NDArray) -> None:
        if side == "i2t":
            for part, block in blocks_of_rows(matrix):
                changed = of_queries.retrieved[block.argmax(axis=1)]
                block *= beta
                result[part] = block - changed[:, None] * of_queries.log_sums
            return
        best, nearest = np.full(matrix.shape[1], -np.inf), np.zeros(matrix.shape[1], dtype=np.int64)
        for part, block in blocks_of_rows(matrix):
            row = block.argmax(axis=0)
            value = block[row, np.arange(len(row))]
            nearest = np.where(value > best, part.start + row, nearest)  # of equal ones the first
            best = np.maximum(best, value)
        changed = of_queries.retrieved[nearest]
        for part, block in blocks_of_rows(matrix):
            block *= beta
            result[part] = block - of_queries.log_sums[part, None] * changed

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))


def dual_bank(
    similarity: Similarity,
    bank: ArrayLike | Bank,
    gallery_bank: ArrayLike | Bank,
    beta: float = BETA,
    gallery_beta: float = GALLERY_BETA,
    direction: str = "i2t",
    out: Output = None,
) -> NDArray[np.floating]:
    """Re-score by dual banks: DBNorm with the dual inverted softmax (Wang et al., EMNLP 2023).

    Not transductive, as ``qb_norm``. The score is the product of two inverted softmaxes, one over a bank of training
    queries, one over a bank of training items of the gallery's own kind:
    ``exp(beta S[q, g]) / sum over b of exp(beta S[b, g])`` and the same with ``gallery_beta`` and similarities of
    images with images, or of captions with captions. The result is its logarithm.

    Args:
        similarity: ``[images, captions]``, as in ``qb_norm``.
        bank: ``[bank, items]``, as in ``qb_norm``.
        gallery_bank: ``[bank, items]`` similarity of training items with those of this gallery: of captions with its
            captions for "i2t", of images with its images for "t2i". Or a ``Bank`` of the same settings.
        beta: Inverse temperature of the bank of queries, above 0; that of QB-Norm.
        gallery_beta: Inverse temperature of the bank of items, above 0; 3 as released.
        direction: As in ``qb_norm``.
        out: As in ``qb_norm``.

    Returns:
        ``[images, captions]``, as ``qb_norm``.

    Raises:
        InputError: As in ``qb_norm``.
    """
    matrix, side = checked_similarity(similarity), checked_direction(direction)
    betas = _checked_beta("beta", beta), _checked_beta("gallery_beta", gallery_beta)
    of_queries = _checked_bank("bank", bank, betas[0], TAKEN, matrix.shape, side)
    of_items = _checked_bank("gallery_bank", gallery_bank, betas[1], TAKEN, matrix.shape, side)
    log_sums = of_queries.log_sums + of_items.log_sums

    def fill(result: NDArray) -> None:
        for part, block in blocks_of_rows(matrix):
            block *= sum(betas)
            block -= log_sums if side == "i2t" else log_sums[part, None]
            result[part] = block

    return filled(out, matrix.shape, fill, matrix, name_of(similarity))


def _checked_beta(name: str, beta: float) -> float:
    if isinstance(beta, bool) or not isinstance(beta, int | float | np.number) or not 0 < beta < math.inf:
        raise InputError(f"is {beta!r}; it must be a number above 0.", where=Argument(name))
    return float(beta)


def _checked_bank(
    name: str, bank: ArrayLike | Bank, beta: float, k: int, shape: tuple[int, ...], side: Direction
) -> Bank:
    found = bank if isinstance(bank, Bank) else Bank.of(bank, beta, k, name)
    kind, items = ("captions", shape[1]) if side == "i2t" else ("images", shape[0])
    if len(found.log_sums) != items:
        what = f"has {len(found.log_sums)} columns, but the gallery has {items} {kind}"
        raise InputError(what, where=Argument(name), cure=f"give one column for each of these {kind}")
    if (found.beta, found.k) != (beta, k):
        what = f"was read with beta = {found.beta:g} and k = {found.k}, but beta = {beta:g} and k = {k} are asked for"
        raise InputError(what, where=Argument(name), cure="read it with these settings")
    return found
