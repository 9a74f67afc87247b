"""Looking up how well each phi agrees with a judge, in the rows that the evaluation writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.agreement import read_agreement


def read_agreements(paths: Iterable[Path]) -> list[Any]:
    """Read the correlations with some judges: named tuples of ``evaluation.agreement.COLUMNS``, None where unknown."""
    frames = [read_agreement(path).astype("object") for path in paths]
    return [line for frame in frames for line in frame.where(frame.notna(), None).itertuples(index=False)]


def agreement_with(agreements: Iterable[Any], judge: str, phi: str, references: str, pairs: str, statistic: str) -> Any:
    """Look up one correlation.

    Raises:
        InputError: If it was not computed.
    """
    asked = (judge, phi, references, pairs, statistic)
    for one in agreements:
        if (one.judge, one.phi, one.references, one.pairs, one.statistic) == asked:
            return one
    what = f"{statistic} of {phi} over {pairs} pairs, own caption {references.replace('_', ' ')}"
    raise InputError(f"the judge '{judge}' has no {what}; ask the judge before making tables.")


def of_judge(agreements: Iterable[Any], judge: str, phis: Sequence[str]) -> list[Any]:
    """Select the correlations of some phi with a judge."""
    return [one for one in agreements if one.judge == judge and one.phi in phis]
