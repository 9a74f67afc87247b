"""What the features of a scale look at, so that a reader sees that they mean something."""

from __future__ import annotations

from pathlib import Path

from fivesentences.corpus import Corpus, Photographs
from fivesentences.features.formats import open_features
from fivesentences.paper.figures.of_features import boxes_drawing, neighbours_drawing
from fivesentences.paper.figures.writing import read_texts, write_drawing
from fivesentences.paper.site.notes import in_few_lines
from fivesentences.paper.site.pictures import Picture

IMAGES, NEIGHBOURS, BOXES = 4, 6, 10


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
    return Picture(path.with_suffix(".png"), title, caption, in_few_lines(notes), name=path.stem)
