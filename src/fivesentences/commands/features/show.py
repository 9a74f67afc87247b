"""`fivesentences features show`: look at features."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.errors import InputError, need

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
    from fivesentences.paper.figures.drawing import write_drawing
    from fivesentences.paper.figures.of_features import boxes_drawing, neighbours_drawing

    there = Photographs(*photographs)
    with format_of(path).read(path) as features:
        boxed = "boxes" in features.outline.facts
        what = what or (WhatName.BOXES if boxed else WhatName.NEIGHBOURS)
        if what is WhatName.BOXES and not boxed:
            raise InputError("these features have no boxes", where=path, cure="draw them with --what neighbours")
        rows = rows_of(features, image or [], 4 if what is WhatName.BOXES else 8)
        if len(rows) > MOST_IMAGES:
            raise InputError(f"{len(rows)} images are too many for one picture; give at most {MOST_IMAGES}.")
        if what is WhatName.BOXES:
            title, drawing = "Regions", boxes_drawing(features, rows, there, count or 10, classes, attributes)
        else:
            title, drawing = "Nearest images", neighbours_drawing(features, rows, there, count or 6)
    write_drawing(out.with_suffix(""), title, f"Features of {path.name}.", drawing)
    print(f"{out}: {what} of {len(rows)} images of {path} (numbers in {out.with_suffix('.csv').name})")
