"""How often items are the nearest of a query: one panel per loss and direction, one line per inference method."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.errors import InputError
from fivesentences.evaluation.tidy import read_evaluations, tidy_of
from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, SOFT, WIDTH, draw_grid, panel_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.lines import DASHES, MARKERS, Look, draw_legend, legend_height
from fivesentences.paper.numbers.results import Results
from fivesentences.paper.text.labels import Part, labels_of_settings
from fivesentences.paper.text.metric_notes import notes_on_inference
from fivesentences.paper.text.names import DIRECTIONS, INFERENCES, unique
from fivesentences.paper.text.run_notes import notes_on_data, notes_on_missing
from fivesentences.study.exhibits import HubnessFigure
from fivesentences.study.expand import Row
from fivesentences.study.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = [
    "role", "dataset", "model", "loss", "fraction", "inference", "direction", "at_least", "percent", "spread", "seeds",
    "by_chance",
]  # fmt: skip
ORDER = ("t2i", "i2t")  # the paper counts images, so this comes first
SETTING: tuple[Part, ...] = ("dataset", "model", "loss", "fraction")  # each has a column of panels
# Sizes in inches.
LEFT, GAP, DOWN, HEIGHT, TOP = 0.62, 0.28, 0.45, 1.75, 0.42
CHANCE = "chance"
CHANCE_LOOK = Look("#8f8f8f", (0, (1, 1)))
HOW_TO_READ = [
    "Both axes are logarithmic. Where a line begins is the percentage of items that are the nearest of any "
    "query; where it ends is the largest hub of any seed. Lines are means over seeds.",
    "Dashed: by chance, if every query drew its nearest item at random. If every answer were right, each image would "
    "be the nearest of exactly its own captions, as the assignment makes it.",
]


def hubness_figure(spec: HubnessFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the hubs from the metrics of its runs."""
    study, scale, rows = context.study, context.scale, context.rows(spec)
    evaluated = read_evaluations(numbers)
    data = _tidy(rows, {one["run"]: one for one in evaluated})
    notes = notes_on_data(study, rows, Results(tidy_of(evaluated, scale.scale)))
    if not data.empty:
        notes += [*HOW_TO_READ, *notes_on_inference(unique(data["inference"]))]
    notes += [*notes_on_missing(study, scale, rows), *spec.notes]
    return Drawing(data, notes, None if data.empty else functools.partial(_draw, study=study, data=data))


def _tidy(rows: Sequence[Row], contents: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One line per point: the percentage of the gallery that is the nearest item of at least so many queries.

    ``percent`` is the mean and ``spread`` the sample standard deviation over seeds; ``by_chance`` is the percentage if
    every query drew its nearest item at random.

    Args:
        rows: The rows of the figure.
        contents: What was stored about each run, by its name.

    Raises:
        InputError: If a run was not evaluated by an inference method.
    """
    lines: list[tuple[Any, ...]] = []
    for row in rows:
        for direction in ORDER if row.runs else ():
            shares = [_share_at_least(_histogram(contents, run.name, row, direction)) for run in row.runs]
            longest = max(len(share) for share in shares)
            by_seed = np.array([np.pad(share, (0, longest - len(share))) for share in shares])
            spread = by_seed.std(axis=0, ddof=1) if len(shares) > 1 else np.full(longest, np.nan)
            chance = _by_chance(_histogram(contents, row.runs[0].name, row, direction), longest)
            start = (row.role, row.dataset, row.model, row.loss, row.fraction, row.inference, direction)
            for count in range(1, longest):
                numbers = (float(by_seed[:, count].mean()), float(spread[count]), len(shares), float(chance[count]))
                lines.append((*start, count, *numbers))
    return pd.DataFrame(lines, columns=COLUMNS)


def _draw(canvas: Canvas, study: Study, data: pd.DataFrame) -> None:
    """Two rows (caption queries, as in the paper, and image queries) by a column for each model and loss."""
    settings = list(dict.fromkeys(data[list(SETTING)].itertuples(index=False, name=None)))
    titles = labels_of_settings([dict(zip(SETTING, setting, strict=True)) for setting in settings], study)
    methods = unique(data["inference"])
    width = (WIDTH - LEFT - GAP * len(settings)) / len(settings)
    names = {name: INFERENCES.get(name, name) for name in methods} | {CHANCE: "chance"}
    bottom = TOP + len(ORDER) * (HEIGHT + DOWN) + 0.12
    canvas.set_size_inches(WIDTH, bottom + legend_height(list(names.values()), WIDTH - LEFT) + 0.05)
    for across, setting in enumerate(settings):
        of_setting = data[(data[list(SETTING)] == list(setting)).all(axis=1)]
        for down, direction in enumerate(ORDER):
            left, top = LEFT + across * (width + GAP), TOP + down * (HEIGHT + DOWN)
            panel = panel_at(canvas, left, top, width, HEIGHT)
            part = of_setting[of_setting["direction"] == direction]
            limits = data[data["direction"] == direction]
            _draw_lines(panel, part, methods, limits["at_least"].max())
            panel.set_xlim(0.9, limits["at_least"].max() * 1.15)
            panel.set_ylim(max(limits.loc[limits["percent"] > 0, "percent"].min() * 0.7, 1e-3), 130)
            if across:
                panel.set_yticklabels([])
            else:
                panel.set_ylabel("% of " + ("images" if direction == "t2i" else "captions"))
            if down == 0:
                panel.set_title(titles[across], loc="left", pad=15)
            text_at(canvas, left, top - 0.15, DIRECTIONS[direction], fontsize=7.5, color=SOFT)
            if down == len(ORDER) - 1:
                panel.set_xlabel("nearest of at least so many queries")
    looks = {name: Look(COLOURS[index], DASHES[index]) for index, name in enumerate(methods)}
    draw_legend(canvas, LEFT, bottom, WIDTH - LEFT, looks | {CHANCE: CHANCE_LOOK}, names)


def _draw_lines(panel: Any, data: pd.DataFrame, methods: Sequence[str], longest: int) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    panel.set_xscale("log")
    panel.set_yscale("log")
    for index, method in enumerate(methods):
        line = data[data["inference"] == method]
        if line.empty:
            continue
        if method == methods[0]:
            chance = line[line["by_chance"] > 0]
            colour, dashes = CHANCE_LOOK
            panel.plot(chance["at_least"], chance["by_chance"], color=colour, linewidth=1.0, linestyle=dashes)
        colour, last = COLOURS[index], line.iloc[-1]
        how: Any = {"linestyle": DASHES[index], "linewidth": 1.3, "zorder": 3}
        panel.plot(line["at_least"], line["percent"], color=colour, **how)
        panel.plot(last["at_least"], last["percent"], color=colour, marker=MARKERS[index], markersize=3.6, zorder=4)
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0,)))
        axis.set_major_formatter(plain)
        axis.set_minor_formatter(NullFormatter())
    if longest < 50:
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    draw_grid(panel)


def _histogram(contents: Mapping[str, Mapping[str, Any]], run: str, row: Row, direction: str) -> list[int]:
    try:
        return [int(count) for count in contents[run]["hubs"][row.inference][direction]]
    except KeyError:
        raise InputError(
            f"the run '{run}' has no counts of hubs by the inference method {row.inference}; evaluate it again."
        ) from None


def _share_at_least(histogram: Sequence[int]) -> np.ndarray:
    """``[maximum + 1]`` percentages of items that are the nearest of at least 0, 1, 2 ... queries."""
    counts = np.asarray(histogram, dtype=np.float64)
    return np.asarray(100.0 * counts[::-1].cumsum()[::-1] / counts.sum())


def _by_chance(histogram: Sequence[int], longest: int) -> np.ndarray:
    from scipy.stats import binom

    items = sum(histogram)
    queries = sum(times * count for times, count in enumerate(histogram))
    found = 100.0 * binom.sf(np.arange(longest) - 1, queries, 1.0 / items)
    # Less than a thousandth of an item is not drawn.
    return np.where(found * items / 100.0 > 1e-3, found, 0.0)
