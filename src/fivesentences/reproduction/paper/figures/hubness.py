"""How often items are the nearest of a query: one panel per loss and direction, one line per inference method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from scipy.stats import binom

from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.tidy import read_evaluations, tidy_of
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import is_narrow, legend, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing, notes_of_runs
from fivesentences.reproduction.paper.figures.style import CHANCE, COLOURS, DASHES, MARKERS
from fivesentences.reproduction.paper.numbers.results import Results
from fivesentences.reproduction.paper.text.labels import Part, labels_of_settings
from fivesentences.reproduction.paper.text.names import DIRECTIONS, INFERENCES, unique
from fivesentences.reproduction.study.exhibits import HubnessFigure
from fivesentences.reproduction.study.expand import Row
from fivesentences.reproduction.study.study import Study

SETTING: tuple[Part, ...] = ("dataset", "model", "loss", "fraction")  # each has a column of panels
COLUMNS = ["role", *SETTING, "inference", "direction", "at_least", "percent", "spread", "seeds", "by_chance"]
ORDER = {"t2i": "images", "i2t": "captions"}  # the paper counts images, so this comes first
HOW_TO_READ = [
    "Both axes are logarithmic. Where a line begins is the percentage of items that are the nearest of any "
    "query; where it ends is the largest hub of any seed. Lines are means over seeds.",
    "Dashed: by chance, if every query drew its nearest item at random. If every answer were right, each image would "
    "be the nearest of exactly its own captions, as the assignment makes it.",
]


def hubness_figure(spec: HubnessFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the hubs from the metrics of its runs."""
    evaluated = read_evaluations(numbers)
    data, results = _tidy(context.rows(spec), evaluated), Results(tidy_of(evaluated, context.scale.scale))
    notes = notes_of_runs(spec, context, results, [] if data.empty else HOW_TO_READ)
    return Drawing(data, notes, lambda canvas: _draw(canvas, context.study, data))


def _tidy(rows: Sequence[Row], evaluated: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Make one row per point: the percentage of the gallery that is the nearest item of at least so many queries.

    ``percent`` is the mean and ``spread`` the sample standard deviation over seeds; ``by_chance`` is the percentage if
    every query drew its nearest item at random.

    Args:
        rows: The rows of the figure.
        evaluated: Stored evaluation of each run.

    Raises:
        InputError: If a run was not evaluated by an inference method.
    """
    hubs, lines = {one["run"]: one.get("hubs", {}) for one in evaluated}, []
    for row in rows:
        for direction in ORDER if row.runs else ():
            histograms = [_histogram(hubs, run.name, row.inference, direction) for run in row.runs]
            by_seed = np.zeros((len(histograms), max(map(len, histograms))))
            for share, counts in zip(by_seed, histograms, strict=True):
                share[: len(counts)] = 100.0 * counts[::-1].cumsum()[::-1] / counts.sum()
            seeds, longest = by_seed.shape
            spread = by_seed.std(axis=0, ddof=1) if seeds > 1 else np.full(longest, np.nan)
            chance = _by_chance(histograms[0], longest)
            start = (row.role, row.dataset, row.model, row.loss, row.fraction, row.inference, direction)
            for count in range(1, longest):
                numbers = (float(by_seed[:, count].mean()), float(spread[count]), seeds, float(chance[count]))
                lines.append((*start, count, *numbers))
    return pd.DataFrame(lines, columns=COLUMNS)


def _histogram(hubs: Mapping[str, Any], run: str, inference: str, direction: str) -> np.ndarray:
    """Numbers of items that are the nearest of 0, 1, 2 ... queries."""
    try:
        return np.asarray(hubs[run][inference][direction], dtype=np.float64)
    except KeyError:
        raise InputError(
            f"the run '{run}' has no counts of hubs by the inference method {inference}; evaluate it again."
        ) from None


def _by_chance(histogram: np.ndarray, longest: int) -> np.ndarray:
    items, queries = histogram.sum(), histogram @ np.arange(len(histogram))
    found = 100.0 * binom.sf(np.arange(longest) - 1, queries, 1.0 / items)
    # Less than a thousandth of an item is not drawn.
    return np.where(found * items / 100.0 > 1e-3, found, 0.0)


def _draw(canvas: Figure, study: Study, data: pd.DataFrame) -> None:
    """Draw two rows (caption queries, as in the paper, and image queries) and a column for each model and loss."""
    settings = list(dict.fromkeys(data[list(SETTING)].itertuples(index=False, name=None)))
    titles = labels_of_settings([dict(zip(SETTING, setting, strict=True)) for setting in settings], study)
    methods = unique(data["inference"])
    found = panels(canvas, 2 * len(settings), len(settings), 2.45, sharex="row", sharey="row")
    for place, panel in enumerate(found):
        down, across = divmod(place, len(settings))
        direction = list(ORDER)[down]
        of_direction = data[data["direction"] == direction]
        part = of_direction[(of_direction[list(SETTING)] == list(settings[across])).all(axis=1)]
        longest, smallest = of_direction["at_least"].max(), of_direction["percent"].loc[lambda share: share > 0].min()
        _draw_lines(panel, part, methods, longest)
        panel.set(xlim=(0.9, longest * 1.15), ylim=(max(smallest * 0.7, 1e-3), 130))
        alone = is_narrow(canvas) and len(settings) > 1
        panel.set_title(f"{titles[across]}\n" * (alone or down == 0) + DIRECTIONS[direction])
        panel.set_ylabel("" if across and not alone else f"% of {ORDER[direction]}")
        panel.set_xlabel("nearest of at least so many queries" if down else "")
    looks = {INFERENCES.get(name, name): _look(place) for place, name in enumerate(methods)}
    legend(canvas, looks | {"chance": CHANCE})


def _look(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place], "linestyle": DASHES[place], "linewidth": 1.3}


def _draw_lines(panel: Any, data: pd.DataFrame, methods: Sequence[str], longest: int) -> None:
    panel.set(xscale="log", yscale="log")
    chance = data[(data["inference"] == methods[0]) & (data["by_chance"] > 0)]
    panel.plot(chance["at_least"], chance["by_chance"], **CHANCE)
    for method, line in data.groupby("inference", sort=False):
        place, last = methods.index(str(method)), line.iloc[-1:]
        panel.plot(line["at_least"], line["percent"], zorder=3, **_look(place))
        dot: dict[str, Any] = {"color": COLOURS[place], "marker": MARKERS[place], "markersize": 3.6, "zorder": 4}
        panel.plot(last["at_least"], last["percent"], **dot)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0,)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    if longest < 50:
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
