"""Captions as word numbers, and the order in which a run sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.errors import InputError
from fivesentences.training.vocabulary import PAD, Vocabulary

BUCKET = 50  # so many batches of captions are sorted by length together


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

    def batch(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return chosen captions, padded to the longest of them: tokens ``[rows, longest]``, lengths ``[rows]``."""
        lengths = self.lengths[rows]
        position = np.arange(lengths.max())
        inside = position < lengths[:, None]  # [rows, longest]
        tokens = np.full(inside.shape, PAD, dtype=np.int64)
        tokens[inside] = self.numbers[(self.starts[rows][:, None] + position)[inside]]
        return torch.from_numpy(tokens), torch.from_numpy(lengths)


def training_order(
    settings: Hyperparameters, lengths: np.ndarray, image_of_caption: np.ndarray, seed: int, epoch: int
) -> np.ndarray:
    """Draw the order ``[captions]`` in which a run with these settings sees its captions in an epoch.

    It follows from the arguments alone, so that any epoch can be resumed.

    Args:
        settings: Hyperparameters of the run.
        lengths: ``[captions]`` words of each; read with ``bucketing`` only.
        image_of_caption: ``[captions]`` image index of each.
        seed: Seed of the run.
        epoch: From 0.

    Raises:
        InputError: See ``distinct_order``.
    """
    rng, size = np.random.default_rng([seed, epoch]), settings.batch_size
    if settings.bucketing:
        return bucketed_order(lengths, size, rng)
    if settings.one_caption_per_image:
        return distinct_order(image_of_caption, size, rng)
    return rng.permutation(len(image_of_caption))


def bucketed_order(lengths: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an order in which captions of similar length share a batch of ``size``: less padding.

    The shuffled captions are sorted by length within stretches of ``BUCKET`` batches, and then the batches are
    shuffled; the last, smaller one stays last.
    """
    order = rng.permutation(len(lengths))
    stretches = [order[start : start + BUCKET * size] for start in range(0, len(order), BUCKET * size)]
    order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in stretches])
    whole = len(order) // size * size
    batches = order[:whole].reshape(-1, size)
    return np.concatenate([batches[rng.permutation(len(batches))].ravel(), order[whole:]])


def distinct_order(image_of_caption: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an order ``[captions]`` in which no batch of ``size`` holds two captions of one image.

    Each image's captions go to different batches, to those with the most free places, drawn among equals; images with
    many captions choose first. This finds places for all of them whenever there is a way (Gale and Ryser).

    Raises:
        InputError: If an image has more captions than there are batches, or the last, smaller batch leaves no way.
    """
    captions = len(image_of_caption)
    batches = -(-captions // size)
    counts = np.bincount(image_of_caption)
    free = np.full(batches, size)
    free[-1] = captions - (batches - 1) * size  # the last one may be smaller
    places = np.empty(captions, dtype=np.int64)
    shuffled = rng.permutation(captions)
    by_image = shuffled[np.argsort(image_of_caption[shuffled], kind="stable")]
    of_image = np.split(by_image, np.cumsum(counts)[:-1])  # each image's captions, shuffled
    images = rng.permutation(len(counts))
    for image in images[np.argsort(-counts[images], kind="stable")]:
        # The random part, below 1, decides among equals.
        chosen = np.argsort(-(free + rng.random(batches)), kind="stable")[: counts[image]]
        if len(chosen) < counts[image] or free[chosen].min() < 1:
            what = f"{batches} batches of {size} cannot share the {counts[image]} training captions of image {image}"
            raise InputError(f"one_caption_per_image: {what}; set another batch_size, or leave it out.")
        places[of_image[image]] = chosen
        free[chosen] -= 1
    return shuffled[np.argsort(places[shuffled], kind="stable")]


def batches_of(order: np.ndarray, size: int, first: int = 0) -> Iterator[np.ndarray]:
    """Cut the order into batches, from batch ``first`` on; the last one may be smaller."""
    for start in range(first * size, len(order), size):
        yield order[start : start + size]


def batches_by_length(lengths: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Cut all captions into batches of similar length, longest first, so that hardly any padding is computed."""
    yield from batches_of(np.argsort(-lengths, kind="stable"), size)
