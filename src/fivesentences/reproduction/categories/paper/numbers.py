"""Looking up the numbers of runs of category retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fivesentences.errors import InputError
from fivesentences.reproduction.categories.config import Selection
from fivesentences.reproduction.categories.evaluation import CHANCE, read_subspace_table
from fivesentences.reproduction.study.expand import SubspaceRow


class SubspaceResults:
    """Values of runs of category retrieval, from the tables of metrics that the evaluation wrote.

    Args:
        files: One per job.

    Raises:
        InputError: If a file is missing or is another table.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        frame = read_subspace_table(files, "metrics")
        values: pd.Series[float] = frame.set_index(["run", "selection", "metric", "direction"])["value"]
        self._values = values.to_dict()
        self._lines: dict[str, Any] = {str(line.run): line for line in frame.itertuples(index=False)}

    def value(self, run: str, selection: Selection, measure: tuple[str, str]) -> float:
        """Look up one fraction.

        Args:
            run: Name of the run.
            selection: Epoch whose weights are read.
            measure: Metric and direction.

        Raises:
            InputError: If the run has no such value.
        """
        value = self._values.get((run, selection, *measure))
        if value is None:
            what = f"has no {' '.join(measure)} of the epoch by '{selection}'"
            raise InputError(f"the run '{run}' {what}; evaluate it again.")
        return float(value)

    def values(self, row: SubspaceRow, measure: tuple[str, str]) -> list[float]:
        """Look up the fractions of a row, one per seed."""
        return [self.value(run.name, row.selection, measure) for run in row.runs]

    def by_chance(self, rows: Sequence[SubspaceRow]) -> float:
        """Return the mean average precision that a random ranking is expected to reach, over the runs of some rows."""
        found = [value for row in rows for value in self.values(row, (CHANCE, "mean"))]
        return sum(found) / len(found)

    def sizes(self, run: str) -> tuple[int, int, int, int]:
        """Return the numbers of training, validation and test documents of a run, and of categories among the last."""
        line = self._lines[run]
        return line.train, line.validation, line.test, line.categories
