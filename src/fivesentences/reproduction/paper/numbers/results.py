"""Looking up values in the tidy table of all runs, and whether they may be compared with published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, hypot, sqrt
from typing import Any

import pandas as pd

from fivesentences.config.metrics import metric_of, shown_name
from fivesentences.config.types import as_list
from fivesentences.errors import InputError
from fivesentences.evaluation.published import with_details
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.study.exhibits import ColumnSpec, PublishedSetting
from fivesentences.reproduction.study.expand import Row
from fivesentences.training.spec import features_of, method_and_folds

RECALLS = (1, 5, 10)  # whose sum is Rsum
NORMAL_975 = 1.959964
TEXTS = ("inference", "metric", "direction", "formula", "ground_truth", "style", "phi")


@dataclass(frozen=True)
class Measure:
    """Identity of a measured quantity, by columns of the tidy table; empty where one does not apply."""

    metric: str
    direction: str = ""
    formula: str = ""
    ground_truth: str = ""
    m: int = 0
    style: str = ""
    phi: str = ""

    @classmethod
    def of_column(cls, column: ColumnSpec, phi: str) -> Measure:
        """Return the measure of a column, with the scale's main phi where it names none.

        phi counts for semantic metrics only, formula and ground truth for those that have them; the formula of ASP is
        its rule for ties.
        """
        direction = column.direction or ""
        if not column.is_semantic:
            return cls(column.metric, direction)
        phi = column.phi or phi
        if column.metric == "ASP":
            return cls(column.metric, direction, column.ties, phi=phi)
        if not column.has_formulas:
            return cls(column.metric, direction, phi=phi)
        return cls(column.metric, direction, column.formula, column.ground_truth, column.m, column.style, phi)

    def __str__(self) -> str:
        formula = self.formula and f"{self.formula} {'ranks' if self.metric == 'ASP' else 'formula'}"
        own, m = self.ground_truth and f"own items {self.ground_truth}", f"m {self.m}" if self.m else ""
        style = self.style and f"style {self.style}"
        return with_details(f"{shown_name(self.metric)} {self.direction}".strip(), formula, own, m, style, self.phi)


def evaluated_columns(columns: Sequence[ColumnSpec], scale: Scale) -> list[ColumnSpec]:
    """Select the columns that a scale can fill, each measure once."""
    by_scale = {Measure.of_column(column, scale.evaluation_phi) for column in columns if column.phi is None}
    return [
        column
        for column in columns
        if column.phi is None
        or (column.phi in scale.phis and Measure.of_column(column, scale.evaluation_phi) not in by_scale)
    ]


class Results:
    """Values of runs from the tidy table that the evaluation collects, one row per value.

    Args:
        frame: The tidy table, see ``evaluation.tidy``. Only values of the test split count.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        kept = frame.reindex(columns=["run", "kept_epoch", "dev_Rsum"]).drop_duplicates()
        known, scored = kept.dropna(subset="kept_epoch"), kept.dropna(subset="dev_Rsum")
        self._kept_epochs = dict(zip(known["run"].astype(str), known["kept_epoch"].astype(int), strict=True))
        self._dev_scores = dict(zip(scored["run"].astype(str), scored["dev_Rsum"].astype(float), strict=True))
        frame = frame[frame["split"] == "test"]
        # Parquet may give empty texts back as nulls. Arrow's texts are slow one by one.
        texts = {name: frame[name].astype("object").fillna("") for name in TEXTS}
        frame = frame.assign(run=frame["run"].astype("object"), m=frame["m"].fillna(0).astype(int), **texts)
        self._values: dict[tuple[str, str, Measure], float] = {}
        measures: dict[tuple[Any, ...], Measure] = {}
        of_measure = ["metric", "direction", "formula", "ground_truth", "m", "style", "phi"]
        columns = (frame[name].tolist() for name in ["run", "inference", "value", *of_measure])
        for run, inference, value, *given in zip(*columns, strict=True):
            metric, direction, *details = identity = tuple(given)
            if identity not in measures:
                measures[identity] = Measure(metric, direction, *(details if metric_of(metric).needs_phi else ()))
            self._values[run, inference, measures[identity]] = float(value)
        last = frame.drop_duplicates("run", keep="last")
        self._galleries: dict[str, Any] = {str(line.run): line for line in last.itertuples(index=False)}

    def value(self, run: str, measure: Measure, inference: str = "naive") -> float:
        """Look up one number.

        Raises:
            InputError: If the run has no such value, or it is NaN.
        """
        value = self._values.get((run, inference, measure), float("nan"))
        if value != value:
            what = "no results at all" if run not in self._galleries else f"no value of {measure}"
            by = "" if inference == "naive" else f" by the inference method {inference}"
            raise InputError(f"the run '{run}' has {what}{by}; evaluate it again before making tables.")
        return value

    def has(self, run: str, measure: Measure, inference: str = "naive") -> bool:
        """Tell whether there is such a number."""
        return (run, inference, measure) in self._values

    def over_directions(self, run: str, measure: Measure) -> float:
        """Look up one number; a measure that exists only by direction is averaged over both.

        Raises:
            InputError: If the run has no such value, or it is NaN.
        """
        if measure.direction or (run, "naive", measure) in self._values:
            return self.value(run, measure)
        return sum(self.value(run, replace(measure, direction=side)) for side in ("i2t", "t2i")) / 2

    def relevant_counts(self, run: str, measure: Measure) -> list[int]:
        """List the values of m for which a run has this semantic recall, rising; the measure's own m is ignored.

        Raises:
            InputError: If there is none.
        """
        found = {
            other.m
            for name, inference, other in self._values
            if (name, inference) == (run, "naive") and replace(other, m=measure.m) == measure
        }
        if not found:
            raise InputError(f"the run '{run}' has no value of {measure} for any m; evaluate it again.")
        return sorted(found)

    def kept_epoch(self, run: str) -> int | None:
        """Return the epoch whose weights a run kept, if it is known."""
        return self._kept_epochs.get(run)

    def dev_score(self, run: str) -> float | None:
        """Return the dev Rsum of the weights that a run kept, if it is known."""
        return self._dev_scores.get(run)

    def gallery(self, run: str) -> Any:
        """Return the test gallery of a run: a line with ``images``, ``captions``, ``tie_rule`` and ``labels``.

        Raises:
            InputError: If the run has no results.
        """
        if run not in self._galleries:
            raise InputError(f"the run '{run}' has no results at all; evaluate it again before making tables.")
        return self._galleries[run]

    def have_labels(self, row: Row) -> bool:
        """True if all images that a row was tested on have labels."""
        return all(self.gallery(run.name).labels for run in row.runs)


def rsum_by_chance(images: int, captions: int) -> tuple[float, float]:
    """Return the Rsum of a random ranking, which follows from the size of the gallery, and its largest by chance.

    The image of a caption is among the first k of n images with a probability of k / n. One of the c captions of an
    image is among the first k of all N captions unless all c are behind them: 1 - C(N - c, k) / C(N, k).

    Args:
        images: Number of images of the gallery.
        captions: Number of captions of the gallery.

    Returns:
        The mean over random rankings, and the mean plus 1.96 standard deviations: at most 2.5% of random rankings have
        more. The recalls at 1, 5 and 10 are taken to rise together, and the captions of an image to be one query.
    """
    each = captions // images
    shares = [1 - comb(captions - each, k) / comb(captions, k) if k <= captions else 1.0 for k in RECALLS]
    shares += [min(k / images, 1.0) for k in RECALLS]
    sides = shares[: len(RECALLS)], shares[len(RECALLS) :]
    deviations = [sum(sqrt(p * (1 - p) / images) for p in side) for side in sides]
    return 100 * sum(shares), 100 * (sum(shares) + NORMAL_975 * hypot(*deviations))


def chance_of(row: Row, results: Results) -> float | None:
    """Return the Rsum by chance of a row that learnt nothing: its mean Rsum is a random ranking's, else None.

    See ``rsum_by_chance``; of several runs the bound is that of one, which they reach together less often by chance.
    """
    measure, found = Measure("Rsum"), []
    for run in row.runs:
        if not results.has(run.name, measure, row.reading):
            return None
        gallery, folds = results.gallery(run.name), method_and_folds(row.reading)[1]
        chance, most = rsum_by_chance(gallery.images // folds, gallery.captions // folds)
        found.append((results.value(run.name, measure, row.reading), chance, most))
    if not found or sum(value for value, _, _ in found) > sum(most for _, _, most in found):
        return None
    return found[0][1]


def differing_settings(
    row: Row, setting: PublishedSetting | None, results: Results, measure: Measure | None = None
) -> list[str]:
    """List how a row differs from the paper: dataset, features, gallery size and, for a semantic measure, phi.

    Without a measure phi is not considered. An empty list means that a difference may be taken.
    """
    if setting is None:
        return ["dataset"]  # the study does not say, so nothing may be compared
    read = {stem for run in row.runs for stem in features_of(run)}
    images, galleries = setting.images_of(row.role, row.folds), method_and_folds(row.reading)[1]
    sizes = {results.gallery(run.name).images // galleries for run in row.runs}
    differs = {
        "dataset": row.dataset != setting.of_role("dataset", row.role),
        "features": any(not setting.accepts(stem, row.role, row.features) for stem in read),
        "gallery size": images is not None and sizes - {images},
        "phi": measure is not None and measure.phi and measure.phi not in as_list(setting.phi),
    }
    return [what for what, other in differs.items() if other]


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
        measures: Name of each number, and the values of the tidy table that mean it.

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
    """Return the name of a run without its seed."""
    return run.rpartition("/seed=")[0]
