"""Study, scale and files that tables and figures may read besides the numbers that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fivesentences.corpus import Photographs
from fivesentences.evaluation.published import PublishedTable, read_published
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.study.exhibits import Exhibit
from fivesentences.reproduction.study.expand import Row, SubspaceRow, rows_of, subspace_rows
from fivesentences.reproduction.study.study import Study


@dataclass(frozen=True)
class Context:
    """Study, scale and files around a table or figure.

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
        """Return the rows of runs of a table or figure at the scale, including those that the scale leaves out."""
        return rows_of(f"{self.study_name}/{exhibit.name}", exhibit, self.study, self.scale)

    def subspace_rows(self, exhibit: Exhibit) -> list[SubspaceRow]:
        """Return the rows of category retrieval of a table or figure; those that the scale leaves out have no runs."""
        return subspace_rows(exhibit.subspace_rows(), self.study, self.scale)

    def where(self, exhibit: Exhibit) -> str:
        """Name the table or figure for an error message."""
        return f"{self.study_name}: {exhibit.name}"

    def texts(self, exhibit: Exhibit) -> tuple[str, str, str, str, str, str]:
        """Return the first fields of its ``Table``: study, name, scale, paper, title and caption."""
        return self.study_name, exhibit.name, self.scale.scale, self.study.paper, exhibit.title, exhibit.caption

    def published_rows(self, exhibit: Exhibit, rows: Literal["rows", "columns"] = "rows") -> PublishedTable:
        """Read the published table of a table or figure by row; empty if there is none. See ``read_published``."""
        name, where = exhibit.published_table(), self.where(exhibit)
        return read_published(self.published / f"{name}.csv", rows, where) if name else PublishedTable({}, where)
