"""n-grams of captions, counted without Python loops over n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fivesentences.semantics.tokenisation import number_words


@dataclass(frozen=True)
class NgramCounts:
    """How often each n-gram occurs in each caption: one entry per (caption, n-gram) that occurs, ordered by caption.

    Attributes:
        caption: ``[entries]`` caption index, ascending.
        gram: ``[entries]`` n-gram index.
        count: ``[entries]`` occurrences, at least 1.
        order_of_gram: ``[n-grams]`` number of words of the n-gram minus one: 0 for single words.
        words: ``[captions]`` number of words.
    """

    caption: NDArray[np.int64]
    gram: NDArray[np.int64]
    count: NDArray[np.int64]
    order_of_gram: NDArray[np.int64]
    words: NDArray[np.int64]

    @property
    def n_grams(self) -> int:
        """Number of distinct n-grams of all orders."""
        return len(self.order_of_gram)


def count_ngrams(tokens: Sequence[Sequence[str]], longest: int = 4) -> NgramCounts:
    """Count the n-grams of 1 to ``longest`` words in each caption.

    Args:
        tokens: Words of each caption.
        longest: Number of words in the longest n-grams.
    """
    word, words, n_words = number_words(tokens)
    caption_of_word = np.repeat(np.arange(len(tokens)), words)
    words_left = np.repeat(np.cumsum(words), words) - np.arange(len(word))  # to the end of the caption
    nothing = np.zeros(0, dtype=np.int64)
    captions, grams, counts, orders = [nothing], [nothing], [nothing], [nothing]
    n_grams = 0
    start, gram_at = np.arange(len(word)), word  # where n-grams of this order start, and their numbers
    for order in range(longest):
        n_distinct = n_words
        if order:
            goes_on = words_left[start] > order
            start = start[goes_on]
            # An n-gram is the (n-1)-gram at its start plus its last word.
            distinct, gram_at = np.unique(gram_at[goes_on] * n_words + word[start + order], return_inverse=True)
            n_distinct = len(distinct)
        if not n_distinct:
            break
        pair, count = np.unique(caption_of_word[start] * n_distinct + gram_at, return_counts=True)
        captions.append(pair // n_distinct)
        grams.append(pair % n_distinct + n_grams)
        counts.append(count)
        orders.append(np.full(n_distinct, order))
        n_grams += n_distinct
    caption = np.concatenate(captions)
    by_caption = np.argsort(caption, kind="stable")
    return NgramCounts(
        caption[by_caption],
        np.concatenate(grams)[by_caption],
        np.concatenate(counts)[by_caption].astype(np.int64),
        np.concatenate(orders),
        words,
    )


@dataclass(frozen=True)
class NgramLevels:
    """Counts of n-grams as zeros and ones: column (n-gram, level) of a caption is 1 if its count reaches the level.

    The clipped count ``min(h, r)`` of two captions is then the dot product of two rows.

    Attributes:
        entry: ``[ones]`` index into the entries of ``NgramCounts``, ascending.
        column: ``[ones]`` index of (n-gram, level); for level 1 this is the index of the n-gram.
        gram_of_column: ``[columns]`` n-gram index.
    """

    entry: NDArray[np.int64]
    column: NDArray[np.int64]
    gram_of_column: NDArray[np.int64]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.gram_of_column)


def levels_of(grams: NgramCounts, entry: NDArray[np.int64] | None = None) -> NgramLevels:
    """Return the columns (n-gram, level) of the given entries of ``grams``; by default of all entries."""
    if entry is None:
        entry = np.arange(len(grams.gram))
    entry = np.repeat(entry, grams.count[entry])
    first_of_run = np.flatnonzero(np.r_[True, entry[1:] != entry[:-1]]) if len(entry) else entry
    level = np.arange(len(entry)) - np.repeat(first_of_run, np.diff(np.r_[first_of_run, len(entry)]))
    column = grams.gram[entry]
    gram_of_column = np.arange(grams.n_grams)
    repeated = level > 0
    if repeated.any():
        # Level 1 of an n-gram is its own column; the columns of higher levels, which are few, follow.
        levels = level.max() + 1
        keys, inverse = np.unique(column[repeated] * levels + level[repeated], return_inverse=True)
        column[repeated] = grams.n_grams + inverse
        gram_of_column = np.concatenate([gram_of_column, keys // levels])
    return NgramLevels(entry, column, gram_of_column)
