"""The exact sentence-level BLEU of every caption against every image, as a sparse matrix product.

BLEU (Papineni et al. 2002) as coco-caption computes it for a single sentence: counts of the candidate's n-grams,
clipped at the largest count over the references; the length of the closest reference; 1e-15 and 1e-9 against zeros;
and the brevity penalty. Clipped counts are dot products of rows of zeros and ones with one column per (n-gram, level).
One product sums the counts of all orders 1 to n, each order with a place value that leaves room for the lower orders,
and a table converts the sum into the score.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.caption_order import noted_corpus
from fivesentences.semantics.ngrams import count_ngrams, levels_of
from fivesentences.semantics.references import References, block_of_rows, dot_of_rows, sorted_rows
from fivesentences.semantics.scoring import ByLengthScorer, Indices, Output, matrix_of
from fivesentences.semantics.tokenisation import tokenise
from fivesentences.semantics.validation import checked_corpus

LONGEST = 4  # words in the longest n-grams
LARGEST_TABLE = 1 << 18  # entries
TINY, SMALL = 1e-15, 1e-9  # as in coco-caption


class BleuScorer(ByLengthScorer):
    """BLEU-n of the captions of a corpus against its images, 0 to 1, prepared once.

    A caption without words scores 0 everywhere, and an image whose captions all have no words gives every caption
    nearly 0, as in coco-caption.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        n: Words in the longest n-grams, 1 to 4.
        tokenize: As in ``tokenisation.tokenise``.

    Raises:
        InputError: If there are no captions, ``image_of_caption`` does not fit, or ``n`` is out of range.
    """

    def __init__(
        self, captions: Sequence[str], image_of_caption: ArrayLike, n: int = LONGEST, tokenize: str = "whitespace"
    ):
        if isinstance(n, bool) or n not in range(1, LONGEST + 1):
            raise InputError(f"n is {n!r}; BLEU-n is available for n from 1 to {LONGEST}.")
        captions, pairing = checked_corpus(captions, image_of_caption)
        self._prepare(tokenise(captions, tokenize), pairing, int(n))

    def _prepare(self, tokens: Sequence[Sequence[str]], image_of_caption: NDArray[np.int64], n: int) -> None:
        self._n = n
        self._references = References(image_of_caption)
        self.shape = self._references.shape
        n_images = self.shape[1]
        grams = count_ngrams(tokens, n)
        levels = levels_of(grams)
        self._length = grams.words
        self._order_of_column = grams.order_of_gram[levels.gram_of_column]
        caption = grams.caption[levels.entry]
        start_of_caption = np.searchsorted(caption, np.arange(len(tokens) + 1))
        ones = np.ones(len(caption), dtype=np.int32)
        self._candidates = sorted_rows(ones, levels.column, start_of_caption, levels.n_columns)
        # An image has the column (n-gram, level) if the largest count over its captions reaches the level.
        held, captions_holding = np.unique(levels.column * n_images + image_of_caption[caption], return_counts=True)
        self._held = held, captions_holding
        self._images = self._holding(held)
        self._tables = lru_cache(16)(self._of_length)

    def _holding(self, column_and_image: NDArray[np.int64]) -> Any:
        """Return ``[columns, images]`` matrix of ones, from sorted indices."""
        column, image = np.divmod(column_and_image, self.shape[1])
        start = np.searchsorted(column, np.arange(len(self._order_of_column) + 1))
        return sorted_rows(np.ones(len(column), dtype=np.int32), image, start, self.shape[1])

    @cached_property
    def _image_rows(self) -> tuple[Any, Any]:
        """``[images, columns]`` columns of an image, and those of two or more of its captions; for pairs only."""
        held, captions_holding = self._held
        return self._images.T.tocsr(), self._holding(held[captions_holding > 1]).T.tocsr()

    def _score_of(self, correct: Sequence[NDArray[np.integer]], length: NDArray[np.int64]) -> NDArray[np.float64]:
        """BLEU without the brevity penalty, from the clipped counts of each order and the candidates' lengths."""
        product: Any = 1.0
        for order, count in enumerate(correct):
            product = product * ((count + TINY) / (np.maximum(0, length - order) + SMALL))
        return np.asarray(product ** (1.0 / self._n))

    def _brevity(self, length: NDArray[np.int64], closest: NDArray[np.int64]) -> NDArray[np.float64]:
        """Brevity penalty of candidates of ``length`` words whose closest reference has ``closest`` words."""
        ratio = (length + TINY) / (closest + SMALL)
        return np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1.0)

    def _of_length(self, length: int) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
        """Table from packed counts to scores (None if it would be too large), and ``[images]`` brevity penalty."""
        references = self._references
        closest = _closest(self._length[references.by_image], np.array(length), references.first)
        brevity = self._brevity(np.array(length), closest)
        sizes = self._radices(length)
        if np.prod([float(size) for size in sizes]) > LARGEST_TABLE:
            return None, brevity
        counts = np.indices(sizes[::-1]).reshape(self._n, -1)[::-1]
        return self._score_of(list(counts), np.array(length)), brevity

    def _radices(self, length: int) -> list[int]:
        """Return the number of possible clipped counts of each order."""
        return [max(0, length - order) + 1 for order in range(self._n)]

    def _score_of_length(self, length: int, captions: Indices) -> NDArray[np.float64]:
        table, brevity = self._tables(length)
        candidates = self._candidates[captions]
        order = self._order_of_column[candidates.indices]
        if table is None:
            counts = []
            for wanted in range(self._n):
                candidates.data = (order == wanted).astype(np.int32)
                counts.append((candidates @ self._images).toarray())
            scores = self._score_of(counts, np.array(length))
        else:
            place = np.cumprod([1, *self._radices(length)[:-1]]).astype(np.int32)
            candidates.data = place[order]
            scores = table.take((candidates @ self._images).toarray(), mode="clip")
        scores *= brevity
        return scores

    def block(self, captions: Indices, images: Indices) -> NDArray[np.float64]:
        """Score some captions against some images, see ``Scorer.block``."""
        length = self._length[captions][:, None]
        candidates = self._candidates[captions]
        radix = int(length.max(initial=0)) + 1
        candidates.data = radix ** self._order_of_column[candidates.indices].astype(np.int64)
        packed, correct = block_of_rows(candidates, self._image_rows[0][images]), []
        for _ in range(self._n):
            packed, count = np.divmod(packed, radix)
            correct.append(count)
        reference, first = self._references.of_each(images)
        closest = _closest(self._length[reference], length, first)
        return self._score_of(correct, length) * self._brevity(length, closest)

    def _pairs(self, captions: Indices, images: Indices, without_own: bool) -> NDArray[np.float64]:
        known, correct, length, closest = self._counts(captions, images, without_own)
        scores = np.full(len(captions), np.nan)
        scores[known] = self._score_of(correct, length) * self._brevity(length, closest)
        return scores

    def of_set(self, captions: Indices, images: Indices) -> tuple[list[float], list[NDArray[np.float64]]]:
        """Return BLEU-1 to BLEU-n of several captions together, and of each; none is a reference of its own image.

        The BLEU of a set is not the mean over its captions: it adds up their counts and lengths first, as
        ``pycocoevalcap.bleu`` does.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image of each.

        Returns:
            BLEU of the set, one number per order; ``[pairs]`` BLEU of each caption, one array per order, NaN where an
            image has no other caption.
        """
        known, correct, length, closest = self._counts(captions, images, True)
        guessed = [np.maximum(0, length - order) for order in range(self._n)]
        whole = _of_orders([one.sum() for one in correct], [one.sum() for one in guessed])
        brevity = self._brevity(length.sum(), closest.sum())
        each = []
        for scores in _of_orders(correct, guessed):
            each.append(np.full(len(captions), np.nan))
            each[-1][known] = scores * self._brevity(length, closest)
        return [float(score * brevity) for score in whole], each

    def _counts(
        self, captions: Indices, images: Indices, without_own: bool
    ) -> tuple[NDArray[np.bool_], list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64]]:
        """Count n-grams of pairs.

        Returns:
            ``[pairs]`` whether the image has references; of those pairs the clipped counts of each order, the length of
            the caption and that of the closest reference.
        """
        own = self._references.own(captions, images) & without_own
        correct = []
        for order in range(self._n):
            of_order = self._candidates_of_order(order)
            count = np.zeros(len(captions), dtype=np.int64)
            # The caption has all of its own columns; without it, those that two or more captions have remain.
            for rows, holding in zip((~own, own), self._image_rows, strict=True):
                count[rows] = dot_of_rows(of_order, captions[rows], holding, images[rows])
            correct.append(count)
        _, reference, count = self._references.of_pairs(captions, images, without_own)
        known = count > 0
        length = self._length[captions[known]]
        first = np.cumsum(count[known]) - count[known]
        closest = _closest(self._length[reference], np.repeat(length, count[known]), first)
        return known, [one[known] for one in correct], length, closest

    def _candidates_of_order(self, order: int) -> Any:
        of_order = (self._order_of_column[self._candidates.indices] == order).astype(np.int32)
        matrix = self._candidates
        chosen = scipy.sparse.csr_array((of_order, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
        chosen.eliminate_zeros()
        return chosen


def _of_orders(correct: Sequence[Any], guessed: Sequence[Any]) -> list[Any]:
    """Return BLEU-1, BLEU-2, ... without the brevity penalty, from clipped counts and numbers of n-grams by order."""
    products = np.cumprod(
        [(right + TINY) / (all_of + SMALL) for right, all_of in zip(correct, guessed, strict=True)], 0
    )
    return [product ** (1.0 / order) for order, product in enumerate(products, 1)]


def _closest(
    reference_length: NDArray[np.int64], candidate_length: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return ``[groups]`` length of the closest reference in each group, the shorter of two equally close ones.

    Args:
        reference_length: ``[references]``.
        candidate_length: ``[references]``, scalar, or ``[candidates, 1]`` for ``[candidates, groups]``.
        first: ``[groups]`` index of the first reference of each group.
    """
    if not len(first):
        return np.zeros(0, dtype=np.int64)
    room = int(reference_length.max()) + 1
    key = np.abs(reference_length - candidate_length) * room + reference_length
    return np.asarray(np.minimum.reduceat(key, first, axis=-1) % room)


def bleu_matrix(
    captions: Sequence[str],
    image_of_caption: ArrayLike | None = None,
    n: int = LONGEST,
    tokenize: str = "whitespace",
    out: Output = None,
) -> NDArray[np.floating]:
    """Sentence-level BLEU-n of every caption against the captions of every image, as coco-caption computes it.

    A caption is one of the references of its own image, so it scores 1 there.

    Args:
        captions: Raw captions; one without words scores 0 everywhere.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image;
            default five per image, those of an image adjacent, whatever the captions are. A note on standard error
            says so where the captions of an image seem to belong to others.
        n: Words in the longest n-grams, 1 to 4.
        tokenize: As in ``tokenisation.tokenise``.
        out: As in ``cider_matrix``.

    Returns:
        ``[captions, images]``, 0 to 1; float64, or as ``out`` says.

    Raises:
        InputError: If there are no captions, ``image_of_caption`` does not fit, ``n`` is out of range, or ``out``
            does not fit.
    """
    texts, pairing = noted_corpus(captions, image_of_caption, "bleu_matrix")
    return matrix_of(BleuScorer(texts, pairing, n, tokenize), out)


# --- as in the DAA release -----------------------------------------------------------------------------------

WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
EPSILON = 0.1  # smoothing method 1: replaces a count of 0


class BleuDaaScorer(BleuScorer):
    """``nltk``'s BLEU-4 with smoothing method 1 of the captions of a corpus against its images, 0 to 1, prepared once.

    It differs from coco-caption's BLEU in its words, in that a count of 0 becomes 0.1, and in that a
    caption that shares no word with an image scores exactly 0.

    The supplement of DAA (Li et al. 2022) names BLEU and gives no formula. What is known comes from the lines of the
    released code that compute it, most of them commented out (its default is the tf-idf cosine): ``nltk``
    ``sentence_bleu`` with smoothing method 1 and default weights, with all captions of an image as the references.
    Every ASCII punctuation mark is deleted, then the text is lower-cased and split at single spaces: a punctuation mark
    that stands alone leaves an empty word, and empty words count as words. Assumed: the version of ``nltk`` does not
    matter; other white space between words is a single space, as ``tokenisation.tokenise`` leaves it.

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
