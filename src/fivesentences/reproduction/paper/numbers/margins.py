"""Measurements of adaptive margins, for the tables and figures that show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError
from fivesentences.losses import LossSpec
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.evaluation.margins import read_margins
from fivesentences.reproduction.study.expand import Row
from fivesentences.reproduction.study.study import Study

Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Margins:
    """Measurements of a dataset's training captions.

    Attributes:
        dataset: Its name.
        sets: Numbers of captions alone, by fraction and folder of the loss.
        runs: Numbers of runs, by their names.
    """

    dataset: str
    sets: Mapping[tuple[float, str], Numbers]
    runs: Mapping[str, Numbers]

    def of_captions(self, fraction: float, loss: LossSpec) -> Numbers | None:
        """Return the numbers of a loss with random negatives, measured without a model; None if it was not measured."""
        return self.sets.get((fraction, loss.folder))

    def of_runs(self, row: Row) -> list[Numbers]:
        """Return the numbers of each run of a row.

        Raises:
            InputError: If one was not measured.
        """
        for run in row.runs:
            if run.name not in self.runs:
                raise InputError(f"the margins of {self.dataset} lack the run '{run.name}'; measure them again.")
        return [self.runs[run.name] for run in row.runs]


def read_all_margins(files: Iterable[Path]) -> list[Margins]:
    """Read the measured margins, one entry per dataset.

    Raises:
        InputError: If a file is missing or is not one of these.
    """
    found = []
    for content in map(read_margins, files):
        sets = {(one["fraction"], one["loss"]): one for one in content["sets"]}
        found.append(Margins(content["dataset"], sets, {one["run"]: one for one in content["runs"]}))
    return found


def made_at(study: Study, scale: Scale, fraction: float, losses: Sequence[str]) -> list[str]:
    """Select losses of a fraction, unless the scale leaves out either, or a phi that the loss reads."""
    left_out = scale.leave_out
    made = [] if fraction in left_out.fractions else [loss for loss in losses if loss not in left_out.losses]
    return [loss for loss in made if all(map(scale.shows, study.losses[loss].phis))]
