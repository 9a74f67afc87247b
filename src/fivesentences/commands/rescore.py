"""`fivesentences rescore`: another inference method on the same similarity matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fivesentences.commands import given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError


def rescore(
    matrix: Annotated[Path, typer.Argument(metavar="SIMILARITY", help=f"[images, captions], {given.MATRIX}")],
    method: Annotated[str, typer.Option(help="naive, inverted_softmax, csls or assignment")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the new matrix, .npy")],
    k: Annotated[int | None, typer.Option("-k", min=1, help="csls: neighbours on either side (default 10)")] = None,
    beta: Annotated[float | None, typer.Option(help="inverted_softmax: inverse temperature (default 30)")] = None,
    direction: Annotated[
        str, typer.Option(help="i2t (images are queries) or t2i; inverted_softmax differs by it")
    ] = "i2t",
    include_self: Annotated[
        bool, typer.Option("--include-self", help="inverted_softmax: the pair itself is in its own sum")
    ] = False,
    captions_per_image: Annotated[
        int | None, typer.Option(min=1, help="assignment: slots of an image (default: as many as it has captions)")
    ] = None,
    image_of_caption: Annotated[
        Path | None, typer.Option(metavar="FILE", help="assignment: index of each caption's image, one a line")
    ] = None,
    solver: Annotated[
        str | None, typer.Option(help="assignment: auto (default), exact (small matrices) or auction")
    ] = None,
    transposed: given.Transposed = False,
    quiet: given.Quiet = False,
) -> None:
    """Score again by a method that looks at all queries at once.

    Such methods read the whole test set, queries and gallery; say so beside the
    numbers. Give every image once.

    Examples:

        fivesentences rescore sims.npy --method csls -k 10 -o out.npy

        fivesentences rescore sims.npy --method inverted_softmax --direction t2i -o t2i.npy
    """
    from fivesentences.evaluation.reading import check_orientation, read_similarity
    from fivesentences.retrieval import INFERENCE
    from fivesentences.retrieval import rescore as rescored

    if method not in INFERENCE:
        raise InputError(f"--method is '{method}'; it is one of {', '.join(INFERENCE)}.")
    if direction not in ("i2t", "t2i"):
        raise InputError(f"--direction is '{direction}'; it is i2t (images are queries) or t2i (captions are).")
    if out.suffix != ".npy":
        raise InputError(f"{out}: the name of a similarity matrix must end in .npy.")
    options: dict[str, Any] = {}
    for name, value, of in (
        ("k", k, "csls"),
        ("beta", beta, "inverted_softmax"),
        ("include_self", include_self or None, "inverted_softmax"),
        ("captions_per_image", captions_per_image, "assignment"),
        ("image_of_caption", image_of_caption, "assignment"),
        ("solver", solver, "assignment"),
    ):
        if value is None:
            continue
        if method != of:
            option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
            raise InputError(f"{option} belongs to {of}, but --method is {method}; leave it out.")
        options[name] = value
    with quietly(quiet):
        similarity = read_similarity(matrix, transposed)
        if image_of_caption is None:
            n_rows, n_columns = similarity.shape
            check_orientation((n_rows, n_columns), None, None, str(matrix))
        else:
            options["image_of_caption"] = given.pairing_of(image_of_caption, similarity.shape[1])
        with given.working(f"{method} of {matrix}"):
            result = rescored(similarity, method, direction, out=out, **options)
    if not quiet:
        settings = "".join(f", {name} = {value}" for name, value in options.items() if name != "image_of_caption")
        rows, columns = result.shape
        print(f"{out}: {method}{settings}, {result.dtype} [{rows:,} images, {columns:,} captions]")
