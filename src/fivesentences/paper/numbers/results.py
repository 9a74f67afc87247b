"""Looking up single values in the tidy table of all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from fivesentences.config.metrics import metric_of
from fivesentences.config.scales import Scale
from fivesentences.errors import InputError
from fivesentences.study.exhibits import ColumnSpec

TEXTS = (
    *("run", "split", "tie_rule", "inference"),
    *("metric", "direction", "formula", "ground_truth", "style", "phi"),
)
NEEDED = (*TEXTS, "images", "captions", "labels", "m", "value")


@dataclass(frozen=True)
class Measure:
    """What a value measures; the fields are columns of the tidy table, empty where they do not apply."""

    metric: str
    direction: str = ""
    formula: str = ""
    ground_truth: str = ""
    m: int = 0
    style: str = ""
    phi: str = ""

    @classmethod
    def of_column(cls, column: ColumnSpec, phi: str) -> Measure:
        """The measure of a column, with the scale's main phi where it names none.

        phi counts for semantic metrics only, formula and ground truth for those that have them; the formula of ASP is
        its rule for ties.
        """
        direction = column.direction or ""
        if not column.is_semantic:
            return cls(column.metric, direction)
        phi = column.phi or phi
        if column.metric == "ASP":
            return cls(column.metric, direction, column.ties, phi=phi)
        if not column.has_formulas:
            return cls(column.metric, direction, phi=phi)
        return cls(column.metric, direction, column.formula, column.ground_truth, column.m, column.style, phi)

    def __str__(self) -> str:
        rule = "ranks" if self.metric == "ASP" else "formula"
        details = [self.formula and f"{self.formula} {rule}", self.ground_truth and f"own items {self.ground_truth}"]
        details += [f"m {self.m}" if self.m else "", self.style and f"style {self.style}", self.phi]
        named = ", ".join(detail for detail in details if detail)
        return f"{self.metric} {self.direction}".strip() + (f" ({named})" if named else "")


def evaluated_columns(columns: Sequence[ColumnSpec], scale: Scale) -> list[ColumnSpec]:
    """The columns that a scale can fill: it evaluates with their phi, which no other column has that names none."""
    named = [column for column in columns if column.phi is None or column.phi in scale.phis]
    by_scale = {Measure.of_column(column, scale.evaluation_phi) for column in named if column.phi is None}
    return [
        column
        for column in named
        if column.phi is None or Measure.of_column(column, scale.evaluation_phi) not in by_scale
    ]


@dataclass(frozen=True)
class Gallery:
    """What a run was tested on; ``labels`` says whether its images have labels, which PMRP needs."""

    images: int
    captions: int
    tie_rule: str
    labels: bool


class Results:
    """Values of runs, from the tidy table (one row per value) that the evaluation collects.

    Args:
        frame: The tidy table; columns as in ``NEEDED`` (others are ignored). Only values of the test split count.

    Raises:
        InputError: If a column is missing, or a run has two values of one measure.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        missing = [column for column in NEEDED if column not in frame.columns]
        if missing:
            raise InputError(f"the table of results has no column '{missing[0]}'; collect the metrics again.")
        self._values: dict[tuple[str, str, Measure], float] = {}
        self._galleries: dict[str, Gallery] = {}
        kept = frame.reindex(columns=["run", "kept_epoch"]).drop_duplicates().dropna()
        self._kept_epochs = dict(zip(kept["run"].astype(str), kept["kept_epoch"].astype(int), strict=True))
        frame = frame.loc[frame["split"] == "test", list(NEEDED)]
        frame = frame.assign(**{name: frame[name].astype("object").fillna("") for name in TEXTS})
        line: Any  # a named tuple, which pandas-stubs does not know by its columns
        for line in frame.assign(m=frame["m"].fillna(0).astype(int)).itertuples(index=False):
            details = (line.formula, line.ground_truth, line.m, line.style, line.phi)
            measure = Measure(line.metric, line.direction, *(details if metric_of(line.metric).needs_phi else ()))
            if (line.run, line.inference, measure) in self._values:
                raise InputError(f"the table of results has two values of {measure} for the run '{line.run}'.")
            self._values[line.run, line.inference, measure] = float(line.value)
            gallery = Gallery(int(line.images), int(line.captions), line.tie_rule, bool(line.labels))
            if self._galleries.setdefault(line.run, gallery) != gallery:
                raise InputError(f"the run '{line.run}' was tested on two galleries; evaluate it again.")

    def value(self, run: str, measure: Measure, inference: str = "naive") -> float:
        """One number.

        Raises:
            InputError: If the run has no such value, or it is NaN.
        """
        value = self._values.get((run, inference, measure))
        if value is None:
            what = "has no results at all" if run not in self._galleries else f"has no value of {measure}"
            by = "" if inference == "naive" else f" by the inference method {inference}"
            raise InputError(f"the run '{run}' {what}{by}; evaluate it again before making tables.")
        if value != value:
            raise InputError(f"the run '{run}' has NaN as its {measure}; evaluate it again before making tables.")
        return value

    def over_directions(self, run: str, measure: Measure) -> float:
        """One number; for a measure that exists only by direction, the mean of both directions.

        Raises:
            InputError: If the run has no such value, or it is NaN.
        """
        if measure.direction or (run, "naive", measure) in self._values:
            return self.value(run, measure)
        return sum(self.value(run, replace(measure, direction=side)) for side in ("i2t", "t2i")) / 2

    def relevant_counts(self, run: str, measure: Measure) -> list[int]:
        """The values of m for which a run has this semantic recall, rising (the measure's own m is ignored).

        Raises:
            InputError: If there is none.
        """
        found: Mapping[int, None] = {
            other.m: None
            for name, inference, other in self._values
            if (name, inference) == (run, "naive") and replace(other, m=measure.m) == measure
        }
        if not found:
            raise InputError(f"the run '{run}' has no value of {measure} for any m; evaluate it again.")
        return sorted(found)

    def kept_epoch(self, run: str) -> int | None:
        """The epoch whose weights a run kept, if that is known."""
        return self._kept_epochs.get(run)

    def gallery(self, run: str) -> Gallery:
        """What a run was tested on.

        Raises:
            InputError: If the run has no results.
        """
        if run not in self._galleries:
            raise InputError(f"the run '{run}' has no results at all; evaluate it again before making tables.")
        return self._galleries[run]
