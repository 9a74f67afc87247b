"""The few numbers of each kind of run that a researcher looks at first."""

from __future__ import annotations

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


def headline_of(tidy: pd.DataFrame) -> dict[str, Any]:
    """Means over seeds: ``{dataset: {model: {loss: {fraction: {measure: mean, "seeds": number}}}}}``.

    NCS is that of the released formula without the ground truth, by the phi that a run's evaluation names first.

    Args:
        tidy: One row per value, see ``evaluation.tidy``.
    """
    plain = tidy[tidy.inference.eq("naive") & tidy.formula.isin(["", "released"])]
    plain = plain[plain.phi.eq("") | plain.phi.eq(plain.main_phi)]
    kind = plain.run.str.rpartition("/seed=")[0]
    plain = plain.assign(kind=kind.where(kind.ne(""), plain.run))
    found: dict[str, Any] = {}
    for name, asked in MEASURES.items():
        chosen = plain
        for column, value in asked.items():
            chosen = chosen[chosen[column].eq(value)]
        for run, values in chosen.groupby("kind").value:
            place = found
            for part in str(run).split("/"):
                place = place.setdefault(part, {})
            place[name] = round(float(values.mean()), DIGITS)
            place["seeds"] = int(values.size)
    return found
