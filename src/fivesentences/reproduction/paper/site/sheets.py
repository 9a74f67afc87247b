"""Sheets of pictures for the pages: photographs with their captions, and what features look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from fivesentences.corpus import Corpus, Photographs
from fivesentences.features.formats import open_features
from fivesentences.reproduction.paper.figures.drawing import write_drawing
from fivesentences.reproduction.paper.figures.features import boxes_drawing, neighbours_drawing
from fivesentences.reproduction.paper.text.names import wrapped
from fivesentences.storage import replacing, write_json

COLUMNS, ROWS = 4, 2  # of a sheet of photographs
WIDTH = 46  # characters per line of a caption
IMAGES, NEIGHBOURS, BOXES = 4, 6, 10  # of a sheet of features


def write_examples(corpus: Corpus, photographs: Photographs, out: Path) -> None:
    """Draw images spread evenly over the corpus, each above its captions.

    Args:
        corpus: Usually the test split.
        photographs: Its photographs.
        out: A ``.json`` (what the sheet shows); the sheet lies beside it as ``.png``.

    Raises:
        InputError: If a photograph is missing or cannot be decoded.
    """
    chosen = np.unique(np.linspace(0, corpus.n_images - 1, COLUMNS * ROWS).round().astype(int))
    figure = Figure(figsize=(3.2 * COLUMNS, 4.5 * ROWS), facecolor="white")
    axes = figure.subplots(ROWS, COLUMNS, squeeze=False).ravel()
    # As much room again below each photograph, for its captions.
    figure.subplots_adjust(left=0.01, right=0.99, top=0.99, bottom=0.21, wspace=0.06, hspace=0.68)
    for axis in axes:
        axis.set_axis_off()
        axis.set_anchor("N")
    for axis, image in zip(axes, chosen, strict=False):
        filename = corpus.images.filename.iloc[image]
        axis.imshow(photographs.decoded(filename))
        captions = [corpus.captions[row] for row in np.flatnonzero(corpus.image_of_caption == image)]
        text = "\n".join(wrapped(caption, WIDTH, lines=3, indent="   ") for caption in captions)
        how = {"transform": axis.transAxes, "va": "top", "fontsize": 7.5, "linespacing": 1.3, "parse_math": False}
        axis.text(0, -0.04, text, **how)
    with replacing(out.with_suffix(".png")) as temporary:
        figure.savefig(temporary, dpi=130, metadata={"Software": None})
    write_json(out, {"dataset": corpus.name, "images": len(chosen), "of": corpus.n_images})


def write_features_sheet(corpus: Corpus, photographs: Photographs, features: Path, out: Path) -> None:
    """Draw images that are spread evenly over the corpus.

    Features of a detector are shown by their best boxes, others by the images that they put beside each other.

    Args:
        corpus: Usually the test split; neighbours are among its images.
        photographs: Its photographs.
        features: A ``.npy`` with its table of images.
        out: A ``.json`` with texts; the picture and its data lie beside it.

    Raises:
        InputError: If an image has no features, or its photograph is missing or cannot be decoded.
    """
    with open_features(features) as source:
        place = {image_id: row for row, image_id in enumerate(source.outline.ids)}
        rows = sorted(place[str(image_id)] for image_id in corpus.images["image_id"])
        some = [rows[len(rows) * number // IMAGES] for number in range(min(IMAGES, len(rows)))]
        of = f"{len(some)} of the {len(rows)} test images of {corpus.name}, each"
        if "boxes" in source.outline.facts:
            title, caption = f"What {features.stem} looks at", f"{of} with its best regions."
            drawing = boxes_drawing(source, some, photographs, BOXES)
        else:
            title, caption = f"What {features.stem} holds near each other", f"{of} beside its nearest others."
            drawing = neighbours_drawing(source, some, photographs, NEIGHBOURS, rows)
    write_drawing(out.with_suffix(""), title, caption, drawing, ("png", "pdf", "csv", "json"))
