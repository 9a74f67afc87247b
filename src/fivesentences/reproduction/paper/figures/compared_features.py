"""A picture of two sets of features: boxes of both on some photographs, and how well all regions agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.features.comparison import COSINE, OVERLAP, Comparison
from fivesentences.features.formats import ImageFeatures
from fivesentences.reproduction.paper.figures.canvas import legend
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.features import filenames_of, picture_of
from fivesentences.reproduction.paper.figures.pictures import boxed, panel_at, text_at
from fivesentences.reproduction.paper.figures.style import CHANCE, COLOURS, SOFT, WIDTH

OURS, THEIRS = COLOURS[1], COLOURS[0]
ACROSS, GAP, NAME, PLOT = 2, 0.25, 0.2, 1.9  # photographs beside each other; inches
BINS = np.linspace(0, 1, 41)
CORNERS = [f"{side}_{corner}" for side in ("ours", "theirs") for corner in ("x1", "y1", "x2", "y2")]


def compared_drawing(
    comparison: Comparison,
    shown: Sequence[tuple[ImageFeatures, ImageFeatures]],
    photographs: Photographs | None,
    count: int,
) -> Drawing:
    """Draw the first boxes of theirs with their partners of ours, and histograms of all overlaps and cosines.

    Args:
        comparison: All pairs.
        shown: Features of ours and of theirs of the images that are drawn; they may lack boxes.
        photographs: Their photographs; None: boxes are drawn on white.
        count: Boxes of theirs per image, in the order of their file.

    Raises:
        InputError: If a photograph is missing, or has other proportions than the boxes need.
    """
    parts = [_with_boxes(comparison.pairs, *records, count) for records in shown] if comparison.boxed else []
    names = [] if photographs is None else filenames_of(photographs, [theirs for _, theirs in shown])
    data = comparison.pairs
    notes = [
        f"Right of the dashed lines: regions with a partner of an overlap of {OVERLAP:g}, and partners with a cosine "
        f"of {COSINE:g}, as released features would have."
    ]
    if parts:
        data = comparison.pairs.merge(pd.concat(parts), how="left", on=["image_id", "ours", "theirs"])
        notes.append(
            f"Drawn are the first {count} boxes of theirs (blue), in the order of their file, and their partners."
        )
    else:
        notes.append("A side has no boxes: regions are paired by their features, which flatters the cosine.")

    def draw(canvas: Figure) -> None:
        width = (WIDTH - GAP * (ACROSS - 1)) / ACROSS
        pictures = [
            (None, _size(*records)) if photographs is None else picture_of(name, records[1], photographs)
            for name, records in zip(names or [""] * len(shown), shown if parts else [], strict=False)
        ]
        heights = [width * down / across for _, (across, down) in pictures]
        lines = [max(heights[at : at + ACROSS]) + NAME + 0.1 for at in range(0, len(heights), ACROSS)]
        canvas.set_size_inches(WIDTH, sum(lines) + PLOT)
        for place, ((picture, size), part, height) in enumerate(zip(pictures, parts, heights, strict=True)):
            left, top = (place % ACROSS) * (width + GAP), sum(lines[: place // ACROSS])
            text_at(canvas, left, top + 0.05, part.attrs["image_id"], fontsize=6.6, color=SOFT)
            panel = panel_at(canvas, left, top + NAME, width, height)
            panel.set(xlim=(0, size[0]), ylim=(size[1], 0), xticks=[], yticks=[])
            if picture is not None:
                panel.imshow(picture, extent=(0, size[0], size[1], 0), interpolation="antialiased")
            _draw_boxes(panel, part)
        _draw_histograms(canvas, comparison, sum(lines))

    return Drawing(data, notes, draw)


def _with_boxes(pairs: pd.DataFrame, ours: ImageFeatures, theirs: ImageFeatures, count: int) -> pd.DataFrame:
    own = pairs[(pairs["image_id"] == theirs.image_id) & (pairs["theirs"] < count)].sort_values("theirs")
    corners = [np.asarray(side.boxes)[own[name]] for side, name in ((ours, "ours"), (theirs, "theirs"))]
    if ours.width and ours.height and theirs.width and theirs.height:  # ours as on their photograph
        corners[0] = corners[0] * np.tile([theirs.width / ours.width, theirs.height / ours.height], 2)
    part = own[["image_id", "ours", "theirs"]].reset_index(drop=True)
    part[CORNERS] = np.hstack(corners)
    part.attrs["image_id"] = theirs.image_id
    return part


def _size(ours: ImageFeatures, theirs: ImageFeatures) -> tuple[float, float]:
    """Width and height that boxes are measured in: of the photograph, or where the last box ends."""
    if theirs.width and theirs.height:
        return theirs.width, theirs.height
    ends = np.vstack([np.asarray(side.boxes)[:, 2:] for side in (ours, theirs)]).max(axis=0)
    if not (ends > 0).all():
        raise InputError(f"the boxes of image '{theirs.image_id}' have no area; they cannot be drawn.")
    return float(ends[0]), float(ends[1])


def _draw_boxes(panel: Any, part: pd.DataFrame) -> None:
    for side, colour, style in (("theirs", THEIRS, "-"), ("ours", OURS, (0, (2, 2)))):
        for x1, y1, x2, y2 in part[[f"{side}_{corner}" for corner in ("x1", "y1", "x2", "y2")]].to_numpy():
            boxed(panel, (x1, y1), x2 - x1, y2 - y1, ec=colour, lw=1.3, ls=style)


def _draw_histograms(canvas: Figure, comparison: Comparison, top: float) -> None:
    kinds = {"overlap": (OVERLAP, "overlap of partners")} if comparison.boxed else {}
    kinds["cosine"] = (COSINE, "cosine of partners")
    width = WIDTH / 2 - 0.75
    for place, (name, (least, label)) in enumerate(kinds.items()):
        panel = panel_at(canvas, 0.5 + place * WIDTH / 2, top + 0.3, width, PLOT - 0.85)
        panel.hist(comparison.pairs[name].dropna().clip(0, 1), bins=BINS, color=OURS)
        panel.axvline(least, **CHANCE | {"linestyle": "--"})
        panel.set(xlabel=label, ylabel="regions", xlim=(0, 1))
    looks: dict[str, dict[str, Any]] = {"theirs": {"color": THEIRS}, "ours": {"color": OURS, "linestyle": (0, (2, 2))}}
    if comparison.boxed:
        legend(canvas, looks, loc="lower right", ncols=2)
