"""Every method of category retrieval, fitted by its settings; and which epochs' weights are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivesentences.config.documents import Selection
from fivesentences.errors import InputError
from fivesentences.metrics.category import category_map
from fivesentences.models.subspaces.closed_forms import Projector, Vectors

Row = dict[str, Any]  # of a table: numbers or words by column
# Called after every epoch with a few words, such as "loss 1.93"; shown after the progress bar.
Progress = Callable[[str], None]


def silent(note: str) -> None:
    """A ``Progress`` that shows nothing."""


class Fit(NamedTuple):
    """A fitted method.

    Attributes:
        projectors: By how the epoch was chosen; a method without epochs has only ``last``.
        history: One row per epoch: ``epoch`` (1 is the first), ``learning_rate``, ``loss`` and what the method knows.
        category_margins: Margins of pairs of categories by epoch; triplets with a schedule have them.
    """

    projectors: Mapping[Selection, Projector]
    history: list[Row]
    category_margins: list[Row]


class Kept(NamedTuple):
    """The state of an epoch, its validation mAP, and the score by which it was kept."""

    epoch: int
    state: Any
    map: float
    score: float


class EpochKeeper:
    """Keeps the state of the best epoch by validation mAP, of the best by validation loss, and of the last.

    Of equally good epochs the first is kept. Call ``offer`` after every epoch that was validated; the last epoch must
    be one of them.

    Args:
        snapshot: Returns a copy of the current state.

    Attributes:
        kept: What is kept for each selection.
    """

    def __init__(self, snapshot: Callable[[], Any]):
        self._snapshot = snapshot
        self.kept: dict[Selection, Kept] = {}

    def offer(self, epoch: int, *, map: float, loss: float) -> None:
        """Keep the current state as the last one, and as the best where it is better than all before.

        Args:
            epoch: Its number.
            map: On validation documents, larger is better.
            loss: On validation documents, smaller is better.

        Raises:
            InputError: If a value is not finite.
        """
        for name, value in (("mAP", map), ("loss", loss)):
            if not math.isfinite(value):
                raise InputError(f"training diverged: validation {name} is {value} in epoch {epoch}; lower the rate.")
        state = self._snapshot()
        scores: dict[Selection, float] = {"map": map, "loss": -loss, "last": epoch}
        for selection, score in scores.items():
            if selection not in self.kept or score > self.kept[selection].score:
                self.kept[selection] = Kept(epoch, state, map, score)


def mean_map(similarity: Vectors, labels: NDArray[np.int64]) -> float:
    """mAP of ``[documents, documents]``, the mean of both directions."""
    return sum(category_map(similarity, labels, labels, direction) for direction in ("i2t", "t2i")) / 2
