"""Longest common subsequences of one caption and many others at once, one bit per word.

The columns of the dynamic programme are stored as bits, one per word of the reference: bit i is 0 if the first i + 1
words have a longer common subsequence with the candidate's words so far than the first i words have (Hyyro 2004).
A word of the candidate changes only the references that contain it, so frequent words are processed for all references
and rare ones for a few. The bits of references of more than 64 words are Python integers.

Which words a longest common subsequence consists of, rather than how many, depends on how the table is traced back.
Here this is done as in the ``rouge`` package: starting from the ends of both captions, a pair of equal words is taken;
otherwise the candidate's word is skipped if that costs nothing; otherwise the reference's word is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.semantics.references import ranges

FREQUENT = 1 / 8  # a word in a larger share of the references is processed for all of them
WIDTHS = (16, 32, 64)  # bits of a machine word

Bits = NDArray[Any]  # unsigned integers, or Python integers


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
        kind = np.searchsorted(WIDTHS, references.length)  # of the narrowest width; 3 if none is wide enough
        places = [np.flatnonzero(kind == one) for one in np.unique(kind)]
        self._blocks = [(place, _Block(references.take(place))) for place in places]

    def lengths(self, candidate: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the length in words of the longest common subsequence with each reference, ``[references]``.

        Args:
            candidate: ``[words]`` word numbers as in the references.
        """
        lengths = np.zeros(self._n, dtype=np.int64)
        for place, block in self._blocks:
            lengths[place] = block.lengths(candidate.tolist())
        return lengths

    def words_of_each(self, candidates: Sequences, rank: NDArray[np.int64]) -> Bits:
        """``words`` of several candidates at once.

        Args:
            candidates: The candidates.
            rank: ``[words of all candidates]`` rank of each word among the distinct words of its candidate.

        Returns:
            ``[candidates, references]`` bits.
        """
        kind = _type_for(int(rank.max(initial=-1)) + 1)
        found = np.zeros((len(candidates.length), self._n), dtype=kind)
        for place, block in self._blocks:
            if not (kind.hasobject or block.holds_integers):
                found[:, place] = block.words_of_each(candidates, rank, kind)
                continue
            for row, (start, length) in enumerate(zip(candidates.start, candidates.length, strict=True)):
                part = slice(start, start + length)
                found[row, place] = block.words(candidates.word[part].tolist(), rank[part].tolist(), kind)
        return found

    def words(self, candidate: NDArray[np.int64], rank: NDArray[np.int64]) -> Bits:
        """Find the distinct words of the candidate that are in its common subsequence with each reference.

        Args:
            candidate: ``[words]`` word numbers as in the references.
            rank: ``[words]`` rank of each word among the candidate's distinct words, from 0.

        Returns:
            ``[references]`` bits, bit k for the word of rank k.
        """
        found = np.zeros(self._n, dtype=_type_for(int(rank.max(initial=-1)) + 1))
        for place, block in self._blocks:
            found[place] = block.words(candidate.tolist(), rank.tolist(), found.dtype)
        return found


def _type_for(bits: int) -> np.dtype[Any]:
    width = next((width for width in WIDTHS if bits <= width), None)
    return np.dtype(object if width is None else f"u{width // 8}")


class _Block:
    """References whose positions fit into integers of one type, and the positions of each word in them."""

    def __init__(self, references: Sequences):
        n = len(references.length)
        longest = int(references.length.max())
        kind = _type_for(longest)
        self._bits = longest if kind.hasobject else 8 * kind.itemsize
        self._full = np.array((1 << self._bits) - 1, dtype=kind)
        # [references] as many of the lowest bits as the reference has words
        self._prefix = np.array([(1 << length) - 1 for length in references.length.tolist()], dtype=kind)
        reference = np.repeat(np.arange(n), references.length)
        position = np.arange(len(reference)) - np.repeat(references.start, references.length)
        by_word = np.lexsort((reference, references.word))
        reference, word = reference[by_word], references.word[by_word]
        first = np.flatnonzero(np.diff(word * n + reference, prepend=-1))
        bit = np.array(1, dtype=kind) << position[by_word].astype(kind)
        # Each word's references, ascending, and its positions in them.
        self._holder = reference[first]
        self._mask = np.bitwise_or.reduceat(bit, first) if len(first) else bit
        start = np.searchsorted(word[first], np.arange(references.n_words + 1))
        self._start = start.tolist()
        self._everywhere: dict[int, Bits] = {}  # of each frequent word: its positions in all references
        for frequent in np.flatnonzero(np.diff(start) > max(FREQUENT * n, 1)).tolist():
            held = slice(start[frequent], start[frequent + 1])
            self._everywhere[frequent] = np.zeros(n, dtype=kind)
            self._everywhere[frequent][self._holder[held]] = self._mask[held]

    def lengths(self, words: list[int]) -> NDArray[Any]:
        state = np.full_like(self._prefix, self._full)
        for word in words:
            state, _ = self._advanced(state, word)
        return np.asarray(self._bits - np.bitwise_count(state).astype(np.int64))

    def words(self, words: list[int], ranks: list[int], kind: np.dtype[Any]) -> Bits:
        state = np.full_like(self._prefix, self._full)
        steps = []
        for word, rank in zip(words, ranks, strict=True):
            if word not in self._everywhere:
                state = state.copy()  # the last step keeps these arrays, and a rare word writes into them
            state, step = self._advanced(state, word)
            steps.append((step, np.array(1 << rank, dtype=kind)))
        found = np.zeros(len(state), dtype=kind)
        prefix = self._prefix.copy()
        for (holder, mask, before, after), bit in reversed(steps):
            some = prefix[holder]
            found[holder] |= self._step_back(some, mask, before ^ after) * bit
            prefix[holder] = some
        return found

    @property
    def holds_integers(self) -> bool:
        """Whether bits are Python integers."""
        return self._full.dtype.hasobject

    def words_of_each(self, candidates: Sequences, rank: NDArray[np.int64], kind: np.dtype[Any]) -> Bits:
        distinct, number = np.unique(candidates.word, return_inverse=True)
        start = np.array(self._start)
        held = start[distinct + 1] - start[distinct]
        entries = ranges(start[distinct], held)
        positions = np.zeros((len(distinct), len(self._prefix)), dtype=self._prefix.dtype)  # of each word
        positions[np.repeat(np.arange(len(distinct)), held), self._holder[entries]] = self._mask[entries]
        by_length = np.argsort(-candidates.length, kind="stable")  # so that those with a k-th word are the first ones
        length, first = candidates.length[by_length], candidates.start[by_length]
        state = np.full((len(length), len(self._prefix)), self._full)
        steps = []
        for place in range(int(length.max(initial=0))):
            some = first[length > place] + place
            mask, before = positions[number[some]], state[: len(some)]
            after = self._step(before, mask)
            steps.append((mask, before ^ after, np.left_shift(np.array(1, dtype=kind), rank[some].astype(kind))))
            state[: len(some)] = after
        found = np.zeros(state.shape, dtype=kind)
        prefix = np.broadcast_to(self._prefix, state.shape).copy()
        for mask, changed, bit in reversed(steps):
            found[: len(mask)] |= self._step_back(prefix[: len(mask)], mask, changed) * bit[:, None]
        unsorted = np.empty_like(found)
        unsorted[by_length] = found
        return unsorted

    def _advanced(self, state: Bits, word: int) -> tuple[Bits, tuple[Any, Bits, Bits, Bits]]:
        """The state after one more word, and what changed: which references, the word's positions, before, after."""
        mask = self._everywhere.get(word)
        if mask is not None:
            after = self._step(state, mask)
            return after, (slice(None), mask, state, after)
        part = slice(self._start[word], self._start[word + 1])
        holder, mask = self._holder[part], self._mask[part]
        before = state[holder]
        after = state[holder] = self._step(before, mask)
        return state, (holder, mask, before, after)

    def _step(self, state: Bits, mask: Bits) -> Bits:
        """Take one step of the dynamic programme for a word at the positions ``mask``."""
        used = state & mask
        total = state + used
        if total.dtype.hasobject:  # machine words drop the carry by themselves
            total &= self._full
        total |= np.subtract(state, used, out=used)
        return np.asarray(total)

    def _step_back(self, prefix: Bits, mask: Bits, changed: Bits) -> NDArray[np.bool_]:
        """Trace one word of the candidate back through the table.

        The word is taken if it is the last word of what is left of the reference, or if the common subsequence would
        be shorter without it. It is taken at its last position, and what is left of the reference ends before it.

        Args:
            prefix: Remainder of the references: that many of the lowest bits are 1. Changed in place.
            mask: Positions of the word.
            changed: Bits of the dynamic programme that the word changed.

        Returns:
            ``[references]`` whether the word is taken.
        """
        places: Bits = mask & prefix
        # The common subsequence grows by at most one word, so the parity of the change says whether it grows.
        gained = np.bitwise_count(changed & prefix) & 1 != 0
        taken: NDArray[np.bool_] = np.logical_or(((prefix ^ (prefix >> 1)) & places) != 0, gained)
        shift = 1
        while shift < self._bits:  # all bits up to the last position
            places = places | (places >> shift)
            shift *= 2
        np.copyto(prefix, places >> 1, where=taken)
        return np.asarray(taken)


def ranks(sequences: Sequences) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rank every word among the distinct words of its caption, from 0; and ``[captions]`` number of distinct words."""
    caption = np.repeat(np.arange(len(sequences.length)), sequences.length)
    distinct, rank = np.unique(caption * max(1, sequences.n_words) + sequences.word, return_inverse=True)
    count = np.bincount(distinct // max(1, sequences.n_words), minlength=len(sequences.length))
    return rank - (np.cumsum(count) - count)[caption], count
