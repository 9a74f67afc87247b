"""Do metrics rank models alike? Rank correlations between metrics over all runs of a scale, as annotated matrices."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.config.reading import check
from fivesentences.evaluation.tidy import read_evaluations, tidy_of
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import SOFT, WIDTH, panel_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.numbers.results import Measure, Results, evaluated_columns
from fivesentences.paper.text.labels import phi_label
from fivesentences.paper.text.names import listed, phi_in_words, unique
from fivesentences.study.exhibits import ColumnSpec, MetricAgreementFigure
from fivesentences.study.runs import RunSpec
from fivesentences.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = [
    "dataset", "fraction", "first", "second", "runs", "spearman", "kendall_b", "settings", "pairs", "swapped",
]  # fmt: skip
FEWEST = 5  # runs for which a rank correlation says something
Group = tuple[str, float | None]  # a dataset and a training fraction, or all fractions
BOTH_NAN = (float("nan"), float("nan"))
LABELS, CELL, GAP, TOP = 1.62, 0.34, 0.3, 0.55  # inches


def metric_agreement_figure(spec: MetricAgreementFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the values of every run."""
    evaluated = read_evaluations(numbers)
    runs = {one["run"]: check(RunSpec, one["spec"], one["run"]) for one in evaluated}
    data = _tidy(spec, context, runs, Results(tidy_of(evaluated, context.scale.scale)))
    draw = functools.partial(_draw, study=context.study, data=data)
    return Drawing(data, [*_how_to_read(spec, context, data), *spec.notes], None if data.empty else draw)


def _tidy(spec: MetricAgreementFigure, context: Context, runs: Mapping[str, RunSpec], results: Results) -> pd.DataFrame:
    """One line per pair of metrics and group of runs: all runs on a dataset, and those of one training fraction.

    ``spearman`` and ``kendall_b`` are over single runs. ``settings`` (all that a run consists of but its seed) are
    ranked by their mean over seeds: of ``pairs`` of them, ``swapped`` have one order by the first metric and the
    opposite one by the second. On lines where ``first`` and ``second`` are the same metric the correlations are
    those of its values at one seed with its values at another, over settings, mean over pairs of seeds: how far a
    metric agrees with itself when training is repeated. All are NaN where a metric is constant or there are fewer
    than 5 runs.
    """
    labels = all(results.gallery(name).labels for name in runs)
    measures = {
        _label(column, context): Measure.of_column(column, context.scale.evaluation_phi)
        for column in evaluated_columns(spec.columns, context.scale)
        if labels or column.metric != "PMRP"
    }
    lines: list[tuple[Any, ...]] = []
    for group, of_group in _groups(runs.values()).items():
        values = pd.DataFrame(
            {
                label: [results.over_directions(run.name, measure) for run in of_group]
                for label, measure in measures.items()
            }
        )
        setting = [run.model_copy(update={"seed": 0}).name for run in of_group]
        by_setting = values.groupby(setting, sort=False).mean()
        by_seed = values.assign(setting=setting, seed=[run.seed for run in of_group])
        for first, second in itertools.combinations_with_replacement(measures, 2):
            if first == second:
                spearman, kendall = _between_seeds(by_seed.pivot(index="setting", columns="seed", values=first))
                pairs = swapped = 0
            else:
                spearman, kendall = _correlations(values[first], values[second])
                pairs, swapped = _swapped(by_setting[first].to_numpy(), by_setting[second].to_numpy())
            start = (*group, first, second, len(of_group))
            lines.append((*start, spearman, kendall, len(by_setting), pairs, swapped))
    return pd.DataFrame(lines, columns=COLUMNS)


def _how_to_read(spec: MetricAgreementFigure, context: Context, data: pd.DataFrame) -> list[str]:
    """How the picture is read, how often recall and the other metrics disagree, and what is missing."""
    if data.empty:
        return []
    study, scale, groups = context.study, context.scale, _shown_groups(data)
    notes = [
        "Above the diagonal Spearman’s ρ, below it Kendall’s τ-b, over single runs (every seed counts). On the "
        "diagonal, in italics: τ-b of a metric at one seed with itself at another, over settings: how much "
        "training alone changes the ranking. Two metrics of the same runs share that luck, so they can agree more "
        "with each other than one does with itself.",
        f"Semantic metrics: {phi_in_words(scale.evaluation_phi)} as φ, released formula, unless another φ is "
        "named. SR, ASP and PMRP: mean of both directions; SR: the share found of the items of m other images; "
        "ASP: equal φ ordered by index.",
        "Runs that differ in training data differ in every metric, which raises the correlations over all runs; "
        "those within one fraction say whether metrics agree on losses.",
    ]
    for group in groups:
        if group[1] is not None or len(groups) == data["dataset"].nunique():
            notes += _note_on_swapped(data, group, study)
    shown = unique([*data["first"], *data["second"]])
    missing = [label for column in spec.columns if (label := _label(column, context)) not in shown]
    if missing:
        notes.append(
            f"Left out at the scale {scale.scale}, which has no labels or does not use the φ: {listed(missing)}."
        )
    return notes


def _label(column: ColumnSpec, context: Context) -> str:
    """A metric as a reader knows it, such as ``Nsum, own removed``; its phi is named where it is not the main one."""
    details = []
    if column.phi is not None and column.phi != context.scale.evaluation_phi:
        details.append(phi_label(context.study, column.phi))
    if column.m:
        details.append(f"m = {column.m}")
    elif column.has_formulas:
        details.append(f"own {column.ground_truth}")
    if column.direction:
        details.append(column.direction)
    return ", ".join([column.metric, *details])


def _groups(runs: Iterable[RunSpec]) -> dict[Group, list[RunSpec]]:
    """All runs on each dataset, and those of each fraction, where there are enough.

    Runs of rows that name their epochs are left out: some are too short to be anything but the beginning of a run.
    """
    found: dict[Group, list[RunSpec]] = {}
    for run in runs:
        if run.epochs_named:
            continue
        found.setdefault((run.dataset, None), []).append(run)
        if run.captions_per_image is None:  # fewer captions of each image are other training data
            found.setdefault((run.dataset, run.fraction), []).append(run)
    return {group: of_group for group, of_group in found.items() if len(of_group) >= FEWEST}


def _shown_groups(data: pd.DataFrame) -> list[Group]:
    """Groups that are drawn: of each dataset all runs, and the fraction with the most (the largest of equals)."""
    found: list[Group] = []
    for dataset in unique(data["dataset"]):
        of_dataset = data[data["dataset"] == dataset]
        parts = of_dataset.dropna(subset="fraction").groupby("fraction")["runs"].first()
        found.append((dataset, None))
        if len(parts) > 1:
            found.append((dataset, float(parts[parts == parts.max()].index.max())))
    return found


def _of_group(data: pd.DataFrame, group: Group) -> pd.DataFrame:
    dataset, fraction = group
    of_fraction = data["fraction"].isna() if fraction is None else data["fraction"].eq(fraction)
    return data[(data["dataset"] == dataset) & of_fraction]


def _draw(canvas: Canvas, study: Study, data: pd.DataFrame) -> None:
    """A matrix for each group that is drawn, side by side."""
    groups = _shown_groups(data)
    labels = unique([*data["first"], *data["second"]])
    lines = -(-len(groups) // 2)
    across = min(2, len(groups))
    cell = min(CELL, (WIDTH - LABELS - GAP * across) / (across * len(labels)))
    side = cell * len(labels)
    canvas.set_size_inches(WIDTH, lines * (side + TOP + 0.15) + 0.05)
    for place, group in enumerate(groups):
        left, top = LABELS + (place % 2) * (side + GAP), (place // 2) * (side + TOP + 0.15) + TOP
        panel = panel_at(canvas, left, top, side, side)
        part = _of_group(data, group)
        _draw_matrix(panel, part, labels)
        text_at(canvas, left, top - 0.45, _title(group, part, study), fontsize=8)
        for index, label in enumerate(labels):
            if place % 2 == 0:
                middle = top + (index + 0.5) * cell
                how: Any = {"ha": "right", "va": "center", "fontsize": 7.5}
                text_at(canvas, left - 0.32, middle, label, **how)
                text_at(canvas, left - 0.08, middle, str(index + 1), color=SOFT, **how)
            numbered: Any = {"ha": "center", "va": "bottom", "fontsize": 7.5, "color": SOFT}
            text_at(canvas, left + (index + 0.5) * cell, top - 0.05, str(index + 1), **numbered)


def _draw_matrix(panel: Any, data: pd.DataFrame, labels: Sequence[str]) -> None:
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


def _title(group: Group, data: pd.DataFrame, study: Study) -> str:
    dataset, fraction = group
    runs, settings = (int(data[name].iloc[0]) for name in ("runs", "settings"))
    which = "" if fraction is None else f", {_fraction_in_words(fraction)}"
    return f"{study.label_of(dataset)}{which}: {runs} runs of {settings} settings"


def _fraction_in_words(fraction: float | None) -> str:
    if fraction is None:
        return "all runs"
    return "all captions" if fraction == 1 else f"{fraction:.0%} of the captions"


def _correlations(first: pd.Series, second: pd.Series) -> tuple[float, float]:
    """Spearman's rho and Kendall's tau-b; NaN where one is constant or there are too few values."""
    from scipy.stats import kendalltau, spearmanr

    if len(first) < FEWEST or first.nunique() < 2 or second.nunique() < 2:
        return BOTH_NAN
    return float(spearmanr(first, second).statistic), float(kendalltau(first, second).statistic)


def _between_seeds(values: pd.DataFrame) -> tuple[float, float]:
    """A metric with itself: ``[settings, seeds]``, mean over pairs of seeds, over the settings that have both."""
    both = (values[list(pair)].dropna() for pair in itertools.combinations(values.columns, 2))
    found = [_correlations(pair.iloc[:, 0], pair.iloc[:, 1]) for pair in both]
    known = [pair for pair in found if not math.isnan(pair[0])]
    return (float(np.mean([rho for rho, _ in known])), float(np.mean([tau for _, tau in known]))) if known else BOTH_NAN


def _swapped(first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
    """Pairs of settings, and how many of them two metrics put in opposite orders (equal values are no order)."""
    pairs = list(itertools.combinations(range(len(first)), 2))
    product = [(first[a] - first[b]) * (second[a] - second[b]) for a, b in pairs]
    return len(pairs), sum(value < 0 for value in product)


def _note_on_swapped(data: pd.DataFrame, group: Group, study: Study) -> list[str]:
    part = _of_group(data, group)
    part = part[(part["first"] == "Rsum") & (part["second"] != "Rsum") & (part["pairs"] > 0)]
    if part.empty:
        return []
    found = [f"{line['second']} {line['swapped']}" for line in part.to_dict("records")]
    pairs = int(part["pairs"].iloc[0])
    return [
        f"Of the {pairs} pairs of settings on {study.label_of(group[0])} ({_fraction_in_words(group[1])}; "
        f"means over seeds), each metric puts so many in the opposite order to Rsum: {'; '.join(found)}."
    ]
