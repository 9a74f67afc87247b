"""What every kind of table or figure can do: from what was measured to something that can be written.

A kind is one file in ``paper/tables`` or ``paper/figures`` and one line in ``paper/studies.py``. Its class says what a
study's file may set, what a plan must make for it (see ``plan.exhibits``), and how it is made.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fivesentences.config import Scale
from fivesentences.corpus import Photographs
from fivesentences.paper.tables.table import Table
from fivesentences.plan.exhibits import Exhibit
from fivesentences.plan.rows import Row, expand_rows
from fivesentences.plan.studies import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Context:
    """Where a table or figure stands.

    Attributes:
        study_name: File name of its study, without the suffix.
        study: Its study.
        scale: The scale at which it is made.
    """

    study_name: str
    study: Study
    scale: Scale

    def rows(self, exhibit: Exhibit) -> list[Row]:
        """The rows of runs of a table or figure, resolved at the scale; those left out are among them."""
        return expand_rows(exhibit.row_specs(), self.study, self.scale)


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Attributes:
        data: Everything that is drawn, as one tidy table: what the figure's CSV holds.
        notes: Sentences below it.
        draw: Gives an empty canvas its size and fills it; None where the scale has nothing to draw.
    """

    data: pd.DataFrame
    notes: Sequence[str]
    draw: Callable[[Canvas], None] | None


class TableKind(Exhibit):
    """A kind of table."""

    @abstractmethod
    def build(self, context: Context, numbers: Sequence[Path], published: Path) -> Table:
        """Fill the table.

        Args:
            context: Where it stands.
            numbers: The files that ``reads`` names, in the order of the plan.
            published: Folder of the published tables, ``config/published``.

        Raises:
            InputError: If a number or a published row is missing.
        """


class FigureKind(Exhibit):
    """A kind of figure. Matplotlib, which takes a second to import, is imported where a figure is drawn."""

    @abstractmethod
    def drawing(self, context: Context, numbers: Sequence[Path], photographs: Mapping[str, Photographs]) -> Drawing:
        """Collect what is drawn, and how it is drawn.

        Args:
            context: Where it stands.
            numbers: The files that ``reads`` names, in the order of the plan.
            photographs: Of the dataset whose photographs it shows, by name; empty for a figure without photographs.

        Raises:
            InputError: If a number or a photograph is missing.
        """
