"""Numbers of an evaluation, the keys that tell them apart, and the policy for queries that have nothing to find."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from fivesentences.config.metrics import metric_of, shown_name
from fivesentences.errors import InputError, did_you_mean, first_of
from fivesentences.retrieval.arguments import Direction

SHOWN = 20  # names that a message lists at most
POLICIES = ("zero", "skip", "error")
Scores = tuple[NDArray[np.float64], NDArray[np.bool_]]  # a fraction per query, and which queries have nothing to find


class MetricKey(TypedDict):
    """Name and variant of a number; see ``MetricValue``."""

    metric: str
    direction: str
    formula: str
    ground_truth: str
    m: int
    style: str
    weighting: str
    discount: str
    phi: str


KEYS = list(MetricKey.__annotations__)


class MetricValue(MetricKey):
    """One number with its name and variant, in the columns of the tidy table.

    ``metric`` is a name of the registry with a cut-off, such as "R@1" or "CxC R@5". ``direction`` is
    the side of the queries, and empty for sums of both. ``formula`` ("released", "paper"; of ASP its rule for ties),
    ``ground_truth`` ("kept", "removed"), ``style`` ("recall", "vse_recall"; of hard semantic recall), ``weighting``
    ("hard", "soft"; of semantic recall), ``discount`` ("log"; of the released NCS) and ``phi`` (its name) are empty and
    ``m`` is 0 where they do not apply (0 for N@k of the paper means m = k).

    ``value`` is in the unit of the registry: recall, semantic recall, NCS, ASP, PMRP and shares of hubs in percent,
    mAP, mAP@R and R-P as fractions, ranks from 1.
    """

    value: float


class QueryValues(MetricKey):
    """One metric's value for every query: the keys of ``MetricValue``, with ``values`` in place of ``value``.

    ``values`` is ``[queries]`` in the metric's unit, NaN where the metric leaves a query out; their mean without NaN is
    the metric's value.
    """

    values: NDArray[np.float64]


class NoSuchNumber(InputError, KeyError):
    """A name that belongs to no number, or to several."""

    __str__ = ValueError.__str__  # KeyError's quotes the sentence


Row = TypeVar("Row", bound=MetricKey)
ALIASES = {"NCS@": "N@"}  # how a name may begin, and how the numbers are named
NEEDED = {
    "phi": "a phi",
    "labels": "labels",
    "categories": "categories",
    "lists of positives": "a list of positives",
    "judgements": "judgements",
}


def key_of(metric: str, direction: str = "", **variant: Any) -> MetricKey:
    """Return the key of a number, from the parts of its variant that apply."""
    empty: dict[str, Any] = {key: 0 if key == "m" else "" for key in KEYS}
    return {**empty, "metric": metric, "direction": direction, **variant}  # type: ignore[typeddict-item]


def row_key(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Return the key of a number, of its values of queries or of a test, in the order of ``KEYS``."""
    return tuple(row[key] for key in KEYS)


def pick(rows: Sequence[Row], metric: str, direction: str = "", **variant: Any) -> Row:
    """Find the one row of a metric, a direction and the given parts of a variant.

    NCS@k (or N@k) and Nsum keep the query's own items unless ``ground_truth="removed"`` is given.

    Raises:
        NoSuchNumber: If there is none, or there are several; the sentence says what there is.
    """
    called = metric  # as the caller wrote it
    for alias, beginning in ALIASES.items():
        metric = beginning + metric.removeprefix(alias) if metric.startswith(alias) else metric
    for name in variant:
        if name not in KEYS:
            raise NoSuchNumber(f"a number has no {name!r}; it is named by {', '.join(KEYS)}.")
    wanted = {"metric": metric, "direction": direction, **variant}
    named = ", ".join(f"{name}={value!r}" for name, value in {**wanted, "metric": called}.items() if value)
    left: list[Any] = list(rows)
    for name, value in wanted.items():
        fitting = [row for row in left if row.get(name) == value]
        if not fitting:
            needs = _needs(metric) if name == "metric" else ""
            if needs and all(_needs(row["metric"]) != needs for row in rows):
                cure = "pass phis={'cider': cider_matrix(captions)}" if needs == NEEDED["phi"] else "none is known"
                raise NoSuchNumber(f"there is no number with {named}; {called} needs {needs}: {cure}.")
            known = _distinct(shown_name(str(row[name])) if name == "metric" else str(row[name]) for row in left)
            if known in ([""], ["0"]):
                raise NoSuchNumber(f"there is no number with {named}; {called} has no {name}; leave it out.")
            words = first_of(list(map(repr, known)), SHOWN)
            same = [one for one in known if one.lower() == str(called if name == "metric" else value).lower()]
            guess = did_you_mean(same[0] if same else str(value), known)
            of = "" if name == "metric" else f" of {called}"
            there = f"{name}{of} is one of {words or 'none'}" + (f": {guess}" if guess else ".")
            raise NoSuchNumber(f"there is no number with {named}; {there}")
        left = fitting
    if len(left) > 1 and "ground_truth" not in variant and metric.startswith((ALIASES["NCS@"], "Nsum")):
        left = [row for row in left if row["ground_truth"] == "kept"]  # NCS as the paper defines it, Equation 5
    if len(left) > 1:
        differ = {key: values for key in KEYS if len(values := _distinct(row[key] for row in left)) > 1}
        parts = ", ".join(f"{key} ({', '.join(map(repr, values[:SHOWN]))})" for key, values in differ.items())
        raise NoSuchNumber(f"there are {len(left)} numbers with {named}: they differ in {parts}; name one.")
    found: Row = left[0]
    return found


def _needs(metric: str) -> str:
    """Return what a metric needs besides a similarity; empty if it needs nothing, or there is no such metric."""
    with contextlib.suppress(InputError):
        return NEEDED.get(metric_of(metric).needs, "")
    return ""


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


# --- from a value per query to one number ------------------------------------------------------------------


def share_of(part: NDArray[np.float64], whole: NDArray[np.float64], nothing: NDArray[np.bool_]) -> Scores:
    """Return ``[queries]`` part of the whole, and which queries have nothing to find; the whole may be 0 there."""
    return part / np.where(nothing, 1.0, whole), nothing


def after_policy(scores: Scores, empty: str, direction: Direction) -> NDArray[np.float64]:
    """Return ``[queries]`` fractions after the policy for queries with nothing to find; NaN where one is left out.

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
    """Return the mean over the queries that count, in percent."""
    return float(100.0 * np.nanmean(fractions))
