"""From a value per query to one number, and the policy for queries that have nothing to find."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.retrieval.arguments import Direction

POLICIES = ("zero", "skip", "error")
Scores = tuple[NDArray[np.float64], NDArray[np.bool_]]  # a fraction per query, and which queries have nothing to find


def share_of(part: NDArray[np.float64], whole: NDArray[np.float64], nothing: NDArray[np.bool_]) -> Scores:
    """``[queries]`` part of the whole, and which queries have nothing to find; the whole may be 0 there."""
    return part / np.where(nothing, 1.0, whole), nothing


def after_policy(scores: Scores, empty: str, direction: Direction) -> NDArray[np.float64]:
    """``[queries]`` fractions after the policy for queries that have nothing to find; NaN where one is left out.

    Args:
        scores: ``[queries]`` fractions, and ``[queries]`` which queries have no relevant item or an ideal sum of zero.
        empty: ``"zero"`` counts them 0, ``"skip"`` leaves them out, ``"error"`` refuses.
        direction: Which side the queries are, for the error.

    Raises:
        InputError: If there is such a query and ``empty`` is ``"error"``, or if ``"skip"`` leaves no query.
    """
    values, is_empty = scores
    if not is_empty.any():
        return values
    if empty == "error":
        query = f"{'image' if direction == 'i2t' else 'caption'} {int(np.flatnonzero(is_empty)[0])}"
        raise InputError(
            f"{int(is_empty.sum())} of {len(is_empty)} queries have no relevant item or an ideal of zero, the first is "
            f"{query}; pass empty='zero' to count them 0 or empty='skip' to leave them out."
        )
    if empty == "skip" and is_empty.all():
        raise InputError("no query has a relevant item, so empty='skip' leaves none; check phi.")
    return np.where(is_empty, np.nan if empty == "skip" else 0.0, values)


def percent(fractions: NDArray[np.float64]) -> float:
    """The mean over the queries that count, in percent."""
    return float(100.0 * np.nanmean(fractions))
