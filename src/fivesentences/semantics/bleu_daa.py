"""BLEU as in the DAA release (Differentiable Approximation of ASP, Li et al. 2022).

The supplement names BLEU and gives no formula. What is known comes from the lines of the released code that compute
it, most of them commented out (its default is the tf-idf cosine): ``nltk`` ``sentence_bleu`` with smoothing method 1
and default weights, with all captions of an image as the references. Every ASCII punctuation mark is deleted, then the
text is lower-cased and split at single spaces: a punctuation mark that stands alone leaves an empty word, and empty
words count as words.

Assumed: the version of ``nltk`` does not matter; other white space between words is a single space, as
``tokenisation.tokenise`` leaves it.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.bleu import LONGEST, BleuScorer
from fivesentences.semantics.tokenisation import tokenise
from fivesentences.semantics.validation import checked_corpus

WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
EPSILON = 0.1  # smoothing method 1: replaces a count of 0


class BleuDaaScorer(BleuScorer):
    """``nltk``'s BLEU-4 with smoothing method 1 of the captions of a corpus against its images, 0 to 1, prepared once.

    It differs from coco-caption's BLEU in its words (see the module), in that a count of 0 becomes 0.1, and in that a
    caption that shares no word with an image scores exactly 0.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``tokenisation.tokenise``; its words are joined by spaces and punctuation is deleted.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        captions, pairing = checked_corpus(captions, image_of_caption)
        tokens = [" ".join(words).translate(WITHOUT_PUNCTUATION).split(" ") for words in tokenise(captions, tokenize)]
        self._prepare(tokens, pairing, LONGEST)

    def _score_of(self, correct: Sequence[NDArray[np.integer]], length: NDArray[np.int64]) -> NDArray[np.float64]:
        logarithms: Any = 0.0
        for order, count in enumerate(correct):
            logarithms = logarithms + np.log(np.where(count > 0, count, EPSILON) / np.maximum(1, length - order))
        return np.where(correct[0] > 0, np.exp(logarithms / self._n), 0.0)

    def _brevity(self, length: NDArray[np.int64], closest: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(length > closest, 1.0, np.exp(1 - closest / np.maximum(1, length)))
