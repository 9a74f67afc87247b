"""Result of an evaluation: every number with its name and variant, how it came about, and tables of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.config.metrics import metric_of, parse_metric
from fivesentences.errors import InputError, counted
from fivesentences.metrics.ranking import TIE_RULE
from fivesentences.metrics.values import MetricValue, NoSuchNumber, QueryValues, Row, pick, row_key

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.metrics.notes import Placement
    from fivesentences.retrieval.arguments import Direction

GALLERY_COLUMNS = ("protocol", "images", "captions", "galleries", "tie_rule")
ABOVE_CHANCE = "Above chance: (value - chance) / (best value - chance), where a random ranking reaches 0."
NO_ROOM = 1 - 1e-6  # a share of the best value: NCS of a whole gallery is below 100 by its epsilon alone
WHOLE = "the whole matrix is one gallery"


@dataclass(eq=False)
class Evaluation:
    """Every number of one similarity matrix and how it came about; prints as the table ``wide()``.

    Attributes:
        values: The numbers.
        about: protocol, protocol_words, images and captions (of a gallery), galleries (how many), file_images and
            file_captions (of all that was given), averaged, tie_rule, phis, notes (sentences on what numbers hang on).
        queries: The value of each metric for every scored query, if it was asked for; medians, sums and statistics of
            hubs have none.
        scored: By direction, ``[queries]`` index in the file of each scored query, in the order of ``queries``.
        chance: What a ranking in random order reaches on average, of the numbers that have a closed form:
            ``scores.chance["NCS@5", "i2t"]``; None if it was not asked for.
    """

    values: list[MetricValue]
    about: dict[str, Any] = field(default_factory=dict)
    queries: list[QueryValues] = field(default_factory=list)
    scored: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    placements: Mapping[Direction, Placement] = field(default_factory=dict)
    chance: Evaluation | None = None

    @classmethod
    def joined(cls, several: Sequence[Evaluation]) -> Evaluation:
        """Return the numbers of one gallery whose directions were scored apart; sums over both are not among them."""
        values = [value for one in several for value in one.values]
        placements = {side: placed for one in several for side, placed in one.placements.items()}
        return replace(
            several[0],
            values=values,
            queries=[query for one in several for query in one.queries],
            placements=placements,
        )

    __iter__ = None  # type: ignore[assignment]  # Python would otherwise iterate by self[0], self[1], ...

    def __getitem__(self, key: str | tuple[Any, ...]) -> float:
        """Return one number::

            scores["R@1", "i2t"]
            scores["Rsum"]
            scores["NCS@5", "i2t"]  # or "N@5"; own items are kept, as in Equation 5 of Five Sentences
            scores["NCS@5", "i2t", {"ground_truth": "removed"}]

        Args:
            key: A metric, a direction unless it sums both, and a dictionary of those parts of the variant that are
                needed to name one number.

        Raises:
            NoSuchNumber: If there is none, or there are several; it is an ``InputError`` and a ``KeyError``.
        """
        names: list[Any] = list(key) if isinstance(key, tuple) else [key]
        variant = dict(names.pop()) if names and isinstance(names[-1], Mapping) else {}
        if not 1 <= len(names) <= 2 or not all(isinstance(name, str) for name in names):
            raise NoSuchNumber(
                f"{key!r} names no number; give a metric, a direction and perhaps a variant, such as "
                'scores["NCS@5", "i2t", {"ground_truth": "removed"}].'
            )
        return self.value(*names, **variant)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except NoSuchNumber:
            return False
        return True

    def value(self, metric: str, direction: str = "", **variant: Any) -> float:
        """Return one number::

            result.value("N@5", "i2t", ground_truth="kept")

        Args:
            metric: Such as "R@1".
            direction: "i2t" or "t2i"; empty for a sum of both.
            variant: Further keys of ``MetricValue``, as many as are needed to name one number.

        Raises:
            NoSuchNumber: If there is none, or there are several; it is an ``InputError`` and a ``KeyError``.
        """
        return pick(self.values, metric, direction, **variant)["value"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The numbers, each with ``chance`` where that is known; None for one without a closed form."""
        if self.chance is None:
            return [dict(row) for row in self.values]
        known = self.chance.by_key
        return [{**row, "chance": known.get(row_key(row))} for row in self.values]

    @property
    def by_key(self) -> dict[tuple[Any, ...], float]:
        """The numbers by their keys, in the order of ``KEYS``."""
        return {row_key(row): row["value"] for row in self.values}

    def above_chance(self) -> Evaluation:
        """Return how far numbers stand from chance to the best value: 0 is what chance reaches, 100 (or 1) the best.

        With c the number of a random ranking, a percentage p becomes 100 (p - c) / (100 - c), and a fraction likewise;
        values of queries are scaled by the same c, so that their mean stays the number; sums are of the scaled
        numbers. Ranks, medians and hubs, and numbers whose c is the best value, are left out.

        Raises:
            InputError: If chance is not known.
        """
        if self.chance is None:
            raise InputError("what chance reaches is not known of these numbers; score the similarity again.")
        chance = self.chance.by_key

        def scaled(rows: Sequence[Any], name: str) -> list[Any]:
            found = []
            for row in rows:
                best = {"percent": 100.0, "fraction": 1.0}.get(metric_of(row["metric"]).unit)
                by_chance = chance.get(row_key(row))
                if row["direction"] and best is not None and by_chance is not None and by_chance < best * NO_ROOM:
                    found.append({**row, name: best * (row[name] - by_chance) / (best - by_chance)})
            return found

        values = scaled(self.values, "value")
        queries = scaled(self.queries, "values")
        return replace(self, values=values + sums_of(values), queries=queries, chance=None)

    def tidy(self) -> pd.DataFrame:
        """Return one row per number: the keys of ``MetricValue``, and columns on the gallery (``GALLERY_COLUMNS``).

        ``attrs`` holds ``about``. Printed, what is the same in all rows stands below the table.
        """
        frame = self._noted("tidy")
        return frame.assign(**{column: self.about[column] for column in GALLERY_COLUMNS})

    def wide(self) -> pd.DataFrame:
        """Return one row per metric and variant, one column per direction and cut-off; ``attrs`` holds ``about``."""
        return self._noted("wide")

    def per_query(self) -> pd.DataFrame:
        """Return one row per query and metric: query (index in the file), the keys of ``MetricValue``, value.

        The value is NaN where the metric leaves the query out. Empty unless values of queries were asked for.
        """
        frames = _frames()
        found: pd.DataFrame = frames.pd.concat(frames.frames_of_queries(self.queries, self.scored), ignore_index=True)
        return found

    def _noted(self, form: str) -> pd.DataFrame:
        table: pd.DataFrame = _frames().table_of(self.rows, form)
        notes = [*sentences(self.about), *self.about.get("notes", ())]
        table.attrs.update(self.about, **_frames().stated_once(notes, GALLERY_COLUMNS))
        return table

    def __repr__(self) -> str:
        return repr(self.wide())

    def _repr_html_(self) -> str:
        return str(self.wide()._repr_html_())  # type: ignore[operator]


def _frames() -> Any:
    from fivesentences.metrics import frame  # pandas takes a second

    return frame


def about_of(
    shape: tuple[int, int], sizes: Sequence[tuple[int, int]], protocol: str = WHOLE, words: str = WHOLE
) -> dict[str, Any]:
    """Describe the galleries behind the numbers of a result.

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
    """Return the same for people, below a table."""
    size = f"{counted(about['file_images'], 'image')}, {counted(about['file_captions'], 'caption')}"
    if about["images"] != about["file_images"]:
        size += f"; scored in galleries of {about['images']:,} and {about['captions']:,}"
    averaged = f" ({about['averaged']})" if about["averaged"] else ""
    return [f"{size}; {about['protocol_words']}{averaged}; {about['tie_rule']}."]


def sums_of(values: Sequence[Row]) -> list[Row]:
    """Return the sums over cut-offs and directions, one per metric that has a sum and per variant: Rsum, Nsum, and mR.

    Args:
        values: Numbers of both directions, perhaps with keys besides those of ``MetricValue``.
    """
    terms: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for row in values:
        metric = parse_metric(row["metric"]).metric
        if metric.sum:
            of_both = {**row, "metric": metric.sum, "direction": "", "value": None}
            terms.setdefault(tuple(of_both.items()), []).append(row["value"])  # type: ignore[typeddict-item]
    found: list[Any] = []
    for key, some in terms.items():
        found.append({**dict(key), "value": sum(some, 0.0)})
        if found[-1]["metric"] == "Rsum":
            found.append({**found[-1], "metric": "mR", "value": found[-1]["value"] / len(some)})
    return found
