"""Looking up how well each phi agrees with a judge, in the rows that the evaluation writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import pandas as pd

from fivesentences.errors import InputError
from fivesentences.evaluation.agreement import read_agreement

Pairs = Literal["all", "other"]
OTHER_IMAGES: Pairs = "other"  # how the evaluation names pairs of a caption with another image
KEY = ("judge", "phi", "references", "pairs", "statistic")


@dataclass(frozen=True)
class Agreement:
    """One correlation of a phi with a judge, and what it was computed on; the fields are those of the tidy rows."""

    judge: str
    dataset: str
    split: str
    phi: str
    references: str
    pairs: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    n_pairs: int
    n_images: int
    left_out: int
    interval: str
    idf_corpus: str
    tuples: str
    human: str


NEEDED = tuple(field.name for field in fields(Agreement))


def read_agreements(paths: Iterable[Path]) -> Agreements:
    """The correlations with some judges, from the files of the evaluation."""
    frames = [read_agreement(path) for path in paths]
    return Agreements(pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(NEEDED)))


class Agreements:
    """All correlations with some judges.

    Args:
        frame: Tidy rows of any number of judges, as ``evaluation.agreement`` writes them.

    Raises:
        InputError: If a column is missing or a correlation is there twice.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        missing = [column for column in NEEDED if column not in frame.columns]
        if missing:
            raise InputError(f"the rows of agreement have no column '{missing[0]}'; ask the judge again.")
        if (twice := frame[frame.duplicated(list(KEY))]).size:
            raise InputError(f"the rows of agreement have {' '.join(twice[list(KEY)].iloc[0])} twice; ask again.")
        frame = frame.loc[:, list(NEEDED)].astype("object")
        frame = frame.where(frame.notna(), None)  # a missing number, such as the value of a constant, is NaN in pandas
        found = [Agreement(**{str(name): value for name, value in line.items()}) for line in frame.to_dict("records")]
        self._found = {tuple(getattr(one, name) for name in KEY): one for one in found}

    def one(self, judge: str, phi: str, references: str, pairs: str, statistic: str) -> Agreement:
        """One correlation.

        Raises:
            InputError: If it was not computed.
        """
        found = self._found.get((judge, phi, references, pairs, statistic))
        if found is None:
            kept = "" if references == "kept" else ", own caption left out"
            what = f"{statistic} of {phi}{kept} over {pairs} pairs"
            if not self.of(judge):
                raise InputError(f"the judge '{judge}' was not asked at all; ask the judge before making tables.")
            raise InputError(f"the judge '{judge}' has no {what}; ask the judge again before making tables.")
        return found

    def of(self, judge: str, phis: Sequence[str] | None = None) -> list[Agreement]:
        """All correlations with a judge, of all phi or of some."""
        return [one for one in self._found.values() if one.judge == judge and (phis is None or one.phi in phis)]
