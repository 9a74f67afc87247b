"""How well each phi agrees with a judge: a dot with its interval per phi, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import name_rows, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.style import COLOURS
from fivesentences.reproduction.paper.numbers.agreements import agreement_with, of_judge, read_agreements
from fivesentences.reproduction.paper.tables.agreement import PAIRS
from fivesentences.reproduction.paper.text.metric_notes import notes_on_judges, notes_on_phi, notes_without_judges
from fivesentences.reproduction.paper.text.names import STATISTICS, number, phi_in_words
from fivesentences.reproduction.study.exhibits import CorrelationsFigure

COLUMNS = ["judge", "dataset", "phi", "references", "statistic", "pairs", "value", "low", "high", "n_pairs"]
LINE = 0.2  # inches of a phi


def correlations_figure(spec: CorrelationsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Look up the correlation of each phi with each judge of the scale."""
    study, scale, agreements = context.study, context.scale, read_agreements(numbers)
    phis = [phi for phi in spec.phis if scale.shows(phi)]
    lines = []
    for judge in (one for one in scale.judges if one.judge in spec.judges):
        for phi, references in (asked for asked in spec.judged() if asked[0] in phis):
            one = agreement_with(agreements, judge.judge, phi, references, spec.pairs, spec.statistic)
            found = (one.value, one.low, one.high, one.n_pairs)
            lines.append((judge.judge, judge.dataset, phi, references, spec.statistic, spec.pairs, *found))
    data = pd.DataFrame(lines, columns=COLUMNS).astype(dict.fromkeys(("value", "low", "high"), float))
    data = data[data["value"].notna()]  # a phi that is constant over these pairs correlates with nothing
    notes = [
        *notes_on_judges(study, scale, agreements, phis),
        "Dots: the correlation; lines: its 95% interval.",
        *notes_on_phi([one for judge in spec.judges for one in of_judge(agreements, judge, phis)]),
        *notes_without_judges(study, scale, spec.phis),
        *spec.notes,
    ]
    return Drawing(data, notes, lambda canvas: _draw(spec, canvas, context, data))


def _draw(spec: CorrelationsFigure, canvas: Figure, context: Context, data: pd.DataFrame) -> None:
    judges = list(data["judge"].unique())
    height = LINE * data["judge"].value_counts().max() + 0.7
    for panel, judge in zip(panels(canvas, len(judges), 1, height), judges, strict=True):
        rows = data[data["judge"] == judge].sort_values("value", ascending=False)
        names = [
            context.study.label_of(phi, phi_in_words(phi)) + (", own caption left out" if references != "kept" else "")
            for phi, references in zip(rows["phi"], rows["references"], strict=True)
        ]
        places = range(len(rows))
        panel.hlines(places, rows["low"], rows["high"], color=COLOURS[0], linewidth=1.4)
        panel.plot(rows["value"], places, "o", color=COLOURS[0], markersize=5, markeredgewidth=0)
        for place, value, high in zip(places, rows["value"], rows["high"].fillna(rows["value"]), strict=True):
            panel.annotate(number(value, 2), (high, place), (5, 0), textcoords="offset points", va="center")
        name_rows(panel, names)
        panel.set_xlim(0, max(0.0, *rows["high"].fillna(rows["value"])) * 1.12)
        panel.set_title(context.study.label_of(judge), loc="left")
        panel.set_xlabel(f"{STATISTICS[spec.statistic][0]}, {PAIRS[spec.pairs][0]}")
