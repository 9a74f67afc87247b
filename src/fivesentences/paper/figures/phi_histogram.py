"""How phi is distributed over captions with their own and with foreign images, one panel a phi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from fivesentences.paper.figures.canvas import FOREIGN, OWN, SOFT, WIDTH, key, panel_at, text_at
from fivesentences.paper.text.names import phi_in_words
from fivesentences.plan.studies import Study

KINDS = {"own_left_out": "own caption left out", "kept": "own captions kept"}
COUNTS = ("captions_beat_own", "captions_beat_theirs", "images_beaten")
COLUMNS = ["dataset", "split", "phi", "what", "from", "to", "count", "of"]
# Sizes in inches.
LEFT, PANEL, GAP, HEIGHT, DOWN, HEADING, KEY = 0.62, 2.98, 0.7, 1.55, 2.15, 0.24, 0.55


def tidy(found: Sequence[dict[str, Any]], phis: Sequence[str]) -> pd.DataFrame:
    """One line a bin of a histogram (``what`` is other, kept or own_left_out) and a line for each count."""
    lines: list[tuple[Any, ...]] = []
    for one in found:
        for phi in phis:
            numbers = one["phis"][phi]
            start = (one["dataset"], one["split"], phi)
            for what, counts in _histograms(numbers).items():
                bins = zip(numbers["edges"], numbers["edges"][1:], counts, strict=False)
                lines += [(*start, what, low, high, count, sum(counts)) for low, high, count in bins]
                zero = numbers["other_zero"] if what == "other" else numbers[what]["own_zero"]
                lines.append((*start, f"{what}: exactly 0", 0.0, 0.0, zero, sum(counts)))
            for kind in KINDS:
                if kind in numbers:
                    lines += [
                        (
                            *start,
                            f"{kind}: {count}",
                            None,
                            None,
                            numbers[kind][count],
                            numbers[kind][count.split("_")[0]],
                        )
                        for count in COUNTS
                    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def notes() -> list[str]:
    """How the picture is read, and what exactly is counted."""
    return [
        "Upwards, in powers of ten: the share of pairs of a caption and an image that fall into a bin; each histogram "
        "adds up to 100%. Exact zeros are in the first bin.",
        "“Kept”: an image’s own captions, each compared with references that it is one of itself, which lifts its "
        "score. “Left out”: each compared with the others of its image only. Foreign scores are the same for both.",
        "Captions: share of the captions c of an image i whose highest phi with any other image is higher than the "
        "lowest phi that i gives one of its own captions.",
        "Images: share of the images i for which the highest phi of a caption of another image is higher than the "
        "lowest phi that i gives one of its own captions.",
    ]


def draw(canvas: Canvas, study: Study, found: Sequence[dict[str, Any]], phis: Sequence[str]) -> None:
    """Two panels a line, datasets one below the other, the key at the bottom."""
    lines = -(-len(phis) // 2)
    block = HEADING + lines * DOWN
    canvas.set_size_inches(WIDTH, len(found) * block + KEY)
    for place, one in enumerate(found):
        top = place * block
        dataset = study.labels.get(one["dataset"], one["dataset"])
        what = f"{dataset}, {one['split']} split: {one['captions']:,} captions, {one['images']:,} images"
        text_at(canvas, LEFT, top + 0.06, what, fontsize=9, weight="bold")
        for index, phi in enumerate(phis):
            left, line = LEFT + (index % 2) * (PANEL + GAP), index // 2
            panel = panel_at(canvas, left, top + HEADING + 0.25 + line * DOWN, PANEL, HEIGHT)
            _panel(panel, one["phis"][phi])
            panel.set_title(phi_in_words(phi), loc="left", pad=4)
    entries = [
        ("■", FOREIGN, "captions with foreign images"),
        ("■", OWN, "captions with their own image, the caption kept among its references"),
        ("┅", OWN, "captions with their own image, the caption left out of its references"),
    ]
    key(canvas, LEFT, len(found) * block + 0.03, entries)


def _histograms(numbers: dict[str, Any]) -> dict[str, list[int]]:
    own = {kind: numbers[kind]["own"] for kind in KINDS if kind in numbers}
    return {"other": numbers["other"]} | own


def _panel(panel: Any, numbers: dict[str, Any]) -> None:
    edges = np.array(numbers["edges"])
    smallest = 1.0
    for what, counts in _histograms(numbers).items():
        share = np.array(counts) / sum(counts)
        smallest = min(smallest, share[share > 0].min())
        colour = FOREIGN if what == "other" else OWN
        if what == "own_left_out":
            panel.stairs(share, edges, color=colour, linewidth=1.0, linestyle=(0, (2, 1)), baseline=0, zorder=4)
        else:
            panel.stairs(share, edges, color=colour, fill=True, alpha=0.28, baseline=0)
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
    _shares(panel, numbers)


def _shares(panel: Any, numbers: dict[str, Any]) -> None:
    """A small table in the upper right corner: how much of it a foreign caption or image beats."""

    def say(right: float, line: int, text: str, **how: Any) -> None:
        place = {
            "xycoords": "axes fraction",
            "textcoords": "offset points",
            "ha": "right",
            "va": "top",
            "fontsize": 6.5,
        }
        panel.annotate(text, xy=(right, 1), xytext=(0, -1 - 8.5 * line), **(place | how))

    say(0.66, 0, "higher than the worst own:", color=SOFT)
    for line, (what, count) in enumerate((("captions", "captions_beat_own"), ("images", "images_beaten")), start=1):
        say(0.66, line, what)
        for right, kind in ((0.83, "kept"), (1.0, "own_left_out")):
            if kind in numbers:
                say(right, line, f"{100 * numbers[kind][count] / numbers[kind][what]:.1f}%", weight="bold")
    say(0.83, 0, "kept", color=SOFT)
    if "own_left_out" in numbers:
        say(1.0, 0, "left out", color=SOFT)


def _percent(share: float, _: object = None) -> str:
    """A share in percent without an exponent, whatever its size; nothing above 100%."""
    return f"{100 * share:.12f}".rstrip("0").rstrip(".") + "%" if share <= 1 else ""
