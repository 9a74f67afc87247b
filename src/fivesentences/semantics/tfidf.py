"""The tf-idf cosine that the DAA release calls CIDEr: single words, captions as documents, no clipping, no penalty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.ngrams import count_ngrams, tokenise
from fivesentences.semantics.pairing import checked_captions, checked_pairing
from fivesentences.semantics.products import References, checked_pairs, dot_of_rows, mean_of_pairs, sorted_rows
from fivesentences.semantics.scoring import Scorer, matrix_of

_WORD = re.compile(r"\w\w+")


class TfidfScorer(Scorer):
    """Mean over an image's captions of the cosine of tf-idf vectors with a caption, prepared once.

    Vectors as scikit-learn's ``CountVectorizer`` and ``TfidfTransformer`` make them without options: lower case, words
    of two or more letters, digits or underscores, raw counts times ``ln((1 + n) / (1 + df)) + 1`` with the n captions
    of the corpus as documents, unit length. A caption without such a word scores 0 everywhere.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``ngrams.tokenise``; words in the sense above are looked for in its words, joined by spaces.

    Raises:
        InputError: If there is no caption, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        captions = checked_captions(captions)
        pairing = checked_pairing(image_of_caption, len(captions))
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
        """``[images, words]`` mean vectors; for pairs alone."""
        rows = self._means.T.tocsr()
        rows.sort_indices()
        return rows

    def score(self, captions: NDArray[np.int64]) -> NDArray[np.float64]:
        """``[captions, images]`` dense float64, 0 to 1."""
        return np.asarray(self.sparse(captions).toarray())

    def sparse(self, captions: NDArray[np.int64]) -> scipy.sparse.csr_array:
        """The rows of ``score`` without their zeros."""
        return self._vectors[captions] @ self._means

    def pairs(self, captions: ArrayLike, images: ArrayLike, without_own: bool = False) -> NDArray[np.float64]:
        """Mean cosine of single pairs.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image indices.
            without_own: Take the mean over the image's other references where the caption is one of them. Document
                frequencies stay those of the whole corpus.

        Returns:
            ``[pairs]``, 0 to 1; NaN where an image has no other reference.

        Raises:
            InputError: If an index is out of range or the two lists differ in length.
        """
        caption, image = checked_pairs(captions, images, self.shape)
        own = self._references.own(caption, image) if without_own else np.zeros(len(caption), dtype=bool)
        scores = np.empty(len(caption))
        scores[~own] = dot_of_rows(self._vectors, caption[~own], self._mean_rows, image[~own])
        pair, reference, count = self._references.of_pairs(caption[own], image[own], without_own)
        cosine = dot_of_rows(self._vectors, caption[own][pair], self._vectors, reference)
        scores[own] = mean_of_pairs(pair, cosine, count)
        return scores


def tfidf_matrix(
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    tokenize: str = "whitespace",
    out: str | Path | NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """Mean tf-idf cosine of every caption with the captions of every image: what the DAA release calls CIDEr.

    A caption is among the references of its own image, as in the release.

    Args:
        captions: Raw captions; one without a word of two letters scores 0 everywhere.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image.
        tokenize: As in ``TfidfScorer``.
        out: As in ``cider_matrix``.

    Returns:
        ``[captions, images]``, 0 to 1; float64, or what ``out`` names.

    Raises:
        InputError: If there is no caption, ``image_of_caption`` does not fit, or ``out`` does not.
    """
    return matrix_of(TfidfScorer(captions, image_of_caption, tokenize), out)
