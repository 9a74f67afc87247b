"""Which images a command works on: all of a folder, those of a corpus, or a part of either; and where it writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.corpus import Photographs

PhotographPaths = Annotated[list[Path], typer.Argument(metavar="PHOTOGRAPHS...", help="folders or zip archives")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the .npy to write")]
OfCorpus = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="only the images of this corpus (.parquet), with its ids; default: all, by file name"
    ),
]
Part = Annotated[
    str,
    typer.Option(metavar="I/N", help="the I-th of N parts of the images, for N jobs; join with features convert"),
]


def images_of(photographs: Photographs, corpus: Path | None) -> pd.DataFrame:
    """``image_id`` and ``filename`` of the images of a corpus, or of all photographs, whose names are then the ids."""
    import pandas as pd

    if corpus is not None:
        from fivesentences.corpus import Corpus

        return Corpus.read(corpus).images
    from fivesentences.corpus.table import check_image_id

    names = photographs.names()
    for name in names:  # before pandas, which fails at a name that is not UTF-8
        check_image_id(name, " and ".join(map(str, photographs.paths)))
    return pd.DataFrame({"image_id": names, "filename": names})


def part_of(images: pd.DataFrame, part: str) -> pd.DataFrame:
    """The I-th of N parts of a table, for ``part`` "I/N".

    Raises:
        typer.BadParameter: If it is not of this form.
        InputError: If there are fewer images than parts.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", part)
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise typer.BadParameter(f"it is '{part}'; give I/N with I from 1 to N, such as 2/4.", param_hint="--part")
    if parts > len(images):
        raise InputError(f"--part is {part}, but there are {len(images):,} images; give fewer parts.")
    from fivesentences.features.by_spec import part_of as rows_of_part

    return rows_of_part(images, number, parts)
