"""Longest common subsequences of one caption and many others at once, one bit per word.

The columns of the dynamic programme are kept as bits, one per word of the reference: bit i is 0 where the first
i + 1 words have a longer common subsequence with the candidate's words so far than the first i words (Hyyro 2004).
A word of the candidate changes only the references that hold it, so that frequent words work on all references and
rare ones on a few. References of more than 64 words take several machine words, with carries between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.semantics.products import chunks, ranges

FREQUENT = 1 / 8  # share of the references from which on a word works on all of them
MOST = 0.95  # share of the references that the main block must hold
WIDTHS = (np.uint16, np.uint32, np.uint64)

Bits = list[NDArray[Any]]  # one array of unsigned integers per machine word, the lowest positions first


@dataclass(frozen=True)
class Sequences:
    """Numbered words of many captions.

    Attributes:
        word: ``[words of all captions]`` one caption after the other, numbered from 0.
        length: ``[captions]`` words of each caption.
        start: ``[captions]`` where each caption begins in ``word``.
        n_words: How many different words there are.
    """

    word: NDArray[np.int64]
    length: NDArray[np.int64]
    n_words: int

    @property
    def start(self) -> NDArray[np.int64]:
        """``[captions]`` where each caption begins in ``word``."""
        return np.cumsum(self.length) - self.length

    def take(self, captions: NDArray[np.int64]) -> Sequences:
        """Some captions, in this order."""
        length = self.length[captions]
        return Sequences(self.word[ranges(self.start[captions], length)], length, self.n_words)


class CommonSubsequences:
    """Many references, prepared to be compared with one candidate after the other.

    Args:
        references: The references; those of no words have a common subsequence of 0 words with anything.
    """

    def __init__(self, references: Sequences):
        self._n = len(references.length)
        width = next((kind for kind in WIDTHS if np.mean(references.length <= np.iinfo(kind).bits) >= MOST), WIDTHS[-1])
        bits = np.iinfo(width).bits
        # The main block has a place for every reference, also for those that are too long for it and compared apart.
        self._main = _Block.of(references, references.length <= bits, width, 1)
        self._long: list[tuple[NDArray[np.int64], _Block]] = []
        machine_words = -(-references.length // 64)
        machine_words = 1 << np.ceil(np.log2(np.maximum(1, machine_words))).astype(np.int64)
        for count in np.unique(machine_words[references.length > bits]).tolist():
            place = np.flatnonzero((machine_words == count) & (references.length > bits))
            chosen = references.take(place)
            self._long.append((place, _Block.of(chosen, np.ones(len(place), dtype=bool), np.uint64, count)))

    def lengths(self, candidate: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
        """Words of the longest common subsequence with each reference, ``[references]``.

        Args:
            candidate: ``[words]`` numbered as the references' words are.
        """
        words = candidate.tolist()
        lengths: NDArray[Any] = self._main.lengths(words)
        if self._long:
            lengths = lengths.astype(np.min_scalar_type(len(words)), copy=False)
        for place, block in self._long:
            lengths[place] = block.lengths(words)
        return lengths


@dataclass(frozen=True)
class _Block:
    """References of up to so many machine words, and where each word stands in them.

    Attributes:
        n: References.
        start: ``[words + 1]`` where a word's references begin in ``holder``.
        holder: ``[occurrences]`` reference that holds the word, ascending for each word.
        mask: ``[occurrences]`` bits: where the word stands in the reference.
        everywhere: ``[references]`` bits of each frequent word.
    """

    n: int
    start: list[int]
    holder: NDArray[np.intp]
    mask: Bits
    everywhere: dict[int, Bits]

    @classmethod
    def of(cls, references: Sequences, chosen: NDArray[np.bool_], width: type, machine_words: int) -> _Block:
        """References that are not ``chosen`` hold nothing here."""
        n, bits = len(references.length), np.iinfo(width).bits
        reference = np.repeat(np.arange(n), references.length)
        position = np.arange(len(reference)) - np.repeat(references.start, references.length)
        kept = chosen[reference]
        reference, position, word = reference[kept], position[kept], references.word[kept]
        by_word = np.lexsort((reference, word))
        reference, position, word = reference[by_word], position[by_word], word[by_word]
        first = np.flatnonzero(np.diff(word * n + reference, prepend=-1))
        occurrence = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(word)]))
        mask: NDArray[Any] = np.zeros((machine_words, len(first)), dtype=width)
        bit = np.left_shift(np.ones(len(word), dtype=width), (position % bits).astype(width), dtype=width)
        np.bitwise_or.at(mask, (position // bits, occurrence), bit)
        holder, word = reference[first], word[first]
        start = np.searchsorted(word, np.arange(references.n_words + 1))
        everywhere: dict[int, Bits] = {}
        for frequent in np.flatnonzero(np.diff(start) > max(FREQUENT * n, 1)).tolist():
            held = slice(start[frequent], start[frequent + 1])
            everywhere[frequent] = [np.zeros(n, dtype=width) for _ in range(machine_words)]
            for part, places in zip(everywhere[frequent], mask, strict=True):
                part[holder[held]] = places[held]
        return cls(n, start.tolist(), holder, list(mask), everywhere)

    def lengths(self, words: list[int]) -> NDArray[Any]:
        state = start_of(len(self.mask), self.n, self.mask[0].dtype)
        for word in words:
            mask = self.everywhere.get(word)
            if mask is not None:
                advance(state, mask)
                continue
            start, stop = self.start[word], self.start[word + 1]
            if start < stop:
                holder = self.holder[start:stop]
                some = [part[holder] for part in state]
                advance(some, [part[start:stop] for part in self.mask])
                for part, advanced in zip(state, some, strict=True):
                    part[holder] = advanced
        return zeros(state)


def start_of(machine_words: int, n: int, kind: np.dtype) -> Bits:
    """Bits before the first word of a candidate: all 1."""
    return [np.full(n, np.iinfo(kind).max, dtype=kind) for _ in range(machine_words)]


def advance(state: Bits, mask: Bits) -> None:
    """One more word of the candidate, in place.

    Args:
        state: Bits of the dynamic programme.
        mask: Where the word stands in the references.
    """
    carry: NDArray[Any] | None = None
    for part, places in zip(state, mask, strict=True):
        used = part & places
        total = part + used
        if len(state) > 1:
            over = total < used
            if carry is not None:
                total += carry
                over |= total < carry
            carry = over.astype(part.dtype)
        part -= used
        part |= total


def zeros(state: Bits) -> NDArray[Any]:
    """``[references]`` bits that are 0: words of the common subsequence."""
    bits = np.iinfo(state[0].dtype).bits
    if len(state) == 1:
        return np.subtract(np.uint8(bits), np.bitwise_count(state[0]))
    return np.asarray(sum(np.subtract(np.uint8(bits), np.bitwise_count(part)).astype(np.int64) for part in state))


def common_lengths(sequences: Sequences, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Words of the longest common subsequence of single pairs of captions.

    Args:
        sequences: The captions.
        left: ``[pairs]`` caption index.
        right: ``[pairs]`` caption index.

    Returns:
        ``[pairs]``.
    """
    lengths = np.zeros(len(left), dtype=np.int64)
    for some, words, state, masks in _batches(sequences, left, right):
        for column in range(words.shape[1]):
            advance(state, masks(column))
        lengths[some] = zeros(state)
    return lengths


def _batches(
    sequences: Sequences, left: NDArray[np.int64], right: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], Bits, Any]]:
    """Pairs of about one size together, in bounded memory.

    Yields:
        Indices of the pairs; ``[pairs, words]`` the left captions, padded with -1; bits of the pairs, all 1; and a
        function that says where the left captions' word of a column stands in the right captions.
    """
    start, length = sequences.start, sequences.length
    bits = np.maximum(16, 1 << np.ceil(np.log2(np.maximum(1, length))).astype(np.int64))
    by_size = np.lexsort((length[left], bits[right]))
    size = bits[right[by_size]]
    for width in np.unique(size).tolist():
        of_width = by_size[size == width]
        for chunk in chunks(length[left[of_width]] + width):
            some = of_width[chunk]
            words = _padded(sequences.word, start[left[some]], length[left[some]], -1)
            others = _padded(sequences.word, start[right[some]], length[right[some]], -2, width)
            kind = np.dtype(f"u{min(width, 64) // 8}")

            def masks(column: int, words: Any = words, others: Any = others, kind: Any = kind) -> Bits:
                places = np.packbits(others == words[:, column, None], axis=1, bitorder="little")
                return list(np.ascontiguousarray(places.view(kind).T))

            yield some, words, start_of(max(1, width // 64), len(some), kind), masks


def _padded(
    word: NDArray[np.int64], start: NDArray[np.int64], length: NDArray[np.int64], filler: int, width: int | None = None
) -> NDArray[np.int32]:
    width = int(length.max(initial=0)) if width is None else width
    table = np.full((len(start), width), filler, dtype=np.int32)
    row = np.repeat(np.arange(len(start)), length)
    column = ranges(np.zeros_like(length), length)
    table[row, column] = word[ranges(start, length)]
    return table
