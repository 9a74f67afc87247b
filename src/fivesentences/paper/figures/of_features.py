"""Pictures of features in any format: photographs with the boxes of their regions, or beside their nearest images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.features.detectors import read_vocabulary
from fivesentences.features.formats import ImageFeatures, Source
from fivesentences.features.neighbours import nearest_images
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.figures.nearest_images import nearest_images_drawing
from fivesentences.paper.figures.region_boxes import BoxedImage, Names, region_boxes_drawing


class NamedPhotographs:
    """Finds the photographs of images whose features name only an id."""

    def __init__(self, photographs: Photographs):
        self.photographs = photographs
        self._by_stem: dict[str, list[str]] = {}
        for name in photographs.names():
            self._by_stem.setdefault(PurePosixPath(name).stem, []).append(name)

    def of(self, record: ImageFeatures) -> str:
        """The filename of an image's photograph.

        Raises:
            InputError: If it is not there, or several might be meant.
        """
        name = record.filename or record.image_id
        if name in self.photographs:
            return name
        found = self._by_stem.get(name, [])
        if len(found) == 1:
            return found[0]
        raise InputError(self.photographs.problem(name), where=" and ".join(map(str, self.photographs.paths)))


def boxes_drawing(
    features: Source,
    rows: Sequence[int],
    photographs: Photographs,
    count: int,
    classes: Path | None = None,
    attributes: Path | None = None,
) -> Drawing:
    """Images with their best boxes.

    Args:
        features: Open for reading; they have boxes.
        rows: Which images.
        photographs: Where they are.
        count: Boxes per image.
        classes: Names of the detector's classes, one per line.
        attributes: Likewise of attributes.
    """
    names = NamedPhotographs(photographs)
    records = [features.read(row) for row in rows]
    images = [BoxedImage(names.of(record), record) for record in records]
    known = Names(*(() if file is None else read_vocabulary(file) for file in (classes, attributes)))
    return region_boxes_drawing(images, photographs, count, known)


def neighbours_drawing(
    features: Source, rows: Sequence[int], photographs: Photographs, count: int, among: Sequence[int] | None = None
) -> Drawing:
    """Images beside those with the most similar features.

    Args:
        features: Open for reading.
        rows: Which images.
        photographs: Where they are.
        count: Neighbours per image.
        among: Rows of the images that may be neighbours; None: all.
    """
    names = NamedPhotographs(photographs)
    found = nearest_images(features, rows, count, among)
    lines = []
    for query, nearest, cosine in zip(found.queries, found.nearest, found.cosine, strict=True):
        asked = features.read(int(query))
        lines.append((asked.image_id, 0, asked.image_id, names.of(asked), 1.0))
        for place, (row, value) in enumerate(zip(nearest, cosine, strict=True), start=1):
            record = features.read(int(row))
            lines.append((asked.image_id, place, record.image_id, names.of(record), float(value)))
    return nearest_images_drawing(lines, photographs)
