"""The exact CIDEr of every caption against every image, as a sparse matrix product.

CIDEr (Vedantam et al. 2015) as coco-caption computes it: tf-idf vectors of n-grams of 1 to 4 words, counts of the
candidate clipped at those of the reference, a Gaussian penalty on the difference in length; averaged over orders
and references, times 10. The clipped product ``min(h, r) * r`` of two counts equals the sum over levels
``t = 1, 2, ...`` of ``[h >= t] * [r >= t] * r``; with one column per (n-gram, level) the whole score is a matrix
product. The penalty depends only on the two lengths, so the references of an image are folded into one vector for each
candidate length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.caption_order import noted_corpus
from fivesentences.semantics.ngrams import count_ngrams, levels_of
from fivesentences.semantics.references import References, dot_of_rows, mean_of_pairs, sorted_rows
from fivesentences.semantics.scoring import ByLengthScorer, Indices, Output, matrix_of
from fivesentences.semantics.tokenisation import tokenise
from fivesentences.semantics.validation import checked_corpus

LONGEST = 4  # words in the longest n-grams
SIGMA = 6.0  # of the length penalty
SCALE = 10.0 / LONGEST  # times 10, averaged over the orders


@dataclass(frozen=True)
class CiderVectors:
    """Every caption as a candidate and as a reference, over columns (n-gram, level); one entry per non-zero value.

    Attributes:
        caption: ``[entries]`` caption index, ascending.
        column: ``[entries]`` index of (n-gram, level).
        candidate: ``[entries]`` 1 / norm of the candidate's vector for that order.
        reference: ``[entries]`` tf * idf^2 / norm of the reference's vector for that order.
        n_columns: Number of columns.
        length: ``[captions]`` length that the penalty compares: the number of bigrams, as in coco-caption.
        image_of_caption: ``[captions]`` image index.
        n_references: ``[images]`` number of captions of each image.
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
        """Number of images, which are the documents of the idf."""
        return len(self.n_references)


def cider_vectors(
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    tokenize: str = "whitespace",
    documents: NDArray[np.bool_] | None = None,
) -> CiderVectors:
    """Prepare captions for CIDEr; the idf counts the images of these captions, or of those that ``documents`` marks.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """
    captions, pairing = checked_corpus(captions, image_of_caption)
    n_references = np.bincount(pairing)
    n_images = len(n_references)
    grams = count_ngrams(tokenise(captions, tokenize), LONGEST)

    counted = slice(None) if documents is None else documents[grams.caption]
    image_and_gram = np.unique((pairing[grams.caption] * max(1, grams.n_grams) + grams.gram)[counted])
    images_with_gram = np.bincount(image_and_gram % max(1, grams.n_grams), minlength=grams.n_grams)
    # Both logarithms come from one table, so that an n-gram that every image has gets an idf of exactly 0.
    log = np.log(np.arange(1.0, n_images + 1.0))
    idf = log[n_images - 1] - log[np.maximum(1, images_with_gram) - 1]

    weight = idf[grams.gram]
    tf = grams.count.astype(np.float64)
    caption_and_order = grams.caption * LONGEST + grams.order_of_gram[grams.gram]
    norm = np.sqrt(np.bincount(caption_and_order, weights=(tf * weight) ** 2, minlength=len(captions) * LONGEST))

    # n-grams of idf 0 contribute nothing.
    entry = np.flatnonzero(weight > 0)
    levels = levels_of(grams, entry)
    entry, column = levels.entry, levels.column
    norm_of_entry = norm[caption_and_order[entry]]
    return CiderVectors(
        caption=grams.caption[entry],
        column=column,
        candidate=1.0 / norm_of_entry,
        reference=tf[entry] * weight[entry] ** 2 / norm_of_entry,
        n_columns=levels.n_columns,
        length=np.maximum(0, grams.words - 1),
        image_of_caption=pairing,
        n_references=n_references,
    )


def length_penalty(difference: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the factor for a difference in length between candidate and reference."""
    return np.asarray(np.e ** (-(difference.astype(np.float64) ** 2) / (2.0 * SIGMA**2)))


class CiderScorer(ByLengthScorer):
    """CIDEr of the captions of a corpus against its images, 0 to 10, prepared once.

    Document frequencies count the images of the whole corpus, whichever cells are requested.

    Args:
        captions: Raw captions; one without words scores 0 everywhere.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``tokenisation.tokenise``.
        documents: ``[captions]`` which of them count for document frequencies; None: all.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """

    def __init__(
        self,
        captions: Sequence[str],
        image_of_caption: ArrayLike,
        tokenize: str = "whitespace",
        documents: NDArray[np.bool_] | None = None,
    ):
        vectors = cider_vectors(captions, image_of_caption, tokenize, documents)
        n_captions, n_images = vectors.n_captions, vectors.n_images
        self.shape = (n_captions, n_images)
        self._length = vectors.length
        self._n_columns = vectors.n_columns
        self._references = References(vectors.image_of_caption)
        start_of_caption = np.searchsorted(vectors.caption, np.arange(n_captions + 1))
        self._candidates = sorted_rows(vectors.candidate, vectors.column, start_of_caption, vectors.n_columns)
        # References folded into images: entries that share a column and an image are adjacent and become one.
        column_and_image = vectors.column * n_images + vectors.image_of_caption[vectors.caption]
        by_place = np.argsort(column_and_image, kind="stable")
        column_and_image = column_and_image[by_place]
        self._first = np.flatnonzero(np.diff(column_and_image, prepend=-1))
        n_references = vectors.n_references[vectors.image_of_caption[vectors.caption]]
        self._value = (vectors.reference * SCALE / n_references)[by_place]
        self._length_of_value = vectors.length[vectors.caption[by_place]]
        column, image = np.divmod(column_and_image[self._first], n_images)
        start_of_column = np.searchsorted(column, np.arange(vectors.n_columns + 1))
        index_type = np.int32 if len(self._first) < 2**31 and vectors.n_columns < 2**31 else np.int64
        self._image, self._start_of_column = image.astype(index_type), start_of_column.astype(index_type)
        #: ``[captions]`` whether a caption has an n-gram that some image lacks; one without scores 0 everywhere.
        self.is_weighted = np.diff(start_of_caption) > 0
        self._reference_values = (vectors.reference, vectors.column, start_of_caption)
        self._folded = lru_cache(4)(self._fold)  # threads score captions of one length at about the same time

    def _fold(self, candidate_length: int) -> Any:
        """Return ``[columns, images]`` what an image's references contribute for a candidate of this length."""
        folded = np.zeros(0)
        if len(self._first):
            penalty = length_penalty(self._length_of_value - candidate_length)
            folded = np.add.reduceat(self._value * penalty, self._first)
        return scipy.sparse.csr_array(
            (folded, self._image, self._start_of_column), shape=(self._n_columns, self.shape[1])
        )

    @cached_property
    def _reference_rows(self) -> Any:
        """``[captions, columns]`` every caption as a reference; for pairs only."""
        return sorted_rows(*self._reference_values, self._n_columns)

    def _score_of_length(self, length: int, captions: Indices) -> NDArray[np.float64]:
        return np.asarray(self._of_length(length, captions).toarray())

    def sparse(self, captions: Indices) -> scipy.sparse.csr_array:
        """Return the rows of ``score`` without their zeros."""
        lengths, place = np.unique(self._length[captions], return_inverse=True)
        if not len(lengths):
            return scipy.sparse.csr_array((0, self.shape[1]))
        parts = [self._of_length(length, captions[place == which]) for which, length in enumerate(lengths.tolist())]
        if len(parts) == 1:
            return parts[0]
        back = np.argsort(np.argsort(place, kind="stable"))
        return scipy.sparse.vstack(parts, format="csr")[back]

    def _of_length(self, length: int, captions: Indices) -> Any:
        return self._candidates[captions] @ self._folded(length)

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        pair, reference, count = self._references.of_pairs(captions, images, without_own)
        dots = dot_of_rows(self._candidates, captions[pair], self._reference_rows, reference)
        dots *= length_penalty(self._length[captions[pair]] - self._length[reference])
        return mean_of_pairs(pair, dots, count) * SCALE


def cider_matrix(
    captions: Sequence[str], image_of_caption: ArrayLike | None = None, tokenize: str = "whitespace", out: Output = None
) -> NDArray[np.floating]:
    """CIDEr of every caption against the captions of every image: phi of Five Sentences, as its authors compute it.

    Equal to coco-caption's CIDEr called once per caption, with that caption as the candidate of every image and all
    images' captions as references. A caption is one of the references of its own image, as in the released matrices.

    Args:
        captions: Raw captions; one without words scores 0 everywhere.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image;
            default five per image, those of an image adjacent, whatever the captions are. A note on standard error
            says so where the captions of an image seem to belong to others.
        tokenize: As in ``tokenisation.tokenise``; ``"whitespace"``: lower-case and split, as released.
        out: Where to put the matrix: the path of a ``.npy`` file (float32, memory-mapped, replaced once complete) or
            a floating-point array ``[captions, images]`` such as a memory map. It is filled in blocks of rows.

    Returns:
        ``[captions, images]``, 0 to 10; float64, or as ``out`` says.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` or ``out`` does not fit.
    """
    texts, pairing = noted_corpus(captions, image_of_caption, "cider_matrix")
    return matrix_of(CiderScorer(texts, pairing, tokenize), out)
