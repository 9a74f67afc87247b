"""What every kind of table and figure can do: turn measured numbers into something that can be written.

A kind is one file in ``paper/tables`` or ``paper/figures`` and one line in ``paper/studies.py``. Its class says what a
study's file may set, what a plan must make for it (see ``plan.exhibits``), and how it is made: a table is built whole,
a figure is first collected as a ``Drawing``: its data, its notes and a function that draws.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fivesentences.config import Scale
from fivesentences.corpus import Photographs
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.writing import write_drawing
from fivesentences.paper.numbers.published import PublishedRow, read_published
from fivesentences.paper.tables.table import Table
from fivesentences.plan.exhibits import Exhibit
from fivesentences.plan.rows import Row, expand_rows
from fivesentences.plan.studies import Study


@dataclass(frozen=True)
class Context:
    """Where a table or figure stands, and what all kinds may read besides the numbers that they name.

    Attributes:
        study_name: File name of its study, without the suffix.
        study: Its study.
        scale: The scale at which it is made.
        published: Folder of the published tables.
        photographs: Photographs of the dataset that a figure shows, by the dataset's name; empty if there are none.
    """

    study_name: str
    study: Study
    scale: Scale
    published: Path = Path("config/published")
    photographs: Mapping[str, Photographs] = field(default_factory=dict)

    def rows(self, exhibit: Exhibit) -> list[Row]:
        """The rows of runs of a table or figure, resolved at the scale, including those that it leaves out."""
        return expand_rows(exhibit.row_specs(), self.study, self.scale)

    def where(self, exhibit: Exhibit) -> str:
        """The table or figure, for an error message."""
        return f"{self.study_name}: {exhibit.name}"

    def texts(self, exhibit: Exhibit) -> tuple[str, str, str, str, str, str]:
        """The first fields of its ``Table``: study, name, scale, paper, title and caption."""
        return self.study_name, exhibit.name, self.scale.scale, self.study.paper, exhibit.title, exhibit.caption

    def published_rows(self, exhibit: Exhibit, rows: Literal["rows", "columns"] = "rows") -> Mapping[str, PublishedRow]:
        """The published table that it is compared with, by row, none without one; see ``read_published``."""
        name = exhibit.published_table()
        return {} if name is None else read_published(self.published / f"{name}.csv", rows)


class TableKind(Exhibit):
    """A kind of table."""

    @abstractmethod
    def build(self, context: Context, numbers: Sequence[Path]) -> Table:
        """Fill the table.

        Args:
            context: Where it stands.
            numbers: The files that ``reads`` names, in the order of the plan.

        Raises:
            InputError: If a number or a published row is missing.
        """

    def write(self, context: Context, numbers: Sequence[Path], stem: Path) -> None:
        """Build the table and write ``stem`` with the suffixes .csv, .md, .tex, .html and .json; see ``build``."""
        from fivesentences.paper.tables.writing import write_table  # imports jinja2, which planning does not need

        write_table(self.build(context, numbers), stem)


class FigureKind(Exhibit):
    """A kind of figure. Matplotlib, which takes a second to import, is imported by the functions that draw."""

    @abstractmethod
    def drawing(self, context: Context, numbers: Sequence[Path]) -> Drawing:
        """Collect what is drawn, and how.

        Args:
            context: Where it stands.
            numbers: The files that ``reads`` names, in the order of the plan.

        Raises:
            InputError: If a number or a photograph is missing.
        """

    def write(self, context: Context, numbers: Sequence[Path], stem: Path) -> None:
        """Draw the figure and write ``stem`` with the suffixes .png, .pdf, .csv and .json; see ``drawing``."""
        write_drawing(stem, self.title, self.caption, self.drawing(context, numbers))
