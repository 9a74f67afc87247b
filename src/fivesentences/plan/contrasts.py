"""Contrasts of a table or figure at a scale: which runs stand on either side, paired by seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fivesentences.config import Scale
from fivesentences.plan.rows import Row, expand_rows
from fivesentences.study.exhibits import ContrastSpec
from fivesentences.study.study import Study


class SeededRun(Protocol):
    """A run or an ensemble, as far as pairing needs it."""

    @property
    def name(self) -> str:
        """Its folder, and what records call it."""

    @property
    def seed(self) -> int:
        """By which it is paired."""


class Line(Protocol):
    """A row with its runs, one per seed."""

    @property
    def runs(self) -> Sequence[SeededRun]:
        """One per seed."""


AnyLine = TypeVar("AnyLine", bound=Line)


@dataclass(frozen=True)
class Paired(Generic[AnyLine]):
    """Two rows that are compared seed by seed.

    Attributes:
        a: The first side; the difference is a - b.
        b: The second.
        question: What the difference tells; may be empty.
    """

    a: AnyLine
    b: AnyLine
    question: str = ""

    @property
    def seeds(self) -> list[int]:
        """The seeds that both sides have, in the order of the first."""
        others = {run.seed for run in self.b.runs}
        return [run.seed for run in self.a.runs if run.seed in others]

    @property
    def runs(self) -> tuple[list[str], list[str]]:
        """Names of the runs or ensembles of both sides, one for each of ``seeds``."""
        first, second = ({run.seed: run.name for run in row.runs} for row in (self.a, self.b))
        return [first[seed] for seed in self.seeds], [second[seed] for seed in self.seeds]

    @property
    def is_made(self) -> bool:
        """Whether the scale makes both sides, with at least one seed in common."""
        return bool(self.seeds)


class Contrast(Paired[Row]):
    """Two rows of image-text matching that are compared seed by seed."""


def contrasts_of(specs: Iterable[ContrastSpec], study: Study, scale: Scale) -> list[Contrast]:
    """Multiply out contrasts; those of which the scale leaves out a side stay in, without runs.

    Raises:
        InputError: As ``expand_rows``.
    """
    found = []
    for spec in specs:
        for pair in spec.pairs():
            a, b = expand_rows(pair, study, scale)
            found.append(Contrast(a, b, spec.question))
    return found
