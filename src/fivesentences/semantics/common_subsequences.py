"""Longest common subsequences of one caption and many others at once, one bit per word.

The columns of the dynamic programme are stored as bits, one per word of the reference: bit i is 0 if the first i + 1
words have a longer common subsequence with the candidate's words so far than the first i words have (Hyyro 2004).
A word of the candidate changes only the references that contain it, so frequent words are processed for all references
and rare ones for a few. References of more than 64 words take several machine words, with carries between them.

Which words a longest common subsequence consists of, rather than how many, depends on how the table is traced back.
Here this is done as in the ``rouge`` package: starting from the ends of both captions, a pair of equal words is taken;
otherwise the candidate's word is skipped if that costs nothing; otherwise the reference's word is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.semantics.sparse_rows import chunks, ranges

FREQUENT = 1 / 8  # a word in a larger share of the references is processed for all of them
MOST = 0.95  # share of the references that the main block must contain
WIDTHS = (np.uint16, np.uint32, np.uint64)

Bits = list[NDArray[Any]]  # one array of unsigned integers per machine word, the lowest positions first


@dataclass(frozen=True)
class Sequences:
    """Numbered words of many captions.

    Attributes:
        word: ``[words of all captions]`` word numbers from 0, one caption after the other.
        length: ``[captions]`` number of words of each caption.
        n_words: Number of distinct words.
    """

    word: NDArray[np.int64]
    length: NDArray[np.int64]
    n_words: int

    @property
    def start(self) -> NDArray[np.int64]:
        """``[captions]`` index of each caption's first word in ``word``."""
        return np.cumsum(self.length) - self.length

    def take(self, captions: NDArray[np.int64]) -> Sequences:
        """Return some captions, in this order."""
        length = self.length[captions]
        return Sequences(self.word[ranges(self.start[captions], length)], length, self.n_words)


class CommonSubsequences:
    """Many references, prepared for comparison with one candidate after another.

    Args:
        references: The references; one without words has a common subsequence of 0 words with any candidate.
    """

    def __init__(self, references: Sequences):
        self._n = len(references.length)
        width = next((kind for kind in WIDTHS if np.mean(references.length <= np.iinfo(kind).bits) >= MOST), WIDTHS[-1])
        bits = np.iinfo(width).bits
        # The main block has a slot for every reference, even for those too long for it, which are compared separately.
        self._main = _Block.of(references, references.length <= bits, width, 1)
        self._long: list[tuple[NDArray[np.int64], _Block]] = []
        machine_words = -(-references.length // 64)
        machine_words = 1 << np.ceil(np.log2(np.maximum(1, machine_words))).astype(np.int64)
        for count in np.unique(machine_words[references.length > bits]).tolist():
            place = np.flatnonzero((machine_words == count) & (references.length > bits))
            chosen = references.take(place)
            self._long.append((place, _Block.of(chosen, np.ones(len(place), dtype=bool), np.uint64, count)))

    def lengths(self, candidate: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
        """Return the length in words of the longest common subsequence with each reference, ``[references]``.

        Args:
            candidate: ``[words]`` word numbers as in the references.
        """
        words = candidate.tolist()
        lengths: NDArray[Any] = self._main.lengths(words)
        if self._long:
            lengths = lengths.astype(np.min_scalar_type(len(words)), copy=False)
        for place, block in self._long:
            lengths[place] = block.lengths(words)
        return lengths

    def words(self, candidate: NDArray[np.int64], rank: NDArray[np.int64]) -> Bits:
        """Find the distinct words of the candidate that are in its common subsequence with each reference.

        Args:
            candidate: ``[words]`` word numbers as in the references.
            rank: ``[words]`` rank of each word among the candidate's distinct words, from 0.

        Returns:
            ``[references]`` bits, bit k for the word of rank k.
        """
        words, ranks = candidate.tolist(), rank.tolist()
        found = self._main.words(words, ranks)
        for place, block in self._long:
            for part, of_block in zip(found, block.words(words, ranks), strict=True):
                part[place] = of_block
        return found


@dataclass(frozen=True)
class _Block:
    """References of up to a certain number of machine words, and the positions of each word in them.

    Attributes:
        n: Number of references.
        start: ``[words + 1]`` index of a word's first reference in ``holder``.
        holder: ``[occurrences]`` reference that contains the word, ascending for each word.
        mask: ``[occurrences]`` bits: positions of the word in that reference.
        everywhere: For each frequent word ``[references]`` bits: its positions in all references.
        prefix: ``[references]`` bits: the positions that the reference has.
    """

    n: int
    start: list[int]
    holder: NDArray[np.intp]
    mask: Bits
    everywhere: dict[int, Bits]
    prefix: Bits

    @classmethod
    def of(cls, references: Sequences, chosen: NDArray[np.bool_], width: type, machine_words: int) -> _Block:
        """Build the block; references that are not ``chosen`` count as empty."""
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
        length = np.where(chosen, references.length, 0)
        return cls(n, start.tolist(), holder, list(mask), everywhere, prefixes(length, machine_words, np.dtype(width)))

    def lengths(self, words: list[int]) -> NDArray[Any]:
        state = start_of(len(self.mask), self.n, self.mask[0].dtype)
        for word in words:
            self._advance(state, word)
        return zeros(state)

    def _advance(self, state: Bits, word: int) -> _Step | None:
        """Process one more word and return what it changed, or None if no reference contains it."""
        mask = self.everywhere.get(word)
        if mask is not None:
            before = state.copy()
            state[:] = advanced(state, mask)
            return _Step(None, mask, before, state.copy())
        start, stop = self.start[word], self.start[word + 1]
        if start == stop:
            return None
        holder = self.holder[start:stop]
        mask = [part[start:stop] for part in self.mask]
        before = [part[holder] for part in state]
        after = advanced(before, mask)
        for part, changed in zip(state, after, strict=True):
            part[holder] = changed
        return _Step(holder, mask, before, after)

    def words(self, words: list[int], ranks: list[int]) -> Bits:
        state = start_of(len(self.mask), self.n, self.mask[0].dtype)
        steps = []
        shared = False  # True if the last step kept the arrays of the state
        for word, rank in zip(words, ranks, strict=True):
            frequent = word in self.everywhere
            if shared and not frequent:  # a rare word writes into these arrays
                state = [part.copy() for part in state]
            steps.append((rank, self._advance(state, word)))
            shared = frequent
        distinct = max(ranks, default=-1) + 1
        kind = next((kind for kind in WIDTHS if np.iinfo(kind).bits >= distinct), WIDTHS[-1])
        bits = np.iinfo(kind).bits
        found: Bits = [np.zeros(self.n, dtype=kind) for _ in range(max(1, -(-distinct // bits)))]
        prefix = [part.copy() for part in self.prefix]
        for rank, step in reversed(steps):
            if step is None:
                continue
            part, bit = found[rank // bits], np.array(1 << rank % bits, dtype=kind)
            if step.holder is None:
                part |= step_back(prefix, step.mask, step.before, step.after) * bit
                continue
            some = [places[step.holder] for places in prefix]
            part[step.holder] |= step_back(some, step.mask, step.before, step.after) * bit
            for places, changed in zip(prefix, some, strict=True):
                places[step.holder] = changed
        return found


@dataclass(frozen=True)
class _Step:
    """What one word of the candidate changed: the references (None: all), and their bits before and after."""

    holder: NDArray[np.intp] | None
    mask: Bits
    before: Bits
    after: Bits


def start_of(machine_words: int, n: int, kind: np.dtype) -> Bits:
    """Return the bits before the first word of a candidate: all 1."""
    return [np.full(n, np.iinfo(kind).max, dtype=kind) for _ in range(machine_words)]


def prefixes(length: NDArray[np.int64], machine_words: int, kind: np.dtype) -> Bits:
    """Return bits of which the lowest ``length`` are 1, ``[references]``."""
    bits = np.iinfo(kind).bits
    full = np.array(np.iinfo(kind).max, dtype=kind)
    parts = []
    for word in range(machine_words):
        here = np.clip(length - word * bits, 0, bits)
        parts.append(np.where(here > 0, full >> np.where(here > 0, bits - here, 0).astype(kind), 0).astype(kind))
    return parts


def advanced(state: Bits, mask: Bits) -> Bits:
    """Return the state after one more word of the candidate.

    Args:
        state: Bits of the dynamic programme.
        mask: Positions of the word in the references.
    """
    after: Bits = []
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
        total |= np.subtract(part, used, out=used)
        after.append(total)
    return after


def step_back(prefix: Bits, mask: Bits, before: Bits, after: Bits) -> NDArray[Any]:
    """Trace one word of the candidate back through the table.

    The word is taken if it is the last word of what is left of the reference, or if the common subsequence would be
    shorter without it. It is taken at its last position, and what is left of the reference then ends before it.

    Args:
        prefix: What is left of the references: that many of the lowest bits are 1. Changed in place.
        mask: Positions of the word.
        before: Bits of the dynamic programme before the word.
        after: Bits of the dynamic programme after the word.

    Returns:
        ``[references]`` 1 if the word is taken, else 0.
    """
    kind = prefix[0].dtype
    one = np.array(1, dtype=kind)
    last = np.array(np.iinfo(kind).bits - 1, dtype=kind)
    places = [here & left for here, left in zip(mask, prefix, strict=True)]
    taken: Any = 0
    gained: Any = 0
    for word, left in enumerate(prefix):
        below_end = left >> one
        if word + 1 < len(prefix):
            below_end |= (prefix[word + 1] & one) << last
        taken = taken | ((left ^ below_end) & places[word])
        # The common subsequence grows by at most one word, so the parity of the change says whether it grows.
        gained = gained ^ np.bitwise_count((before[word] ^ after[word]) & left)
    taken = ((taken != 0) | (gained & np.uint8(1) != 0)).astype(kind)
    chosen = np.negative(taken)  # all bits
    above: NDArray[np.bool_] | None = None
    for word in reversed(range(len(prefix))):
        below: NDArray[Any] = places[word].copy()
        shift = 1
        while shift <= last:
            below |= below >> np.array(shift, dtype=kind)
            shift *= 2
        below >>= one
        if len(prefix) > 1:
            if above is not None:
                below[above] = prefix[word][above]
            here = places[word] != 0
            above = here if above is None else above | here
        below ^= prefix[word]
        below &= chosen
        prefix[word] ^= below
    return np.asarray(taken)


def zeros(state: Bits) -> NDArray[Any]:
    """``[references]`` number of bits that are 0, which is the length of the common subsequence."""
    bits = np.iinfo(state[0].dtype).bits
    if len(state) == 1:
        return np.subtract(np.uint8(bits), np.bitwise_count(state[0]))
    return np.asarray(sum(np.subtract(np.uint8(bits), np.bitwise_count(part)).astype(np.int64) for part in state))


def common_lengths(sequences: Sequences, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the length in words of the longest common subsequence of single pairs of captions.

    Args:
        sequences: The captions.
        left: ``[pairs]`` caption indices.
        right: ``[pairs]`` caption indices.

    Returns:
        ``[pairs]``.
    """
    lengths = np.zeros(len(left), dtype=np.int64)
    for some, words, state, masks in _batches(sequences, left, right):
        for column in range(words.shape[1]):
            state = advanced(state, masks(column))
        lengths[some] = zeros(state)
    return lengths


def common_words(
    sequences: Sequences, rank: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Find the distinct words in the common subsequence of single pairs of captions, as ``rouge`` finds them.

    Args:
        sequences: The captions.
        rank: ``[words of all captions]`` rank of each word among the distinct words of its caption, from 0.
        left: ``[pairs]`` caption indices of the candidates.
        right: ``[pairs]`` caption indices of the references.

    Returns:
        ``[machine words, pairs]`` bits, bit k for the candidate's word of rank k.
    """
    parts = 1 + int(rank.max(initial=0)) // 64
    found = np.zeros((parts, len(left)), dtype=np.uint64)
    start, length = sequences.start, sequences.length
    for some, words, state, masks in _batches(sequences, left, right):
        states = [state]
        for column in range(words.shape[1]):
            states.append(advanced(states[-1], masks(column)))
        ranks = _padded(rank, start[left[some]], length[left[some]], 0)
        prefix = prefixes(length[right[some]], len(state), state[0].dtype)
        of_batch = np.zeros((parts, len(some)), dtype=np.uint64)
        for column in reversed(range(words.shape[1])):
            taken = step_back(prefix, masks(column), states[column], states[column + 1]).astype(np.uint64)
            part, bit = np.divmod(ranks[:, column], 64)
            of_batch[part, np.arange(len(some))] |= taken << bit.astype(np.uint64)
        found[:, some] = of_batch
    return found


def ranks(sequences: Sequences) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rank every word among the distinct words of its caption, from 0; and ``[captions]`` number of distinct words."""
    caption = np.repeat(np.arange(len(sequences.length)), sequences.length)
    distinct, rank = np.unique(caption * max(1, sequences.n_words) + sequences.word, return_inverse=True)
    count = np.bincount(distinct // max(1, sequences.n_words), minlength=len(sequences.length))
    return rank - (np.cumsum(count) - count)[caption], count


def _batches(
    sequences: Sequences, left: NDArray[np.int64], right: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], Bits, Any]]:
    """Divide pairs into batches of similar size, in bounded memory.

    Yields:
        Indices of the pairs; ``[pairs, words]`` the left captions, padded with -1; bits of the pairs, all 1; and a
        function from a column of the left captions to the positions of its words in the right captions.
    """
    start, length = sequences.start, sequences.length
    bits = np.maximum(16, 1 << np.ceil(np.log2(np.maximum(1, length))).astype(np.int64))
    by_size = np.lexsort((length[left], bits[right]))
    size = bits[right[by_size]]
    for width in np.unique(size).tolist():
        of_width = by_size[size == width]
        for chunk in chunks(length[left[of_width]] * max(1, width // 64) + width):
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
