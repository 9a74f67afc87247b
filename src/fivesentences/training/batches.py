"""Captions as word numbers, and the order in which a run sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from fivesentences.training.vocabulary import PAD, SPECIAL, UNKNOWN, Vocabulary


@dataclass(frozen=True)
class EncodedCaptions:
    """Word numbers of many captions, one after the other, so that a batch needs no loop over captions.

    Attributes:
        numbers: ``[words of all captions]`` int64.
        starts: ``[captions]``, where each begins in ``numbers``.
        lengths: ``[captions]``, number of words, ``<start>`` and ``<end>`` included.
    """

    numbers: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, captions: Sequence[str], vocabulary: Vocabulary) -> EncodedCaptions:
        """Encode captions."""
        encoded = [vocabulary.encode(caption) for caption in captions]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        numbers = np.fromiter(chain.from_iterable(encoded), np.int64, int(lengths.sum()))
        return cls(numbers, np.cumsum(lengths) - lengths, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: slice) -> EncodedCaptions:
        return EncodedCaptions(self.numbers, self.starts[rows], self.lengths[rows])

    def unknown(self, vocabulary: Vocabulary) -> float:
        """Return the share of words that are not in the vocabulary; 1 if captions have no words."""
        words = self.numbers.size - 2 * len(self)  # without <start> and <end>
        return float((self.numbers == vocabulary.number[SPECIAL[UNKNOWN]]).sum() / words) if words else 1.0

    @property
    def alike(self) -> bool:
        """Whether there are several captions, all of the same words."""
        same = len(self) > 1 and bool((self.lengths == self.lengths[0]).all())
        return same and len(np.unique(self.numbers[self.starts[:, None] + np.arange(self.lengths[0])], axis=0)) == 1

    def batch(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return chosen captions, padded to the longest of them: tokens ``[rows, longest]``, lengths ``[rows]``."""
        lengths = self.lengths[rows]
        position = np.arange(lengths.max())
        inside = position < lengths[:, None]  # [rows, longest]
        tokens = np.full(inside.shape, PAD, dtype=np.int64)
        tokens[inside] = self.numbers[(self.starts[rows][:, None] + position)[inside]]
        return torch.from_numpy(tokens), torch.from_numpy(lengths)


def training_order(captions: int, seed: int, epoch: int) -> np.ndarray:
    """Draw the order ``[captions]`` in which a run sees its captions in an epoch.

    It follows from the arguments alone, so that any epoch can be resumed.

    Args:
        captions: Number of training captions.
        seed: Seed of the run.
        epoch: From 0.
    """
    return np.random.default_rng([seed, epoch]).permutation(captions)


def batches_of(order: np.ndarray, size: int, first: int = 0) -> Iterator[np.ndarray]:
    """Cut the order into batches, from batch ``first`` on; the last one may be smaller."""
    for start in range(first * size, len(order), size):
        yield order[start : start + size]


def batches_by_length(lengths: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Cut all captions into batches of similar length, longest first, so that hardly any padding is computed."""
    yield from batches_of(np.argsort(-lengths, kind="stable"), size)
