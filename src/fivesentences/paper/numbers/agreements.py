"""Looking up how well each phi agrees with a judge, in the rows that the evaluation writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from fivesentences.errors import InputError
from fivesentences.evaluation.agreement import COLUMNS, read_agreement


def read_agreements(paths: Iterable[Path]) -> Agreements:
    """Read the correlations with some judges from the files of the evaluation."""
    frames = [read_agreement(path) for path in paths]
    return Agreements(pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS))


class Agreements:
    """All correlations with some judges: named tuples of ``evaluation.agreement.COLUMNS``, None for missing numbers.

    Args:
        frame: Tidy rows of any number of judges, as ``evaluation.agreement`` writes them.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        frame = frame.astype("object")
        lines = frame.where(frame.notna(), None).itertuples(index=False)
        self._found: dict[tuple[str, ...], Any] = {
            attrgetter("judge", "phi", "references", "pairs", "statistic")(line): line for line in lines
        }

    def one(self, judge: str, phi: str, references: str, pairs: str, statistic: str) -> Any:
        """Look up one correlation.

        Raises:
            InputError: If it was not computed.
        """
        found = self._found.get((judge, phi, references, pairs, statistic))
        if found is None:
            what = f"{statistic} of {phi} over {pairs} pairs, own caption {references.replace('_', ' ')}"
            raise InputError(f"the judge '{judge}' has no {what}; ask the judge before making tables.")
        return found

    def of(self, judge: str, phis: Sequence[str] | None = None) -> list[Any]:
        """Return all correlations with a judge, of all phi or of some."""
        return [one for one in self._found.values() if one.judge == judge and (phis is None or one.phi in phis)]
