"""Numbers of a similarity as pandas tables: tidy, one row a number, or wide, one row a metric."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypedDict

import pandas as pd

from fivesentences.errors import InputError
from fivesentences.metrics.ranking import TIE_RULE

KEYS = ["metric", "direction", "formula", "ground_truth", "m", "style", "weighting", "discount", "phi"]
VARIANT = ("phi", "formula", "ground_truth", "m", "style", "weighting", "discount")  # rows of the wide form
BOTH = "both"  # wide form: where sums over the directions stand


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

    value: float


class MetricFrame(pd.DataFrame):
    """A DataFrame that prints whole, nothing for no number, and below it how the numbers came about.

    The numbers of a column have equally many decimals: 4 in a column ``p``, 3 where one is a fraction (mAP, R-P,
    skewness), else 2. ``attrs["notes"]`` are the sentences below; columns that ``attrs["said_once"]`` names are not
    printed where all rows have the same value, which the sentences say. What is taken out of it, such as ``head()``,
    prints likewise; else it is like any other.
    """

    @property
    def _constructor(self) -> type[MetricFrame]:
        return MetricFrame

    def __repr__(self) -> str:
        shown = self._shown()
        text = str(pd.DataFrame.to_string(shown, na_rep="", formatters=shown._formatters()))
        return "\n".join([text, *self.attrs.get("notes", ())])

    def _repr_html_(self) -> str:
        shown = self._shown()
        table = str(pd.DataFrame.to_html(shown, na_rep="", formatters=shown._formatters()))
        return "\n".join([table, *(f"<p>{html.escape(note)}</p>" for note in self.attrs.get("notes", ()))])

    def _shown(self) -> MetricFrame:
        once = [name for name in self.attrs.get("said_once", ()) if name in self.columns and self[name].nunique() < 2]
        return MetricFrame(self.drop(columns=once)) if once else self

    def _formatters(self) -> Any:
        if "metric" in self.columns:
            names = self["metric"].astype(str)
        elif "metric" in self.index.names:
            names = self.index.get_level_values("metric").to_series().astype(str)
        else:
            names = pd.Series([], dtype=str)
        is_fraction = names.map(_is_fraction).to_numpy(dtype=bool)
        found: list[Callable[[float], str] | None] = []
        for at, name in enumerate(self.columns):
            column = self.iloc[:, at]
            if not pd.api.types.is_float_dtype(column.dtype):
                found.append(None)
                continue
            fractions = len(names) and bool(column.notna().to_numpy()[is_fraction].any())
            digits = 4 if name == "p" else 3 if fractions else 2
            found.append(partial(_number, digits=digits))
        return found


def _number(value: float, digits: int) -> str:
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def _is_fraction(metric: str) -> bool:
    family = metric.split()[-1].partition("@")[0]
    return family in ("mAP", "R-P", "skewness", "Gini")


def said_once(notes: Sequence[str], columns: Sequence[str] = ()) -> dict[str, list[str]]:
    """``attrs`` of a ``MetricFrame``: sentences to print below it, and columns that these stand for."""
    return {"notes": list(notes), "said_once": list(columns)}


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
        return _noted(tidy)
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
    return _noted(wide)


def _noted(frame: pd.DataFrame) -> MetricFrame:
    found = MetricFrame(frame)
    found.attrs.update(tie_rule=TIE_RULE, **said_once([f"{TIE_RULE[0].upper()}{TIE_RULE[1:]}."]))
    return found
