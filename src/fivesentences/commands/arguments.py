"""What several commands are given: similarities or embeddings, phi files, captions, and whose captions they are."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, overload

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.errors import InputError

MATRIX = ".npy, .npz, .json, .csv or .pt"
SHAPE = r"\[images, captions]"  # escaped, since typer takes square brackets for markup
CELLS_AT_ONCE = 1 << 22


class DatasetName(StrEnum):
    """The protocols of ``evaluation.protocols``, which takes half a second to import."""

    FLICKR8K = "flickr8k"
    F30K = "f30k"
    COCO_5K = "coco-5k"
    COCO_1K_5FOLD = "coco-1k-5fold"
    COCO_1K_FIRST = "coco-1k-first"


class Side(StrEnum):
    """What the queries are."""

    I2T = "i2t"
    T2I = "t2i"


Phi = Annotated[
    list[str] | None,
    typer.Option("--phi", metavar="FILE", help="a phi matrix; again for more; NAME=FILE names it"),
]
Dataset = Annotated[
    DatasetName | None,
    typer.Option(
        "--dataset",
        "--protocol",
        metavar="NAME",
        help=f"{', '.join(list(DatasetName)[:-1])} or {list(DatasetName)[-1]}; else one gallery of everything",
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


def similarity_of(path: Path, transposed: bool) -> NDArray[Any]:
    """A similarity ``[images, captions]``, every value finite.

    Raises:
        InputError: As ``read_similarity``; or a value is not finite.
    """
    from fivesentences.evaluation.reading import read_similarity

    similarity = read_similarity(path, transposed)
    check_finite(
        similarity,
        lambda image, caption: f"{path}: similarity[{image}, {caption}]",
        lambda image, caption: f"image {image}, caption {caption}",
        "an embedding of zeros divided by its length gives NaN, and float16 ends at 65504: write the matrix again",
    )
    return similarity


def check_similarity(
    similarity: NDArray[Any], dataset: DatasetName | None, image_of_caption: Path | None, path: Path
) -> tuple[int, int]:
    """Images and captions, after a look at the shape: before phi is read, whose misfit would be a riddle.

    Raises:
        InputError: If the shape is not the protocol's, the matrix is turned round, or rows repeat images.
    """
    from fivesentences.evaluation.protocols import check_fit, protocol_named
    from fivesentences.evaluation.reading import check_orientation
    from fivesentences.retrieval.matrices import repeats

    n_images, n_captions = similarity.shape
    if n_images == n_captions and (often := repeats(similarity)) > 1:
        raise InputError(
            f"{path} has {n_images} rows but they repeat {n_images // often} images {often} times each; every image "
            f"counts once: keep one row of each, in Python similarity[::{often}]."
        )
    if dataset is not None:
        check_fit(protocol_named(dataset), n_images, n_captions, str(path))
    elif image_of_caption is None:
        check_orientation((n_images, n_captions), None, None, str(path))
        if n_images > n_captions:
            raise InputError(
                f"{path} is [{n_images}, {n_captions}] and looks transposed: rows are images and columns captions; "
                "give --transposed."
            )
        if n_captions % n_images:
            raise InputError(
                f"{path} is [{n_images}, {n_captions}]: {n_captions} captions are not equal blocks for {n_images} "
                "images; say whose each caption is with --image-of-caption FILE."
            )
    else:
        _check_pairing_file(image_of_caption, n_images, n_captions, path)
    return n_images, n_captions


def _check_pairing_file(image_of_caption: Path, n_images: int, n_captions: int, path: Path) -> None:
    """Refuse a similarity that is transposed with respect to the file that says whose captions there are."""
    from fivesentences.evaluation.reading import check_orientation
    from fivesentences.semantics.caption_file import read_pairing

    try:
        pairing = read_pairing(image_of_caption, n_images)
    except InputError:
        return  # it does not name as many captions as there are rows, so nothing is turned round
    check_orientation((n_images, n_captions), int(pairing.max()) + 1, n_images, str(path))


def phis_of(
    files: Sequence[str] | None,
    n_images: int,
    n_captions: int,
    pairing: NDArray[Any] | None = None,
    captions: Sequence[str] | None = None,
    more_rows: bool = False,
) -> dict[str, NDArray[Any]]:
    """phi matrices by name, every value finite, and of the captions and the pairing that are scored.

    Args:
        files: What was given, perhaps NAME=FILE.
        n_images: Images of the similarity.
        n_captions: Its captions.
        pairing: ``[captions]`` image of each; default equal blocks.
        captions: The captions, if they are known.
        more_rows: Whether a phi may have further rows.

    Raises:
        InputError: If one does not fit, holds a value that is not finite, or two have the same name.
    """
    from fivesentences.evaluation.reading import read_phi_for

    if pairing is None and files and n_captions % n_images == 0:
        pairing = np.repeat(np.arange(n_images), n_captions // n_images)
    named: dict[str, NDArray[Any]] = {}
    for file in files or ():
        name, phi = read_phi_for(file, n_images, n_captions, pairing, captions, more_rows)
        if name in named:
            raise InputError(f"{file}: another phi is called '{name}' too; name them: --phi NAME=FILE.")
        check_finite(
            phi,
            lambda caption, image, file=file: f"{file}: phi[{caption}, {image}]",  # type: ignore[misc]
            lambda caption, image: f"image {image}, caption {caption}",
            "make it again with 'fivesentences phi', or put 0 where the metric says nothing",
        )
        named[name] = phi
    return named


def check_finite(
    matrix: NDArray[Any], name: Callable[[int, int], str], place: Callable[[int, int], str], cure: str
) -> None:
    """Refuse NaN and infinity, before anything is computed and with the file's own indices.

    Raises:
        InputError: The first such value by rows.
    """
    if matrix.dtype.kind != "f":
        return
    rows, columns = matrix.shape
    many = max(1, CELLS_AT_ONCE // columns)
    for start in range(0, rows, many):
        good = np.isfinite(matrix[start : start + many])
        if not good.all():
            first, column = (int(index[0]) for index in np.nonzero(~good))
            row = start + first
            raise InputError(
                f"{name(row, column)} is {matrix[row, column]} ({place(row, column)}); every value must be finite: "
                f"{cure}."
            )


@overload
def numbers_of(text: str, option: str) -> tuple[int, ...]: ...
@overload
def numbers_of(text: str, option: str, words: Mapping[str, Any]) -> tuple[Any, ...]: ...
def numbers_of(text: str, option: str, words: Mapping[str, Any] = MappingProxyType({})) -> tuple[Any, ...]:
    """Whole numbers of at least 1 with commas between them.

    Args:
        text: What was typed.
        option: After which option.
        words: What stands for something else, and for what.

    Raises:
        typer.BadParameter: If it is something else.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part in words or (part.isascii() and part.isdigit() and int(part)) for part in parts):
        also = "".join(f" or '{word}'" for word in words)
        raise typer.BadParameter(
            f"it is '{text}'; give whole numbers of at least 1{also}, with commas between them, such as 1,5,10.",
            param_hint=option,
        )
    return tuple(words[part] if part in words else int(part) for part in parts)


def need(package: str, extra: str, what: str) -> None:
    """Ask for a package of an extra before anything costly is done.

    Raises:
        InputError: If it is not installed; how to install it.
    """
    try:
        found = importlib.util.find_spec(package) is not None
    except ImportError:
        found = False
    if not found:
        raise InputError(f"{what} needs {package}, which is not installed; {install(extra)}.")


def install(extra: str) -> str:
    """How an extra is installed: the project is no package of a registry."""
    return f'in the checkout: pip install ".[{extra}]"'


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
