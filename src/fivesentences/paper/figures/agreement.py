"""The judge's score against phi: how phi is distributed over pairs that a judge scored alike, one panel a phi."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from fivesentences.config import Scale
from fivesentences.errors import InputError
from fivesentences.evaluation.agreement import column_of
from fivesentences.paper.agreements import Agreements
from fivesentences.paper.figures.canvas import FOREIGN, OWN, SOFT, WIDTH, Texts, key, panel_at, text_at
from fivesentences.paper.tables.agreement import REFERENCES, note_on_judge, note_without_judges, notes_on_phi
from fivesentences.paper.tables.table import number
from fivesentences.paper.text.names import phi_in_words
from fivesentences.paper.text.notes import notes_on_left_out
from fivesentences.plan.figures import AgreementFigureSpec
from fivesentences.plan.studies import Study

EXACT = 1e-6  # thirds are no exact numbers
# How each judge's scores are put into bins: upper ends (a score on an end belongs to the bin below it), what the bins
# are called, and how the axis reads.
BINS: dict[str, tuple[tuple[float, ...], tuple[str, ...], str]] = {
    "cxc": (
        (0.5, 1.5, 2.5, 3.5, 4.5, 5.0),
        ("0", "1", "2", "3", "4", "5"),
        "people’s mean rating, rounded",
    ),
    "flickr8k_expert": (
        (1 + EXACT, 2 - EXACT, 2 + EXACT, 3 - EXACT, 3 + EXACT, 4 - EXACT, 4.0),
        ("1", "1–2", "2", "2–3", "3", "3–4", "4"),
        "mean rating of three experts",
    ),
    "flickr8k_expert_each": ((1.0, 2.0, 3.0, 4.0), ("1", "2", "3", "4"), "rating of one expert"),
    "flickr8k_crowdflower": (
        (EXACT, 0.5 - EXACT, 1 - EXACT, 1.0),
        ("0", "below ½", "½ to 1", "1"),
        "share of people who say yes",
    ),
    "scenes_truth": (
        (EXACT, 0.25, 0.5, 0.75, 1 - EXACT, 1.0),
        ("0", "≤ ¼", "≤ ½", "≤ ¾", "< 1", "1"),
        "share of a caption’s claims that are true",
    ),
}
KINDS = {False: "other", True: "own"}
FEW = 5  # fewer pairs are drawn as dots
COLUMNS = ["judge", "dataset", "phi", "references", "score", "pairs", "count", "mean"]
COLUMNS += ["low", "first_quartile", "median", "third_quartile", "high"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
COLOURED = [("■", FOREIGN, "captions of other images"), ("■", OWN, "captions of the image itself")]
# Sizes in inches.
LEFT, PANEL, GAP, HEIGHT, DOWN, HEADING, KEY = 0.4, 2.05, 0.33, 1.18, 1.92, 0.24, 0.45


def bin_pairs(spec: AgreementFigureSpec, scale: Scale, pairs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What is drawn: one line a judge, phi, bin of the judge's score and kind of pair (own or foreign).

    Args:
        spec: The figure.
        scale: The scale, whose judges are drawn.
        pairs: Pairs of each judge by name, as ``evaluation.agreement`` writes them.

    Raises:
        InputError: If a judge's pairs or a phi's column is missing.
    """
    lines = []
    for judge in scale.judges:
        if judge.judge not in pairs:
            raise InputError(f"the pairs of the judge '{judge.judge}' are missing; ask the judge again.")
        frame = pairs[judge.judge]
        ends, labels, _ = BINS[judge.judge]
        place = np.minimum(np.searchsorted(ends, frame["human"].to_numpy()), len(labels) - 1)
        for phi in _shown(spec, scale):
            column = column_of(phi, spec.references)
            if column not in frame:
                raise InputError(f"the pairs of the judge '{judge.judge}' have no phi '{column}'; ask the judge again.")
            values = frame[column].to_numpy()
            for index, label in enumerate(labels):
                for own, kind in KINDS.items():
                    part = values[(place == index) & (frame["own"].to_numpy() == own) & ~np.isnan(values)]
                    if not len(part):
                        continue
                    start = (judge.judge, judge.dataset, phi, spec.references, label, kind, len(part))
                    lines.append((*start, part.mean(), *np.quantile(part, QUANTILES)))
    return pd.DataFrame(lines, columns=COLUMNS)


def texts_of(spec: AgreementFigureSpec, study: Study, scale: Scale, agreements: Agreements) -> Texts:
    """Title, caption and notes: who judged, what is drawn, and what is left out."""
    notes = []
    phis = _shown(spec, scale)
    found = [one for judge in scale.judges for one in agreements.of(judge.judge, phis)]
    if phis and scale.judges:
        notes = [note_on_judge(study, judge, agreements.of(judge.judge, phis)) for judge in scale.judges]
        notes.append(
            "Boxes: the quartiles of phi, whiskers from 5% to 95%, dots where there are fewer than "
            f"{FEW} pairs (their median); numbers below a panel count its pairs."
        )
        notes.append(
            "Above each panel: Pearson’s r and Kendall’s τ-b over all pairs and, after the stroke, over foreign pairs; "
            f"{REFERENCES[spec.references]}."
        )
        notes += notes_on_phi(found)
    left_out = notes_on_left_out(spec.phis, scale)
    return Texts(spec.title, spec.caption, (*notes, *note_without_judges(scale), *left_out, *spec.notes))


def draw(
    canvas: Canvas, spec: AgreementFigureSpec, study: Study, scale: Scale, data: pd.DataFrame, agreements: Agreements
) -> None:
    """Three panels a line, judges one below the other; the key stands where the last line leaves room, or below it."""
    phis = _shown(spec, scale)
    places = [(LEFT + (index % 3) * (PANEL + GAP), HEADING + index // 3 * DOWN) for index in range(len(phis) + 1)]
    below = len(phis) % 3 == 0
    block = HEADING + -(-len(phis) // 3) * DOWN + below * KEY
    canvas.set_size_inches(WIDTH, len(scale.judges) * block)
    for place, judge in enumerate(scale.judges):
        top = place * block
        text_at(canvas, LEFT, top + 0.04, study.labels.get(judge.judge, judge.judge), fontsize=9, weight="bold")
        of_judge = data[data["judge"] == judge.judge]
        for phi, (left, down) in zip(phis, places, strict=False):
            panel = panel_at(canvas, left, top + down + 0.3, PANEL, HEIGHT)
            _panel(panel, of_judge[of_judge["phi"] == phi], judge.judge)
            _title(panel, phi, judge.judge, spec.references, agreements)
        across = f"Across: {BINS[judge.judge][2]}."
        left, down = places[-1]
        key(canvas, left, top + down + (0 if below else 0.5), COLOURED)
        if below:
            text_at(canvas, LEFT + PANEL + GAP, top + down, f"{across}\nUpwards: phi.", fontsize=7.5, color=SOFT)
        else:
            text_at(
                canvas, left, top + down + 0.92, f"{textwrap.fill(across, 32)}\nUpwards: phi.", fontsize=7.5, color=SOFT
            )


def _shown(spec: AgreementFigureSpec, scale: Scale) -> list[str]:
    return [phi for phi in spec.phis if phi not in scale.leave_out.phis]


def _panel(panel: Any, data: pd.DataFrame, judge: str) -> None:
    labels = BINS[judge][1]
    for kind, colour, shift in (("other", FOREIGN, -0.2), ("own", OWN, 0.2)):
        part = data[data["pairs"] == kind]
        if part.empty:
            continue
        places = np.array([labels.index(score) for score in part["score"]]) + shift
        many = (part["count"] >= FEW).to_numpy()
        boxes = [
            {
                "whislo": one.low,
                "q1": one.first_quartile,
                "med": one.median,
                "q3": one.third_quartile,
                "whishi": one.high,
            }
            for one in part[many].itertuples()
        ]
        line = {"color": colour, "linewidth": 0.8}
        panel.bxp(
            boxes,
            positions=places[many],
            widths=0.32,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.35, "linewidth": 0.6},
            medianprops={"color": colour, "linewidth": 1.8, "solid_capstyle": "butt"},
            whiskerprops=line,
            showcaps=False,
        )
        panel.plot(places[~many], part["median"][~many], "o", color=colour, markersize=2.5, alpha=0.8)
    panel.set_xlim(-0.6, len(labels) - 0.4)
    panel.set_xticks(range(len(labels)), labels, fontsize=7)
    panel.tick_params(axis="x", length=0, pad=2)
    panel.tick_params(axis="y", labelsize=7)
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_locator(MaxNLocator(4))
    panel.grid(axis="y", color="#e4e4e4", linewidth=0.5)
    panel.set_axisbelow(True)
    for one in data.itertuples():
        below = 15.5 if one.pairs == "other" else 22.5  # the axis, in points
        panel.annotate(
            f"{one.count:,}",
            xy=(labels.index(one.score), 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -below),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=5.5,
            color=FOREIGN if one.pairs == "other" else OWN,
            annotation_clip=False,
        )


def _title(panel: Any, phi: str, judge: str, references: str, agreements: Agreements) -> None:
    said = []
    for statistic, name in (("pearson", "r"), ("kendall_b", "τ-b")):
        values = [agreements.one(judge, phi, references, pairs, statistic).value for pairs in ("all", "other")]
        said.append(f"{name} " + " / ".join(number(value, 3) or "–" for value in values))
    panel.annotate(
        phi_in_words(phi), xy=(0, 1), xycoords="axes fraction", xytext=(0, 13), textcoords="offset points", fontsize=8.5
    )
    panel.annotate(
        "    ".join(said),
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(0, 4.5),
        textcoords="offset points",
        fontsize=6.5,
        color=SOFT,
    )
