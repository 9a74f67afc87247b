"""What several commands are given: similarities or embeddings, phi files, captions, and whose captions they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from fivesentences.errors import InputError

MATRIX = ".npy, .npz, .json, .csv or .pt"
Phi = Annotated[
    list[str] | None,
    typer.Option("--phi", metavar="FILE", help="a phi matrix; again for more; NAME=FILE names it"),
]
Dataset = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        "--protocol",
        metavar="NAME",
        help="f30k, flickr8k, coco-5k, coco-1k-5fold or coco-1k-first; else one gallery of everything",
    ),
]
ImageOfCaption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="index of each caption's image, from 0, one a line")
]
Transposed = Annotated[bool, typer.Option("--transposed", help="rows of the similarity are captions")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write JSON; - is standard output")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="write one row a number; - as above")]
Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="write the table; - as above")]
Latex = Annotated[Path | None, typer.Option("--latex", metavar="FILE", help="write the table; - as above")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no progress, and no table where it is written to a file")]


def pairing_of(path: Path | None, n_captions: int) -> NDArray[Any] | None:
    """Image of each caption from a file, if one is named."""
    from fivesentences.semantics.caption_file import read_pairing

    return None if path is None else read_pairing(path, n_captions)


def phis_of(files: Sequence[str] | None, n_images: int, n_captions: int) -> dict[str, NDArray[Any]]:
    """phi matrices by name.

    Raises:
        InputError: If one does not fit, or two have the same name.
    """
    from fivesentences.evaluation.reading import read_phi_for

    named: dict[str, NDArray[Any]] = {}
    for file in files or ():
        name, phi = read_phi_for(file, n_images, n_captions)
        if name in named:
            raise InputError(f"{file}: another phi is called '{name}' too; name them: --phi NAME=FILE.")
        named[name] = phi
    return named


def numbers_of(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers with commas between them.

    Raises:
        InputError: If it is something else.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(f"{option} is '{text}'; give whole numbers with commas between them, such as 1,5,10.")
    return tuple(map(int, parts))


@contextmanager
def working(what: str, steps: int = 1) -> Iterator[Callable[..., None]]:
    """A bar on a terminal while something runs, or a sign of life and the time if it has one step; else nothing.

    Yields:
        A function to call after each step.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    sign = (BarColumn(), TimeRemainingColumn()) if steps > 1 else (SpinnerColumn(),)
    columns = (TextColumn("{task.description}"), *sign, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=steps if steps > 1 else None)
        yield lambda *_: progress.advance(task)
