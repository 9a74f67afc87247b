"""Figure 3 of five_sentences: recall and semantic recall of foreign items over the number of relevant ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.textpath import TextPath
from matplotlib.ticker import MaxNLocator

from fivesentences.paper.figures.canvas import COLOURS, WIDTH

HEIGHT, PANEL, APART, LABEL_SIZE = 4.9, 1.97, 0.21, 7.5  # inches: of the canvas, a panel, between labels; points
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DIRECTIONS = {"t2i": "text → image", "i2t": "image → text"}
STYLES = {"vse_recall": "Recall@{k}: any relevant item found", "recall": "Semantic recall@{k}: share found"}


def draw(canvas: Canvas, data: pd.DataFrame) -> None:
    """Two rows (text to image as in print, and image to text) by two columns (recall, semantic recall)."""
    # Labels stand below each other beside a panel; many of them need a higher one.
    height = max(HEIGHT, 2 * APART * data["label"].nunique() + HEIGHT - 2 * PANEL)
    canvas.set_size_inches(WIDTH, height)
    axes = canvas.subplots(2, 2, sharex=True)
    # Room for the longest label, in points, beside the right-hand panels.
    widest = max(TextPath((0, 0), label, size=LABEL_SIZE).get_extents().width for label in data["label"].unique())
    right = 1 - (widest / 72 + 0.22) / WIDTH
    canvas.subplots_adjust(left=0.07, right=right, top=0.93, bottom=0.085, wspace=0.18, hspace=0.16)
    k = int(data["k"].iloc[0])
    for row, (direction, where) in enumerate(DIRECTIONS.items()):
        for column, (style, title) in enumerate(STYLES.items()):
            panel = axes[row, column]
            part = data[(data["direction"] == direction) & (data["style"] == style)]
            ends = _lines(panel, part)
            if row == 0:
                panel.set_title(title.format(k=k), loc="left", pad=8)
            if row == 1:
                panel.set_xlabel("relevant images m")
            if column == 0:
                panel.set_ylabel(f"{where} (%)")
            if column == 1:
                _label_ends(panel, ends)


def _lines(panel: Any, data: pd.DataFrame) -> list[tuple[str, str, float, float]]:
    """Draw one line a row with its band; return (label, colour, last m, last mean) of each."""
    ends = []
    for (label, line), (look, dashes) in zip(data.groupby("label", sort=False), looks_of_lines(data), strict=True):
        colour = COLOURS[look % len(COLOURS)]
        m, mean, spread = (line[name].to_numpy(dtype=float) for name in ("m", "mean", "spread"))
        how = {"marker": MARKERS[look % len(MARKERS)], "linestyle": LINES[dashes % len(LINES)]}
        panel.plot(m, mean, color=colour, linewidth=1.3, markersize=3.6, zorder=3, **how)
        if np.isfinite(spread).all():
            panel.fill_between(m, mean - spread, mean + spread, color=colour, alpha=0.14, linewidth=0)
        ends.append((str(label), colour, float(m[-1]), float(mean[-1])))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.yaxis.set_major_locator(MaxNLocator(5))
    panel.grid(axis="y", color="#e4e4e4", linewidth=0.5)
    panel.set_axisbelow(True)
    panel.margins(x=0.04)
    return ends


def looks_of_lines(data: pd.DataFrame) -> list[tuple[int, int]]:
    """Number of colour and marker, and of dashes, of each line in its order; no two lines look alike.

    Of several models each has its colour and marker, and dashes tell its lines apart. Lines of one model have colours
    of their own, and dashes once these are used up.
    """
    models = data.drop_duplicates("label")["model"].tolist()
    several = list(dict.fromkeys(models))
    if len(several) == 1:
        return [(line, line // len(COLOURS)) for line in range(len(models))]
    looks = [(several.index(model), models[:line].count(model)) for line, model in enumerate(models)]
    # An eighth model has the colour of the first one, and dashes behind those that a model of that colour needs.
    most = max(dashes for _, dashes in looks) + 1
    return [(look, dashes + most * (look // len(COLOURS))) for look, dashes in looks]


def _label_ends(panel: Any, ends: list[tuple[str, str, float, float]]) -> None:
    """Write every label at the right of its line's end, moved apart where ends are close, with a thin leader."""
    low, high = panel.get_ylim()
    apart = (high - low) * min(0.105, 1.04 / len(ends))
    ends = sorted(ends, key=lambda end: end[3])
    places = spread_apart([end[3] for end in ends], apart, low, high)
    for (label, colour, m, mean), place in zip(ends, places, strict=True):
        panel.annotate(
            label,
            xy=(m, mean),
            xytext=(1.07, (place - low) / (high - low)),
            textcoords="axes fraction",
            color=colour,
            va="center",
            fontsize=LABEL_SIZE,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "alpha": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 0.5,
                "shrinkB": 3,
            },
            annotation_clip=False,
        )


def spread_apart(values: list[float], apart: float, low: float, high: float) -> list[float]:
    """Rising values moved so that neighbours are at least ``apart``, as little as possible in least squares.

    The result stays inside [low, high] where that many fit.
    """
    # With the spacing taken out, what is left to solve is isotonic regression: pool neighbours that are out of order.
    blocks: list[list[float]] = []
    for index, value in enumerate(values):
        blocks.append([value - index * apart])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    places = [float(np.mean(block)) for block in blocks for _ in block]
    top = high - (len(values) - 1) * apart
    return [min(max(place, low), max(top, low)) + index * apart for index, place in enumerate(places)]
