"""The best captions of other images by each phi, beside the photograph and its own captions (after Figure 1)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from fivesentences.corpus import Photographs, decode
from fivesentences.paper.figures.canvas import COLOURS, SOFT, WIDTH, panel_at, text_at
from fivesentences.paper.text.captions import wrapped
from fivesentences.paper.text.names import phi_in_words

BETTER = COLOURS[2]
COLUMNS = ["dataset", "split", "rank", "image_id", "phi", "place", "score", "caption", "of_image", "median_own"]
LONGEST_SIDE = 480  # pixels of a photograph on the page: 1.45 inches at 300 dpi
LINES = 5  # of a caption
# Sizes in inches, points, and characters that fit into an inch of that type.
PHOTOGRAPH, GAP, HEADING, PAD, SIZE, LINE, CHARACTERS = 1.45, 0.13, 0.42, 0.16, 6.2, 0.105, 20.5


def tidy(found: Sequence[dict[str, Any]], phis: Sequence[str]) -> pd.DataFrame:
    """One line a caption shown; ``median_own`` is the median score of the image's own captions, each left out."""
    lines = []
    for one in found:
        for image in one["chosen"]:
            for phi in phis:
                for place, caption in enumerate(image["other"][phi], start=1):
                    start = (one["dataset"], one["split"], image["rank"], image["image_id"], phi, place)
                    shown = (caption["score"], caption["caption"], caption["image_id"], _median_own(image, phi))
                    lines.append((*start, *shown))
    return pd.DataFrame(lines, columns=COLUMNS)


def notes(found: Sequence[dict[str, Any]]) -> list[str]:
    """How the images were chosen and what stands beside them."""
    said = [
        f"{len(one['chosen'])} of {one['images']:,} images of {one['dataset']}/{one['split']}, chosen by rule: all are "
        f"ordered by the score of their best foreign caption under {phi_in_words(one['ranked_by'])}, and those shown "
        "are spread evenly from first to last."
        for one in found
    ]
    return [
        *said,
        "Numbers are phi of a caption against the image’s own captions. Grey: the median of the image’s own captions, "
        "each compared with the others alone; green: foreign captions above that. Words that several captions share "
        "are shown once.",
    ]


def draw(
    canvas: Canvas, found: Sequence[dict[str, Any]], phis: Sequence[str], photographs: Mapping[str, Photographs]
) -> None:
    """A line an image: the photograph, its own captions, and a column a phi."""
    column = (WIDTH - PHOTOGRAPH - (len(phis) + 1) * GAP) / (len(phis) + 1)
    width = int(column * CHARACTERS)
    rows = [(one, image, _texts(image, phis, width)) for one in found for image in one["chosen"]]
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
        rule(canvas, top - PAD / 2)
        _photograph(canvas, top, height - PAD, image, photographs.get(one["dataset"]))
        for left, cell in zip(lefts, cells, strict=True):
            down = top + 0.075  # of the first line's foot
            for label, text, colour in cell:
                lines = text.split("\n")
                text_at(canvas, left, down, label, fontsize=SIZE, color=colour, weight="bold", va="baseline")
                for line in lines:
                    ink = SOFT if colour == SOFT and label else "black"
                    text_at(canvas, left + (0.3 if label else 0), down, line, fontsize=SIZE, color=ink, va="baseline")
                    down += LINE
                down += LINE / 2
        top += height


def _texts(image: dict[str, Any], phis: Sequence[str], width: int) -> list[list[tuple[str, str, str]]]:
    """The cells of a line, each (number, caption, colour of the number) one below the other."""
    cells = [[("", wrapped(caption, width, LINES), SOFT) for caption in image["captions"]]]
    narrower = width - int(0.3 * CHARACTERS)
    for phi in phis:
        typical = _median_own(image, phi)
        cell = [] if typical is None else [(f"{typical:.2f}", "median of its own", SOFT)]
        for caption in image["other"][phi]:
            better = typical is not None and caption["score"] > typical
            text = wrapped(caption["caption"], narrower, LINES)
            cell.append((f"{caption['score']:.2f}", text, BETTER if better else "black"))
        cells.append(cell)
    return cells


def _median_own(image: dict[str, Any], phi: str) -> float | None:
    scores = [score for score in image["own"][phi].get("own_left_out", []) if score is not None]
    return statistics.median(scores) if scores else None


def rule(canvas: Canvas, top: float) -> None:
    """A thin line across the canvas, so many inches from its top."""
    height = 1 - top / canvas.get_size_inches()[1]
    canvas.add_artist(Line2D([0, 1], [height, height], color="#c9c9c9", linewidth=0.5))


def _photograph(
    canvas: Canvas, top: float, height: float, image: dict[str, Any], photographs: Photographs | None
) -> None:
    if photographs is None:
        text_at(canvas, 0, top, f"{image['image_id']}\n(no photographs here)", fontsize=SIZE, color=SOFT)
        return
    picture = decode(photographs.read(image["filename"]), image["filename"])
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    panel = panel_at(canvas, 0, top, PHOTOGRAPH, height)
    panel.imshow(picture)
    panel.set_axis_off()
    panel.set_anchor("NW")
