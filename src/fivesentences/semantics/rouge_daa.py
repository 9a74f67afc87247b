"""ROUGE as in the DAA release (Differentiable Approximation of ASP, Li et al. 2022).

The supplement names ROUGE and gives no formula. What is known comes from the lines of the released code that compute
it, most of them commented out (its default is the tf-idf cosine): the mean of the F of ROUGE-1, ROUGE-2 and ROUGE-L of
the package ``rouge``. Full stops are deleted, and the captions of an image are joined by full stops into ONE reference
with one sentence per caption (not a mean over references). That package counts distinct words and word pairs rather
than occurrences, including pairs across sentence boundaries, and its ROUGE-L counts the distinct words in the union,
over the sentences, of one longest common subsequence with each.

Assumed: the version of ``rouge`` does not matter; other white space between words is a single space, as
``tokenisation.tokenise`` leaves it; ROUGE is 0 where the package raises an error, that is for a caption or an image
that consists of full stops only.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.common_subsequences import CommonSubsequences, Sequences, common_words, ranks
from fivesentences.semantics.references import ByImage, References
from fivesentences.semantics.scoring import Indices, Scorer
from fivesentences.semantics.sparse_rows import dot_of_rows, ranges, sorted_rows
from fivesentences.semantics.tokenisation import number_words, tokenise
from fivesentences.semantics.validation import checked_corpus

AGAINST_ZERO = 1e-8  # added to precision + recall by the package rouge
PAIRS_PER_CHUNK = 20_000


class RougeDaaScorer(Scorer):
    """Mean F of ROUGE-1, -2 and -L of the package ``rouge`` of captions against images, 0 to 1, prepared once.

    The captions of an image form one reference (see the module), which includes the caption that is scored if the
    image is its own.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenize: As in ``tokenisation.tokenise``; its words are joined by spaces and full stops are deleted.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` does not fit.
    """

    def __init__(self, captions: Sequence[str], image_of_caption: ArrayLike, tokenize: str = "whitespace"):
        captions, pairing = checked_corpus(captions, image_of_caption)
        self._references = References(pairing)
        self.shape = self._references.shape
        sentences = [" ".join(words).replace(".", "") for words in tokenise(captions, tokenize)]
        # To the package, a sentence of spaces only is one empty word; a sentence of no characters has no words.
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
        self._by_image = ByImage(self._references)
        self._common = CommonSubsequences(self._sequences.take(self._by_image.caption))
        words, word_pairs, self._words_of_image, self._pairs_of_image = self._documents(
            self._references.by_image, self._references.count
        )
        self._image_words, self._image_word_pairs = words.T.tocsr(), word_pairs.T.tocsr()
        self._one_at_a_time = Lock()

    def _pair_of(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        return first * self._sequences.n_words + second

    def _documents(
        self, captions: NDArray[np.int64], count: NDArray[np.int64]
    ) -> tuple[Any, Any, NDArray[np.int64], NDArray[np.int64]]:
        """Build references that consist of several captions each.

        Args:
            captions: ``[captions of all documents]`` caption indices, one document after the other.
            count: ``[documents]`` number of captions of each.

        Returns:
            ``[documents, words]`` and ``[documents, word pairs that some caption has]`` matrices of ones, and
            ``[documents]`` number of distinct words and of distinct word pairs, including pairs across two captions.
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
        # Pairs across two captions count, although perhaps no caption has them.
        _, here, there = np.intersect1d(numbered, self._known_pairs, assume_unique=True, return_indices=True)
        place = np.full(len(numbered), -1)
        place[here] = there
        column = place[word_pairs.indices]
        start = np.concatenate([[0], np.cumsum(column >= 0)])[word_pairs.indptr]
        column = column[column >= 0]
        known = sorted_rows(np.ones(len(column), dtype=np.int32), column, start, len(self._known_pairs))
        return words, known, np.diff(words.indptr), n_pairs

    def groups(self, rows: int) -> list[Indices]:
        """Captions with the same words together, which are compared only once."""
        by_words = sorted(range(self.shape[0]), key=self._words_of)
        return [np.array(by_words[start : start + rows]) for start in range(0, len(by_words), rows)]

    def _words_of(self, caption: int) -> tuple[int, ...]:
        return tuple(self._sequences.word[self._start[caption] :][: self._sequences.length[caption]].tolist())

    def score(self, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64."""
        common = np.zeros((len(captions), self.shape[1]), dtype=np.int32)
        before: tuple[int, ...] = ()
        # Array operations take microseconds here: two threads would only pass the interpreter lock back and forth.
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
        """Mean F, from a triple of counts for each ROUGE: common, in the candidate, in the reference."""
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

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        scores = np.empty(len(captions))
        for start in range(0, len(captions), PAIRS_PER_CHUNK):
            some = slice(start, start + PAIRS_PER_CHUNK)
            scores[some] = self._some_pairs(captions[some], images[some], without_own)
        return scores

    def _some_pairs(
        self, caption: NDArray[np.int64], image: NDArray[np.int64], without_own: bool
    ) -> NDArray[np.float64]:
        # A document consists of the captions of an image, all of them or all but one.
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
    """``[rows, columns]`` 1 where a row has a column at least once, from ``length`` entries per row, row after row."""
    row = np.repeat(np.arange(len(length)), length)
    entries = np.unique(row * max(1, n_columns) + column)
    row, column = np.divmod(entries, max(1, n_columns))
    start = np.searchsorted(row, np.arange(len(length) + 1))
    return sorted_rows(np.ones(len(row), dtype=np.int32), column, start, n_columns)
