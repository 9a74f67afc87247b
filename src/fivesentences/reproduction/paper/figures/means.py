"""One metric of runs as a dot per row, with its seeds below."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import name_rows, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing, notes_of_runs
from fivesentences.reproduction.paper.figures.style import COLOURS
from fivesentences.reproduction.paper.numbers.results import Measure, Results, chance_of, evaluated_columns
from fivesentences.reproduction.paper.tables.columns import column_label
from fivesentences.reproduction.paper.text.labels import line_labels
from fivesentences.reproduction.paper.text.names import number
from fivesentences.reproduction.study.exhibits import MeansFigure

COLUMNS = ["label", "role", "dataset", "model", "loss", "fraction", "metric", "seed", "value", "chance"]
LINE, BELOW = 0.26, 0.3  # inches of a row; rows from a mean to its seeds


def means_figure(spec: MeansFigure, context: Context, frame: pd.DataFrame) -> Drawing:
    """Look up the metric of each run.

    Raises:
        InputError: If a run or a value is missing (named).
    """
    rows = [row for row in context.rows(spec) if row.left_out is None]
    results, lines = Results(frame), []
    labels = line_labels(rows, context.study) if rows else []
    for column in evaluated_columns(spec.columns, context.scale):
        measure = Measure.of_column(column, context.scale.evaluation_phi)
        for label, row in zip(labels, rows, strict=True):
            about = [label.lstrip("+ "), *(getattr(row, name) for name in COLUMNS[1:6])]
            chance = chance_of(row, results)
            for run in row.runs:
                value = results.value(run.name, measure, row.reading)
                lines.append((*about, column_label(measure, context.study), run.seed, value, chance))
    data = pd.DataFrame(lines, columns=COLUMNS).astype({"chance": float})
    how_to_read = ["Large dots: mean; small dots below: single seeds."]
    if data["chance"].notna().any():
        how_to_read.append("Learnt nothing: the Rsum is below twice that of a random ranking.")
    notes = notes_of_runs(spec, context, results, how_to_read, spec.columns, "Mean")
    return Drawing(data, notes, lambda canvas: _draw(canvas, data))


def _draw(canvas: Figure, data: pd.DataFrame) -> None:
    rows = list(data.groupby("label", sort=False))
    [panel] = panels(canvas, 1, 1, LINE * len(rows) + 0.6)
    for place, (_, seeds) in enumerate(rows):
        mean, nothing = seeds["value"].mean(), seeds["chance"].notna().any()
        dot = {"color": COLOURS[0], "markeredgewidth": 0, "linestyle": "", "marker": "o"}
        panel.plot(mean, place, **dot, markersize=5)
        if len(seeds) > 1:
            panel.plot(seeds["value"], [place + BELOW] * len(seeds), **dot, markersize=2.6, alpha=0.35)
        words = number(mean, 1) + (", learnt nothing" if nothing else "")
        panel.annotate(words, (max(seeds["value"]), place), (6, 0), textcoords="offset points", va="center")
    name_rows(panel, [str(label) for label, _ in rows])
    panel.set_xlim(0, data["value"].max() * 1.15)
    panel.set_xlabel(str(data["metric"].iloc[0]))
