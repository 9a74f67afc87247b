"""Phi over the captions of a dataset: its distribution, and the best captions of other images beside photographs."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fivesentences.errors import InputError
from fivesentences.reproduction.evaluation.phi_statistics import read_statistics
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.figures.canvas import blocks, columns_in, legend, panels
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.pictures import (
    CAPTION_LINE,
    CHARACTERS,
    caption_at,
    photograph_at,
    rule_at,
    text_at,
)
from fivesentences.reproduction.paper.figures.style import COLOURS, HATCHED, OTHERS_COLOUR, OWN_COLOUR, SMALL, SOFT
from fivesentences.reproduction.paper.text.metric_notes import note_on_left_out
from fivesentences.reproduction.paper.text.names import phi_in_words, unique, wrapped
from fivesentences.reproduction.study.exhibits import BestCaptionsFigure, PhiFigure, PhiHistogramFigure

OTHERS = "other"  # how the evaluation names captions of other images
OWN_KINDS = ("own_left_out", "kept")  # own captions, each left out of its references or kept among them
COUNTS = ("captions_beat_own", "captions_beat_theirs", "images_beaten")
HISTOGRAM = ["dataset", "split", "phi", "what", "from", "to", "count", "of"]
LEFT_OUT: dict[str, Any] = {"color": OWN_COLOUR, "linewidth": 1.0, "linestyle": (0, (2, 1))}
LEGEND: dict[str, Any] = {
    "captions with other images": {"facecolor": (OTHERS_COLOUR, 0.35), "edgecolor": OTHERS_COLOUR},
    "captions with their own image, the caption kept among its references": HATCHED,
    "captions with their own image, the caption left out of its references": LEFT_OUT,
}
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

BETTER = COLOURS[2]
BEST = ["dataset", "split", "rank", "image_id", "phi", "place", "score", "caption", "of_image", "median_own"]
LONGEST_SIDE = 480  # pixels of a photograph on the page: 1.45 inches at 300 dpi
PHOTOGRAPH, GAP, HEADING, PAD = 1.45, 0.13, 0.42, 0.16  # inches
Entry = tuple[str, str, str, str, str]  # number, text, colour of the number, sign before it, colour of the text


class PhiStatistics(NamedTuple):
    """The phi that are shown at a scale, and what ``evaluation.phi_statistics`` found by dataset, if any is shown."""

    phis: list[str]
    datasets: list[dict[str, Any]]


def _read(spec: PhiFigure, context: Context, files: Sequence[Path]) -> PhiStatistics:
    """Read the statistics of a figure's phi.

    Raises:
        InputError: If a phi is missing from a file.
    """
    shown = [phi for phi in spec.phis if context.scale.shows(phi)]
    found = [read_statistics(path) for path in files] if shown else []
    for phi, one in itertools.product(shown, found):
        if phi not in one["phis"]:
            where = f"{one['dataset']}/{one['split']}"
            raise InputError(f"the statistics of phi of {where} lack '{phi}'; measure it again.")
    return PhiStatistics(shown, found)


def _notes(spec: PhiFigure, context: Context, found: PhiStatistics, how_to_read: list[str]) -> list[str]:
    tuples = [(one["dataset"], one["phis"][phi]["tuples"]) for one in found.datasets for phi in found.phis]
    on_tuples = unique(f"SPICE’s tuples of {dataset}: {source}." for dataset, source in tuples if source)
    left_out = note_on_left_out(spec.phis, context.scale)
    return [*(how_to_read if found.datasets else []), *on_tuples, *left_out, *spec.notes]


def phi_histogram_figure(spec: PhiHistogramFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect how phi is distributed: one line per bin of a histogram and per count.

    ``what``: captions of other images, or a kind of own ones.
    """
    found, lines = _read(spec, context, numbers), []
    for one in found.datasets:
        for phi in found.phis:
            of_phi, start = one["phis"][phi], (one["dataset"], one["split"], phi)
            for what, counts in _histograms(of_phi).items():
                bins = zip(of_phi["edges"], of_phi["edges"][1:], counts, strict=False)
                lines += [(*start, what, low, high, count, sum(counts)) for low, high, count in bins]
                zero = of_phi[f"{OTHERS}_zero"] if what == OTHERS else of_phi[what]["own_zero"]
                lines.append((*start, f"{what}: exactly 0", 0.0, 0.0, zero, sum(counts)))
            for kind in (kind for kind in OWN_KINDS if kind in of_phi):
                of_kind = of_phi[kind]
                totals = {name: of_kind[name.split("_")[0]] for name in COUNTS}  # all captions or all images
                lines += [(*start, f"{kind}: {name}", None, None, of_kind[name], totals[name]) for name in COUNTS]
    data = pd.DataFrame(lines, columns=HISTOGRAM)
    return Drawing(data, _notes(spec, context, found, HOW_TO_READ), lambda canvas: _draw(canvas, context, found))


def _histograms(numbers: dict[str, Any]) -> dict[str, list[int]]:
    return {OTHERS: numbers[OTHERS]} | {kind: numbers[kind]["own"] for kind in OWN_KINDS if kind in numbers}


def _draw(canvas: Figure, context: Context, found: PhiStatistics) -> None:
    """Draw up to two panels per line, one dataset below the other, the legend at the bottom."""
    titles = [
        f"{context.study.label_of(one['dataset'])}, {one['split']} split: {one['captions']:,} captions, "
        f"{one['images']:,} images"
        for one in found.datasets
    ]
    columns = columns_in(canvas, 2)
    heights = [0.3 + 2.2 * -(-len(found.phis) // columns)] * len(titles)
    for block, one in zip(blocks(canvas, titles, heights, 0.55), found.datasets, strict=True):
        for panel, phi in zip(panels(block, len(found.phis), columns), found.phis, strict=True):
            _draw_histograms(panel, one["phis"][phi])
            panel.set_title(phi_in_words(phi))
    legend(canvas, LEGEND, ncols=1)


def _draw_histograms(panel: Any, numbers: dict[str, Any]) -> None:
    edges, smallest = np.array(numbers["edges"]), 1.0
    for what, counts in _histograms(numbers).items():
        share = np.array(counts) / sum(counts)
        smallest = min(smallest, share[share > 0].min())
        if what == "own_left_out":
            panel.stairs(share, edges, zorder=4, **LEFT_OUT)
            continue
        colour, hatch = (OTHERS_COLOUR, None) if what == OTHERS else (OWN_COLOUR, HATCHED["hatch"])
        panel.stairs(share, edges, color=colour, fill=True, alpha=0.28, hatch=hatch)
        panel.stairs(share, edges, color=colour, linewidth=1.0, zorder=3)
    panel.set_yscale("log")
    # A quarter of the height is for the numbers.
    panel.set(xlim=(0, edges[-1] * 1.01), ylim=(smallest / 2, (2 / smallest) ** 0.35), xlabel="phi")
    panel.yaxis.set_major_locator(LogLocator(10, numticks=5))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_major_formatter(FuncFormatter(_percent))
    panel.tick_params(axis="y", which="minor", length=0)
    # A small table in the upper right corner: the share of captions and images with a better score elsewhere.
    kinds = {right: kind for right, kind in ((0.83, "kept"), (1.0, "own_left_out")) if kind in numbers}
    cells = [(0.66, 0, "higher than the worst own:", SOFT)]
    cells += [(right, 0, kind.removeprefix("own_").replace("_", " "), SOFT) for right, kind in kinds.items()]
    for line, (what, count) in enumerate((("captions", "captions_beat_own"), ("images", "images_beaten")), start=1):
        cells.append((0.66, line, what, "black"))
        shares = {right: numbers[kind][count] / numbers[kind][what] for right, kind in kinds.items()}
        cells += [(right, line, f"{100 * share:.1f}%", "black") for right, share in shares.items()]
    for right, line, text, colour in cells:
        how: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right", "va": "top"}
        how |= {"fontsize": 6.5, "color": colour, "weight": "bold" if "%" in text else "normal"}
        panel.annotate(text, xy=(right, 1), xytext=(0, -1 - 8.5 * line), **how)


def _percent(share: float, _: object = None) -> str:
    """Format a share in percent without an exponent, whatever its size; empty above 100%."""
    return f"{100 * share:.12f}".rstrip("0").rstrip(".") + "%" if share <= 1 else ""


def best_captions_figure(spec: BestCaptionsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect the best captions of other images by each phi (after Figure 1): one line per caption shown.

    ``median_own`` is the median score of the image's own captions, each left out of its references.
    """
    found, lines, notes = _read(spec, context, numbers), [], []
    for one in found.datasets:
        notes.append(
            f"{len(one['chosen'])} of {one['images']:,} images of {one['dataset']}/{one['split']}, chosen by rule: "
            f"all are ordered by the {phi_in_words(one['ranked_by'])} of their best caption of another image, and "
            "those shown are spread evenly from first to last."
        )
        for image in one["chosen"]:
            for phi in found.phis:
                start = (one["dataset"], one["split"], image["rank"], image["image_id"], phi)
                for place, caption in enumerate(image[OTHERS][phi], start=1):
                    shown = (place, caption["score"], caption["caption"], caption["image_id"])
                    lines.append((*start, *shown, _median_own(image, phi)))
    notes.append(
        "Numbers are phi of a caption against the image’s own captions. Grey: the median of the image’s own "
        "captions, each compared with the others alone; a triangle: captions of other images that score higher. "
        "Words that several captions share are shown once."
    )
    data = pd.DataFrame(lines, columns=BEST)
    return Drawing(data, _notes(spec, context, found, notes), lambda canvas: _draw_best(canvas, context, found))


def _median_own(image: dict[str, Any], phi: str) -> float | None:
    scores = [score for score in image["own"][phi].get("own_left_out", []) if score is not None]
    return statistics.median(scores) if scores else None


def _draw_best(canvas: Figure, context: Context, found: PhiStatistics) -> None:
    """Draw one line per image: the photograph, its own captions, and a column for each phi."""
    width = canvas.get_figwidth()
    column = (width - PHOTOGRAPH - (len(found.phis) + 1) * GAP) / (len(found.phis) + 1)
    rows, heights = [], []
    for dataset, image in ((one["dataset"], image) for one in found.datasets for image in one["chosen"]):
        cells = _cells(image, found.phis, int(column * CHARACTERS))
        lines = (CAPTION_LINE * sum(text.count("\n") + 1.5 for _, text, *_ in cell) for cell in cells)
        rows.append((dataset, image["filename"], cells))
        heights.append(max(PHOTOGRAPH * 0.8, *lines) + PAD)
    canvas.set_figheight(HEADING + sum(heights))
    lefts = [PHOTOGRAPH + GAP + index * (column + GAP) for index in range(len(found.phis) + 1)]
    for left, heading in zip(lefts, ["its own captions", *map(phi_in_words, found.phis)], strict=True):
        text_at(canvas, left, 0.2, heading, fontsize=8.5, weight="bold")
    text_at(canvas, lefts[1], 0.04, "best captions of other images by", fontsize=SMALL, color=SOFT)
    top = HEADING
    for (dataset, filename, cells), height in zip(rows, heights, strict=True):
        rule_at(canvas, top - PAD / 2)
        place = (0, top, PHOTOGRAPH, height - PAD)
        photograph_at(canvas, place, filename, context.photographs.get(dataset), LONGEST_SIDE)
        for left, cell in zip(lefts, cells, strict=True):
            down = top + 0.075
            for entry in cell:
                down = caption_at(canvas, left, down, *entry) + CAPTION_LINE / 2
        top += height


def _cells(image: dict[str, Any], phis: Sequence[str], width: int) -> list[list[Entry]]:
    """Make the cells of a line, each of entries below one another."""
    cells: list[list[Entry]] = [[("", wrapped(caption, width, 5), SOFT, "", "black") for caption in image["captions"]]]
    for phi in phis:
        typical = _median_own(image, phi)
        cells.append([] if typical is None else [(f"{typical:.2f}", "median of its own", SOFT, "", SOFT)])
        for caption in image[OTHERS][phi]:
            colour, sign = (BETTER, "▲") if typical is not None and caption["score"] > typical else ("black", "")
            text = wrapped(caption["caption"], width - int(0.3 * CHARACTERS), 5)
            cells[-1].append((f"{caption['score']:.2f}", text, colour, sign, "black"))
    return cells
