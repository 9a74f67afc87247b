"""A contact sheet: images, and beside each of them those that are nearest in feature space."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from fivesentences.corpus import Photographs
from fivesentences.paper.figures.canvas import OWN_COLOUR, SOFT, WIDTH, photograph_at, rule_at, text_at
from fivesentences.paper.figures.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["query", "place", "image_id", "filename", "cosine"]
LONGEST_SIDE = 300  # pixels of a photograph on the sheet
# Inches.
GAP, BEHIND_QUERY, HEADING, CAPTION, PAD, TALLEST = 0.07, 0.2, 0.26, 0.17, 0.12, 0.8
SIZE = 6.2


def nearest_images_drawing(rows: Sequence[tuple[str, int, str, str, float]], photographs: Photographs) -> Drawing:
    """A contact sheet with one row per query.

    Args:
        rows: Query's id, place from 1 (0: the query itself), image id, filename, cosine; sorted by query and place.
        photographs: Where the images are.
    """
    data = pd.DataFrame(list(rows), columns=COLUMNS)
    notes = [
        "Left: the image that was asked for; behind it the images whose features have the largest cosine with its own.",
        "Features of several regions or cells are averaged to one vector.",
    ]
    return Drawing(data, notes, functools.partial(_draw, data=data, photographs=photographs))


def _draw(canvas: Canvas, data: pd.DataFrame, photographs: Photographs) -> None:
    queries = [group for _, group in data.groupby("query", sort=False)]
    most = max(len(group) for group in queries)
    each = (WIDTH - BEHIND_QUERY - GAP * (most - 1)) / most
    height = each * TALLEST
    step = height + CAPTION + PAD
    canvas.set_size_inches(WIDTH, HEADING + len(queries) * step)
    text_at(canvas, 0, 0.06, "image", fontsize=8, weight="bold")
    text_at(canvas, each + BEHIND_QUERY, 0.06, "nearest in feature space, with the cosine", fontsize=8, weight="bold")
    for number, group in enumerate(queries):
        top = HEADING + number * step
        if number:
            rule_at(canvas, top - PAD / 2)
        for row in group.itertuples():
            place = int(str(row.place))
            left = place * (each + GAP) + (BEHIND_QUERY - GAP if place else 0)
            at = (left, top, each, height)
            photograph_at(
                canvas, at, str(row.filename), photographs, longest_side=LONGEST_SIDE, fontsize=SIZE, anchor="S"
            )
            text = f"{row.cosine:.2f}" if place else _shortened(str(row.image_id), each)
            colour = OWN_COLOUR if not place else SOFT
            text_at(canvas, left + each / 2, top + height + 0.03, text, fontsize=SIZE, color=colour, ha="center")


def _shortened(name: str, inches: float) -> str:
    """A name that fits; its end tells more than its beginning."""
    most = int(inches * 19)
    return name if len(name) <= most else f"…{name[-most + 1 :]}"
