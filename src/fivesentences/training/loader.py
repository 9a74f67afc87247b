"""Batches of a run in their order; if reading takes time, the next batch is read while this one is trained on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from fivesentences.training.data import Split

AHEAD = 2  # batches


@dataclass(frozen=True)
class Batch:
    """Matching pairs of images and captions.

    Attributes:
        rows: ``[B]``, the captions' rows in the split.
        images: ``[B, ...]``, the image of each caption.
        tokens: ``[B, longest]`` word numbers.
        lengths: ``[B]``, on the CPU.
        extras: What else the model reads of each caption.
    """

    rows: np.ndarray
    images: Tensor
    tokens: Tensor
    lengths: Tensor
    extras: dict[str, Tensor]


class Loader:
    """Batches of a split on a device.

    Images that are kept in memory move to the device once. Everything else of a batch is gathered by numpy, without a
    loop over its items; for a CUDA device a thread gathers ahead, into pinned memory.

    Args:
        split: The training split.
        device: Where batches go.
    """

    def __init__(self, split: Split, device: torch.device):
        self.split, self.device = split, device
        self._held = split.images.to(device) if isinstance(split.images, Tensor) else None

    def batches(self, rows: Iterable[np.ndarray]) -> Iterator[Batch]:
        """One batch for each array of caption rows, in their order."""
        if self.device.type == "cpu" and self._held is not None:
            yield from (self._on_device(self._gathered(some)) for some in rows)
            return
        for gathered in _ahead(self._gathered, rows):
            yield self._on_device(gathered)

    def _gathered(self, rows: np.ndarray) -> Batch:
        split = self.split
        tokens, lengths = split.captions.batch(rows)
        chosen = torch.from_numpy(rows)
        images = split.image_of_caption[chosen]  # rows of images, until they are taken on the device
        if self._held is None:
            images = split.images[images]
        extras = {name: values[chosen] for name, values in split.extras.items()}
        if self.device.type == "cuda":
            images, tokens = images.pin_memory(), tokens.pin_memory()
            extras = {name: values.pin_memory() for name, values in extras.items()}
        return Batch(rows, images, tokens, lengths, extras)

    def _on_device(self, batch: Batch) -> Batch:
        images = batch.images.to(self.device, non_blocking=True)
        return Batch(
            batch.rows,
            images if self._held is None else self._held[images],
            batch.tokens.to(self.device, non_blocking=True),
            batch.lengths,
            {name: values.to(self.device, non_blocking=True) for name, values in batch.extras.items()},
        )


def _ahead(work: Callable[[np.ndarray], Batch], items: Iterable[np.ndarray]) -> Iterator[Batch]:
    """``map(work, items)``, with the next results made by a thread; its exceptions are raised here."""
    coming = iter(items)
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[Batch]] = deque(pool.submit(work, item) for item in islice(coming, AHEAD))
        try:
            while waiting:
                done = waiting.popleft().result()
                waiting.extend(pool.submit(work, item) for item in islice(coming, 1))
                yield done
        finally:
            for future in waiting:
                future.cancel()
