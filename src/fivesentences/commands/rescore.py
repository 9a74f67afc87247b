"""`fivesentences rescore`: similarity normalisation, or another inference method on the same similarity matrix."""

from __future__ import annotations

import inspect
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError
from fivesentences.storage import check_npy, check_outputs, check_writable


class Method(StrEnum):
    """The names of ``retrieval.INFERENCE``."""

    NAIVE = "naive"
    INVERTED_SOFTMAX = "inverted_softmax"
    CSLS = "csls"
    ASSIGNMENT = "assignment"


class Solver(StrEnum):
    """How the assignment is solved."""

    AUTO = "auto"
    EXACT = "exact"
    AUCTION = "auction"


def rescore(
    matrix: Annotated[Path, typer.Argument(metavar="SIMILARITY", help=f"{given.SHAPE}, {given.MATRIX}")],
    method: Annotated[
        Method, typer.Option(metavar="NAME", help="naive (unchanged), inverted_softmax, csls or assignment")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the new matrix, .npy")],
    k: Annotated[int | None, typer.Option("-k", min=1, help="csls: neighbours on either side (default 10)")] = None,
    beta: Annotated[float | None, typer.Option(help="inverted_softmax: inverse temperature (default 30)")] = None,
    direction: Annotated[
        given.Side, typer.Option(metavar="NAME", help="i2t (images are queries) or t2i, for inverted_softmax")
    ] = given.Side.I2T,
    include_self: Annotated[
        bool, typer.Option("--include-self", help="inverted_softmax: include the pair itself in its sum")
    ] = False,
    captions_per_image: Annotated[
        int | None, typer.Option(min=1, help="assignment: places of an image (default: as many as it has captions)")
    ] = None,
    image_of_caption: given.ImageOfCaption = None,
    solver: Annotated[
        Solver | None,
        typer.Option(metavar="NAME", help="assignment: auto (default), exact (small matrices) or auction"),
    ] = None,
    transposed: given.Transposed = False,
    quiet: given.Quiet = False,
) -> None:
    """Normalise a similarity by a method that looks at all queries at once.

    Such methods read the whole test set, queries and gallery; say so beside the
    numbers. Give one row per image. The method is noted beside the new matrix,
    so that evaluate can name it.

    Examples:

        fivesentences rescore sims.npy --method csls -k 10 -o out.npy

        fivesentences rescore sims.npy --method inverted_softmax -o i2t.npy
    """
    from fivesentences.evaluation.gallery_files import note_rescoring, read_gallery, rescoring_beside
    from fivesentences.retrieval import INFERENCE
    from fivesentences.retrieval import rescore as rescored

    check_npy(out, "a similarity matrix")
    check_writable(out)
    beside = {"the note beside --out": rescoring_beside(out)}
    check_outputs({"--out": out} | beside, (matrix, rescoring_beside(matrix), image_of_caption))
    options: dict[str, Any] = {}
    for name, value, of in (
        ("k", k, "csls"),
        ("beta", beta, "inverted_softmax"),
        ("include_self", include_self or None, "inverted_softmax"),
        ("captions_per_image", captions_per_image, "assignment"),
        ("solver", solver, "assignment"),
    ):
        if value is None:
            continue
        if method != of:
            raise InputError(f"--{name.replace('_', '-')} belongs to {of}, but --method is {method}; leave it out.")
        options[name] = value
    with quietly(quiet):
        gallery, _ = read_gallery(matrix, transposed=transposed, image_of_caption=image_of_caption)
        with given.working(f"{method} of {matrix}"):
            result = rescored(gallery, method, direction, out=out, **options)
    parameters = inspect.signature(INFERENCE[method]).parameters
    settings = {
        name: options.get(name, parameter.default)
        for name, parameter in list(parameters.items())[1:]
        if name not in ("direction", "out", "image_of_caption") and (options.get(name) or parameter.default)
    }
    words = note_rescoring(out, matrix, str(method), settings, str(direction))
    if not quiet:
        rows, columns = result.shape
        print(f"{out}: {words}, {result.dtype} [{rows:,} images, {columns:,} captions]")
