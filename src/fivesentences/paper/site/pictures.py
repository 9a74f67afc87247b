"""Pictures on the pages: files as data addresses, sheets of photographs with captions, and what features look at."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from fivesentences.corpus import Corpus, Photographs
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.features.formats import open_features
from fivesentences.paper.figures.drawing import read_texts, write_drawing
from fivesentences.paper.figures.features import boxes_drawing, neighbours_drawing
from fivesentences.paper.text.captions import wrapped
from fivesentences.storage import replacing, write_json

MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
COLUMNS, ROWS = 4, 2  # of a sheet of photographs
WIDTH = 46  # characters per line of a caption
IMAGES, NEIGHBOURS, BOXES = 4, 6, 10  # of a sheet of features


@dataclass(frozen=True)
class Picture:
    """A picture with the text below it.

    Attributes:
        path: A PNG or JPEG file.
        title: Its heading.
        caption: One sentence or two.
        notes: What else a reader should know.
        links: (label, address) of its other forms.
        name: Its anchor on a page; empty for none.
    """

    path: Path
    title: str
    caption: str
    notes: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    name: str = ""


def as_data_uri(path: Path) -> str:
    """Return a PNG or JPEG file as an address that contains the picture.

    Raises:
        InputError: If the file is missing or is neither PNG nor JPEG.
    """
    if path.suffix.lower() not in MEDIA:
        raise InputError(f"{path}: a picture of the page must be a PNG or JPEG file.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such picture.") from None
    return f"data:{MEDIA[path.suffix.lower()]};base64,{base64.b64encode(data).decode('ascii')}"


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


def read_examples(path: Path) -> Picture:
    """The sheet as a picture for the page, from the ``.json`` beside it.

    Raises:
        InputError: If the file is missing.
    """
    shown = read_json(path, "make it again")
    caption = f"{shown['images']} of the {shown['of']} test images of {shown['dataset']}, each with its captions."
    title, name = f"What {shown['dataset']} looks like", f"examples-{path.stem}"
    return Picture(path.with_suffix(".png"), title, caption, name=name)


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
    write_drawing(out.with_suffix(""), title, caption, drawing)


def read_features_sheet(path: Path) -> Picture:
    """The picture for the page, from the ``.json`` beside it.

    Raises:
        InputError: If the file is missing.
    """
    title, caption, notes = read_texts(path)
    return Picture(path.with_suffix(".png"), title, caption, notes, name=path.stem)
