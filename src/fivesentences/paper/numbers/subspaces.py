"""Looking up the numbers of category retrieval: of runs, of their contrasts, and in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fivesentences.config.documents import Selection
from fivesentences.errors import InputError
from fivesentences.evaluation.categories import CHANCE, read_subspace_table
from fivesentences.evaluation.contrasts import FORMAT_OF_CATEGORIES, read_contrasts
from fivesentences.paper.numbers.contrasts import Difference, one_of
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.study.exhibits import SubspaceMeasure
from fivesentences.study.expand import SubspaceContrast, SubspaceRow


@dataclass(frozen=True)
class Sizes:
    """How many documents each part of a division has, and how many categories its test part."""

    train: int
    validation: int
    test: int
    categories: int


class SubspaceResults:
    """Values of runs, from the tables of metrics that ``evaluate_subspace_runs`` wrote.

    Args:
        files: One per job.

    Raises:
        InputError: If a file is missing or is another table, or a run has two values of one measure.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        frame = read_subspace_table(files, "metrics")
        keys = ["run", "selection", "metric", "direction"]
        if (twice := frame[frame.duplicated(keys)]).size:
            raise InputError(f"the tables of metrics have two values of the run '{twice['run'].iloc[0]}'.")
        values: pd.Series[float] = frame.set_index(keys)["value"]
        self._values = values.to_dict()
        sizes = frame.drop_duplicates("run").set_index("run")[["train", "validation", "test", "categories"]]
        self._sizes = {
            str(run): Sizes(*map(int, line)) for run, line in zip(sizes.index, sizes.to_numpy(), strict=True)
        }

    def value(self, run: str, selection: Selection, measure: tuple[str, str]) -> float:
        """One fraction.

        Args:
            run: Name of the run.
            selection: Which epoch's weights.
            measure: Metric and direction.

        Raises:
            InputError: If the run has no such value.
        """
        value = self._values.get((run, selection, *measure))
        if value is None:
            raise InputError(
                f"the run '{run}' has no {' '.join(measure)} of the epoch by '{selection}'; evaluate it again."
            )
        return float(value)

    def values(self, row: SubspaceRow, measure: tuple[str, str]) -> list[float]:
        """The fractions of a row, one per seed."""
        return [self.value(run.name, row.selection, measure) for run in row.runs]

    def by_chance(self, rows: Sequence[SubspaceRow]) -> float:
        """The mean average precision that a random ranking is expected to reach, over the runs of some rows."""
        found = [value for row in rows for value in self.values(row, (CHANCE, "mean"))]
        return sum(found) / len(found)

    def sizes(self, run: str) -> Sizes:
        """The division that a run was trained and tested on.

        Raises:
            InputError: If the run has no values.
        """
        if run not in self._sizes:
            raise InputError(f"the run '{run}' has no values at all; evaluate it again.")
        return self._sizes[run]


def published_of(published: Mapping[str, PublishedRow], number: str, role: str) -> PublishedRow | None:
    """A row of a published table by its number and role; None if the paper has no such row for that role.

    A published row that spans several datasets is one row for each of them; see ``read_published``.
    """
    found = (row for name, row in published.items() if name.partition(" ")[0] == number and row.role == role)
    return next(found, None)


def published_value(row: PublishedRow, measure: SubspaceMeasure) -> float | None:
    """What a published row has of a measure; the mean of both directions is called avg there."""
    direction = "avg" if measure.direction == "mean" else measure.direction
    return row.values.get((direction, measure.metric))


@dataclass(frozen=True)
class MeasuredSubspaces:
    """A contrast that the scale makes, and what was measured.

    Attributes:
        contrast: The contrast.
        metrics: By (metric, direction).
        pool: Test documents of all seeds together.
        per_seed: Test documents of each seed.
        same_queries: Whether all seeds have the same ones.
    """

    contrast: SubspaceContrast
    metrics: Mapping[tuple[str, str], Difference]
    pool: int
    per_seed: Sequence[int]
    same_queries: bool


def measured_subspace_contrasts(
    contrasts: Sequence[SubspaceContrast], numbers: Sequence[Path], where: str
) -> tuple[list[MeasuredSubspaces], int]:
    """What a file of contrasts says of those that the scale makes, and the draws of its bootstrap (0 if none is made).

    Args:
        contrasts: All contrasts of the table.
        numbers: The file that ``write_contrasts`` wrote; none if the scale makes no contrast.
        where: The table, for a message.

    Raises:
        InputError: If the file is not of this version, or lacks a contrast.
    """
    made = [contrast for contrast in contrasts if contrast.is_made]
    if not made:
        return [], 0
    found = read_contrasts(numbers[0], FORMAT_OF_CATEGORIES)
    known = {
        (tuple(one["a"]), tuple(one["b"]), one["a_selection"], one["b_selection"]): one for one in found["contrasts"]
    }
    measured = []
    for contrast in made:
        selections = contrast.a.selection, contrast.b.selection
        one = one_of(known, contrast.runs, selections, numbers[0], where)
        metrics = {
            (metric, side): Difference(**values)
            for metric, sides in one["metrics"].items()
            for side, values in sides.items()
        }
        measured.append(MeasuredSubspaces(contrast, metrics, one["images"], one["per_seed"], one["same_queries"]))
    return measured, int(found["resamples"])
