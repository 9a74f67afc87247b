"""The exact ROUGE-L of every caption against every image, by longest common subsequences of all references at once.

ROUGE-L (Lin 2004) as coco-caption computes it: precision and recall of the longest common subsequence, the largest of
each over the references taken apart, combined with beta 1.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.lcs import CommonSubsequences, Sequences, common_lengths
from fivesentences.semantics.ngrams import number_words, tokenise
from fivesentences.semantics.pairing import checked_captions, checked_pairing
from fivesentences.semantics.products import ByImage, References, checked_pairs
from fivesentences.semantics.scoring import Scorer, matrix_of

BETA = 1.2
# Of all numbers up to 40, and exact in float64: recalls are compared as multiples of 1 / MULTIPLE, without rounding.
MULTIPLE = float(math.lcm(*range(1, 41)))


class RougeLScorer(Scorer):
    """ROUGE-L of the captions of a corpus against its images, prepared once.

    coco-caption splits at each space, so that a caption without words is one empty word there: it scores 1 against
    an image with another such caption and 0 against the others. So it is here.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``ngrams.tokenise``.

    Raises:
        InputError: If there is no caption, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        captions = checked_captions(captions)
        pairing = checked_pairing(image_of_caption, len(captions))
        self._references = References(pairing)
        self.shape = self._references.shape
        tokens = [words or [""] for words in tokenise(captions, tokenize)]
        self._sequences = Sequences(*number_words(tokens))
        self._start = self._sequences.start
        texts: dict[tuple[str, ...], int] = {}
        self._text = np.array([texts.setdefault(tuple(words), len(texts)) for words in tokens])
        self._by_image = ByImage(pairing)
        self._common = CommonSubsequences(self._sequences.take(self._by_image.caption))
        self._one_at_a_time = Lock()
        self._share = MULTIPLE / self._sequences.length[self._by_image.caption]

    def groups(self, rows: int) -> list[NDArray[np.int64]]:
        """Captions of the same words together: they are compared once."""
        by_text = np.argsort(self._text, kind="stable")
        return [by_text[start : start + rows] for start in range(0, len(by_text), rows)]

    def score(self, captions: NDArray[np.int64]) -> NDArray[np.float64]:
        """``[captions, images]`` dense float64, 0 to 1."""
        _, one, place = np.unique(self._text[captions], return_index=True, return_inverse=True)
        distinct = captions[one]
        scores = np.empty((len(distinct), self.shape[1]))
        # Array operations here take microseconds: two threads would only hand the interpreter lock to and fro.
        with self._one_at_a_time:
            for row, caption in enumerate(distinct.tolist()):
                length = int(self._sequences.length[caption])
                words = self._sequences.word[self._start[caption] : self._start[caption] + length]
                common = self._common.lengths(words)
                precision = self._by_image.reduce(np.maximum, common) / length
                recall = self._by_image.reduce(np.maximum, common * self._share) / MULTIPLE
                scores[row] = f_measure(precision, recall)
        return scores if len(distinct) == len(captions) and (place[:-1] < place[1:]).all() else scores[place]

    def pairs(self, captions: ArrayLike, images: ArrayLike, without_own: bool = False) -> NDArray[np.float64]:
        """ROUGE-L of single pairs.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image indices.
            without_own: Take the largest precision and recall over the image's other references where the caption is
                one of them.

        Returns:
            ``[pairs]``, 0 to 1; NaN where an image has no other reference.

        Raises:
            InputError: If an index is out of range or the two lists differ in length.
        """
        caption, image = checked_pairs(captions, images, self.shape)
        pair, reference, count = self._references.of_pairs(caption, image, without_own)
        length = self._sequences.length
        common = common_lengths(self._sequences, caption[pair], reference)
        known = count > 0
        first = np.cumsum(count[known]) - count[known]
        scores = np.full(len(caption), np.nan)
        if len(first):
            precision = np.maximum.reduceat(common, first) / length[caption[known]]
            recall = np.maximum.reduceat(common / length[reference], first)
            scores[known] = f_measure(precision, recall)
        return scores


def f_measure(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Precision and recall, which are 0 together, as one number that weighs recall beta times as much."""
    weight = BETA**2
    below = np.maximum(recall + weight * precision, np.finfo(np.float64).tiny)
    return np.asarray((1 + weight) * precision * recall / below)


def rouge_l_matrix(
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    tokenize: str = "whitespace",
    out: str | Path | NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """ROUGE-L of every caption against the captions of every image, as coco-caption computes it.

    A caption is among the references of its own image, so it scores 1 there.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image.
        tokenize: As in ``ngrams.tokenise``.
        out: As in ``cider_matrix``.

    Returns:
        ``[captions, images]``, 0 to 1; float64, or what ``out`` names.

    Raises:
        InputError: If there is no caption, ``image_of_caption`` does not fit, or ``out`` does not.
    """
    return matrix_of(RougeLScorer(captions, image_of_caption, tokenize), out)
