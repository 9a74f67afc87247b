"""Every method of category retrieval, fitted by its settings; and which epochs' weights are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.category import category_map
from fivesentences.reproduction.categories.config import Selection, SubspaceTraining
from fivesentences.reproduction.categories.inputs import Inputs, Projector, Vectors

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

    Of equally good epochs the first is kept. Call ``end`` after every epoch.

    Args:
        training: How many epochs there are, and which are validated.
        snapshot: Returns a copy of the current state.

    Attributes:
        kept: Projector kept for each selection.
        history: A row of each epoch.
    """

    def __init__(self, training: SubspaceTraining, snapshot: Callable[[], Any]):
        self._training, self._snapshot = training, snapshot
        self.kept: dict[Selection, Kept] = {}
        self.history: list[Row] = []

    def end(self, row: Row, validate: Callable[[], tuple[float, float]]) -> bool:
        """End an epoch: add its row, with validation loss and mAP if it is one that is validated; whether it is.

        Raises:
            InputError: If its loss, or a value of the validation, is not finite.
        """
        epoch = row["epoch"]
        _check_finite(epoch, "the loss", row["loss"])
        row |= {"validation_loss": None, "validation_map": None}
        self.history.append(row)
        if epoch < self._training.epochs and epoch % self._training.validate_every:
            return False
        loss, found = validate()
        row |= {"validation_loss": loss, "validation_map": found}
        for name, value in (("validation mAP", found), ("validation loss", loss)):
            _check_finite(epoch, name, value)
        state = self._snapshot()
        scores: dict[Selection, float] = {"map": found, "loss": -loss, "last": epoch}
        for selection, score in scores.items():
            if selection not in self.kept or score > self.kept[selection].score:
                self.kept[selection] = Kept(epoch, state, found, score)
        return True


def _check_finite(epoch: int, name: str, value: float) -> None:
    if not math.isfinite(value):
        raise InputError(f"training diverged: {name} of epoch {epoch} is {value}; lower the learning rate.")


def categories_of(inputs: Inputs) -> torch.Tensor:
    """Return ``[documents]`` int64 numbers of categories."""
    return torch.from_numpy(np.ascontiguousarray(inputs.categories, dtype=np.int64))


def mean_map(similarity: Vectors, labels: NDArray[np.int64]) -> float:
    """mAP of ``[documents, documents]``, the mean of both directions."""
    return sum(category_map(similarity, labels, labels, direction) for direction in ("i2t", "t2i")) / 2
