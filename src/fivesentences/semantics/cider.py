"""The exact CIDEr of every caption against every image, as a sparse matrix product.

CIDEr (Vedantam et al. 2015) as coco-caption computes it: tf-idf vectors of n-grams of 1 to 4 words, counts of the
candidate clipped at those of the reference, a Gaussian penalty on the difference in length, averaged over orders
and references, times 10. The clipped product ``min(h, r) * r`` of two counts equals the sum over levels
``t = 1, 2, ...`` of ``[h >= t] * [r >= t] * r``; with one column per (n-gram, level) the whole score is a matrix
product. The penalty depends on two lengths only, so the references of an image are folded into one row for each
length a candidate can have.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.ngrams import count_ngrams, tokenise
from fivesentences.semantics.pairing import checked_captions, checked_pairing
from fivesentences.storage import replacing

LONGEST = 4  # words in the longest n-gram
SIGMA = 6.0  # of the length penalty
SCALE = 10.0 / LONGEST  # times 10, mean over the orders
ROWS_PER_TILE = 256


@dataclass(frozen=True)
class CiderVectors:
    """Every caption as a candidate and as a reference, over columns (n-gram, level), one entry per non-zero.

    Attributes:
        caption: ``[entries]`` caption index, ascending.
        column: ``[entries]`` index of (n-gram, level).
        candidate: ``[entries]`` 1 / norm of the candidate's vector of that order.
        reference: ``[entries]`` tf * idf^2 / norm of the reference's vector of that order.
        n_columns: Number of columns.
        length: ``[captions]`` length that the penalty compares (bigrams, as coco-caption counts).
        image_of_caption: ``[captions]`` image index.
        n_references: ``[images]`` captions of each image.
    """

    caption: NDArray[np.int64]
    column: NDArray[np.int64]
    candidate: NDArray[np.float64]
    reference: NDArray[np.float64]
    n_columns: int
    length: NDArray[np.int64]
    image_of_caption: NDArray[np.int64]
    n_references: NDArray[np.int64]

    @property
    def n_captions(self) -> int:
        """Number of captions."""
        return len(self.length)

    @property
    def n_images(self) -> int:
        """Number of images, which is the idf's number of documents."""
        return len(self.n_references)


def cider_vectors(captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace") -> CiderVectors:
    """Prepare captions for CIDEr; idf counts the images of exactly these captions.

    Raises:
        InputError: If there is no caption, or ``image_of_caption`` does not fit.
    """
    captions = checked_captions(captions)
    pairing = checked_pairing(image_of_caption, len(captions))
    n_references = np.bincount(pairing)
    n_images = len(n_references)
    grams = count_ngrams(tokenise(captions, tokenize), LONGEST)

    image_and_gram = np.unique(pairing[grams.caption] * max(1, grams.n_grams) + grams.gram)
    images_with_gram = np.bincount(image_and_gram % max(1, grams.n_grams), minlength=grams.n_grams)
    # Both logarithms come from one table, so that an n-gram of every image has an idf of exactly 0.
    log = np.log(np.arange(1.0, n_images + 1.0))
    idf = log[n_images - 1] - log[np.maximum(1, images_with_gram) - 1]

    weight = idf[grams.gram]
    tf = grams.count.astype(np.float64)
    caption_and_order = grams.caption * LONGEST + grams.order_of_gram[grams.gram]
    norm = np.sqrt(np.bincount(caption_and_order, weights=(tf * weight) ** 2, minlength=len(captions) * LONGEST))

    # What has idf 0 adds nothing.
    entry = np.flatnonzero(weight > 0)
    entry = np.repeat(entry, grams.count[entry])
    first_of_run = np.flatnonzero(np.r_[True, entry[1:] != entry[:-1]]) if len(entry) else entry
    level = np.arange(len(entry)) - np.repeat(first_of_run, np.diff(np.r_[first_of_run, len(entry)]))
    column = grams.gram[entry]
    n_columns = grams.n_grams
    repeated = level > 0
    if repeated.any():
        # The first level of an n-gram is the n-gram's own column; higher levels, which are few, follow.
        keys, inverse = np.unique(column[repeated] * (level.max() + 1) + level[repeated], return_inverse=True)
        column[repeated] = n_columns + inverse
        n_columns += len(keys)
    norm_of_entry = norm[caption_and_order[entry]]
    return CiderVectors(
        caption=grams.caption[entry],
        column=column,
        candidate=1.0 / norm_of_entry,
        reference=tf[entry] * weight[entry] ** 2 / norm_of_entry,
        n_columns=n_columns,
        length=np.maximum(0, grams.words - 1),
        image_of_caption=pairing,
        n_references=n_references,
    )


def length_penalty(difference: NDArray[np.int64]) -> NDArray[np.float64]:
    """Factor for a difference in length between candidate and reference."""
    return np.asarray(np.e ** (-(difference.astype(np.float64) ** 2) / (2.0 * SIGMA**2)))


def cider_matrix(
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    tokenize: str = "whitespace",
    out: str | Path | NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """CIDEr of every caption against the captions of every image: phi of Five Sentences, as its authors compute it.

    Equal to coco-caption's CIDEr called once per caption, with that caption as the candidate of every image and all
    images' captions as references. A caption is among the references of its own image, as in the released matrices.

    Args:
        captions: Raw captions; one without words scores 0 everywhere.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image.
        tokenize: ``"whitespace"``: lower-case and split, as released.
        out: Where to put the matrix: a path of a ``.npy`` file (float32, memory-mapped, replaced when whole) or a
            floating array ``[captions, images]`` such as a memory map. Filled in tiles of rows.

    Returns:
        ``[captions, images]``, 0 to 10; float64, or what ``out`` names.

    Raises:
        InputError: If there is no caption, ``image_of_caption`` does not fit, or ``out`` does not.
    """
    vectors = cider_vectors(captions, image_of_caption, tokenize)
    shape = (vectors.n_captions, vectors.n_images)
    if out is None:
        out = np.empty(shape, dtype=np.float64)
    if isinstance(out, np.ndarray):
        if out.shape != shape or out.dtype.kind != "f":
            raise InputError(
                f"out is {out.dtype} {list(out.shape)}; these captions need a floating array {list(shape)}."
            )
        _fill(vectors, out)
        return out
    path = Path(out)
    if path.suffix != ".npy":
        raise InputError(f"out is '{path}'; the name of the matrix must end in .npy.")
    with replacing(path) as temporary:
        rows = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
        _fill(vectors, rows)
        rows.flush()
        del rows
    matrix: NDArray[np.floating] = np.load(path, mmap_mode="r")
    return matrix


def _fill(vectors: CiderVectors, out: NDArray[np.floating]) -> None:
    """Fill ``out`` row by row, candidates of one length at a time."""
    n_captions, n_images = vectors.n_captions, vectors.n_images
    start_of_caption = np.searchsorted(vectors.caption, np.arange(n_captions + 1))
    candidates = scipy.sparse.csr_array(
        (vectors.candidate, vectors.column, start_of_caption), shape=(n_captions, vectors.n_columns)
    )
    # References folded into images: entries that share a column and an image stand together and become one.
    column_and_image = vectors.column * n_images + vectors.image_of_caption[vectors.caption]
    by_place = np.argsort(column_and_image, kind="stable")
    column_and_image = column_and_image[by_place]
    first = np.flatnonzero(np.r_[True, column_and_image[1:] != column_and_image[:-1]]) if len(by_place) else by_place
    reference = (vectors.reference * SCALE / vectors.n_references[vectors.image_of_caption[vectors.caption]])[by_place]
    length = vectors.length[vectors.caption[by_place]]
    column, image = np.divmod(column_and_image[first], n_images)
    start_of_column = np.searchsorted(column, np.arange(vectors.n_columns + 1))
    index_type = np.int32 if len(first) < 2**31 and vectors.n_columns < 2**31 else np.int64
    image, start_of_column = image.astype(index_type), start_of_column.astype(index_type)
    del column_and_image, by_place, column

    def fill_candidates_of(candidate_length: int) -> None:
        rows = np.flatnonzero(vectors.length == candidate_length)
        folded = np.zeros(0)
        if len(first):
            folded = np.add.reduceat(reference * length_penalty(length - candidate_length), first)
        images = scipy.sparse.csr_array((folded, image, start_of_column), shape=(vectors.n_columns, n_images))
        for start in range(0, len(rows), ROWS_PER_TILE):
            tile = rows[start : start + ROWS_PER_TILE]
            out[tile] = (candidates[tile] @ images).toarray()

    lengths, frequency = np.unique(vectors.length, return_counts=True)
    longest_first = lengths[np.argsort(-frequency, kind="stable")]
    # scipy releases the interpreter lock in the product, and every row is written by one thread only.
    with ThreadPoolExecutor(_threads()) as pool:
        for _ in pool.map(fill_candidates_of, longest_first.tolist()):
            pass


def _threads() -> int:
    """Processors that this process may use, at most four: beyond that memory bandwidth is the limit."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, available)
