"""What fitting a method gives, and which epochs' weights are kept of one that has epochs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fivesentences.config.documents import SELECTIONS, Selection
from fivesentences.errors import InputError
from fivesentences.models.subspaces.projection import Projector

State = TypeVar("State")
# Rows of a table: numbers or words by column.
Row = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """A fitted method.

    Attributes:
        projectors: By how the epoch was chosen; a method without epochs has only ``last``.
        history: One row per epoch: ``epoch`` (1 is the first), ``learning_rate``, ``loss`` and what the method knows.
        category_margins: Margins of pairs of categories by epoch; triplets with a schedule have them.
    """

    projectors: Mapping[Selection, Projector]
    history: list[Row] = field(default_factory=list)
    category_margins: list[Row] = field(default_factory=list)


class EpochKeeper(Generic[State]):
    """Keeps the state of the best epoch by validation mAP, of the best by validation loss, and of the last.

    Of equally good epochs the first is kept. Call ``offer`` after every epoch that was validated; the last epoch must
    be one of them.

        keeper = EpochKeeper(lambda: {name: value.clone() for name, value in network.state_dict().items()})
        keeper.offer(epoch, map=0.27, loss=1.9)
        keeper.kept["map"], keeper.epochs["map"]

    Args:
        snapshot: Returns a copy of the current state; it is called once for each epoch that is kept for any reason.

    Attributes:
        kept: State by selection.
        epochs: Epoch by selection.
        values: The validation value of the epochs kept for ``map`` and ``loss``.
    """

    def __init__(self, snapshot: Callable[[], State]):
        self._snapshot = snapshot
        self.kept: dict[Selection, State] = {}
        self.epochs: dict[Selection, int] = {}
        self.values: dict[Selection, float] = {}

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
                raise InputError(
                    f"training diverged: the validation {name} of epoch {epoch} is {value}; lower the learning rate."
                )
        better: list[Selection] = ["last"]
        if "map" not in self.values or map > self.values["map"]:
            better.append("map")
            self.values["map"] = map
        if "loss" not in self.values or loss < self.values["loss"]:
            better.append("loss")
            self.values["loss"] = loss
        state = self._snapshot()
        for selection in better:
            self.kept[selection], self.epochs[selection] = state, epoch

    def projectors(self, projector_of: Callable[[State], Projector]) -> dict[Selection, Projector]:
        """The kept states as fitted methods, in the order of ``SELECTIONS``."""
        return {selection: projector_of(self.kept[selection]) for selection in SELECTIONS if selection in self.kept}


# Called after every epoch with a few words, such as "loss 1.93"; shown after the progress bar.
Progress = Callable[[str], None]


def silent(note: str) -> None:
    """A ``Progress`` that shows nothing."""
