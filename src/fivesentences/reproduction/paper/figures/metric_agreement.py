"""Do metrics rank models alike? Rank correlations between metrics over all runs of a scale, as annotated matrices."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import kendalltau, spearmanr

from fivesentences.config.metrics import shown_name
from fivesentences.config.reading import check
from fivesentences.reproduction.evaluation.tidy import read_evaluations, tidy_of
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import fitted, is_narrow, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.pictures import boxed
from fivesentences.reproduction.paper.figures.style import SOFT
from fivesentences.reproduction.paper.numbers.results import Measure, Results, evaluated_columns
from fivesentences.reproduction.paper.text.labels import phi_label
from fivesentences.reproduction.paper.text.names import listed, phi_in_words, unique
from fivesentences.reproduction.study.exhibits import ColumnSpec, MetricAgreementFigure
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import RunSpec

GROUP = ["dataset", "fraction"]
COLUMNS = [*GROUP, "first", "second", "runs", "spearman", "kendall_b", "settings", "pairs", "swapped"]
FEWEST = 5  # runs for which a rank correlation says something
UNKNOWN = (float("nan"), float("nan"))


def metric_agreement_figure(spec: MetricAgreementFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the values of every run."""
    evaluated = read_evaluations(numbers)
    runs = {one["run"]: check(RunSpec, one["spec"], one["run"]) for one in evaluated}
    data = _tidy(spec, context, runs, Results(tidy_of(evaluated, context.scale.scale)))
    notes = [] if data.empty else _how_to_read(spec, context, data)
    return Drawing(data, [*notes, *spec.notes], lambda canvas: _draw(canvas, context.study, data))


def _tidy(spec: MetricAgreementFigure, context: Context, runs: Mapping[str, RunSpec], results: Results) -> pd.DataFrame:
    """Make one row per pair of metrics and group of runs: all runs on a dataset, and those of one training fraction.

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
    for group, some in _groups(runs.values(), spec.epochs).items():
        found = {name: [results.over_directions(run.name, one) for run in some] for name, one in measures.items()}
        values = pd.DataFrame(found)
        setting = [run.model_copy(update={"seed": 0}).name for run in some]
        means = values.groupby(setting, sort=False).mean()
        by_seed = values.assign(setting=setting, seed=[run.seed for run in some])
        for first, second in itertools.combinations_with_replacement(measures, 2):
            pairs = swapped = 0
            if first == second:
                correlations = _between_seeds(by_seed.pivot(index="setting", columns="seed", values=first))
            else:
                correlations = _correlations(values[first], values[second])
                a, b = np.triu_indices(len(means), 1)
                one, other = means[first].to_numpy(), means[second].to_numpy()
                pairs, swapped = len(a), int(((one[a] - one[b]) * (other[a] - other[b]) < 0).sum())
            lines.append((*group, first, second, len(some), *correlations, len(means), pairs, swapped))
    return pd.DataFrame(lines, columns=COLUMNS)


def _groups(runs: Iterable[RunSpec], epochs: int | None) -> dict[tuple[str, float | None], list[RunSpec]]:
    """Group all runs on each dataset, and those of each fraction, where there are enough.

    Runs of rows that name other epochs are left out: some are too short to be anything but the beginning of a run.
    """
    found: dict[tuple[str, float | None], list[RunSpec]] = {}
    for run in (run for run in runs if (run.training.epochs if run.epochs_named else None) == epochs):
        found.setdefault((run.dataset, None), []).append(run)
        if run.captions_per_image is None:  # fewer captions of each image are other training data
            found.setdefault((run.dataset, run.fraction), []).append(run)
    return {group: some for group, some in found.items() if len(some) >= FEWEST}


def _correlations(first: pd.Series, second: pd.Series) -> tuple[float, float]:
    """Spearman's rho and Kendall's tau-b; NaN where one is constant or there are too few values."""
    if len(first) < FEWEST or first.nunique() < 2 or second.nunique() < 2:
        return UNKNOWN
    return float(spearmanr(first, second).statistic), float(kendalltau(first, second).statistic)


def _between_seeds(values: pd.DataFrame) -> tuple[float, float]:
    """Correlate a metric ``[settings, seeds]`` with itself: mean over pairs of seeds, over the settings with both."""
    both = (values[list(pair)].dropna() for pair in itertools.combinations(values.columns, 2))
    found = [_correlations(pair.iloc[:, 0], pair.iloc[:, 1]) for pair in both]
    known = [pair for pair in found if not np.isnan(pair[0])]
    return (float(np.mean([rho for rho, _ in known])), float(np.mean([tau for _, tau in known]))) if known else UNKNOWN


def _label(column: ColumnSpec, context: Context) -> str:
    """Name a metric for a reader, such as ``Nsum, own removed``; its phi is named where it is not the main one."""
    details = []
    if column.phi not in (None, context.scale.evaluation_phi):
        details.append(phi_label(context.study, str(column.phi)))
    if column.m:
        details.append(f"m = {column.m}")
    elif column.has_formulas:
        details.append(f"own {column.ground_truth}")
    return ", ".join([shown_name(column.metric), *details, *([column.direction] if column.direction else [])])


def _how_to_read(spec: MetricAgreementFigure, context: Context, data: pd.DataFrame) -> list[str]:
    """Say how the picture is read, how often recall and the other metrics disagree, and what is missing."""
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
    for part in groups:
        dataset, fraction = part[GROUP].iloc[0]
        part = part[(part["first"] == "Rsum") & (part["second"] != "Rsum") & (part["pairs"] > 0)]
        if len(part) and (not np.isnan(fraction) or len(groups) == data["dataset"].nunique()):
            swapped = "; ".join(f"{line['second']} {line['swapped']}" for line in part.to_dict("records"))
            notes.append(
                f"Of the {part['pairs'].iloc[0]} pairs of settings on {study.label_of(dataset)} "
                f"({_fraction_in_words(fraction)}; means over seeds), each metric puts so many in the opposite order "
                f"to Rsum: {swapped}."
            )
    shown = {*data["first"], *data["second"]}
    if missing := [label for column in spec.columns if (label := _label(column, context)) not in shown]:
        notes.append(
            f"Left out at the scale {scale.scale}, which has no labels or does not use the φ: {listed(missing)}."
        )
    return notes


def _shown_groups(data: pd.DataFrame) -> list[pd.DataFrame]:
    """Groups that are drawn: of each dataset all runs, and the fraction with the most (the largest of equals)."""
    found = []
    for _, of_dataset in data.astype({"fraction": float}).groupby("dataset", sort=False):
        found.append(of_dataset[of_dataset["fraction"].isna()])
        parts = of_dataset.groupby("fraction")["runs"].first()
        if len(parts) > 1:
            found.append(of_dataset[of_dataset["fraction"] == parts[parts == parts.max()].index.max()])
    return found


def _fraction_in_words(fraction: float) -> str:
    if np.isnan(fraction):
        return "all runs"
    return "all captions" if fraction == 1 else f"{fraction:.0%} of the captions"


def _draw(canvas: Figure, study: Study, data: pd.DataFrame) -> None:
    """Draw a matrix for each group, side by side; below each other in a narrow figure."""
    groups, labels = _shown_groups(data), unique([*data["first"], *data["second"]])
    found = panels(canvas, len(groups), min(2, len(groups)), 0.7 + min(0.34 * len(labels), 5.5 / min(2, len(groups))))
    narrow = is_narrow(canvas)
    rows = [f"{name}   {number}" for number, name in enumerate(labels, start=1)]
    rows = [textwrap.fill(row, 18) for row in rows] if narrow else rows
    for place, (panel, part) in enumerate(zip(found, groups, strict=True)):
        _draw_matrix(panel, part, labels)
        if narrow or place % 2 == 0:
            panel.set_yticks(range(len(labels)), rows)
        runs, settings, dataset, fraction = part[["runs", "settings", *GROUP]].iloc[0]
        which = "" if np.isnan(fraction) else f", {_fraction_in_words(fraction)}"
        title = f"{study.label_of(dataset)}{which}: {runs} runs of {settings} settings"
        panel.set_title(fitted(panel, title), fontsize=8, pad=8)


def _draw_matrix(panel: Any, data: pd.DataFrame, labels: Sequence[str]) -> None:
    values = np.full((len(labels), len(labels)), np.nan)
    for line in data.to_dict("records"):
        first, second = sorted((labels.index(line["first"]), labels.index(line["second"])))
        values[first, second] = line["spearman"]
        values[second, first] = line["kendall_b"]
    panel.set_facecolor("#f2f2f2")
    panel.grid(False)
    panel.imshow(values, cmap="RdBu", vmin=-1, vmax=1)
    edges = np.arange(len(labels) + 1) - 0.5
    panel.hlines(edges, -0.5, len(labels) - 0.5, color="white", linewidth=0.8)
    panel.vlines(edges, -0.5, len(labels) - 0.5, color="white", linewidth=0.8)
    for (row, column), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:.2f}".replace("-", "−").replace("0.", ".", 1)
        how: dict[str, Any] = {"color": "white" if abs(value) > 0.6 else "black", "ha": "center", "va": "center"}
        panel.text(column, row, text, fontsize=7, weight="bold" if row == column else "normal", **how)
    for place in range(len(labels)):
        boxed(panel, (place - 0.42, place - 0.42), 0.84, 0.84, edgecolor="white", linewidth=1.0)
    numbers = [str(place + 1) for place in range(len(labels))]
    panel.set_xticks(range(len(labels)), numbers, color=SOFT)
    panel.set_yticks([])
    panel.tick_params(length=0, labelsize=7.5, top=True, labeltop=True, labelbottom=False)
    panel.spines[:].set_visible(False)
