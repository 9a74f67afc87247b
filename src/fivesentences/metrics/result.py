"""What an evaluation returns: every number with its name and variant, how it came about, and tables of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.metrics.ranking import TIE_RULE
from fivesentences.metrics.registry import parse_metric

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["metric", "direction", "formula", "ground_truth", "m", "style", "weighting", "discount", "phi"]
GALLERY_COLUMNS = ("protocol", "images", "captions", "galleries", "tie_rule")
WHOLE = "the whole matrix is one gallery"


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

    ``metric`` is a name of the registry (docs/metrics.md) with a cut-off, such as "R@1" or "CxC R@5". ``direction`` is
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
        InputError: If there is none, or there are several.
    """
    wanted = {"metric": metric, "direction": direction, **variant}
    found = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    if len(found) != 1:
        named = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        more = f": they differ in {', '.join(_differing(found))}" if found else ""
        raise InputError(f"there are {len(found)} numbers with {named}{more}; name one.")
    return found[0]


def _differing(rows: Sequence[MetricKey]) -> list[str]:
    return [key for key in KEYS if len({row[key] for row in rows}) > 1]  # type: ignore[literal-required]


@dataclass(eq=False)
class Evaluation:
    """Every number of one similarity matrix and how it came about; prints as the table ``wide()``.

    Attributes:
        values: The numbers.
        about: protocol, protocol_words, images and captions (of a gallery), galleries (how many), file_images and
            file_captions (of all that was given), averaged, tie_rule, phis.
    """

    values: list[MetricValue]
    about: dict[str, Any] = field(default_factory=dict)

    def value(self, metric: str, direction: str = "", **variant: Any) -> float:
        """One number.

            result.value("N@5", "i2t", ground_truth="kept")

        Args:
            metric: Such as "R@1".
            direction: "i2t" or "t2i"; empty for a sum of both.
            variant: As many keys of ``MetricValue`` as are needed to name one number.

        Raises:
            InputError: If there is none, or there are several.
        """
        return pick(self.values, metric, direction, **variant)["value"]

    def tidy(self) -> pd.DataFrame:
        """One row per number, in columns that name it and those of ``GALLERY_COLUMNS``; ``attrs`` holds ``about``.

        Printed, what is the same in all rows stands below the table.
        """
        frame = self._noted("tidy")
        return frame.assign(**{column: self.about[column] for column in GALLERY_COLUMNS})

    def wide(self) -> pd.DataFrame:
        """One row per metric and variant, one column per direction and cut-off; ``attrs`` holds ``about``."""
        return self._noted("wide")

    def _noted(self, form: str) -> pd.DataFrame:
        from fivesentences.metrics.frame import said_once, table_of

        frame = table_of(self.values, form)
        frame.attrs.update(self.about, **said_once(sentences(self.about), GALLERY_COLUMNS))
        return frame

    def __repr__(self) -> str:
        return repr(self.wide())

    def _repr_html_(self) -> str:
        return str(self.wide()._repr_html_())  # type: ignore[operator]


def about_of(
    shape: tuple[int, int], sizes: Sequence[tuple[int, int]], protocol: str = WHOLE, words: str = WHOLE
) -> dict[str, Any]:
    """What every result says about the galleries that its numbers are of.

    Args:
        shape: Images and captions of all that was given.
        sizes: Images and captions of each gallery that was scored.
        protocol: The protocol's name.
        words: The same in words.
    """
    captions = [n_captions for _, n_captions in sizes]
    return {
        "protocol": protocol,
        "protocol_words": words,
        "images": sizes[0][0],
        # The mean, and whole where all are equal: five folds of COCO have 5,000 captions each, even if shuffled.
        "captions": captions[0] if len(set(captions)) == 1 else float(np.mean(captions)),
        "galleries": len(sizes),
        "file_images": shape[0],
        "file_captions": shape[1],
        "averaged": "" if len(sizes) == 1 else f"mean over {len(sizes)} galleries, including medians and sums",
        "tie_rule": TIE_RULE,
    }


def sentences(about: Mapping[str, Any]) -> list[str]:
    """The same for people, below a table."""
    size = f"{about['file_images']:,} images, {about['file_captions']:,} captions"
    if about["images"] != about["file_images"]:
        size += f"; scored in galleries of {about['images']:,} and {about['captions']:,}"
    averaged = f" ({about['averaged']})" if about["averaged"] else ""
    return [f"{size}; {about['protocol_words']}{averaged}; {about['tie_rule']}."]


def sums_of(values: Sequence[Row]) -> list[Row]:
    """The sums over cut-offs and directions, one per metric that has a sum and per variant: Rsum, Nsum, and mR.

    Args:
        values: Numbers of both directions, perhaps with keys besides those of ``MetricValue``.
    """
    totals: dict[tuple[tuple[str, Any], ...], float] = {}
    counts: dict[tuple[tuple[str, Any], ...], int] = {}
    for row in values:
        metric = parse_metric(row["metric"]).metric
        if metric.sum:
            of_both = {**row, "metric": metric.sum, "direction": "", "value": None}
            key = tuple(of_both.items())
            totals[key] = totals.get(key, 0.0) + row["value"]  # type: ignore[typeddict-item]
            counts[key] = counts.get(key, 0) + 1
    found: list[Any] = []
    for key, total in totals.items():
        found.append({**dict(key), "value": total})
        if found[-1]["metric"] == "Rsum":
            found.append({**found[-1], "metric": "mR", "value": total / counts[key]})
    return found
