"""`fivesentences features show`: look at features."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.errors import InputError, need

if TYPE_CHECKING:
    from fivesentences.corpus import Photographs
    from fivesentences.features.formats import ImageFeatures, Source
    from fivesentences.paper.figures.drawing import Drawing

MOST_IMAGES = 40  # on one picture


class WhatName(StrEnum):
    """What is drawn."""

    BOXES = "boxes"
    NEIGHBOURS = "neighbours"


def show(
    path: Annotated[Path, typer.Argument(metavar="FEATURES", help="features in any format of 'features convert'")],
    photographs: Annotated[
        list[Path], typer.Option("--photographs", "-p", metavar="PATH", help="their folder or zip archive; repeatable")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the picture, .png")],
    what: Annotated[
        WhatName | None,
        typer.Option(metavar="WHAT", help="boxes or neighbours; default: boxes where the features have any"),
    ] = None,
    image: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="an image; repeat for more; default: some, evenly spread")
    ] = None,
    count: Annotated[
        int | None, typer.Option("-n", min=1, max=100, help="boxes (default 10) or neighbours (default 6) per image")
    ] = None,
    classes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="names of the detector's classes, one per line, such as objects_vocab.txt"),
    ] = None,
    attributes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="likewise of attributes, such as attributes_vocab.txt")
    ] = None,
) -> None:
    """Draw photographs with the boxes of their regions, or beside their nearest neighbours.

    boxes       the best boxes of each image, numbered, with class, attribute
                and score where the features know them
    neighbours  a contact sheet: beside each image those with the most similar
                features (cosine; regions are averaged). Features that mean
                something put dogs beside dogs.

    A .pdf, the numbers (.csv) and notes (.json) are written beside the .png.

    Examples:

        fivesentences features show regions.npy -p photos.zip -o boxes.png --classes objects_vocab.txt

        fivesentences features show resnet.npy -p photos.zip -o sheet.png --image dog.jpg

        fivesentences features show trainval_36.tsv -p photos -o sheet.png --what neighbours -n 8
    """
    need("matplotlib", "workflow", "a picture")
    if out.suffix != ".png":
        raise InputError("the file name of a picture must end in .png.", where=out)
    from fivesentences.corpus import Photographs
    from fivesentences.features.formats.known import format_of
    from fivesentences.features.neighbours import rows_of
    from fivesentences.paper.figures.writing import write_drawing

    there = Photographs(*photographs)
    with format_of(path).read(path) as features:
        boxed = "boxes" in features.outline.facts
        what = what or (WhatName.BOXES if boxed else WhatName.NEIGHBOURS)
        if what is WhatName.BOXES and not boxed:
            raise InputError("these features have no boxes", where=path, cure="draw them with --what neighbours")
        rows = rows_of(features, image or [], 4 if what is WhatName.BOXES else 8)
        if len(rows) > MOST_IMAGES:
            raise InputError(f"{len(rows)} images are too many for one picture; give at most {MOST_IMAGES}.")
        names = _Files(there)
        if what is WhatName.BOXES:
            title, drawing = "Regions", _boxes(features, rows, names, count or 10, classes, attributes)
        else:
            title, drawing = "Nearest images", _neighbours(features, rows, names, count or 6)
    write_drawing(out.with_suffix(""), title, f"Features of {path.name}.", drawing)
    print(f"{out}: {what} of {len(rows)} images of {path} (numbers in {out.with_suffix('.csv').name})")


class _Files:
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


def _boxes(
    features: Source, rows: list[int], names: _Files, count: int, classes: Path | None, attributes: Path | None
) -> Drawing:
    from fivesentences.features.detectors import read_vocabulary
    from fivesentences.paper.figures.region_boxes import BoxedImage, Names, region_boxes_drawing

    records = [features.read(row) for row in rows]
    images = [BoxedImage(names.of(record), record) for record in records]
    known = Names(*(() if file is None else read_vocabulary(file) for file in (classes, attributes)))
    return region_boxes_drawing(images, names.photographs, count, known)


def _neighbours(features: Source, rows: list[int], names: _Files, count: int) -> Drawing:
    from fivesentences.features.neighbours import nearest_images
    from fivesentences.paper.figures.nearest_images import nearest_images_drawing

    found = nearest_images(features, rows, count)
    lines = []
    for query, nearest, cosine in zip(found.queries, found.nearest, found.cosine, strict=True):
        asked = features.read(int(query))
        lines.append((asked.image_id, 0, asked.image_id, names.of(asked), 1.0))
        for place, (row, value) in enumerate(zip(nearest, cosine, strict=True), start=1):
            record = features.read(int(row))
            lines.append((asked.image_id, place, record.image_id, names.of(record), float(value)))
    return nearest_images_drawing(lines, names.photographs)
