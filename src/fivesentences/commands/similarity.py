"""`fivesentences similarity`: a trained run scores a split."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fivesentences.commands import given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError
from fivesentences.storage import check_writable, replacing


class SplitName(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class Device(StrEnum):
    """Where a model runs."""

    CPU = "cpu"
    CUDA = "cuda"
    AUTO = "auto"


def similarity(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="folder of a finished run: weights, vocabulary, run.yaml")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the matrix, .npy")],
    split: Annotated[SplitName, typer.Option(metavar="NAME", help="train, dev or test")] = SplitName.TEST,
    corpus: Annotated[
        Path | None, typer.Option(metavar="FILE", help="corpus, .parquet (default: the one of run.yaml)")
    ] = None,
    features: Annotated[
        Path | None, typer.Option(metavar="FILE", help="its features, .npy (default: those of run.yaml)")
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="also write the captions there, one a line")
    ] = None,
    image_of_caption: Annotated[
        Path | None, typer.Option(metavar="FILE", help="also write the index of each caption's image, one a line")
    ] = None,
    device: Annotated[Device, typer.Option(metavar="NAME", help="cpu, cuda or auto")] = Device.CPU,
    quiet: given.Quiet = False,
) -> None:
    """Score every image of a split with every caption of it, by a trained run.

    The matrix is float32, a row an image, a column a caption, in the corpus's
    order. RUN is a folder such as results/training/SOME/RUN.

    Example:

        fivesentences similarity RUN -o sims.npy --captions captions.txt
    """
    if out.suffix != ".npy":
        raise InputError(f"{out}: the name of a similarity matrix must end in .npy.")
    for path in (out, captions, image_of_caption):
        if path is not None:
            check_writable(path)
    if not (run / "weights.safetensors").is_file():
        raise InputError(f"{run}: there is no weights.safetensors in it; name the folder of a finished run.")
    given.need("torch", "train", "scoring by a trained run")
    from fivesentences.evaluation.scoring import score_split

    with quietly(quiet), given.working(f"score {split} by {run}"):
        gallery, matrix = score_split(run, split, corpus, features, device)
    with replacing(out) as temporary:
        np.save(temporary, matrix)
    if captions is not None:
        _write_lines(captions, gallery.captions)
    if image_of_caption is not None:
        _write_lines(image_of_caption, gallery.image_of_caption.tolist())
    if not quiet:
        rows, columns = matrix.shape
        print(f"{out}: similarity, float32 [{rows:,} images, {columns:,} captions] of {gallery.name}/{split}")


def _write_lines(path: Path, lines: Iterable[object]) -> None:
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
