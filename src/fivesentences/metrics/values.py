"""What a number of an evaluation is: the keys that tell it from all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError, did_you_mean

KEYS = ["metric", "direction", "formula", "ground_truth", "m", "style", "weighting", "discount", "phi"]
SHOWN = 20  # names that a message lists at most


class MetricKey(TypedDict):
    """What a number is; see ``MetricValue``."""

    metric: str
    direction: str
    formula: str
    ground_truth: str
    m: int
    style: str
    weighting: str
    discount: str
    phi: str


class MetricValue(MetricKey):
    """One number and what it is, in the columns of the tidy table.

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


def key_of(metric: str, direction: str = "", **variant: Any) -> MetricKey:
    """What a number is, from the parts of its variant that apply."""
    key: MetricKey = {
        "metric": metric,
        "direction": direction,
        "formula": "",
        "ground_truth": "",
        "m": 0,
        "style": "",
        "weighting": "",
        "discount": "",
        "phi": "",
    }
    return {**key, **variant}  # type: ignore[typeddict-item]


def pick(rows: Sequence[Row], metric: str, direction: str = "", **variant: Any) -> Row:
    """The one row of a metric, a direction and those parts of a variant that are named.

    Raises:
        NoSuchNumber: If there is none, or there are several; the sentence says what there is.
    """
    for name in variant:
        if name not in KEYS:
            raise NoSuchNumber(f"a number has no {name!r}; it is named by {', '.join(KEYS)}.")
    wanted = {"metric": metric, "direction": direction, **variant}
    found = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    if len(found) == 1:
        return found[0]
    named = ", ".join(f"{name}={value!r}" for name, value in wanted.items() if value or name == "metric")
    if found:
        raise NoSuchNumber(
            f"there are {len(found)} numbers with {named}: they differ in {_differing(found)}; name one."
        )
    raise NoSuchNumber(f"there is no number with {named}; {_there_is(rows, wanted)}")


def _there_is(rows: Sequence[MetricKey], wanted: dict[str, Any]) -> str:
    """What a reader may name instead: the values of the first part of the name that no number has."""
    left: list[Any] = list(rows)
    for name, value in wanted.items():
        fitting = [row for row in left if row[name] == value]
        if not fitting:
            known = list(dict.fromkeys(str(row[name]) for row in left))
            of = "" if name == "metric" else f" of {wanted['metric']}"
            if known in ([""], ["0"]):
                return f"{wanted['metric']} has no {name}; leave it out."
            words = ", ".join(repr(one) for one in known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
            guess = did_you_mean(str(value), known)
            return f"{name}{of} is one of {words or 'none'}" + (f": {guess}" if guess else ".")
        left = fitting
    return "name one."


def _differing(rows: Sequence[MetricKey]) -> str:
    """The parts in which numbers differ, with their values."""
    parts = []
    for key in KEYS:
        values = list(dict.fromkeys(row[key] for row in rows))  # type: ignore[literal-required]
        if len(values) > 1:
            parts.append(f"{key} ({', '.join(map(repr, values[:SHOWN]))})")
    return ", ".join(parts)
