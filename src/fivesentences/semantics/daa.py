"""BLEU and ROUGE in the flavour of the DAA release (Differentiable Approximation of ASP, Li et al. 2022).

The supplement names BLEU and ROUGE and gives no formula. What is known comes from the lines that the released code
has for them, most of them commented out (its default is the tf-idf cosine):

- BLEU: ``nltk`` ``sentence_bleu`` with smoothing method 1 and its default weights, an image's captions together as the
  references. Every ASCII punctuation mark is deleted, then lower case, then a split at single spaces: a mark that
  stands alone leaves an empty word, and empty words count as words.
- ROUGE: package ``rouge``, mean of the F of ROUGE-1, ROUGE-2 and ROUGE-L. Full stops are deleted and an image's
  captions are joined by full stops into ONE reference of so many sentences (not a mean over references). That package
  counts different words and word pairs rather than occurrences, pairs across the borders of sentences too, and its
  ROUGE-L counts the different words of the union, over the sentences, of one longest common subsequence with each.

Assumed: the version of both packages does not matter; other white space between words is one space, as
``ngrams.tokenise`` leaves it; ROUGE is 0 where the package refuses, that is for a caption or an image of nothing but
full stops.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.bleu import LONGEST, BleuScorer
from fivesentences.semantics.lcs import CommonSubsequences, Sequences, common_words, ranks
from fivesentences.semantics.ngrams import number_words, tokenise
from fivesentences.semantics.pairing import checked_captions, checked_pairing
from fivesentences.semantics.products import ByImage, References, checked_pairs, dot_of_rows, ranges, sorted_rows
from fivesentences.semantics.scoring import Scorer

WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
EPSILON = 0.1  # smoothing method 1: instead of a count of 0
AGAINST_ZERO = 1e-8  # added to precision + recall by the package rouge
PAIRS_AT_A_TIME = 20_000


class BleuDaaScorer(BleuScorer):
    """BLEU-4 of ``nltk`` with smoothing method 1 of the captions of a corpus against its images, prepared once.

    It differs from coco-caption's in the words (see the module), in that a count of 0 becomes 0.1, and in that a
    caption that shares no word with an image scores exactly 0.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``ngrams.tokenise``; punctuation is deleted from its words, joined by spaces.

    Raises:
        InputError: If there is no caption, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        captions = checked_captions(captions)
        pairing = checked_pairing(image_of_caption, len(captions))
        tokens = [" ".join(words).translate(WITHOUT_PUNCTUATION).split(" ") for words in tokenise(captions, tokenize)]
        self._prepare(tokens, pairing, LONGEST)

    def _score_of(self, correct: Sequence[NDArray[np.integer]], length: NDArray[np.int64]) -> NDArray[np.float64]:
        logarithms: Any = 0.0
        for order, count in enumerate(correct):
            logarithms = logarithms + np.log(np.where(count > 0, count, EPSILON) / np.maximum(1, length - order))
        return np.where(correct[0] > 0, np.exp(logarithms / self._n), 0.0)

    def _brevity(self, length: NDArray[np.int64], closest: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(length > closest, 1.0, np.exp(1 - closest / np.maximum(1, length)))


class RougeDaaScorer(Scorer):
    """Mean F of ROUGE-1, -2 and -L of the package ``rouge`` of captions against images, prepared once.

    The words of an image's captions are one reference (see the module); a caption's own words are in that of its image.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``ngrams.tokenise``; full stops are deleted from its words, joined by spaces.

    Raises:
        InputError: If there is no caption, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        captions = checked_captions(captions)
        pairing = checked_pairing(image_of_caption, len(captions))
        self._references = References(pairing)
        self.shape = self._references.shape
        sentences = [" ".join(words).replace(".", "") for words in tokenise(captions, tokenize)]
        # A sentence of spaces alone is one empty word to the package; one of no characters is none.
        self._sequences = Sequences(*number_words([text and (text.split() or [""]) for text in sentences]))
        self._start = self._sequences.start
        self._rank, self._n_different = ranks(self._sequences)
        word, length = self._sequences.word, self._sequences.length
        self._words = _sets(word, length, self._sequences.n_words)
        follows = np.ones(len(word), dtype=bool)
        follows[self._start[length > 0]] = False
        second = np.flatnonzero(follows)
        self._known_pairs, column = np.unique(self._pair_of(word[second - 1], word[second]), return_inverse=True)
        self._word_pairs = _sets(column, np.maximum(0, length - 1), len(self._known_pairs))
        self._n_pairs = np.diff(self._word_pairs.indptr)
        self._by_image = ByImage(pairing)
        self._common = CommonSubsequences(self._sequences.take(self._by_image.caption))
        everyone = self._references.by_image
        words, word_pairs, self._words_of_image, self._pairs_of_image = self._documents(
            everyone, self._references.count
        )
        self._image_words, self._image_word_pairs = words.T.tocsr(), word_pairs.T.tocsr()
        self._one_at_a_time = Lock()

    def _pair_of(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        return first * self._sequences.n_words + second

    def _documents(
        self, captions: NDArray[np.int64], count: NDArray[np.int64]
    ) -> tuple[Any, Any, NDArray[np.int64], NDArray[np.int64]]:
        """References of several captions each, one after the other.

        Args:
            captions: ``[captions of all documents]``.
            count: ``[documents]`` captions of each.

        Returns:
            ``[documents, words]`` and ``[documents, word pairs that some caption has]`` ones, and ``[documents]`` how
            many different words and word pairs each has, the pairs across two captions included.
        """
        sequences = self._sequences.take(captions)
        document = np.repeat(np.arange(len(count)), count)
        length = np.bincount(document, weights=sequences.length, minlength=len(count)).astype(np.int64)
        words = _sets(sequences.word, length, self._sequences.n_words)
        of_word = np.repeat(np.arange(len(count)), length)
        second = 1 + np.flatnonzero(of_word[1:] == of_word[:-1])
        pair = self._pair_of(sequences.word[second - 1], sequences.word[second])
        numbered, pair = np.unique(pair, return_inverse=True)
        word_pairs = _sets(pair, np.bincount(of_word[second], minlength=len(count)), len(numbered))
        n_pairs = np.diff(word_pairs.indptr)
        # Pairs across two captions count, but no caption need have them.
        _, here, there = np.intersect1d(numbered, self._known_pairs, assume_unique=True, return_indices=True)
        place = np.full(len(numbered), -1)
        place[here] = there
        column = place[word_pairs.indices]
        start = np.concatenate([[0], np.cumsum(column >= 0)])[word_pairs.indptr]
        column = column[column >= 0]
        known = sorted_rows(np.ones(len(column), dtype=np.int32), column, start, len(self._known_pairs))
        return words, known, np.diff(words.indptr), n_pairs

    def groups(self, rows: int) -> list[NDArray[np.int64]]:
        """Captions of the same words together: they are compared once."""
        by_words = sorted(range(self.shape[0]), key=self._words_of)
        return [np.array(by_words[start : start + rows]) for start in range(0, len(by_words), rows)]

    def _words_of(self, caption: int) -> tuple[int, ...]:
        return tuple(self._sequences.word[self._start[caption] :][: self._sequences.length[caption]].tolist())

    def score(self, captions: NDArray[np.int64]) -> NDArray[np.float64]:
        """``[captions, images]`` dense float64, 0 to 1."""
        common = np.zeros((len(captions), self.shape[1]), dtype=np.int32)
        before: tuple[int, ...] = ()
        # Array operations here take microseconds: two threads would only hand the interpreter lock to and fro.
        with self._one_at_a_time:
            for row, caption in enumerate(captions.tolist()):
                words = self._words_of(caption)
                if words and words == before:
                    common[row] = common[row - 1]
                elif words:
                    place = slice(self._start[caption], self._start[caption] + len(words))
                    for bits in self._common.words(self._sequences.word[place], self._rank[place]):
                        common[row] += np.bitwise_count(self._by_image.reduce(np.bitwise_or, bits))
                before = words
        words_of_caption = self._n_different[captions][:, None]
        return self._mean_f(
            (
                ((self._words[captions] @ self._image_words).toarray(), words_of_caption, self._words_of_image),
                (
                    (self._word_pairs[captions] @ self._image_word_pairs).toarray(),
                    self._n_pairs[captions][:, None],
                    self._pairs_of_image,
                ),
                (common, words_of_caption, self._words_of_image),
            )
        )

    @staticmethod
    def _mean_f(counts: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]) -> NDArray[np.float64]:
        """Mean of the F of (common, of the candidate, of the reference)."""
        total: Any = 0.0
        for common, of_candidate, of_reference in counts:
            precision = common / np.maximum(1, of_candidate)
            recall = common / np.maximum(1, of_reference)
            product = precision * recall
            precision += recall
            precision += AGAINST_ZERO
            product /= precision
            total = total + 2.0 * product
        return np.asarray(total / len(counts))

    def pairs(self, captions: ArrayLike, images: ArrayLike, without_own: bool = False) -> NDArray[np.float64]:
        """Mean F of single pairs.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image indices.
            without_own: Make the reference of the image's other captions where the caption is one of them.

        Returns:
            ``[pairs]``, 0 to 1; NaN where an image has no other caption.

        Raises:
            InputError: If an index is out of range or the two lists differ in length.
        """
        caption, image = checked_pairs(captions, images, self.shape)
        scores = np.empty(len(caption))
        for start in range(0, len(caption), PAIRS_AT_A_TIME):
            some = slice(start, start + PAIRS_AT_A_TIME)
            scores[some] = self._some_pairs(caption[some], image[some], without_own)
        return scores

    def _some_pairs(
        self, caption: NDArray[np.int64], image: NDArray[np.int64], without_own: bool
    ) -> NDArray[np.float64]:
        # A document is an image's captions, all or all but one.
        own = self._references.own(caption, image) & without_own
        key = image * (self.shape[0] + 1) + np.where(own, caption, self.shape[0])
        _, one, document = np.unique(key, return_index=True, return_inverse=True)
        _, reference, count = self._references.of_pairs(caption[one], image[one], without_own)
        words, word_pairs, n_words, n_pairs = self._documents(reference, count)
        first = np.cumsum(count) - count
        of_pair = count[document]
        others = reference[ranges(first[document], of_pair)]
        bits = common_words(self._sequences, self._rank, np.repeat(caption, of_pair), others)
        common = np.zeros(len(caption), dtype=np.int64)
        known = of_pair > 0
        if known.any():
            beginning = (np.cumsum(of_pair) - of_pair)[known]
            common[known] = np.bitwise_count(np.bitwise_or.reduceat(bits, beginning, axis=1)).sum(axis=0)
        different = self._n_different[caption]
        scores = self._mean_f(
            (
                (dot_of_rows(self._words, caption, words, document), different, n_words[document]),
                (
                    dot_of_rows(self._word_pairs, caption, word_pairs, document),
                    self._n_pairs[caption],
                    n_pairs[document],
                ),
                (common, different, n_words[document]),
            )
        )
        scores[~known] = np.nan
        return scores


def _sets(column: NDArray[np.int64], length: NDArray[np.int64], n_columns: int) -> Any:
    """``[rows, columns]`` ones where a row has a column at least once; ``length`` entries a row, in order."""
    row = np.repeat(np.arange(len(length)), length)
    entries = np.unique(row * max(1, n_columns) + column)
    row, column = np.divmod(entries, max(1, n_columns))
    start = np.searchsorted(row, np.arange(len(length) + 1))
    return sorted_rows(np.ones(len(row), dtype=np.int32), column, start, n_columns)
