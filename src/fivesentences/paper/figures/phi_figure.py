"""Figures that show what was found about each phi over the captions of a scale's datasets."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pandas as pd
from pydantic import Field

from fivesentences.config import PhiName
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.kinds import Context, FigureKind
from fivesentences.paper.numbers.phi_statistics import PhiStatistics, read_phi_statistics
from fivesentences.paper.text.phi_notes import note_on_left_out, notes_on_tuples
from fivesentences.plan.exhibits import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


class PhiFigure(FigureKind):
    """A kind of figure about some phi; it says how it is read, what is drawn as a tidy table, and how.

    ``how_to_read`` and ``draw`` are called only if there are datasets and phi to show.
    """

    reads: ClassVar[Source] = "phi_statistics"

    phis: list[PhiName] = Field(min_length=1)

    def matrices(self) -> list[PhiName]:
        """Those that are shown."""
        return self.phis

    def drawing(self, context: Context, numbers: Sequence[Path]) -> Drawing:
        """Collect what was found about its phi over each dataset; see ``FigureKind``."""
        found = read_phi_statistics(self.phis, context.scale, numbers)
        notes = [
            *(self.how_to_read(found) if found.datasets else []),
            *notes_on_tuples(found),
            *note_on_left_out(self.phis, context.scale),
            *self.notes,
        ]
        draw = functools.partial(self.draw, context=context, found=found)
        return Drawing(self.tidy(found), notes, draw if found.datasets else None)

    @abstractmethod
    def how_to_read(self, found: PhiStatistics) -> list[str]:
        """Sentences on what is shown and how."""

    @abstractmethod
    def tidy(self, found: PhiStatistics) -> pd.DataFrame:
        """Everything that is drawn; without lines if there is nothing."""

    @abstractmethod
    def draw(self, canvas: Canvas, context: Context, found: PhiStatistics) -> None:
        """Set the size of an empty canvas and fill it."""
