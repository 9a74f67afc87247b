"""ROUGE of every caption against every image, from longest common subsequences with all references at once.

``rouge_l`` is ROUGE-L (Lin 2004) as coco-caption computes it: precision and recall of the longest common subsequence,
each maximised over the references separately, combined with beta 1.2.

``rouge_daa`` is ROUGE as in the DAA release (Differentiable Approximation of ASP, Li et al. 2022). The supplement names
ROUGE and gives no formula. What is known comes from the lines of the released code that compute it, most of them
commented out (its default is the tf-idf cosine): the mean of the F of ROUGE-1, ROUGE-2 and ROUGE-L of the package
``rouge``. Full stops are deleted, and the captions of an image are joined by full stops into ONE reference with one
sentence per caption (not a mean over references). That package counts distinct words and word pairs rather than
occurrences, including pairs across sentence boundaries, and its ROUGE-L counts the distinct words in the union, over
the sentences, of one longest common subsequence with each. Assumed: the version of ``rouge`` does not matter; other
white space between words is a single space, as ``tokenisation.tokenise`` leaves it; ROUGE is 0 where the package raises
an error, that is for a caption or an image that consists of full stops only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.semantics.caption_order import noted_corpus
from fivesentences.semantics.common_subsequences import CommonSubsequences, Sequences, ranks
from fivesentences.semantics.references import References, block_of_rows, dot_of_rows, places_of, ranges, sorted_rows
from fivesentences.semantics.scoring import Indices, Output, Scorer, matrix_of
from fivesentences.semantics.tokenisation import number_words, tokenise
from fivesentences.semantics.validation import checked_corpus

BETA = 1.2
# A multiple of every number up to 40, exact in float64: recalls are compared in units of 1 / MULTIPLE, unrounded.
MULTIPLE = float(math.lcm(*range(1, 41)))
AGAINST_ZERO = 1e-8  # added to precision + recall by the package rouge
PAIRS_PER_CHUNK = 20_000


class SubsequenceScorer(Scorer):
    """A scorer that compares one caption at a time with all references; captions of the same words are compared once.

    Args:
        tokens: ``[captions]`` words of each caption.
        image_of_caption: ``[captions]`` image index of each caption, checked.
    """

    def __init__(self, tokens: Sequence[Sequence[str]], image_of_caption: NDArray[np.int64]):
        self._references = References(image_of_caption)
        self.shape = self._references.shape
        self._sequences = Sequences(*number_words(tokens))
        self._start = self._sequences.start
        texts: dict[tuple[str, ...], int] = {}
        self._text = np.array([texts.setdefault(tuple(words), len(texts)) for words in tokens])
        self._common = CommonSubsequences(self._sequences.take(self._references.by_image))
        # Array operations take microseconds here: two threads would only pass the interpreter lock back and forth.
        self._one_at_a_time = Lock()

    def groups(self, rows: int) -> list[Indices]:
        """Captions with the same words together."""
        by_text = np.argsort(self._text, kind="stable")
        return [by_text[start : start + rows] for start in range(0, len(by_text), rows)]

    def _rows(self, captions: Indices, row: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
        """Return ``[captions, images]``, from a function that makes the row of one caption."""
        _, one, place = np.unique(self._text[captions], return_index=True, return_inverse=True)
        with self._one_at_a_time:
            rows = np.array([row(caption) for caption in captions[one].tolist()])
        return rows.reshape(-1, self.shape[1])[place]

    def _words(self, caption: int) -> slice:
        return slice(self._start[caption], self._start[caption] + self._sequences.length[caption])

    def _of_image(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Reduce ``[references]`` values, those of image 0 first, to ``[images]``."""
        return np.asarray(ufunc.reduceat(values, self._references.first))

    def _references_by_caption(
        self, captions: Indices, reference: Indices, count: NDArray[np.int64]
    ) -> Iterator[tuple[int, Indices, Indices, CommonSubsequences]]:
        """Yield each caption of some pairs, the pairs, their entries in ``reference``, and something to compare with.

        Args:
            captions: ``[pairs]``.
            reference: ``[references of all pairs]`` captions, those of the first pair first.
            count: ``[pairs]`` number of references, at least 1.
        """
        distinct, place = np.unique(reference, return_inverse=True)
        common = CommonSubsequences(self._sequences.take(distinct))
        first = np.cumsum(count) - count
        by_caption = np.argsort(captions, kind="stable")
        for pairs in np.split(by_caption, np.flatnonzero(np.diff(captions[by_caption])) + 1):
            if len(pairs):
                yield int(captions[pairs[0]]), pairs, place[ranges(first[pairs], count[pairs])], common


class RougeLScorer(SubsequenceScorer):
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
        super().__init__([words or [""] for words in tokenise(captions, tokenize)], pairing)
        self._share = MULTIPLE / self._sequences.length[self._references.by_image]

    def score(self, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64."""

        def row(caption: int) -> NDArray[np.float64]:
            common = self._common.lengths(self._sequences.word[self._words(caption)])
            precision = self._of_image(np.maximum, common) / self._sequences.length[caption]
            recall = self._of_image(np.maximum, common * self._share) / MULTIPLE
            return f_measure(precision, recall)

        return self._rows(captions, row)

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        _, reference, count = self._references.of_pairs(captions, images, without_own)
        known = count > 0
        captions, count = captions[known], count[known]
        first = np.cumsum(count) - count
        length = self._sequences.length
        common = np.zeros(len(reference), dtype=np.int64)
        for caption, pairs, entries, others in self._references_by_caption(captions, reference, count):
            lengths = others.lengths(self._sequences.word[self._words(caption)])
            common[ranges(first[pairs], count[pairs])] = lengths[entries]
        scores = np.full(len(known), np.nan)
        if len(first):
            precision = np.maximum.reduceat(common, first) / length[captions]
            recall = np.maximum.reduceat(common / length[reference], first)
            scores[known] = f_measure(precision, recall)
        return scores


def f_measure(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the F measure that weighs recall beta times as much as precision; the two are 0 only together."""
    weight = BETA**2
    below = np.maximum(recall + weight * precision, np.finfo(np.float64).tiny)
    return np.asarray((1 + weight) * precision * recall / below)


def rouge_l_matrix(
    captions: Sequence[str], image_of_caption: ArrayLike | None = None, tokenize: str = "whitespace", out: Output = None
) -> NDArray[np.floating]:
    """ROUGE-L of every caption against the captions of every image, as coco-caption computes it.

    A caption is one of the references of its own image, so it scores 1 there.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image;
            default five per image, those of an image adjacent, whatever the captions are. A note on standard error
            says so where the captions of an image seem to belong to others.
        tokenize: As in ``tokenisation.tokenise``.
        out: As in ``cider_matrix``.

    Returns:
        ``[captions, images]``, 0 to 1; float64, or as ``out`` says.

    Raises:
        InputError: If there are no captions, or ``image_of_caption`` or ``out`` does not fit.
    """
    texts, pairing = noted_corpus(captions, image_of_caption, "rouge_l_matrix")
    return matrix_of(RougeLScorer(texts, pairing, tokenize), out)


class RougeDaaScorer(SubsequenceScorer):
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
        sentences = [" ".join(words).replace(".", "") for words in tokenise(captions, tokenize)]
        # To the package, a sentence of spaces only is one empty word; a sentence of no characters has no words.
        super().__init__([text and (text.split() or [""]) for text in sentences], pairing)
        self._rank, self._n_different = ranks(self._sequences)
        word, length = self._sequences.word, self._sequences.length
        self._word_sets = _sets(word, length, self._sequences.n_words)
        follows = np.ones(len(word), dtype=bool)
        follows[self._start[length > 0]] = False
        second = np.flatnonzero(follows)
        self._known_pairs, column = np.unique(self._pair_of(word[second - 1], word[second]), return_inverse=True)
        self._word_pairs = _sets(column, np.maximum(0, length - 1), len(self._known_pairs))
        self._n_pairs = np.diff(self._word_pairs.indptr)
        words, word_pairs, self._words_of_image, self._pairs_of_image = self._documents(
            self._references.by_image, self._references.count
        )
        self._image_words, self._image_word_pairs = words.T.tocsr(), word_pairs.T.tocsr()

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
        # Pairs across two captions count, although perhaps no caption has them.
        column = places_of(numbered, self._known_pairs)[word_pairs.indices]
        start = np.concatenate([[0], np.cumsum(column >= 0)])[word_pairs.indptr]
        column = column[column >= 0]
        known = sorted_rows(np.ones(len(column), dtype=np.int32), column, start, len(self._known_pairs))
        return words, known, np.diff(words.indptr), np.diff(word_pairs.indptr)

    def score(self, captions: Indices) -> NDArray[np.float64]:
        """Return ``[captions, images]`` dense float64."""

        def row(caption: int) -> NDArray[np.int64]:
            words = self._words(caption)
            bits = self._common.words(self._sequences.word[words], self._rank[words])
            return np.asarray(np.bitwise_count(self._of_image(np.bitwise_or, bits)), dtype=np.int64)

        common = self._rows(captions, row)
        different, n_pairs = self._n_different[captions][:, None], self._n_pairs[captions][:, None]
        return _mean_f(
            ((self._word_sets[captions] @ self._image_words).toarray(), different, self._words_of_image),
            ((self._word_pairs[captions] @ self._image_word_pairs).toarray(), n_pairs, self._pairs_of_image),
            (common, different, self._words_of_image),
        )

    def block(self, captions: Indices, images: Indices) -> NDArray[np.float64]:
        """Score some captions against some images, see ``Scorer.block``."""
        reference, first = self._references.of_each(images)
        words, word_pairs, n_words, n_pairs = self._documents(reference, self._references.count[images])
        of_captions = ranges(self._start[captions], self._sequences.length[captions])
        # Words by numbers of their own, so that tables are as small as the batch.
        candidates, references = (self._sequences.take(some) for some in (captions, reference))
        numbered, number = np.unique(np.concatenate([candidates.word, references.word]), return_inverse=True)
        candidates, references = (
            Sequences(word, some.length, len(numbered))
            for word, some in zip(np.split(number, [len(candidates.word)]), (candidates, references), strict=True)
        )
        bits = CommonSubsequences(references).words_of_each(candidates, self._rank[of_captions])
        common = np.bitwise_count(np.bitwise_or.reduceat(bits, first, axis=1)).astype(np.int64)
        different, of_candidate = self._n_different[captions][:, None], self._n_pairs[captions][:, None]
        return _mean_f(
            (block_of_rows(self._word_sets[captions], words), different, n_words),
            (block_of_rows(self._word_pairs[captions], word_pairs), of_candidate, n_pairs),
            (common, different, n_words),
        )

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
        known = np.flatnonzero(count[document])
        of_pair = count[document[known]]
        others = reference[ranges((np.cumsum(count) - count)[document[known]], of_pair)]
        common = np.zeros(len(caption), dtype=np.int64)
        for index, pairs, entries, sentences in self._references_by_caption(caption[known], others, of_pair):
            part = self._words(index)
            bits = sentences.words(self._sequences.word[part], self._rank[part])[entries]
            first = np.cumsum(of_pair[pairs]) - of_pair[pairs]
            common[known[pairs]] = np.bitwise_count(np.bitwise_or.reduceat(bits, first))
        different = self._n_different[caption]
        common_words = dot_of_rows(self._word_sets, caption, words, document)
        common_pairs = dot_of_rows(self._word_pairs, caption, word_pairs, document)
        scores = _mean_f(
            (common_words, different, n_words[document]),
            (common_pairs, self._n_pairs[caption], n_pairs[document]),
            (common, different, n_words[document]),
        )
        scores[count[document] == 0] = np.nan
        return scores


def _mean_f(*counts: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]) -> NDArray[np.float64]:
    """Return the mean F, from a triple of counts for each ROUGE: common, in the candidate, in the reference."""
    total: Any = 0.0
    for common, of_candidate, of_reference in counts:
        precision = common / np.maximum(1, of_candidate)
        recall = common / np.maximum(1, of_reference)
        total = total + 2.0 * (precision * recall / (precision + recall + AGAINST_ZERO))
    return np.asarray(total / len(counts))


def _sets(column: NDArray[np.int64], length: NDArray[np.int64], n_columns: int) -> Any:
    """``[rows, columns]`` 1 where a row has a column at least once, from ``length`` entries per row, row after row."""
    row = np.repeat(np.arange(len(length)), length)
    entries = np.unique(row * max(1, n_columns) + column)
    row, column = np.divmod(entries, max(1, n_columns))
    start = np.searchsorted(row, np.arange(len(length) + 1))
    return sorted_rows(np.ones(len(row), dtype=np.int32), column, start, n_columns)
