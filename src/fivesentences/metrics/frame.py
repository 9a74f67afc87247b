"""Numbers of a similarity as pandas tables: tidy, one row a number, or wide, one row a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import pandas as pd

from fivesentences.errors import InputError

KEYS = ["metric", "direction", "formula", "ground_truth", "m", "style", "weighting", "discount", "phi"]
VARIANT = ("phi", "formula", "ground_truth", "m", "style", "weighting", "discount")  # rows of the wide form
BOTH = "both"  # wide form: where sums over the directions stand


class MetricValue(TypedDict):
    """One number and what it is, in the columns of the tidy table.

    ``metric`` is "R@1", "true R@1", "Med r", "Mean r", "Rsum", "mR", "N@1", "Nsum", "SR@1" (any cut-off), "ASP",
    "PMRP", "mAP", "mAP@R", "mAP@100", "R-P", "<name> R@1", "<name> R-P", "<name> mAP@R" (positives by name),
    "hubs 0", "hubs 1", "hubs >=2", "hubs >=5", "hubs >=10", "hubs max", "hubs skewness" or "hubs Gini" (of N_1;
    "hubs max@5" of N_5). ``direction`` is the side of the queries, and empty for sums of both. ``formula``
    ("released", "paper"; ASP: its rule for ties), ``ground_truth`` ("kept", "removed"), ``style`` ("recall",
    "vse_recall"; of hard semantic recall), ``weighting`` ("hard", "soft"; of semantic recall), ``discount`` ("log";
    of the released NCS) and ``phi`` (its name) are empty and ``m`` is 0 where they do not apply (0 for N@k of the
    paper is m = k).

    ``value``: recall, semantic recall, NCS, ASP, PMRP and shares of hubs are percent; mAP, mAP@R and R-P (of
    categories and of positives) are fractions; ranks start at 1.
    """

    metric: str
    direction: str
    formula: str
    ground_truth: str
    m: int
    style: str
    weighting: str
    discount: str
    phi: str
    value: float


class MetricFrame(pd.DataFrame):
    """A DataFrame that prints whole, with 2 decimals (3 below 1) and nothing for no number; else like any other."""

    def __repr__(self) -> str:
        return str(self.to_string(na_rep="", float_format=_shown))

    def _repr_html_(self) -> str:
        return str(self.to_html(na_rep="", float_format=_shown))


def _shown(value: float) -> str:
    return f"{value:.3f}" if -1 < value < 1 else f"{value:.2f}"


def as_frame(values: Sequence[MetricValue], form: str = "tidy") -> pd.DataFrame:
    """The numbers as a table.

    Args:
        values: What an ``Evaluator`` returns.
        form: ``"tidy"``: one row a number, in the columns of ``MetricValue``. ``"wide"``: one row a metric of a
            variant, one column a direction and cut-off (empty for metrics without cut-off); the index names the
            variant, without those parts that are empty everywhere.

    Raises:
        InputError: If there is no such form.
    """
    tidy = pd.DataFrame(list(values), columns=[*KEYS, "value"])
    if form == "tidy":
        return MetricFrame(tidy)
    if form != "wide":
        raise InputError(f"form is {form!r}; expected 'tidy' (one row a number) or 'wide' (one row a metric).")
    name, at, cutoff = (tidy.metric.str.rpartition("@")[part] for part in range(3))
    at_k = (at != "") & cutoff.str.isdigit()  # mAP@R is a name
    tidy["k"] = cutoff.where(at_k, "0").astype(int)
    tidy["metric"] = tidy.metric.where(~at_k, name + "@k")
    tidy["direction"] = tidy.direction.replace("", BOTH)
    tidy["m"] = tidy.m.replace(0, "").astype(str)
    if not (tidy.weighting == "soft").any():
        tidy["weighting"] = ""  # all are hard, and nobody asked for another
    variant = ["metric", *(key for key in VARIANT if (tidy[key] != "").any())]
    rows = pd.MultiIndex.from_frame(tidy[variant].drop_duplicates())
    columns = pd.MultiIndex.from_frame(tidy[["direction", "k"]].drop_duplicates()).tolist()
    sides = [side for side in ("i2t", "t2i", BOTH) if any(side == found for found, _ in columns)]
    columns.sort(key=lambda column: (sides.index(column[0]), column[1] == 0, column[1]))
    wide = tidy.set_index([*variant, "direction", "k"])["value"].unstack(["direction", "k"])
    wide = wide.reindex(index=rows if len(variant) > 1 else rows.get_level_values(0), columns=columns)
    wide.columns = pd.MultiIndex.from_tuples(
        [(side, f"@{k}" if k else "") for side, k in columns], names=["direction", "cut-off"]
    )
    return MetricFrame(wide)
