"""The best captions of other images by each phi, beside the photograph and its own captions (after Figure 1)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fivesentences.paper.context import Context
from fivesentences.paper.figures.canvas import COLOURS, SOFT, WIDTH, mark_at, photograph_at, rule_at, text_at
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.phi_figure import phi_drawing
from fivesentences.paper.numbers.phi_statistics import OTHERS, PhiStatistics
from fivesentences.paper.text.captions import wrapped
from fivesentences.paper.text.names import phi_in_words
from fivesentences.study.exhibits import BestCaptionsFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

BETTER = COLOURS[2]
COLUMNS = ["dataset", "split", "rank", "image_id", "phi", "place", "score", "caption", "of_image", "median_own"]
LONGEST_SIDE = 480  # pixels of a photograph on the page: 1.45 inches at 300 dpi
LINES = 5  # of a caption
# Sizes in inches, points, and characters that fit into an inch of that type.
PHOTOGRAPH, GAP, HEADING, PAD, SIZE, LINE, CHARACTERS = 1.45, 0.13, 0.42, 0.16, 6.2, 0.105, 20.5


def best_captions_figure(spec: BestCaptionsFigure, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect what was found about its phi over each dataset."""
    return phi_drawing(spec, context, numbers, _how_to_read, _tidy, _draw)


def _how_to_read(found: PhiStatistics) -> list[str]:
    """How the images were chosen and what stands beside them."""
    return [
        *(
            f"{len(one['chosen'])} of {one['images']:,} images of {one['dataset']}/{one['split']}, chosen by rule: "
            f"all are ordered by the {phi_in_words(one['ranked_by'])} of their best caption of another image, and "
            "those shown are spread evenly from first to last."
            for one in found.datasets
        ),
        "Numbers are phi of a caption against the image’s own captions. Grey: the median of the image’s own "
        "captions, each compared with the others alone; a triangle: captions of other images that score higher. "
        "Words that several captions share are shown once.",
    ]


def _tidy(found: PhiStatistics) -> pd.DataFrame:
    """One line per caption shown; ``median_own`` is the median score of the image's own captions, each left out."""
    lines = []
    for one in found.datasets:
        for image in one["chosen"]:
            for phi in found.phis:
                for place, caption in enumerate(image[OTHERS][phi], start=1):
                    start = (one["dataset"], one["split"], image["rank"], image["image_id"], phi, place)
                    shown = (caption["score"], caption["caption"], caption["image_id"], _median_own(image, phi))
                    lines.append((*start, *shown))
    return pd.DataFrame(lines, columns=COLUMNS)


def _draw(canvas: Canvas, context: Context, found: PhiStatistics) -> None:
    """One line per image: the photograph, its own captions, and a column for each phi."""
    phis = found.phis
    column = (WIDTH - PHOTOGRAPH - (len(phis) + 1) * GAP) / (len(phis) + 1)
    width = int(column * CHARACTERS)
    rows = [(one, image, _cells(image, phis, width)) for one in found.datasets for image in one["chosen"]]
    heights = [
        max(PHOTOGRAPH * 0.8, *(LINE * sum(text.count("\n") + 1.5 for _, text, _ in cell) for cell in cells)) + PAD
        for _, _, cells in rows
    ]
    canvas.set_size_inches(WIDTH, HEADING + sum(heights))
    lefts = [PHOTOGRAPH + GAP + index * (column + GAP) for index in range(len(phis) + 1)]
    for left, heading in zip(lefts, ["its own captions", *map(phi_in_words, phis)], strict=True):
        text_at(canvas, left, 0.2, heading, fontsize=8.5, weight="bold")
    text_at(canvas, lefts[1], 0.04, "best captions of other images by", fontsize=7.5, color=SOFT)
    top = HEADING
    for (one, image, cells), height in zip(rows, heights, strict=True):
        rule_at(canvas, top - PAD / 2)
        photograph_at(
            canvas,
            (0, top, PHOTOGRAPH, height - PAD),
            image["filename"],
            context.photographs.get(one["dataset"]),
            longest_side=LONGEST_SIDE,
            fontsize=SIZE,
        )
        for left, cell in zip(lefts, cells, strict=True):
            _draw_cell(canvas, left, top, cell)
        top += height


def _draw_cell(canvas: Canvas, left: float, top: float, cell: Sequence[tuple[str, str, str]]) -> None:
    down = top + 0.075  # of the first line's foot
    for number, text, colour in cell:
        if colour == BETTER:
            mark_at(canvas, left, down, "▲", colour, SIZE)
        text_at(canvas, left, down, number, fontsize=SIZE, color=colour, weight="bold", va="baseline")
        ink = SOFT if colour == SOFT and number else "black"
        for line in text.split("\n"):
            text_at(canvas, left + (0.3 if number else 0), down, line, fontsize=SIZE, color=ink, va="baseline")
            down += LINE
        down += LINE / 2


def _cells(image: dict[str, Any], phis: Sequence[str], width: int) -> list[list[tuple[str, str, str]]]:
    """The cells of a line; each consists of entries (number, text, colour of the number), one below the other."""
    cells = [[("", wrapped(caption, width, LINES), SOFT) for caption in image["captions"]]]
    narrower = width - int(0.3 * CHARACTERS)
    for phi in phis:
        typical = _median_own(image, phi)
        cell = [] if typical is None else [(f"{typical:.2f}", "median of its own", SOFT)]
        for caption in image[OTHERS][phi]:
            better = typical is not None and caption["score"] > typical
            text = wrapped(caption["caption"], narrower, LINES)
            cell.append((f"{caption['score']:.2f}", text, BETTER if better else "black"))
        cells.append(cell)
    return cells


def _median_own(image: dict[str, Any], phi: str) -> float | None:
    scores = [score for score in image["own"][phi].get("own_left_out", []) if score is not None]
    return statistics.median(scores) if scores else None
