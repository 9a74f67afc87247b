"""The judge's score against phi: how phi is distributed over pairs with equal scores, one panel per phi and judge."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.config.scales import Scale
from fivesentences.corpus.parquet import read_frame
from fivesentences.errors import InputError
from fivesentences.evaluation.agreement import column_of
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import (
    HATCH,
    HATCHED,
    OTHERS_COLOUR,
    OWN_COLOUR,
    SOFT,
    WIDTH,
    draw_grid,
    legend_at,
    panel_at,
    text_at,
)
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.numbers.agreements import Agreements, read_agreements
from fivesentences.paper.text.judge_notes import note_without_judges, notes_on_judges, notes_on_phi
from fivesentences.paper.text.names import REFERENCES, STATISTICS, listed, phi_in_words
from fivesentences.paper.text.numbers import UNDEFINED, number
from fivesentences.paper.text.phi_notes import note_on_left_out
from fivesentences.study.exhibits import OTHER_IMAGES, AgreementFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

EXACT = 1e-6  # thirds are not exact in floating point
# How each judge's scores are put into bins: upper ends (a score on an end belongs to the bin below it), what the bins
# are called, and what they are.
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
TITLED = ("pearson", "kendall_b")  # the correlations above a panel
FEW = 5  # fewer pairs are drawn as a dot
COLUMNS = ["judge", "dataset", "phi", "references", "score", "pairs", "count", "mean"]
COLUMNS += ["low", "first_quartile", "median", "third_quartile", "high"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
OWN = "own"
# Of each kind of pair: its colour, how far its boxes are moved to the side, and where its counts stand below the axis.
LOOKS = {OTHER_IMAGES: (OTHERS_COLOUR, -0.2, 15.5), OWN: (OWN_COLOUR, 0.2, 22.5)}
LEGEND = [("■", OTHERS_COLOUR, "captions of other images"), (HATCHED, OWN_COLOUR, "captions of the image itself")]
# Sizes in inches.
LEFT, PANEL, GAP, HEIGHT, DOWN, HEADING, KEY = 0.4, 2.05, 0.33, 1.18, 1.92, 0.24, 0.45


def agreement_figure(spec: AgreementFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Bin the judged pairs, each ``.parquet`` beside the ``.json`` of its correlations."""
    scale = context.scale
    agreements = read_agreements(path.with_suffix(".json") for path in numbers)
    files = zip(scale.judges, numbers, strict=True)
    pairs = {str(judge.judge): read_frame(path, "ask the judge again") for judge, path in files}
    data = bin_pairs(spec, scale, pairs)
    draw = functools.partial(_draw, spec, context=context, data=data, agreements=agreements)
    return Drawing(data, _notes(spec, context, agreements), None if data.empty else draw)


def bin_pairs(spec: AgreementFigure, scale: Scale, pairs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What is drawn: one line per judge, phi, bin of the judge's score and kind of pair (own or other images).

    Args:
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
        own = frame["own"].to_numpy()
        for phi in _shown(spec, scale):
            column = column_of(phi, spec.references)
            if column not in frame:
                raise InputError(f"the pairs of the judge '{judge.judge}' have no phi '{column}'; ask the judge again.")
            values = frame[column].to_numpy()
            for index, label in enumerate(labels):
                for kind, of_kind in ((OTHER_IMAGES, ~own), (OWN, own)):
                    part = values[(place == index) & of_kind & ~np.isnan(values)]
                    if len(part):
                        start = (judge.judge, judge.dataset, phi, spec.references, label, kind, len(part))
                        lines.append((*start, part.mean(), *np.quantile(part, QUANTILES)))
    return pd.DataFrame(lines, columns=COLUMNS)


def _shown(spec: AgreementFigure, scale: Scale) -> list[str]:
    return [phi for phi in spec.phis if scale.shows(phi)]


def _notes(spec: AgreementFigure, context: Context, agreements: Agreements) -> list[str]:
    """Who judged, what is drawn, and what is left out."""
    scale, phis, notes = context.scale, _shown(spec, context.scale), []
    if phis and scale.judges:
        notes = notes_on_judges(context.study, scale, agreements, phis)
        notes.append(
            "Boxes: the quartiles of phi, whiskers from 5% to 95%, dots where there are fewer than "
            f"{FEW} pairs (their median); numbers below a panel count its pairs."
        )
        notes.append(
            f"Above each panel: {listed([STATISTICS[name][0] for name in TITLED])} over all pairs and, after the "
            f"slash, over pairs of a caption with another image; {REFERENCES[spec.references]}."
        )
        notes += notes_on_phi([one for judge in scale.judges for one in agreements.of(judge.judge, phis)])
    return [*notes, *note_without_judges(scale), *note_on_left_out(spec.phis, scale), *spec.notes]


def _draw(spec: AgreementFigure, canvas: Canvas, context: Context, data: pd.DataFrame, agreements: Agreements) -> None:
    """Three panels per line, one judge below the other; the legend stands in the last line if it has room there."""
    judges, phis = context.scale.judges, _shown(spec, context.scale)
    places = [(LEFT + (index % 3) * (PANEL + GAP), HEADING + index // 3 * DOWN) for index in range(len(phis) + 1)]
    below = len(phis) % 3 == 0
    block = HEADING + -(-len(phis) // 3) * DOWN + below * KEY
    canvas.set_size_inches(WIDTH, len(judges) * block)
    for place, judge in enumerate(judges):
        top = place * block
        name = context.study.label_of(judge.judge)
        text_at(canvas, LEFT, top + 0.04, name, fontsize=9, weight="bold")
        of_judge = data[data["judge"] == judge.judge]
        for phi, (left, down) in zip(phis, places, strict=False):
            panel = panel_at(canvas, left, top + down + 0.3, PANEL, HEIGHT)
            _draw_boxes(panel, of_judge[of_judge["phi"] == phi], BINS[judge.judge][1])
            _draw_title(panel, phi, judge.judge, spec.references, agreements)
        left, down = places[-1]
        legend_at(canvas, left, top + down + (0 if below else 0.5), LEGEND)
        across = f"Across: {BINS[judge.judge][2]}."
        if below:
            left, down = LEFT + PANEL + GAP, down
        else:
            across, down = textwrap.fill(across, 32), down + 0.92
        text_at(canvas, left, top + down, f"{across}\nUpwards: phi.", fontsize=7.5, color=SOFT)


def _draw_boxes(panel: Any, data: pd.DataFrame, labels: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    for kind, (colour, shift, below) in LOOKS.items():
        part = data[data["pairs"] == kind]
        hatch = HATCH if colour == OWN_COLOUR else None
        if part.empty:
            continue
        places = np.array([labels.index(score) for score in part["score"]])
        many = (part["count"] >= FEW).to_numpy()
        named = dict(zip(("whislo", "q1", "med", "q3", "whishi"), COLUMNS[-5:], strict=True))
        boxes = [{name: line[column] for name, column in named.items()} for line in part[many].to_dict("records")]
        panel.bxp(
            boxes,
            positions=places[many] + shift,
            widths=0.32,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": f"{colour}59", "edgecolor": colour, "hatch": hatch, "linewidth": 0.6},
            medianprops={"color": colour, "linewidth": 1.8, "solid_capstyle": "butt"},
            whiskerprops={"color": colour, "linewidth": 0.8},
            showcaps=False,
        )
        panel.plot(places[~many] + shift, part["median"][~many], "o", color=colour, markersize=2.5, alpha=0.8)
        for place, count in zip(places, part["count"], strict=True):
            panel.annotate(
                f"{count:,}",
                xy=(place, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -below),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=6,
                color=colour,
                annotation_clip=False,
            )
    panel.set_xlim(-0.6, len(labels) - 0.4)
    panel.set_xticks(range(len(labels)), labels, fontsize=7)
    panel.tick_params(axis="x", length=0, pad=2)
    panel.tick_params(axis="y", labelsize=7)
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_locator(MaxNLocator(4))
    draw_grid(panel)


def _draw_title(panel: Any, phi: str, judge: str, references: str, agreements: Agreements) -> None:
    shown = []
    for statistic in TITLED:
        values = [agreements.one(judge, phi, references, pairs, statistic).value for pairs in ("all", OTHER_IMAGES)]
        shown.append(f"{STATISTICS[statistic][1]} " + " / ".join(number(value, 3) or UNDEFINED for value in values))
    above: Any = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points"}
    panel.annotate(phi_in_words(phi), xytext=(0, 13), fontsize=8.5, **above)
    panel.annotate("    ".join(shown), xytext=(0, 4.5), fontsize=6.5, color=SOFT, **above)
