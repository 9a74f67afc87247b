"""Judges of captions and phi: how phi is distributed over equal scores, and right pairs among the first n by phi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from fivesentences.corpus.parquet import read_frame
from fivesentences.errors import InputError
from fivesentences.evaluation.published import PublishedRow
from fivesentences.reproduction.config.scales import LABELS, Scale
from fivesentences.reproduction.evaluation.agreement import column_of
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import blocks, columns_in, fitted, legend, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.style import (
    CHANCE,
    COLOURS,
    DASHES,
    HATCHED,
    OTHERS_COLOUR,
    OWN_COLOUR,
    SMALL,
    SOFT,
)
from fivesentences.reproduction.paper.numbers.agreements import agreement_with, of_judge, read_agreements
from fivesentences.reproduction.paper.text.metric_notes import notes_on_judges, notes_on_phi, notes_without_judges
from fivesentences.reproduction.paper.text.names import (
    REFERENCES,
    STATISTICS,
    UNDEFINED,
    listed,
    number,
    phi_in_words,
    unique,
)
from fivesentences.reproduction.study.exhibits import OTHER_IMAGES, AgreementFigure, FoundPositivesFigure
from fivesentences.reproduction.study.study import Study

EXACT = 1e-6  # thirds are not exact in floating point
# How each judge's scores are put into bins: upper ends (a score on an end belongs to the bin below it), what the bins
# are called, and what they are.
BINS: dict[str, tuple[tuple[float, ...], tuple[str, ...], str]] = {
    "cxc": ((0.5, 1.5, 2.5, 3.5, 4.5, 5.0), ("0", "1", "2", "3", "4", "5"), "people’s mean rating, rounded"),
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
QUANTILES = {"low": 0.05, "first_quartile": 0.25, "median": 0.5, "third_quartile": 0.75, "high": 0.95}
COLUMNS = ["judge", "dataset", "phi", "references", "score", "pairs", "count", "mean", *QUANTILES]
OWN = "own"
# Of each kind of pair: its colour, how far its boxes are moved to the side, and where its counts stand below the axis.
LOOKS = {OTHER_IMAGES: (OTHERS_COLOUR, -0.2, 16.5), OWN: (OWN_COLOUR, 0.2, 25.0)}
LEGEND = {
    "captions of other images": {"facecolor": (OTHERS_COLOUR, 0.35), "edgecolor": OTHERS_COLOUR},
    "captions of the image itself": HATCHED,
}

STEPS = 120  # of a line, evenly on the logarithmic axis
ABOUT = ["judge", "dataset", "pairs"]  # the same for all lines of a judge
FOUND = ["judge", "dataset", "order", "found", "searched", "positives", "pairs", "published"]
HOW_TO_READ = (
    "Across: how many pairs of a caption with another image are taken for right, those of the largest phi first; "
    "upwards: how many of the judge’s right pairs are among them. The further to the left a line rises, the fewer "
    "other pairs it takes along."
)


def agreement_figure(spec: AgreementFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Bin the judged pairs, each ``.parquet`` beside the ``.json`` of its correlations."""
    scale = context.scale
    agreements = read_agreements(path.with_suffix(".json") for path in numbers)
    files = zip(scale.judges, numbers, strict=True)
    data = bin_pairs(spec, scale, {str(judge.judge): read_frame(path, "ask the judge again") for judge, path in files})
    phis, notes = [phi for phi in spec.phis if scale.shows(phi)], []
    if phis and scale.judges:
        notes = [
            *notes_on_judges(context.study, scale, agreements, phis),
            "Boxes: the quartiles of phi, whiskers from 5% to 95%, dots where there are fewer than "
            f"{FEW} pairs (their median); numbers below a panel count its pairs.",
            f"Above each panel: {listed([STATISTICS[name][0] for name in TITLED])} over all pairs and, after the "
            f"slash, over pairs of a caption with another image; {REFERENCES[spec.references]}.",
            *notes_on_phi([one for judge in scale.judges for one in of_judge(agreements, judge.judge, phis)]),
        ]
    notes += [*notes_without_judges(context.study, scale, spec.phis), *spec.notes]
    return Drawing(data, notes, lambda canvas: _draw_agreement(spec, canvas, context, data, agreements))


def bin_pairs(spec: AgreementFigure, scale: Scale, pairs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Make one line per judge, phi, bin of the judge's score and kind of pair (own or other images).

    Args:
        spec: The figure.
        scale: The scale, whose judges are drawn.
        pairs: Pairs of each judge by name, as ``evaluation.agreement`` writes them.

    Raises:
        InputError: If a phi's column is missing.
    """
    lines = []
    for judge in scale.judges:
        frame, (ends, labels, _) = pairs[judge.judge], BINS[judge.judge]
        place = np.minimum(np.searchsorted(ends, frame["human"].to_numpy()), len(labels) - 1)
        own = frame["own"].to_numpy()
        for phi in (phi for phi in spec.phis if scale.shows(phi)):
            column = column_of(phi, spec.references)
            if column not in frame:
                raise InputError(f"the pairs of the judge '{judge.judge}' have no phi '{column}'; ask the judge again.")
            values = frame[column].to_numpy()
            for index, label in enumerate(labels):
                for kind, of_kind in ((OTHER_IMAGES, ~own), (OWN, own)):
                    part = values[(place == index) & of_kind & ~np.isnan(values)]
                    if len(part):
                        start = (judge.judge, judge.dataset, phi, spec.references, label, kind, len(part))
                        lines.append((*start, part.mean(), *np.quantile(part, list(QUANTILES.values()))))
    return pd.DataFrame(lines, columns=COLUMNS)


def _draw_agreement(
    spec: AgreementFigure, canvas: Figure, context: Context, data: pd.DataFrame, agreements: Sequence[Any]
) -> None:
    """Draw up to three panels per line, one judge below the other."""
    judges, phis = context.scale.judges, [phi for phi in spec.phis if context.scale.shows(phi)]
    names = [context.study.label_of(judge.judge) for judge in judges]
    columns = columns_in(canvas, 3)
    heights = [0.5 + 1.95 * -(-len(phis) // columns)] * len(judges)
    for block, judge in zip(blocks(canvas, names, heights, 0.25), judges, strict=True):
        of_judge = data[data["judge"] == judge.judge]
        for panel, phi in zip(panels(block, len(phis), columns), phis, strict=True):
            _draw_boxes(panel, of_judge[of_judge["phi"] == phi], BINS[judge.judge][1])
            shown = []
            for statistic in TITLED:
                asked = ((judge.judge, phi, spec.references, kind, statistic) for kind in ("all", OTHER_IMAGES))
                values = " / ".join(number(agreement_with(agreements, *one).value, 3) or UNDEFINED for one in asked)
                shown.append(f"{STATISTICS[statistic][1]} {values}")
            panel.set_title(phi_in_words(phi), pad=14)
            above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": 6.5}
            panel.annotate("    ".join(shown), xy=(0, 1), xytext=(0, 4.5), color=SOFT, **above)
        across = f"Across: {BINS[judge.judge][2]}. Upwards: phi."
        block.supxlabel(across, x=0.01, ha="left", fontsize=SMALL, color=SOFT)
    legend(canvas, LEGEND)


def _draw_boxes(panel: Any, data: pd.DataFrame, labels: Sequence[str]) -> None:
    for kind, part in data.groupby("pairs"):
        colour, shift, below = LOOKS[str(kind)]
        places = part["score"].map(labels.index).to_numpy()
        many = (part["count"] >= FEW).to_numpy()
        named = dict(zip(QUANTILES, ("whislo", "q1", "med", "q3", "whishi"), strict=True))
        face = HATCHED if kind == OWN else HATCHED | {"hatch": None, "facecolor": (colour, 0.35), "edgecolor": colour}
        panel.bxp(
            part[many][list(QUANTILES)].rename(columns=named).to_dict("records"),
            positions=places[many] + shift,
            widths=0.32,
            showfliers=False,
            showcaps=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops=face,
            medianprops={"color": colour, "linewidth": 1.8, "solid_capstyle": "butt"},
            whiskerprops={"color": colour, "linewidth": 0.8},
        )
        panel.plot(places[~many] + shift, part["median"][~many], "o", color=colour, markersize=2.5, alpha=0.8)
        for place, count in zip(places, part["count"], strict=True):
            where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            where |= {"ha": "center", "va": "center", "annotation_clip": False}
            panel.annotate(f"{count:,}", (place, 0), (0, -below), color=colour, fontsize=6, **where)
    panel.set_xticks(range(len(labels)), labels)
    panel.set(xlim=(-0.6, len(labels) - 0.4), ylim=(0, None))
    panel.tick_params(axis="x", length=0, pad=2)


def found_positives_figure(spec: FoundPositivesFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect how many of a judge's right pairs are among the first n by each phi: Figure 1 of DAA's supplement."""
    shown = {*(phi for phi in spec.phis if context.scale.shows(phi)), LABELS}
    notes, parts = [HOW_TO_READ] if numbers else [], [pd.DataFrame(columns=FOUND)]
    for path in numbers:
        pairs = read_frame(path, "search for the pairs again", (*ABOUT, "order", "searched"))
        steps = _steps(pairs[pairs["order"].isin(shown)])
        printed = _printed(steps, context.published_rows(spec))
        notes += _on_positives(steps, printed, context.study)
        thinned = [_thinned(line) for _, line in steps.groupby("order", sort=False)]
        parts += [*thinned, *([printed] if len(printed) else [])]
    data = pd.concat(parts if len(parts) == 1 else parts[1:], ignore_index=True)[FOUND]
    unlabelled = [context.scale.lacks("labels", dataset) for dataset in unique(data["dataset"])]
    notes += [one.sentence(context.study.label_of(one.name)) for one in unlabelled if one is not None]
    notes += [*notes_without_judges(context.study, context.scale, spec.phis), *spec.notes]
    return Drawing(data, notes, lambda canvas: _draw_positives(canvas, context.study, data))


def _steps(pairs: pd.DataFrame) -> pd.DataFrame:
    """Count the right pairs among the first so many: of each order one line per number of pairs searched."""
    lines = []
    for order, line in pairs.groupby("order", sort=False):
        found = line.value_counts("searched", sort=False).sort_index().cumsum().rename("found").reset_index()
        about = {name: line[name].iloc[0] for name in ABOUT}
        lines.append(found.assign(order=order, positives=len(line), published=False, **about))
    return pd.concat(lines, ignore_index=True)


def _printed(steps: pd.DataFrame, printed: Mapping[str, PublishedRow]) -> pd.DataFrame:
    """Return the paper's points for the judge of some steps."""
    about = steps[[*ABOUT, "positives"]].iloc[0].to_dict() | {"published": True}
    lines = [
        about | {"order": row.method, "found": row.values["", "found"], "searched": row.values["", "searched"]}
        for row in printed.values()
        if row.setting.get("judge") == about["judge"]
    ]
    return pd.DataFrame(lines, columns=FOUND)


def _thinned(line: pd.DataFrame) -> pd.DataFrame:
    """Keep at most ``STEPS`` steps of an order: the last of each stretch of the axis, so that every one is measured."""
    ends = np.geomspace(1, line["pairs"].iloc[0], STEPS)
    places = np.searchsorted(line["searched"].to_numpy(), ends, side="right") - 1
    return line.iloc[np.unique(places[places >= 0])]


def _on_positives(steps: pd.DataFrame, points: pd.DataFrame, study: Study) -> list[str]:
    """Count the right pairs, say what it takes to find half of them, and what is found where the paper has a point."""
    first, lines = steps.iloc[0], {_in_words(str(order)): line for order, line in steps.groupby("order", sort=False)}
    half = [
        f"{line['searched'].iloc[np.searchsorted(line['found'], first['positives'] / 2)]:,} by {order}"
        for order, line in lines.items()
    ]
    notes = [
        f"{study.label_of(first['judge'])}, on {study.label_of(first['dataset'])}: {first['positives']:,} of "
        f"{first['pairs']:,} pairs of a caption with another image are right. Half of them are among the first "
        f"{', '.join(half)}."
    ]
    for point in points.to_dict("records"):
        counts = {order: line["found"][line["searched"] <= point["searched"]].max() for order, line in lines.items()}
        within = [f"{0 if np.isnan(count) else count:,.0f} by {order}" for order, count in counts.items()]
        notes.append(
            f"The paper finds about {point['found']:,.0f} of them among the {point['searched']:,.0f} first by "
            f"{point['order']}; here that many hold {', '.join(within)}."
        )
    return notes


def _in_words(order: str) -> str:
    return "shared labels" if order == LABELS else phi_in_words(order)


def _draw_positives(canvas: Figure, study: Study, data: pd.DataFrame) -> None:
    """Draw one panel per judge, below each other, and the legend."""
    orders = data.loc[~data["published"].astype(bool), "order"].unique()
    looks = {
        order: {"color": COLOURS[index % 7], "linestyle": DASHES[index % 7], "linewidth": 1.3}
        for index, order in enumerate(orders)
    }
    judges = [part for _, part in data.groupby("judge", sort=False)]
    for panel, part in zip(panels(canvas, len(judges), 1, 3.5), judges, strict=True):
        of_paper = part["published"].astype(bool)
        pairs, positives = part["pairs"].iloc[0], part["positives"].iloc[0]
        panel.set_xscale("log")
        for order, line in part[~of_paper].groupby("order", sort=False):
            panel.plot(line["searched"], line["found"], zorder=3, **looks[str(order)])
        chance = np.geomspace(1, pairs, STEPS)
        panel.plot(chance, chance * positives / pairs, **CHANCE)
        for place, point in enumerate(part[of_paper].to_dict("records")):
            panel.plot(point["searched"], point["found"], "x", color="black", markersize=6, zorder=5)
            beside: dict[str, Any] = {"xytext": (6, -10)} if place % 2 else {"xytext": (-6, 4), "ha": "right"}
            where = (point["searched"], point["found"])
            panel.annotate(f"paper, by {point['order']}", where, textcoords="offset points", fontsize=SMALL, **beside)
        judge, dataset = (study.label_of(part[name].iloc[0]) for name in ("judge", "dataset"))
        across = "pairs of a caption with another image that are taken for right"
        panel.set(
            title=fitted(panel, f"{judge}, {dataset}"), xlabel=fitted(panel, across), ylabel="right pairs among them"
        )
        first = part["searched"][part["found"] >= positives / 100].min()
        panel.set(ylim=(0, None), xlim=(10 ** np.floor(np.log10(first)), pairs))
        panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    legend(canvas, {_in_words(order): look for order, look in looks.items()} | {"by chance": CHANCE})
