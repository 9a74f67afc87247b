"""Pictures of features in any format: photographs with the boxes of their regions, or beside their nearest images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke
from PIL.Image import Image

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.features.detectors import read_vocabulary
from fivesentences.features.formats import FeatureSource, ImageFeatures
from fivesentences.features.neighbours import nearest_images
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.figures.pictures import boxed, panel_at, photograph_at, rule_at, text_at
from fivesentences.reproduction.paper.figures.style import COLOURS, OWN_COLOUR, SOFT, WIDTH

BOXES = ["image_id", "place", "row", "x1", "y1", "x2", "y2", "score", "class", "attribute", "label"]
LONGEST_SIDE = 700  # pixels of a photograph with boxes
ACROSS = 2  # photographs beside each other, and columns of labels below each
GAP, NAME, LINE, PAD = 0.25, 0.2, 0.125, 0.18  # inches
COLUMN = (WIDTH - GAP * (ACROSS - 1)) / ACROSS
SIZE = 6.6
STRETCHED = 0.02  # share by which a photograph's proportions may differ from those that the boxes belong to
NEIGHBOURS = ["query", "place", "image_id", "filename", "cosine"]
THUMBNAIL = 300  # pixels of a photograph beside its neighbours
BETWEEN, BEHIND_QUERY, HEADING, BELOW, SHEET_SIZE = 0.07, 0.2, 0.26, 0.17, 6.2  # inches, and points


def filenames_of(photographs: Photographs, records: Sequence[ImageFeatures]) -> list[str]:
    """Find the photograph of each image, also where features name only an id.

    Raises:
        InputError: If one is not there, or several might be meant.
    """
    found = []
    for name in (record.filename or record.image_id for record in records):
        if (named := photographs.of_image(name)) is None:
            raise InputError(photographs.problem(name), where=" and ".join(map(str, photographs.paths)))
        found.append(named)
    return found


def boxes_drawing(
    features: FeatureSource,
    rows: Sequence[int],
    photographs: Photographs,
    count: int,
    classes: Path | None = None,
    attributes: Path | None = None,
) -> Drawing:
    """Images with their boxes of the highest scores, or the first ones where scores are unknown.

    Args:
        features: Open for reading; they have boxes.
        rows: Rows of the images that are shown.
        photographs: Where they are.
        count: Boxes per image.
        classes: Names of the detector's classes, one per line.
        attributes: Names of its attributes, one per line.

    Raises:
        InputError: If a class or attribute has no name, or a photograph has other proportions than the boxes need.
    """
    records = [features.read(row) for row in rows]
    names = [() if file is None else read_vocabulary(file) for file in (classes, attributes)]
    filenames = filenames_of(photographs, records)
    parts = [pd.DataFrame(_boxes(record, count, *names), columns=BOXES) for record in records]
    scored = all(record.scores is not None for record in records)
    order = "with the highest scores of their class, highest first" if scored else "in the order of the file"
    notes = [f"Of each image at most {count} boxes are shown, {order}."]
    shown = list(zip(filenames, records, parts, strict=True))
    return Drawing(pd.concat(parts, ignore_index=True), notes, lambda canvas: _draw_sheet(canvas, shown, photographs))


def _boxes(
    record: ImageFeatures, most: int, classes: Sequence[str], attributes: Sequence[str]
) -> list[tuple[Any, ...]]:
    boxes = np.asarray(record.boxes)
    order = np.arange(len(boxes)) if record.scores is None else np.argsort(-record.scores, kind="stable")
    rows = []
    for place, row in enumerate(order[:most], start=1):
        known = (record.scores, record.classes, record.attributes)
        score, which, attribute = (None if array is None else array[row].item() for array in known)
        words = [_name(attributes, attribute, "attribute"), _name(classes, which, "class")]
        label = " ".join(word for word in words if word)
        rows.append((record.image_id, place, int(row), *boxes[row].tolist(), score, which, attribute, label))
    return rows


def _name(names: Sequence[str], number: int | None, what: str) -> str:
    if number is None or not names:
        return "" if number is None or what == "attribute" else f"{what} {number}"
    if not 0 <= number < len(names):
        raise InputError(
            f"the features have {what} {number}, but the vocabulary names {len(names)}; give the one of their detector."
        )
    return names[number]


def _draw_sheet(
    canvas: Figure, shown: Sequence[tuple[str, ImageFeatures, pd.DataFrame]], photographs: Photographs
) -> None:
    pictures = [picture_of(filename, record, photographs) for filename, record, _ in shown]
    # Boxes of which no more is known than where they are have no label.
    labelled = [rows[(rows["label"] != "") | rows["score"].notna()] for *_, rows in shown]
    heights = [COLUMN * down / across for _, (across, down) in pictures]
    labels = [LINE * -(-len(rows) // ACROSS) for rows in labelled]
    parts = [NAME + height + 0.06 + below + PAD for height, below in zip(heights, labels, strict=True)]
    lines = [max(parts[start : start + ACROSS]) for start in range(0, len(shown), ACROSS)]
    canvas.set_size_inches(WIDTH if len(shown) > 1 else COLUMN, sum(lines))
    for place, ((filename, _, rows), (picture, size), height) in enumerate(zip(shown, pictures, heights, strict=True)):
        left, top = (place % ACROSS) * (COLUMN + GAP), sum(lines[: place // ACROSS])
        text_at(canvas, left, top + 0.05, filename, fontsize=SIZE, color=SOFT)
        panel = panel_at(canvas, left, top + NAME, COLUMN, height)
        panel.imshow(picture, extent=(0, size[0], size[1], 0), interpolation="antialiased")
        panel.set_axis_off()
        _draw_boxes(panel, rows)
        down = -(-len(labelled[place]) // ACROSS)
        for number, row in enumerate(labelled[place].to_dict("records")):
            x, y = left + COLUMN / ACROSS * (number // down), top + NAME + height + 0.06 + LINE * (number % down)
            score = "" if pd.isna(row["score"]) else f"  {row['score']:.2f}"
            text_at(canvas, x, y, f"{row['place']}", fontsize=SIZE, color=_colour(row), weight="bold")
            text_at(canvas, x + 0.2, y, f"{row['label']}{score}", fontsize=SIZE)


def picture_of(filename: str, record: ImageFeatures, photographs: Photographs) -> tuple[Image, tuple[int, int]]:
    """Return a photograph reduced for the page, and the width and height that its boxes are measured in."""
    picture = photographs.decoded(filename)
    size = (record.width or picture.width, record.height or picture.height)
    if abs(picture.width / picture.height / (size[0] / size[1]) - 1) > STRETCHED:
        raise InputError(
            f"photograph '{filename}' has {picture.width} x {picture.height} pixels, but its boxes are for "
            f"{size[0]} x {size[1]}; give the photographs that the features were extracted from."
        )
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return picture, size


def _draw_boxes(panel: Any, rows: pd.DataFrame) -> None:
    for row in rows.iloc[::-1].to_dict("records"):  # the first on top
        corner, colour = (row["x1"], row["y1"]), _colour(row)
        halo = [Stroke(linewidth=2.3, foreground="white", alpha=0.8), Normal()]
        boxed(panel, corner, row["x2"] - row["x1"], row["y2"] - row["y1"], ec=colour, lw=1.3, path_effects=halo)
        how: dict[str, Any] = {"va": "top", "ha": "left", "color": "white"}
        how["bbox"] = {"facecolor": colour, "edgecolor": "none", "pad": 1.2}
        panel.text(*corner, str(row["place"]), fontsize=SIZE, **how)


def _colour(row: dict[Any, Any]) -> str:
    return COLOURS[(row["place"] - 1) % len(COLOURS)]


def neighbours_drawing(
    features: FeatureSource,
    rows: Sequence[int],
    photographs: Photographs,
    count: int,
    among: Sequence[int] | None = None,
) -> Drawing:
    """Collect a contact sheet: images beside those with the most similar features; place 0 is the image itself.

    Args:
        features: Open for reading.
        rows: Rows of the images that are shown.
        photographs: Where they are.
        count: Neighbours per image.
        among: Rows of the images that may be neighbours; None: all.
    """
    found, lines = nearest_images(features, rows, count, among), []
    shown = [(query, *nearest) for query, nearest in zip(found.queries, found.nearest, strict=True)]
    records = [[features.read(int(row)) for row in some] for some in shown]
    filenames = iter(filenames_of(photographs, [record for some in records for record in some]))
    for some, cosine in zip(records, found.cosine, strict=True):
        for place, (record, value) in enumerate(zip(some, (1.0, *map(float, cosine)), strict=True)):
            lines.append((some[0].image_id, place, record.image_id, next(filenames), value))
    data = pd.DataFrame(lines, columns=NEIGHBOURS)
    notes = [
        "Left: the image that was asked for; behind it the images whose features have the largest cosine with its own.",
        "Features of several regions or cells are averaged to one vector.",
    ]
    return Drawing(data, notes, lambda canvas: _draw_neighbours(canvas, data, photographs))


def _draw_neighbours(canvas: Figure, data: pd.DataFrame, photographs: Photographs) -> None:
    most = int(data["place"].max()) + 1
    each = (WIDTH - BEHIND_QUERY - BETWEEN * (most - 1)) / most
    height, letters = each * 0.8, int(each * 19)
    canvas.set_size_inches(WIDTH, HEADING + data["query"].nunique() * (height + BELOW + 0.12))
    text_at(canvas, 0, 0.06, "image", fontsize=8, weight="bold")
    text_at(canvas, each + BEHIND_QUERY, 0.06, "nearest in feature space, with the cosine", fontsize=8, weight="bold")
    for number, (_, group) in enumerate(data.groupby("query", sort=False)):
        top = HEADING + number * (height + BELOW + 0.12)
        if number:
            rule_at(canvas, top - 0.06)
        for _, place, image_id, filename, cosine in group.itertuples(index=False):
            left = place * (each + BETWEEN) + (BEHIND_QUERY - BETWEEN if place else 0)
            photograph_at(canvas, (left, top, each, height), filename, photographs, THUMBNAIL, anchor="S")
            # The end of a long name tells more than its beginning.
            name = image_id if len(image_id) <= letters else f"…{image_id[-letters + 1 :]}"
            text, colour = (f"{cosine:.2f}", SOFT) if place else (name, OWN_COLOUR)
            text_at(canvas, left + each / 2, top + height + 0.03, text, fontsize=SHEET_SIZE, color=colour, ha="center")
