"""Figures that show metrics of the runs in their rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pandas as pd
from pydantic import Field

from fivesentences.evaluation.tidy import collect
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.kinds import Context, FigureKind
from fivesentences.plan.exhibits import RowSpec, Source


class RunsFigure(FigureKind):
    """A kind of figure of metrics of runs."""

    reads: ClassVar[Source] = "runs"

    rows: list[RowSpec] = Field(min_length=1)

    def row_specs(self) -> list[RowSpec]:
        """Its rows."""
        return self.rows

    def drawing(self, context: Context, numbers: Sequence[Path]) -> Drawing:
        """Collect the numbers from the metrics of its runs; see ``FigureKind``."""
        return self.of_results(context, collect(numbers, context.scale.scale))

    @abstractmethod
    def of_results(self, context: Context, frame: pd.DataFrame) -> Drawing:
        """As ``drawing``, from the tidy table of results.

        Raises:
            InputError: If a run or a value is missing (named).
        """
