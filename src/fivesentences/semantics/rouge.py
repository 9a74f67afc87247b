"""The exact ROUGE-L of every caption against every image, from longest common subsequences with all references at once.

ROUGE-L (Lin 2004) as coco-caption computes it: precision and recall of the longest common subsequence, each maximised
over the references separately, combined with beta 1.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.common_subsequences import CommonSubsequences, Sequences, common_lengths
from fivesentences.semantics.references import ByImage, References
from fivesentences.semantics.scoring import Indices, Scorer, matrix_of
from fivesentences.semantics.tokenisation import number_words, tokenise
from fivesentences.semantics.validation import checked_corpus

BETA = 1.2
# A multiple of every number up to 40, exact in float64: recalls are compared in units of 1 / MULTIPLE, unrounded.
MULTIPLE = float(math.lcm(*range(1, 41)))


class RougeLScorer(Scorer):
    """ROUGE-L of the captions of a corpus against its images, 0 to 1, prepared once.

    coco-caption splits at every space, so a caption without words consists of one empty word: it scores 1 against an
    image that has such a caption and 0 against the others. The same holds here.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``tokenisation.tokenise``.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        captions, pairing = checked_corpus(captions, image_of_caption)
        self._references = References(pairing)
        self.shape = self._references.shape
        tokens = [words or [""] for words in tokenise(captions, tokenize)]
        self._sequences = Sequences(*number_words(tokens))
        self._start = self._sequences.start
        texts: dict[tuple[str, ...], int] = {}
        self._text = np.array([texts.setdefault(tuple(words), len(texts)) for words in tokens])
        self._by_image = ByImage(self._references)
        self._common = CommonSubsequences(self._sequences.take(self._by_image.caption))
        self._one_at_a_time = Lock()
        self._share = MULTIPLE / self._sequences.length[self._by_image.caption]

    def groups(self, rows: int) -> list[Indices]:
        """Captions with the same words together, which are compared only once."""
        by_text = np.argsort(self._text, kind="stable")
        return [by_text[start : start + rows] for start in range(0, len(by_text), rows)]

    def score(self, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64."""
        _, one, place = np.unique(self._text[captions], return_index=True, return_inverse=True)
        distinct = captions[one]
        scores = np.empty((len(distinct), self.shape[1]))
        # Array operations take microseconds here: two threads would only pass the interpreter lock back and forth.
        with self._one_at_a_time:
            for row, caption in enumerate(distinct.tolist()):
                length = int(self._sequences.length[caption])
                words = self._sequences.word[self._start[caption] : self._start[caption] + length]
                common = self._common.lengths(words)
                precision = self._by_image.reduce(np.maximum, common) / length
                recall = self._by_image.reduce(np.maximum, common * self._share) / MULTIPLE
                scores[row] = f_measure(precision, recall)
        return scores if len(distinct) == len(captions) and (place[:-1] < place[1:]).all() else scores[place]

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        pair, reference, count = self._references.of_pairs(captions, images, without_own)
        length = self._sequences.length
        common = common_lengths(self._sequences, captions[pair], reference)
        known = count > 0
        first = np.cumsum(count[known]) - count[known]
        scores = np.full(len(captions), np.nan)
        if len(first):
            precision = np.maximum.reduceat(common, first) / length[captions[known]]
            recall = np.maximum.reduceat(common / length[reference], first)
            scores[known] = f_measure(precision, recall)
        return scores


def f_measure(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the F measure that weighs recall beta times as much as precision; the two are 0 only together."""
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

    A caption is one of the references of its own image, so it scores 1 there.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image.
        tokenize: As in ``tokenisation.tokenise``.
        out: As in ``cider_matrix``.

    Returns:
        ``[captions, images]``, 0 to 1; float64, or as ``out`` says.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` or ``out`` does not fit.
    """
    return matrix_of(RougeLScorer(captions, image_of_caption, tokenize), out)
