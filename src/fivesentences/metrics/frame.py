"""Numbers as pandas tables that print well: tidy, with one row per number, or wide, with one row per metric."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.config.metrics import parse_metric, shown_name
from fivesentences.metrics.sheet import Sheet, latex
from fivesentences.metrics.values import KEYS, MetricValue, QueryValues
from fivesentences.storage import replacing

VARIANT = ("phi", "formula", "ground_truth", "m", "style", "weighting", "discount")  # rows of the wide form
BOTH = "both"  # column of the wide form that holds sums over the directions


class MetricFrame(pd.DataFrame):
    """A DataFrame that prints in full, with nothing in place of NaN and notes below on how the numbers came about.

    The numbers of a column have equally many decimals: 4 in columns of p values; 3 if one is of a metric to which the
    registry gives more than 2 (mAP, R-P, skewness), fewer than its 4 since percentages may stand in the same column;
    else 2. ``attrs["notes"]`` are the sentences below; columns that ``attrs["stated_once"]`` names are not
    printed if all rows have the same value, which the sentences state. Frames made from it, such as ``head()``, print
    in the same way.
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

    def to_latex(self, buf: Any = None) -> str | None:  # type: ignore[override]
        """Return the table as it is printed, as a ``tabular`` for booktabs, with the notes as comments; without jinja2.

        Args:
            buf: A file or its path to write to; default the text is returned.
        """
        text = self._shown()._tabular(self.attrs.get("notes", ()))
        if buf is None:
            return text
        if hasattr(buf, "write"):
            buf.write(text)
        else:
            with replacing(buf) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return None

    def _tabular(self, notes: Sequence[str]) -> str:
        named = any(name is not None for name in self.index.names)
        stub = [str(name or "") for name in self.index.names] if named else []
        columns = [(str(parts[0]), " ".join(map(str, parts[1:]))) if isinstance(parts, tuple) else ("", str(parts))
                   for parts in self.columns]  # fmt: skip
        as_text = [one or (lambda value: "" if value is None else str(value)) for one in self._formatters()]
        rows = []
        for label, row in zip(self.index, self.itertuples(index=False, name=None), strict=True):
            labels = (label if isinstance(label, tuple) else (label,)) if named else ()
            rows.append([*map(str, labels), *(shown(value) for shown, value in zip(as_text, row, strict=True))])
        return latex(Sheet(stub, columns, rows, notes=notes))

    def _shown(self) -> MetricFrame:
        once = [name for name in self.attrs.get("stated_once", ()) if name in self.columns and self[name].nunique() < 2]
        return MetricFrame(self.drop(columns=once)) if once else self

    def _formatters(self) -> Any:
        if "metric" in self.columns:
            names = list(self["metric"])
        else:
            names = list(self.index.get_level_values("metric")) if "metric" in self.index.names else []
        is_fraction = np.array([parse_metric(str(name)).metric.decimals > 2 for name in names], dtype=bool)
        found: list[Callable[[float], str] | None] = []
        for at, name in enumerate(self.columns):
            column = self.iloc[:, at]
            if not pd.api.types.is_float_dtype(column.dtype):
                found.append(None)
                continue
            fractions = len(names) and bool(column.notna().to_numpy()[is_fraction].any())
            digits = 4 if name in ("p", "p_holm", "p_holm_all") else 3 if fractions else 2
            found.append(lambda value, digits=digits: "" if pd.isna(value) else f"{value:.{digits}f}")  # type: ignore[misc]
        return found


def stated_once(notes: Sequence[str], columns: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return ``attrs`` of a ``MetricFrame``: sentences to print below it, and columns that these replace."""
    return {"notes": list(notes), "stated_once": list(columns)}


def table_of(values: Sequence[MetricValue], form: str) -> MetricFrame:
    """Return the numbers as a table.

    Args:
        values: The numbers.
        form: ``"tidy"``: one row per number, in the columns of ``MetricValue``. ``"wide"``: one row per metric and
            variant, one column per direction and cut-off (empty for metrics without cut-off); the index names the
            variant, without those parts that are empty everywhere.
    """
    headings = [*KEYS, "value"] if not values or "chance" not in values[0] else [*KEYS, "value", "chance"]
    tidy = pd.DataFrame(list(values), columns=headings)
    if form == "tidy":
        return MetricFrame(tidy)
    names = [parse_metric(name) for name in tidy.metric]
    tidy["k"] = [name.cutoff or 0 for name in names]
    # All cut-offs of a metric stand in one row: ``R@k`` of ``R@5``.
    tidy["metric"] = [
        shown_name(f"{one.removesuffix(str(k))}k" if k else one) for one, k in zip(tidy.metric, tidy.k, strict=True)
    ]
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


def frames_of_queries(
    queries: Sequence[QueryValues], scored: Mapping[str, NDArray[np.int64]]
) -> Iterator[pd.DataFrame]:
    """Yield the values of every query as tidy tables, one per metric and variant: query, the keys of a number, value.

    Args:
        queries: The values.
        scored: By direction, ``[queries]`` index of each query.
    """
    for of_metric in queries:
        index = scored[of_metric["direction"]]
        one = np.zeros(len(index), dtype=np.int8)
        named: dict[str, Any] = {key: [of_metric[key]] for key in KEYS}  # type: ignore[literal-required]
        labels = {key: pd.Categorical.from_codes(one, pd.Index(value)) for key, value in named.items()}
        yield pd.DataFrame({"query": index, **labels, "value": of_metric["values"]})
