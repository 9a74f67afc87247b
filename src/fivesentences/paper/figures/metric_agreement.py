"""Do metrics rank models alike? Rank correlations between metrics over all runs of a scale, as annotated matrices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from fivesentences.config import Scale, check
from fivesentences.corpus import Photographs
from fivesentences.evaluation import collect, read_evaluations
from fivesentences.paper.figures.canvas import SOFT, WIDTH, panel_at, text_at
from fivesentences.paper.kinds import Context, Drawing, FigureKind
from fivesentences.paper.results import Measure, Results
from fivesentences.paper.text.names import listed, phi_in_words, unique
from fivesentences.plan.exhibits import ColumnSpec, Source
from fivesentences.plan.runs import RunSpec
from fivesentences.plan.studies import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = [
    "dataset", "fraction", "first", "second", "runs", "spearman", "kendall_b", "settings", "pairs", "swapped",
]  # fmt: skip
FEWEST = 5  # runs of which a rank correlation says something
LABELS, CELL, GAP, TOP = 1.62, 0.34, 0.3, 0.55  # inches


class MetricAgreementFigure(FigureKind):
    """Whether metrics rank the runs of a scale alike; a metric without direction is the mean of both."""

    reads: ClassVar[Source] = "every_run"

    kind: Literal["metric_agreement"]
    columns: list[ColumnSpec] = Field(min_length=2)

    def metrics(self) -> list[ColumnSpec]:
        """The metrics that are compared."""
        return self.columns

    def drawing(self, context: Context, numbers: Sequence[Path], photographs: Mapping[str, Photographs]) -> Drawing:
        """Collect the values of every run; see ``FigureKind``."""
        study, scale = context.study, context.scale
        runs = {one["run"]: check(RunSpec, one["spec"], one["run"]) for one in read_evaluations(numbers)}
        data = tidy(self, study, scale, runs, collect(numbers, scale.scale))
        said = notes(data, self, study, scale) if not data.empty else []
        return Drawing(data, [*said, *self.notes], None if data.empty else lambda canvas: draw(canvas, study, data))


def tidy(
    spec: MetricAgreementFigure, study: Study, scale: Scale, runs: Mapping[str, RunSpec], frame: pd.DataFrame
) -> pd.DataFrame:
    """One line a pair of metrics and group of runs: all runs on a dataset, and those of one training fraction.

    ``spearman`` and ``kendall_b`` are over single runs. ``settings`` (all that a run is made of but its seed) are
    ranked by their mean over seeds: of ``pairs`` of them, ``swapped`` stand one way round by the first metric and the
    other way by the second. On lines where ``first`` and ``second`` are the same metric the correlations are those of
    its values at one seed with its values at another, over settings, mean over pairs of seeds: how far a metric agrees
    with itself when training is repeated. All is NaN where a metric is constant or fewer than 5 runs stand behind it.
    """
    results = Results(frame)
    measures = {label_of(column, scale, study): column for column in kept_metrics(spec, scale, runs, results)}
    lines: list[tuple[Any, ...]] = []
    for (dataset, fraction), of_group in _groups(runs.values()).items():
        values = {
            label: [
                results.over_directions(run.name, Measure.of_column(column, scale.evaluation_phi)) for run in of_group
            ]
            for label, column in measures.items()
        }
        settings = [run.model_copy(update={"seed": 0}).name for run in of_group]
        by_setting = pd.DataFrame(values).groupby(settings, sort=False).mean()
        by_seed = {
            label: pd.DataFrame({"setting": settings, "seed": [run.seed for run in of_group], "value": numbers}).pivot(
                index="setting", columns="seed", values="value"
            )
            for label, numbers in values.items()
        }
        for first, second in itertools.combinations_with_replacement(measures, 2):
            if first == second:
                spearman, kendall = _between_seeds(by_seed[first])
                pairs = swapped = 0
            else:
                spearman, kendall = _correlations(values[first], values[second])
                pairs, swapped = _swapped(by_setting[first].to_numpy(), by_setting[second].to_numpy())
            start = (dataset, fraction, first, second, len(of_group))
            lines.append((*start, spearman, kendall, len(by_setting), pairs, swapped))
    return pd.DataFrame(lines, columns=COLUMNS)


def kept_metrics(
    spec: MetricAgreementFigure, scale: Scale, runs: Mapping[str, RunSpec], results: Results
) -> list[ColumnSpec]:
    """Metrics that every run of the scale has: its phi is evaluated with, and (PMRP) there are labels."""
    labels = all(results.gallery(name).labels for name in runs)
    return [
        column
        for column in spec.columns
        if (column.phi is None or column.phi in scale.phis) and (labels or column.metric != "PMRP")
    ]


def label_of(column: ColumnSpec, scale: Scale, study: Study) -> str:
    """A metric as a reader knows it, such as ``Nsum, own removed``; its phi is named where it is not the main one."""
    details = []
    if column.phi is not None and column.phi != scale.evaluation_phi:
        details.append(study.labels.get(column.phi) or phi_in_words(column.phi))
    if column.m:
        details.append(f"m = {column.m}")
    elif column.is_semantic and column.metric != "ASP":
        details.append(f"own {column.ground_truth}")
    if column.direction:
        details.append(column.direction)
    return ", ".join([column.metric, *details])


def shown_groups(data: pd.DataFrame) -> list[tuple[str, float | None]]:
    """Groups that are drawn: of each dataset all runs, and the fraction with the most (the largest of equals)."""
    found: list[tuple[str, float | None]] = []
    for dataset in unique(data["dataset"]):
        of_dataset = data[data["dataset"] == dataset]
        parts = of_dataset.dropna(subset="fraction").groupby("fraction")["runs"].first()
        found.append((dataset, None))
        if len(parts) > 1:
            found.append((dataset, float(parts[parts == parts.max()].index.max())))
    return found


def notes(data: pd.DataFrame, spec: MetricAgreementFigure, study: Study, scale: Scale) -> list[str]:
    """How the picture is read, what is missing, and how often recall and the other metrics disagree."""
    said = [
        "Above the diagonal Spearman’s ρ, below it Kendall’s τ-b, over single runs (every seed counts). On the "
        "diagonal, in italics: τ-b of a metric at one seed with itself at another, over settings: how much training "
        "by itself moves the ranking. Two metrics of the same runs share that luck, so they can agree more than one "
        "does with itself.",
        f"Semantic metrics: {phi_in_words(scale.evaluation_phi)} as φ, released formula, unless another φ is named. "
        "SR, ASP and PMRP: mean of both directions; SR: the share found of the items of m foreign images; ASP: equal "
        "φ ordered by index.",
        "Runs that differ in training data differ in every metric, which lifts the correlations over all runs; those "
        "within one fraction say whether metrics agree on losses.",
    ]
    for dataset, fraction in shown_groups(data):
        if fraction is not None or len(shown_groups(data)) == len(unique(data["dataset"])):
            said += _on_swapped(data, dataset, fraction, study)
    kept = unique([*data["first"], *data["second"]])
    missing = [label for column in spec.columns if (label := label_of(column, scale, study)) not in kept]
    if missing and not data.empty:
        said.append(
            f"Left out at the scale {scale.scale}, which has no labels or does not use the φ: {listed(missing)}."
        )
    return said


def draw(canvas: Canvas, study: Study, data: pd.DataFrame) -> None:
    """A matrix for each group that is drawn, side by side."""
    groups = shown_groups(data)
    labels = unique([*data["first"], *data["second"]])
    lines = -(-len(groups) // 2)
    across = min(2, len(groups))
    cell = min(CELL, (WIDTH - LABELS - GAP * across) / (across * len(labels)))
    side = cell * len(labels)
    canvas.set_size_inches(WIDTH, lines * (side + TOP + 0.15) + 0.05)
    for place, (dataset, fraction) in enumerate(groups):
        left, top = LABELS + (place % 2) * (side + GAP), (place // 2) * (side + TOP + 0.15) + TOP
        panel = panel_at(canvas, left, top, side, side)
        part = data[(data["dataset"] == dataset) & _is_fraction(data, fraction)]
        _matrix(panel, part, labels)
        text_at(canvas, left, top - 0.45, _title(dataset, fraction, part, study), fontsize=8)
        for index, label in enumerate(labels):
            if place % 2 == 0:
                middle = top + (index + 0.5) * cell
                how: Any = {"ha": "right", "va": "center", "fontsize": 7.5}
                text_at(canvas, left - 0.32, middle, label, **how)
                text_at(canvas, left - 0.08, middle, str(index + 1), color=SOFT, **how)
            numbered: Any = {"ha": "center", "va": "bottom", "fontsize": 7.5, "color": SOFT}
            text_at(canvas, left + (index + 0.5) * cell, top - 0.05, str(index + 1), **numbered)


def _matrix(panel: Any, data: pd.DataFrame, labels: Sequence[str]) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    place = {label: index for index, label in enumerate(labels)}
    values = np.full((len(labels), len(labels)), np.nan)
    for line in data.to_dict("records"):
        first, second = place[line["first"]], place[line["second"]]
        values[min(first, second), max(first, second)] = line["spearman"]
        values[max(first, second), min(first, second)] = line["kendall_b"]
    colours, scaled = colormaps["RdBu"], Normalize(-1.0, 1.0)
    for (row, column), value in np.ndenumerate(values):
        known = not math.isnan(value)
        face = colours(scaled(value)) if known else "#f2f2f2"
        panel.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8))
        text = f"{value:.2f}".replace("-", "−").replace("0.", ".", 1) if known else "–"
        style = "italic" if row == column else "normal"
        dark = known and abs(value) > 0.6
        panel.text(
            column, row, text, ha="center", va="center", fontsize=7, style=style, color="white" if dark else "black"
        )
        if row == column:
            inner: Any = {"fill": False, "edgecolor": "white", "linewidth": 1.0}
            panel.add_patch(Rectangle((column - 0.42, row - 0.42), 0.84, 0.84, **inner))
    panel.set_xlim(-0.5, len(labels) - 0.5)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.set_axis_off()


def _title(dataset: str, fraction: float | None, data: pd.DataFrame, study: Study) -> str:
    runs, settings = (int(data[name].iloc[0]) for name in ("runs", "settings"))
    which = "" if fraction is None else f", {_part(fraction)}"
    return f"{study.labels.get(dataset, dataset)}{which}: {runs} runs of {settings} settings"


def _part(fraction: float) -> str:
    return "all captions" if fraction == 1 else f"{fraction:.0%} of the captions"


def _groups(runs: Any) -> dict[tuple[str, float | None], list[RunSpec]]:
    """All runs on each dataset, and those of each fraction, where there are enough."""
    found: dict[tuple[str, float | None], list[RunSpec]] = {}
    for run in runs:
        found.setdefault((run.dataset, None), []).append(run)
        if run.captions_per_image is None:  # fewer captions of each image are other training data
            found.setdefault((run.dataset, run.fraction), []).append(run)
    return {group: of_group for group, of_group in found.items() if len(of_group) >= FEWEST}


def _is_fraction(data: pd.DataFrame, fraction: float | None) -> pd.Series:
    return data["fraction"].isna() if fraction is None else data["fraction"].eq(fraction)


def _correlations(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Spearman's rho and Kendall's tau-b; NaN where one is constant or there are too few values."""
    from scipy.stats import kendalltau, spearmanr

    if len(first) < FEWEST or len(set(first)) < 2 or len(set(second)) < 2:
        return float("nan"), float("nan")
    return float(spearmanr(first, second).statistic), float(kendalltau(first, second).statistic)


def _between_seeds(values: pd.DataFrame) -> tuple[float, float]:
    """A metric with itself: ``[settings, seeds]``, mean over pairs of seeds, over the settings that have both."""
    found = []
    for one, other in itertools.combinations(values.columns, 2):
        both = values[[one, other]].dropna()
        found.append(_correlations(both[one].tolist(), both[other].tolist()))
    known = [pair for pair in found if not math.isnan(pair[0])]
    if not known:
        return float("nan"), float("nan")
    return float(np.mean([pair[0] for pair in known])), float(np.mean([pair[1] for pair in known]))


def _swapped(first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
    """Pairs of settings, and how many of them two metrics order the other way round (equal values are not)."""
    pairs = list(itertools.combinations(range(len(first)), 2))
    product = [(first[a] - first[b]) * (second[a] - second[b]) for a, b in pairs]
    return len(pairs), sum(value < 0 for value in product)


def _on_swapped(data: pd.DataFrame, dataset: str, fraction: float | None, study: Study) -> list[str]:
    part = data[(data["dataset"] == dataset) & _is_fraction(data, fraction) & (data["first"] != data["second"])]
    part = part[(part["first"] == "Rsum") & (part["pairs"] > 0)]
    if part.empty:
        return []
    found = [f"{line['second']} {line['swapped']}" for line in part.to_dict("records")]
    which = "all runs" if fraction is None else _part(fraction)
    pairs = int(part["pairs"].iloc[0])
    return [
        f"Of the {pairs} pairs of settings on {study.labels.get(dataset, dataset)} ({which}; means over seeds), these "
        f"many stand the other way round than by Rsum: {'; '.join(found)}."
    ]
