"""How many of a judge's right pairs are among the first n pairs, one line per phi: Figure 1 of DAA's supplement."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.config.scales import LABELS
from fivesentences.corpus.parquet import read_frame
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, SOFT, WIDTH, draw_grid, panel_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, Look, draw_legend, legend_height
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.text.judge_notes import note_without_judges
from fivesentences.paper.text.names import phi_in_words
from fivesentences.paper.text.phi_notes import note_on_left_out
from fivesentences.study.exhibits import FoundPositivesFigure
from fivesentences.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["judge", "dataset", "order", "found", "searched", "positives", "pairs", "published"]
ABOUT = ("judge", "dataset", "pairs")  # the same for all lines of a judge
MEASURED = (*ABOUT, "order", "searched")
FOUND, SEARCHED = ("", "found"), ("", "searched")  # of a published row
STEPS = 120  # of a line, evenly on the logarithmic axis
BY_CHANCE = "by chance"
# Sizes in inches.
LEFT, HEIGHT, TOP, DOWN = 0.75, 2.4, 0.35, 0.6
HOW_TO_READ = (
    "Across: how many pairs of a caption with another image are taken for right, those of the largest phi first; "
    "upwards: how many of the judge’s right pairs are among them. The further to the left a line rises, the fewer "
    "other pairs it takes along."
)


def found_positives_figure(spec: FoundPositivesFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the steps of each order."""
    shown = {*(phi for phi in spec.phis if context.scale.shows(phi)), LABELS}
    steps = [_steps(read_frame(path, "search for the pairs again", MEASURED), shown) for path in numbers]
    printed = context.published_rows(spec)
    notes, parts = [], []
    for one in steps:
        points = _printed(one, printed)
        notes += _notes_on(one, points, context.study)
        parts += [
            *(_thinned(line) for _, line in one.groupby("order", sort=False)),
            *([points] if len(points) else []),
        ]
    data = pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)
    notes = [*([HOW_TO_READ] if parts else []), *notes]
    notes += [*note_without_judges(context.scale), *note_on_left_out(spec.phis, context.scale), *spec.notes]
    return Drawing(data, notes, functools.partial(_draw, study=context.study, data=data) if parts else None)


def _steps(pairs: pd.DataFrame, shown: set[str]) -> pd.DataFrame:
    """How many right pairs are among the first so many: of each order one line per number of pairs searched."""
    lines = [
        line.value_counts("searched", sort=False)
        .sort_index()
        .cumsum()
        .rename("found")
        .reset_index()
        .assign(order=order, positives=len(line), published=False, **{name: line[name].iloc[0] for name in ABOUT})
        for order, line in pairs[pairs["order"].isin(shown)].groupby("order", sort=False)
    ]
    return pd.concat(lines, ignore_index=True)


def _printed(steps: pd.DataFrame, printed: Mapping[str, PublishedRow]) -> pd.DataFrame:
    """The paper's points for the judge of some steps."""
    about = {name: steps[name].iloc[0] for name in (*ABOUT, "positives")}
    lines = [
        about | {"order": row.method, "found": row.values[FOUND], "searched": row.values[SEARCHED], "published": True}
        for row in printed.values()
        if row.setting.get("judge") == about["judge"]
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def _thinned(line: pd.DataFrame) -> pd.DataFrame:
    """At most ``STEPS`` steps of an order: of each stretch of the axis the last, so that every one is measured."""
    ends = np.geomspace(1, line["pairs"].iloc[0], STEPS)
    places = np.searchsorted(line["searched"].to_numpy(), ends, side="right") - 1
    return line.iloc[np.unique(places[places >= 0])]


def _notes_on(steps: pd.DataFrame, points: pd.DataFrame, study: Study) -> list[str]:
    """How many right pairs there are; what it takes to find half of them; what is found where the paper has a point."""
    first = steps.iloc[0]
    lines = {str(order): line for order, line in steps.groupby("order", sort=False)}
    half = {
        order: int(line["searched"].iloc[np.searchsorted(line["found"].to_numpy(), first["positives"] / 2)])
        for order, line in lines.items()
    }
    notes = [
        f"{study.label_of(first['judge'])}, on {study.label_of(first['dataset'])}: {first['positives']:,} of "
        f"{first['pairs']:,} pairs of a caption with another image are right. Half of them are among the first "
        + ", ".join(f"{searched:,} by {_in_words(order)}" for order, searched in half.items())
        + "."
    ]
    for point in points.to_dict("records"):
        found = {order: _found_within(line, point["searched"]) for order, line in lines.items()}
        notes.append(
            f"The paper finds about {point['found']:,.0f} of them among the {point['searched']:,.0f} first by "
            f"{point['order']}; here that many hold "
            + ", ".join(f"{count:,} by {_in_words(order)}" for order, count in found.items())
            + "."
        )
    return notes


def _found_within(line: pd.DataFrame, searched: float) -> int:
    place = int(np.searchsorted(line["searched"].to_numpy(), searched, side="right"))
    return int(line["found"].iloc[place - 1]) if place else 0


def _in_words(order: str) -> str:
    return "shared labels" if order == LABELS else phi_in_words(order)


def _first_digits(count: float) -> float:
    """The power of ten below, where an axis can begin."""
    return float(10 ** np.floor(np.log10(max(count, 1))))


def _draw(canvas: Canvas, study: Study, data: pd.DataFrame) -> None:
    """One panel per judge, below each other, and the legend."""
    from matplotlib.ticker import FuncFormatter

    orders = list(data.loc[~data["published"], "order"].unique())
    looks = {
        order: Look(COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]) for index, order in enumerate(orders)
    }
    looks |= {BY_CHANCE: Look("#8f8f8f", (0, (1, 1)))}
    names = {order: _in_words(order) for order in orders} | {BY_CHANCE: BY_CHANCE}
    panels = [(str(judge), part) for judge, part in data.groupby("judge", sort=False)]
    height = len(panels) * (TOP + HEIGHT + DOWN)
    canvas.set_size_inches(WIDTH, height + legend_height(list(names.values()), WIDTH - LEFT) + 0.05)
    for place, (judge, part) in enumerate(panels):
        panel = panel_at(canvas, LEFT, TOP + place * (TOP + HEIGHT + DOWN), WIDTH - LEFT - 0.4, HEIGHT)
        pairs, positives = part["pairs"].iloc[0], part["positives"].iloc[0]
        panel.set_xscale("log")
        for order, line in part[~part["published"]].groupby("order", sort=False):
            look = looks[order]
            panel.plot(
                line["searched"], line["found"], color=look.colour, linestyle=look.dashes, linewidth=1.3, zorder=3
            )
        chance = np.geomspace(1, pairs, STEPS)
        look = looks[BY_CHANCE]
        panel.plot(chance, chance * positives / pairs, color=look.colour, linestyle=look.dashes, linewidth=1.0)
        for number, point in enumerate(part[part["published"]].to_dict("records")):
            panel.plot(point["searched"], point["found"], "x", color="black", markersize=6, zorder=5)
            text, where = f"paper, by {point['order']}", (point["searched"], point["found"])
            beside: Any = {"xytext": (6, -10)} if number % 2 else {"xytext": (-6, 4), "ha": "right"}
            panel.annotate(text, where, textcoords="offset points", fontsize=7.5, **beside)
        panel.set_title(f"{study.label_of(judge)}, {study.label_of(part['dataset'].iloc[0])}", loc="left", pad=6)
        panel.set_xlabel("pairs of a caption with another image that are taken for right", labelpad=2)
        panel.set_ylabel("right pairs among them", color=SOFT)
        panel.set_ylim(bottom=0)
        panel.set_xlim(_first_digits(part["searched"][part["found"] >= positives / 100].min()), pairs)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        draw_grid(panel)
    draw_legend(canvas, LEFT, height, WIDTH - LEFT, looks, names)
