"""Photographs with the boxes of their regions, numbered, and what was recognised in them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fivesentences.corpus import Photographs, decode
from fivesentences.errors import InputError
from fivesentences.features.formats import ImageFeatures
from fivesentences.paper.figures.canvas import COLOURS, SOFT, WIDTH, panel_at, text_at
from fivesentences.paper.figures.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLUMNS = ["image_id", "place", "row", "x1", "y1", "x2", "y2", "score", "class", "attribute", "label"]
LONGEST_SIDE = 700  # pixels of a photograph on the page
ACROSS = 2  # photographs beside each other
GAP, NAME, LINE, PAD = 0.25, 0.2, 0.125, 0.18  # inches
LABELS_ACROSS = 2  # columns of labels below a photograph
SIZE = 6.6
STRETCHED = 0.02  # share by which a photograph's proportions may differ from those that the boxes belong to


@dataclass(frozen=True)
class Names:
    """Names of classes and attributes by number; empty where they are unknown."""

    classes: Sequence[str] = ()
    attributes: Sequence[str] = ()


@dataclass(frozen=True)
class BoxedImage:
    """An image and its regions.

    Attributes:
        filename: Of its photograph.
        record: With boxes.
    """

    filename: str
    record: ImageFeatures


def region_boxes_drawing(images: Sequence[BoxedImage], photographs: Photographs, most: int, names: Names) -> Drawing:
    """Photographs with their first boxes.

    Args:
        images: What to draw.
        photographs: Where they are.
        most: Boxes per photograph: those with the highest scores, or the first where scores are unknown.
        names: Of classes and attributes.

    Raises:
        InputError: If a class or attribute has no name, or a photograph has other proportions than the boxes need.
    """
    data = pd.DataFrame([row for image in images for row in _rows(image.record, most, names)], columns=COLUMNS)
    scored = all(image.record.scores is not None for image in images)
    order = "with the highest scores of their class, highest first" if scored else "in the order of the file"
    notes = [f"Of each image at most {most} boxes are shown, {order}."]
    return Drawing(data, notes, functools.partial(_draw, images=images, data=data, photographs=photographs))


def _rows(record: ImageFeatures, most: int, names: Names) -> list[tuple[Any, ...]]:
    assert record.boxes is not None
    order = np.arange(len(record.boxes))
    if record.scores is not None:
        order = np.argsort(-record.scores, kind="stable")
    rows = []
    for place, row in enumerate(order[:most], start=1):
        score, which, attribute = (
            None if array is None else array[row].item() for array in (record.scores, record.classes, record.attributes)
        )
        words = [_name(names.attributes, attribute, "attribute"), _name(names.classes, which, "class")]
        label = " ".join(word for word in words if word)
        rows.append((record.image_id, place, int(row), *record.boxes[row].tolist(), score, which, attribute, label))
    return rows


def _name(names: Sequence[str], number: int | None, what: str) -> str:
    if number is None or (not names and what == "attribute"):
        return ""
    if not names:
        return f"{what} {number}"
    if not 0 <= number < len(names):
        raise InputError(
            f"the features have {what} {number}, but the vocabulary names {len(names)}; give the one of their detector."
        )
    return names[number]


def _draw(canvas: Canvas, images: Sequence[BoxedImage], data: pd.DataFrame, photographs: Photographs) -> None:
    column = (WIDTH - GAP * (ACROSS - 1)) / ACROSS
    pictures = [_picture(image, photographs) for image in images]
    heights = [column * size[1] / size[0] for _, size in pictures]
    shown = [data[data["image_id"] == image.record.image_id] for image in images]
    blocks = [
        NAME + height + 0.06 + LINE * -(-len(_described(rows)) // LABELS_ACROSS) + PAD
        for height, rows in zip(heights, shown, strict=True)
    ]
    lines = [max(blocks[start : start + ACROSS]) for start in range(0, len(images), ACROSS)]
    canvas.set_size_inches(WIDTH if len(images) > 1 else column, sum(lines))
    for number, (image, (picture, size), height) in enumerate(zip(images, pictures, heights, strict=True)):
        left = (number % ACROSS) * (column + GAP)
        top = sum(lines[: number // ACROSS])
        text_at(canvas, left, top + 0.05, image.filename, fontsize=SIZE, color=SOFT)
        panel = panel_at(canvas, left, top + NAME, column, height)
        panel.imshow(picture, extent=(0, size[0], size[1], 0), interpolation="antialiased")
        panel.set_axis_off()
        _draw_boxes(panel, shown[number])
        _draw_labels(canvas, left, top + NAME + height + 0.06, column, _described(shown[number]))


def _described(rows: pd.DataFrame) -> pd.DataFrame:
    """Boxes of which more is known than where they are: those without a class or score have no label."""
    return rows[(rows["label"] != "") | rows["score"].notna()]


def _picture(image: BoxedImage, photographs: Photographs) -> tuple[Any, tuple[int, int]]:
    """A photograph reduced for the page, and the width and height that its boxes are measured in."""
    picture = decode(photographs.read(image.filename), image.filename)
    size = (image.record.width or picture.width, image.record.height or picture.height)
    if abs(picture.width / picture.height / (size[0] / size[1]) - 1) > STRETCHED:
        raise InputError(
            f"photograph '{image.filename}' has {picture.width} x {picture.height} pixels, but its boxes are for "
            f"{size[0]} x {size[1]}; give the photographs that the features were extracted from."
        )
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return picture, size


def _draw_boxes(panel: Any, rows: pd.DataFrame) -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import Normal, Stroke

    for row in rows.iloc[::-1].to_dict("records"):  # the first on top
        colour = COLOURS[(row["place"] - 1) % len(COLOURS)]
        corner = (row["x1"], row["y1"])
        box = Rectangle(corner, row["x2"] - row["x1"], row["y2"] - row["y1"], fill=False, ec=colour, lw=1.3)
        box.set_path_effects([Stroke(linewidth=2.3, foreground="white", alpha=0.8), Normal()])
        panel.add_patch(box)
        panel.text(
            *corner,
            str(row["place"]),
            fontsize=SIZE,
            color="white",
            va="top",
            ha="left",
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.2},
        )


def _draw_labels(canvas: Canvas, left: float, top: float, column: float, rows: pd.DataFrame) -> None:
    lines = -(-len(rows) // LABELS_ACROSS)
    for number, row in enumerate(rows.to_dict("records")):
        at = (left + column / LABELS_ACROSS * (number // lines), top + LINE * (number % lines))
        colour = COLOURS[(row["place"] - 1) % len(COLOURS)]
        score = "" if pd.isna(row["score"]) else f"  {row['score']:.2f}"
        text_at(canvas, *at, f"{row['place']}", fontsize=SIZE, color=colour, weight="bold")
        text_at(canvas, at[0] + 0.2, at[1], f"{row['label']}{score}", fontsize=SIZE)
