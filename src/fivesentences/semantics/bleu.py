"""The exact sentence-level BLEU of every caption against every image, as a sparse matrix product.

BLEU (Papineni et al. 2002) as coco-caption computes it for one sentence: counts of the candidate's n-grams clipped at
the largest count over the references, the length of the closest reference, 1e-15 and 1e-9 against zeros, and the
brevity penalty. Clipped counts are a product of rows of zeros and ones, one column per (n-gram, level). Those of the
orders 1 to n are summed in one product, each order with a place value that leaves room for the orders below it; a
table then turns the sum into the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.ngrams import count_ngrams, levels_of, tokenise
from fivesentences.semantics.pairing import checked_captions, checked_pairing
from fivesentences.semantics.products import Recent, References, checked_pairs, dot_of_rows, groups_of_one, sorted_rows
from fivesentences.semantics.scoring import Scorer, matrix_of

LONGEST = 4  # words in the longest n-gram
LARGEST_TABLE = 1 << 18  # entries
TINY, SMALL = 1e-15, 1e-9  # of coco-caption


class BleuScorer(Scorer):
    """BLEU-n of the captions of a corpus against its images, prepared once.

    A caption without words scores 0 everywhere, and an image whose captions are all without words gives every caption
    next to 0, as in coco-caption.

    Args:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        n: Words in the longest n-gram, 1 to 4.
        tokenize: As in ``ngrams.tokenise``.

    Raises:
        InputError: If there is no caption, ``image_of_caption`` does not fit, or ``n`` is out of range.
    """

    def __init__(
        self, captions: Sequence[str], image_of_caption: ArrayLike, n: int = LONGEST, tokenize: str = "whitespace"
    ):
        if isinstance(n, bool) or n not in range(1, LONGEST + 1):
            raise InputError(f"n is {n!r}; BLEU-n is defined here for n from 1 to {LONGEST}.")
        captions = checked_captions(captions)
        self._prepare(tokenise(captions, tokenize), checked_pairing(image_of_caption, len(captions)), int(n))

    def _prepare(self, tokens: Sequence[Sequence[str]], image_of_caption: NDArray[np.int64], n: int) -> None:
        self._n = n
        self._references = References(image_of_caption)
        n_images = len(self._references.count)
        self.shape = (len(tokens), n_images)
        grams = count_ngrams(tokens, n)
        levels = levels_of(grams)
        self._length = grams.words
        self._order_of_column = grams.order_of_gram[levels.gram_of_column]
        caption = grams.caption[levels.entry]
        start_of_caption = np.searchsorted(caption, np.arange(len(tokens) + 1))
        ones = np.ones(len(caption), dtype=np.int32)
        self._candidates = sorted_rows(ones, levels.column, start_of_caption, levels.n_columns)
        # An image holds (n-gram, level) if the largest count over its captions reaches the level.
        held, captions_holding = np.unique(levels.column * n_images + image_of_caption[caption], return_counts=True)
        self._held = held, captions_holding
        self._images = self._holding(held)
        self._recent: Recent[tuple[NDArray[np.float64] | None, NDArray[np.float64]]] = Recent(16)

    def _holding(self, column_and_image: NDArray[np.int64]) -> Any:
        """``[columns, images]`` ones, from sorted indices."""
        column, image = np.divmod(column_and_image, self.shape[1])
        start = np.searchsorted(column, np.arange(len(self._order_of_column) + 1))
        return sorted_rows(np.ones(len(column), dtype=np.int32), image, start, self.shape[1])

    @cached_property
    def _image_rows(self) -> tuple[Any, Any]:
        """``[images, columns]``: what an image holds, and what two or more of its captions do; for pairs alone."""
        held, captions_holding = self._held
        return self._images.T.tocsr(), self._holding(held[captions_holding > 1]).T.tocsr()

    def _score_of(self, correct: Sequence[NDArray[np.integer]], length: NDArray[np.int64]) -> NDArray[np.float64]:
        """BLEU without the brevity penalty, of clipped counts of each order and candidates' lengths."""
        product: Any = 1.0
        for order, count in enumerate(correct):
            product = product * ((count + TINY) / (np.maximum(0, length - order) + SMALL))
        return np.asarray(product ** (1.0 / self._n))

    def _brevity(self, length: NDArray[np.int64], closest: NDArray[np.int64]) -> NDArray[np.float64]:
        """Brevity penalty of candidates of ``length`` words where the closest reference has ``closest``."""
        ratio = (length + TINY) / (closest + SMALL)
        return np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1.0)

    def _of_length(self, length: int) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
        """Table from packed counts to scores, None where it would be large, and ``[images]`` brevity penalty."""
        references = self._references
        closest = _closest(self._length[references.by_image], np.array(length), references.first)
        brevity = self._brevity(np.array(length), closest)
        sizes = self._radices(length)
        if np.prod([float(size) for size in sizes]) > LARGEST_TABLE:
            return None, brevity
        counts = np.indices(sizes[::-1]).reshape(self._n, -1)[::-1]
        return self._score_of(list(counts), np.array(length)), brevity

    def _radices(self, length: int) -> list[int]:
        """How many clipped counts are possible for each order."""
        return [max(0, length - order) + 1 for order in range(self._n)]

    def groups(self, rows: int) -> list[NDArray[np.int64]]:
        """Captions of one length together: they share a table and a brevity penalty."""
        return groups_of_one(self._length, rows)

    def score(self, captions: NDArray[np.int64]) -> NDArray[np.float64]:
        """``[captions, images]`` dense float64, 0 to 1."""
        lengths = np.unique(self._length[captions])
        if len(lengths) == 1:
            return self._score_captions_of(int(lengths[0]), captions)
        scores = np.empty((len(captions), self.shape[1]))
        for length in lengths.tolist():
            rows = np.flatnonzero(self._length[captions] == length)
            scores[rows] = self._score_captions_of(length, captions[rows])
        return scores

    def _score_captions_of(self, length: int, captions: NDArray[np.int64]) -> NDArray[np.float64]:
        table, brevity = self._recent.get(length, self._of_length)
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

    def pairs(self, captions: ArrayLike, images: ArrayLike, without_own: bool = False) -> NDArray[np.float64]:
        """BLEU-n of single pairs.

        Args:
            captions: ``[pairs]`` caption indices.
            images: ``[pairs]`` image indices.
            without_own: Take counts and lengths from the image's other references where the caption is one of them.

        Returns:
            ``[pairs]``, 0 to 1; NaN where an image has no other reference.

        Raises:
            InputError: If an index is out of range or the two lists differ in length.
        """
        caption, image = checked_pairs(captions, images, self.shape)
        own = self._references.own(caption, image) if without_own else np.zeros(len(caption), dtype=bool)
        correct = []
        for order in range(self._n):
            of_order = self._candidates_of_order(order)
            count = np.zeros(len(caption), dtype=np.int64)
            # The caption itself holds all of its own columns: what is left is what two or more captions hold.
            for rows, holding in zip((~own, own), self._image_rows, strict=True):
                count[rows] = dot_of_rows(of_order, caption[rows], holding, image[rows])
            correct.append(count)
        _, reference, count = self._references.of_pairs(caption, image, without_own)
        known = count > 0
        scores = np.full(len(caption), np.nan)
        length = self._length[caption[known]]
        first = np.cumsum(count[known]) - count[known]
        closest = _closest(self._length[reference], np.repeat(length, count[known]), first)
        scores[known] = self._score_of([count[known] for count in correct], length) * self._brevity(length, closest)
        return scores

    def _candidates_of_order(self, order: int) -> Any:
        of_order = (self._order_of_column[self._candidates.indices] == order).astype(np.int32)
        matrix = self._candidates
        chosen = scipy.sparse.csr_array((of_order, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
        chosen.eliminate_zeros()
        return chosen


def _closest(
    reference_length: NDArray[np.int64], candidate_length: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Length of the closest reference of each group of references, the shorter of two equally close ones.

    Args:
        reference_length: ``[references]``.
        candidate_length: ``[references]`` or scalar.
        first: ``[groups]`` where each group of references begins.
    """
    if not len(first):
        return np.zeros(0, dtype=np.int64)
    room = int(reference_length.max()) + 1
    key = np.abs(reference_length - candidate_length) * room + reference_length
    return np.asarray(np.minimum.reduceat(key, first) % room)


def bleu_matrix(
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    n: int = LONGEST,
    tokenize: str = "whitespace",
    out: str | Path | NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    """Sentence-level BLEU-n of every caption against the captions of every image, as coco-caption computes it.

    A caption is among the references of its own image, so it scores 1 there.

    Args:
        captions: Raw captions; one without words scores 0 everywhere.
        image_of_caption: ``[captions]`` image index of each caption, any number of captions per image.
        n: Words in the longest n-gram, 1 to 4.
        tokenize: As in ``ngrams.tokenise``.
        out: As in ``cider_matrix``.

    Returns:
        ``[captions, images]``, 0 to 1; float64, or what ``out`` names.

    Raises:
        InputError: If there is no caption, ``image_of_caption`` does not fit, ``n`` is out of range, or ``out`` does
            not fit.
    """
    return matrix_of(BleuScorer(captions, image_of_caption, n, tokenize), out)
