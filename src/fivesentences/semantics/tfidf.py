"""The tf-idf cosine that the DAA release calls CIDEr: unigrams, captions as documents, no clipping, no penalty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.caption_order import noted_corpus
from fivesentences.semantics.ngrams import count_ngrams
from fivesentences.semantics.references import References, block_of_rows, dot_of_rows, mean_of_pairs, sorted_rows
from fivesentences.semantics.scoring import Indices, Output, Scorer, matrix_of
from fivesentences.semantics.tokenisation import MARKS, tokenise
from fivesentences.semantics.validation import checked_corpus

_WORD = re.compile(rf"\w[\w{MARKS}]+")


class TfidfScorer(Scorer):
    """Mean cosine of a caption's tf-idf vector with those of an image's captions, 0 to 1, prepared once.

    The vectors are those of scikit-learn's ``CountVectorizer`` and ``TfidfTransformer`` with default settings: lower
    case, words of two or more letters, digits or underscores, raw counts times ``ln((1 + n) / (1 + df)) + 1`` with the
    n captions of the corpus as documents, unit length; but words keep the marks of other scripts, at which
    scikit-learn cuts them. A caption without such a word scores 0 everywhere.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``tokenisation.tokenise``; its words are joined by spaces and words in the above sense are
            extracted from them.

    Raises:
        InputError: If there are no captions, ``image_of_caption`` does not fit, or words are single characters.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        if tokenize == "characters":
            raise InputError("tfidf-characters would be 0 everywhere, since tfidf leaves out words of one letter.")
        captions, pairing = checked_corpus(captions, image_of_caption)
        self._references = References(pairing)
        self.shape = self._references.shape
        grams = count_ngrams([_WORD.findall(" ".join(words)) for words in tokenise(captions, tokenize)], 1)
        captions_with = np.bincount(grams.gram, minlength=grams.n_grams)
        weight = grams.count * (np.log((1 + len(captions)) / (1 + captions_with)) + 1)[grams.gram]
        norm = np.sqrt(np.bincount(grams.caption, weights=weight**2, minlength=len(captions)))
        value = weight / norm[grams.caption]
        start = np.searchsorted(grams.caption, np.arange(len(captions) + 1))
        self._vectors = sorted_rows(value, grams.gram, start, grams.n_grams)
        image = pairing[grams.caption]
        means = scipy.sparse.coo_array(
            (value / self._references.count[image], (grams.gram, image)), shape=(grams.n_grams, self.shape[1])
        )
        self._means = means.tocsr()
        self._means.sort_indices()

    @cached_property
    def _mean_rows(self) -> Any:
        """``[images, words]`` mean vectors; for pairs only."""
        rows = self._means.T.tocsr()
        rows.sort_indices()
        return rows

    def sparse(self, captions: Indices) -> scipy.sparse.csr_array:
        """Return the rows of ``score`` without their zeros."""
        return self._vectors[captions] @ self._means

    def block(self, captions: Indices, images: Indices) -> NDArray[np.float64]:
        """Score some captions against some images, see ``Scorer.block``."""
        return block_of_rows(self._vectors[captions], self._mean_rows[images])

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        own = self._references.own(captions, images) & without_own
        scores = np.empty(len(captions))
        scores[~own] = dot_of_rows(self._vectors, captions[~own], self._mean_rows, images[~own])
        pair, reference, count = self._references.of_pairs(captions[own], images[own], without_own)
        cosine = dot_of_rows(self._vectors, captions[own][pair], self._vectors, reference)
        scores[own] = mean_of_pairs(pair, cosine, count)
        return scores


def tfidf_matrix(
    captions: Sequence[str], image_of_caption: ArrayLike | None = None, tokenize: str = "whitespace", out: Output = None
) -> NDArray[np.floating]:
    """Return mean tf-idf cosines of every caption with the captions of every image: what the DAA release calls CIDEr.

    A caption is one of the references of its own image, as in the release.

    Args:
        captions: Raw captions; one without a word of two letters scores 0 everywhere.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image;
            default five per image, those of an image adjacent, whatever the captions are. A note on standard error
            says so where the captions of an image seem to belong to others.
        tokenize: As in ``TfidfScorer``.
        out: As in ``cider_matrix``.

    Returns:
        ``[captions, images]``, 0 to 1; float64, or as ``out`` says.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` or ``out`` does not fit.
    """
    texts, pairing = noted_corpus(captions, image_of_caption, "tfidf_matrix")
    return matrix_of(TfidfScorer(texts, pairing, tokenize), out)
