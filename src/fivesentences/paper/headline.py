"""The few numbers of each kind of run that a researcher looks at first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

# What it is called, and the values of the tidy table that mean it, beside the main phi and the similarity as it is.
MEASURES: dict[str, dict[str, Any]] = {
    "Rsum": {"metric": "Rsum"},
    "R@1 i2t": {"metric": "R@1", "direction": "i2t"},
    "R@1 t2i": {"metric": "R@1", "direction": "t2i"},
    "NCS@1 i2t": {"metric": "N@1", "direction": "i2t", "ground_truth": "removed"},
    "NCS@1 t2i": {"metric": "N@1", "direction": "t2i", "ground_truth": "removed"},
    "Nsum": {"metric": "Nsum", "ground_truth": "removed"},
}
DIGITS = 3


# Further ones that stand beside a single run.
BESIDE: dict[str, dict[str, Any]] = {
    f"{metric} {side}": {"metric": metric, "direction": side}
    for side in ("i2t", "t2i")
    for metric in ("R@5", "R@10", "Med r")
}


def values_of_runs(tidy: pd.DataFrame, measures: Mapping[str, Mapping[str, Any]] = MEASURES) -> pd.DataFrame:
    """Look up some numbers of every run.

    NCS is that of the released formula, by the phi that a run's evaluation names first.

    Args:
        tidy: One row per value, see ``evaluation.tidy``.
        measures: What each number is called, and the values of the tidy table that mean it.

    Returns:
        One row per run that has any of them, one column per measure; NaN where a run has no such value.
    """
    plain = tidy[tidy.inference.eq("naive") & tidy.formula.isin(["", "released"])]
    plain = plain[plain.phi.eq("") | plain.phi.eq(plain.main_phi)]
    columns = {}
    for name, asked in measures.items():
        chosen = plain
        for column, value in asked.items():
            chosen = chosen[chosen[column].eq(value)]
        columns[name] = chosen.set_index("run")["value"]
    return pd.DataFrame(columns, columns=list(measures))


def headline_of(tidy: pd.DataFrame) -> dict[str, Any]:
    """Average over seeds: ``{dataset: {model: {loss: {fraction: {measure: mean, "seeds": number}}}}}``.

    NCS is without the ground truth; see ``values_of_runs``.

    Args:
        tidy: One row per value, see ``evaluation.tidy``.
    """
    values = values_of_runs(tidy)
    found: dict[str, Any] = {}
    for name, of_runs in values.items():
        for kind, of_kind in of_runs.dropna().groupby(kind_of):
            place = found
            for part in str(kind).split("/"):
                place = place.setdefault(part, {})
            place[str(name)] = round(float(of_kind.mean()), DIGITS)
            place["seeds"] = int(of_kind.size)
    return found


def kind_of(run: str) -> str:
    """Return the name of a run without its seed; an encoder has no seed and is a kind of its own."""
    return run.rpartition("/seed=")[0] or run
