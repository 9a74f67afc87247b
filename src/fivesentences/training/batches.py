"""Captions as word numbers, and the order in which a run sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from fivesentences.training.vocabulary import PAD

BUCKET = 50  # so many batches of captions are sorted by length together


class Encoder(Protocol):
    """A vocabulary: our own, or a released one."""

    def encode(self, caption: str) -> list[int]:
        """A caption as word numbers."""
        ...


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
    def of(cls, captions: Sequence[str], vocabulary: Encoder) -> EncodedCaptions:
        """Encode captions."""
        encoded = [vocabulary.encode(caption) for caption in captions]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        numbers = np.fromiter(chain.from_iterable(encoded), np.int64, int(lengths.sum()))
        return cls(numbers, np.cumsum(lengths) - lengths, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: slice) -> EncodedCaptions:
        return EncodedCaptions(self.numbers, self.starts[rows], self.lengths[rows])

    def batch(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """Chosen captions, padded to the longest of them: tokens ``[rows, longest]``, lengths ``[rows]``."""
        lengths = self.lengths[rows]
        position = np.arange(lengths.max())
        inside = position < lengths[:, None]  # [rows, longest]
        tokens = np.full(inside.shape, PAD, dtype=np.int64)
        tokens[inside] = self.numbers[(self.starts[rows][:, None] + position)[inside]]
        return torch.from_numpy(tokens), torch.from_numpy(lengths)


def epoch_order(captions: int, seed: int, epoch: int) -> np.ndarray:
    """``[captions]``, the order of an epoch; it depends on the arguments alone, so that any epoch can be resumed."""
    return np.random.default_rng([seed, epoch]).permutation(captions)


def bucketed_order(lengths: np.ndarray, size: int, seed: int, epoch: int) -> np.ndarray:
    """``[captions]``, as ``epoch_order``, but captions of similar length share a batch of ``size``: less padding.

    The shuffled captions are sorted by length within stretches of ``BUCKET`` batches, and then the batches are
    shuffled; the last, smaller one stays last.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    stretches = [order[start : start + BUCKET * size] for start in range(0, len(order), BUCKET * size)]
    order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in stretches])
    whole = len(order) // size * size
    batches = order[:whole].reshape(-1, size)
    return np.concatenate([batches[rng.permutation(len(batches))].ravel(), order[whole:]])


def batches_of(order: np.ndarray, size: int, first: int = 0) -> Iterator[np.ndarray]:
    """The order cut into batches, from batch ``first`` on; the last one may be smaller."""
    for start in range(first * size, len(order), size):
        yield order[start : start + size]


def batches_by_length(lengths: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """All captions in batches of similar length, longest first, so that hardly any padding is computed."""
    yield from batches_of(np.argsort(-lengths, kind="stable"), size)
