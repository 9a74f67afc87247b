"""Words and n-grams of captions, counted without Python loops over n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError

TOKENISATIONS = ("whitespace", "ptb")


def tokenise(captions: Sequence[str], tokenize: str = "whitespace") -> list[list[str]]:
    """Words of each caption.

    Args:
        captions: Raw captions.
        tokenize: ``"whitespace"`` lower-cases and splits at white space, as the released metric code does, so
            punctuation stays.

    Raises:
        InputError: For ``"ptb"``, which comes with Java, and for an unknown name.
    """
    if tokenize == "ptb":
        raise InputError(
            "tokenize is 'ptb', but the Penn Treebank tokenizer comes with Java support, which is not built in yet; "
            "use tokenize='whitespace'."
        )
    if tokenize != "whitespace":
        raise InputError(f"tokenize is {tokenize!r}; expected one of {', '.join(map(repr, TOKENISATIONS))}.")
    return [caption.lower().split() for caption in captions]


@dataclass(frozen=True)
class NgramCounts:
    """How often each n-gram stands in each caption, one entry per pair that occurs, ordered by caption.

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
    def n_captions(self) -> int:
        """Number of captions, those without words included."""
        return len(self.words)

    @property
    def n_grams(self) -> int:
        """Number of distinct n-grams of all orders."""
        return len(self.order_of_gram)


def count_ngrams(tokens: Sequence[Sequence[str]], longest: int = 4) -> NgramCounts:
    """Count the n-grams of 1 to ``longest`` words of each caption.

    Args:
        tokens: Words of each caption.
        longest: Largest number of words in an n-gram.
    """
    words = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    vocabulary: dict[str, int] = {}
    word = np.fromiter(
        (vocabulary.setdefault(token, len(vocabulary)) for caption in tokens for token in caption),
        dtype=np.int64,
        count=int(words.sum()),
    )
    caption_of_word = np.repeat(np.arange(len(tokens)), words)
    words_left = np.repeat(np.cumsum(words), words) - np.arange(len(word))  # from this position to the caption's end
    captions, grams, counts, orders = [], [], [], []
    n_grams = 0
    start, gram_at = np.arange(len(word)), word  # where n-grams of this order start, and which they are
    for order in range(longest):
        if order:
            goes_on = words_left[start] > order
            start = start[goes_on]
            # An n-gram is the (n-1)-gram at its start and its last word.
            key = gram_at[goes_on] * len(vocabulary) + word[start + order]
            distinct, gram_at = np.unique(key, return_inverse=True)
            n_distinct = len(distinct)
        else:
            n_distinct = len(vocabulary)
        if not n_distinct:
            break
        pair, count = np.unique(caption_of_word[start] * n_distinct + gram_at, return_counts=True)
        captions.append(pair // n_distinct)
        grams.append(pair % n_distinct + n_grams)
        counts.append(count)
        orders.append(np.full(n_distinct, order))
        n_grams += n_distinct
    if not captions:
        nothing = np.zeros(0, dtype=np.int64)
        return NgramCounts(nothing, nothing, nothing, nothing, words)
    caption = np.concatenate(captions)
    by_caption = np.argsort(caption, kind="stable")
    return NgramCounts(
        caption[by_caption],
        np.concatenate(grams)[by_caption],
        np.concatenate(counts)[by_caption].astype(np.int64),
        np.concatenate(orders),
        words,
    )
