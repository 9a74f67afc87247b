"""How phi is distributed over captions with their own image and with other images, one panel per phi."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import (
    HATCH,
    HATCHED,
    OTHERS_COLOUR,
    OWN_COLOUR,
    SOFT,
    WIDTH,
    legend_at,
    panel_at,
    text_at,
)
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.phi_figure import phi_drawing
from fivesentences.paper.numbers.phi_statistics import OTHERS, PhiStatistics
from fivesentences.paper.text.names import phi_in_words
from fivesentences.study.exhibits import PhiHistogramFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

OWN_KINDS = ("own_left_out", "kept")  # own captions, each left out of its references or kept among them
COUNTS = ("captions_beat_own", "captions_beat_theirs", "images_beaten")
COLUMNS = ["dataset", "split", "phi", "what", "from", "to", "count", "of"]
LEGEND = [
    ("■", OTHERS_COLOUR, "captions with other images"),
    (HATCHED, OWN_COLOUR, "captions with their own image, the caption kept among its references"),
    ("┅", OWN_COLOUR, "captions with their own image, the caption left out of its references"),
]
# Sizes in inches.
LEFT, PANEL, GAP, HEIGHT, DOWN, HEADING, KEY = 0.62, 2.98, 0.7, 1.55, 2.15, 0.24, 0.55
HOW_TO_READ = [
    "Upwards, in powers of ten: the share of pairs of a caption and an image that fall into a bin; each histogram "
    "adds up to 100%. Exact zeros are in the first bin.",
    "“Kept”: an image’s own captions, each compared with references that include it, which raises its score. “Left "
    "out”: each compared with the other captions of its image only. Scores with other images are the same for both.",
    "Captions: share of the captions c of an image i whose highest phi with any other image is higher than the "
    "lowest phi that i gives one of its own captions.",
    "Images: share of the images i for which the highest phi of a caption of another image is higher than the "
    "lowest phi that i gives one of its own captions.",
]


def phi_histogram_figure(spec: PhiHistogramFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect what was found about its phi over each dataset."""
    return phi_drawing(spec, context, numbers, lambda _: HOW_TO_READ, _tidy, _draw)


def _tidy(found: PhiStatistics) -> pd.DataFrame:
    """One line per bin of a histogram (``what``: captions of other images, or a kind of own ones) and per count."""
    lines: list[tuple[Any, ...]] = []
    for one in found.datasets:
        for phi in found.phis:
            numbers = one["phis"][phi]
            start = (one["dataset"], one["split"], phi)
            for what, counts in _histograms(numbers).items():
                bins = zip(numbers["edges"], numbers["edges"][1:], counts, strict=False)
                lines += [(*start, what, low, high, count, sum(counts)) for low, high, count in bins]
                zero = numbers[f"{OTHERS}_zero"] if what == OTHERS else numbers[what]["own_zero"]
                lines.append((*start, f"{what}: exactly 0", 0.0, 0.0, zero, sum(counts)))
            for kind, name in ((kind, name) for kind in OWN_KINDS if kind in numbers for name in COUNTS):
                of_kind = numbers[kind]
                total = of_kind[name.split("_")[0]]  # all captions or all images
                lines.append((*start, f"{kind}: {name}", None, None, of_kind[name], total))
    return pd.DataFrame(lines, columns=COLUMNS)


def _draw(canvas: Canvas, context: Context, found: PhiStatistics) -> None:
    """Two panels per line, one dataset below the other, the legend at the bottom."""
    lines = -(-len(found.phis) // 2)
    block = HEADING + lines * DOWN
    canvas.set_size_inches(WIDTH, len(found.datasets) * block + KEY)
    for place, one in enumerate(found.datasets):
        top = place * block
        dataset = context.study.label_of(one["dataset"])
        what = f"{dataset}, {one['split']} split: {one['captions']:,} captions, {one['images']:,} images"
        text_at(canvas, LEFT, top + 0.06, what, fontsize=9, weight="bold")
        for index, phi in enumerate(found.phis):
            left, line = LEFT + (index % 2) * (PANEL + GAP), index // 2
            panel = panel_at(canvas, left, top + HEADING + 0.25 + line * DOWN, PANEL, HEIGHT)
            _draw_histograms(panel, one["phis"][phi])
            panel.set_title(phi_in_words(phi), loc="left", pad=4)
    legend_at(canvas, LEFT, len(found.datasets) * block + 0.03, LEGEND)


def _histograms(numbers: dict[str, Any]) -> dict[str, list[int]]:
    own = {kind: numbers[kind]["own"] for kind in OWN_KINDS if kind in numbers}
    return {OTHERS: numbers[OTHERS]} | own


def _draw_histograms(panel: Any, numbers: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    edges = np.array(numbers["edges"])
    smallest = 1.0
    for what, counts in _histograms(numbers).items():
        share = np.array(counts) / sum(counts)
        smallest = min(smallest, share[share > 0].min())
        colour = OTHERS_COLOUR if what == OTHERS else OWN_COLOUR
        if what == "own_left_out":
            panel.stairs(share, edges, color=colour, linewidth=1.0, linestyle=(0, (2, 1)), baseline=0, zorder=4)
        else:
            hatch = HATCH if what != OTHERS else None
            panel.stairs(share, edges, color=colour, fill=True, alpha=0.28, baseline=0, hatch=hatch)
            panel.stairs(share, edges, color=colour, linewidth=1.0, baseline=0, zorder=3)
    panel.set_yscale("log")
    panel.set_ylim(smallest / 2, (2 / smallest) ** 0.35)  # a quarter of the height for the numbers
    panel.set_xlim(0, edges[-1] * 1.01)
    panel.yaxis.set_major_locator(LogLocator(10, numticks=5))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_major_formatter(FuncFormatter(_percent))
    panel.xaxis.set_major_locator(MaxNLocator(6))
    panel.tick_params(labelsize=7)
    panel.tick_params(axis="y", which="minor", length=0)
    panel.set_xlabel("phi", fontsize=7.5, labelpad=1)
    _draw_shares(panel, numbers)


def _draw_shares(panel: Any, numbers: dict[str, Any]) -> None:
    """A small table in the upper right corner: the share of captions and images with a better score elsewhere."""

    def write(right: float, line: int, text: str, **how: Any) -> None:
        place = {
            "xycoords": "axes fraction",
            "textcoords": "offset points",
            "ha": "right",
            "va": "top",
            "fontsize": 6.5,
        }
        panel.annotate(text, xy=(right, 1), xytext=(0, -1 - 8.5 * line), **(place | how))

    write(0.66, 0, "higher than the worst own:", color=SOFT)
    for line, (what, count) in enumerate((("captions", "captions_beat_own"), ("images", "images_beaten")), start=1):
        write(0.66, line, what)
        for right, kind in ((0.83, "kept"), (1.0, "own_left_out")):
            if kind in numbers:
                write(right, line, f"{100 * numbers[kind][count] / numbers[kind][what]:.1f}%", weight="bold")
    write(0.83, 0, "kept", color=SOFT)
    if "own_left_out" in numbers:
        write(1.0, 0, "left out", color=SOFT)


def _percent(share: float, _: object = None) -> str:
    """A share in percent without an exponent, whatever its size; empty above 100%."""
    return f"{100 * share:.12f}".rstrip("0").rstrip(".") + "%" if share <= 1 else ""
