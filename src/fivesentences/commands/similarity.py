"""`fivesentences similarity`: score a split by a trained run or an imported checkpoint."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError
from fivesentences.storage import check_npy, check_outputs, check_writable, replacing, write_lines

RUN, IMPORTED = "weights.safetensors", "released.safetensors"


class Device(StrEnum):
    """Where a model runs."""

    CPU = "cpu"
    CUDA = "cuda"
    AUTO = "auto"


def similarity(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="folder of a finished run, or of an imported checkpoint")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the matrix, .npy")],
    split: given.SplitOf = given.SplitName.TEST,
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="corpus (the table of captions), .parquet (default: the one in run.yaml)"),
    ] = None,
    features: Annotated[
        Path | None, typer.Option(metavar="FILE", help="its features, .npy (default: those in run.yaml)")
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="of an imported checkpoint: the authors' vocabulary, *_vocab.json"),
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="also write the captions to this file, one per line")
    ] = None,
    image_of_caption: given.WriteImageOfCaption = None,
    device: Annotated[Device, typer.Option(metavar="NAME", help="cpu, cuda or auto")] = Device.CPU,
    quiet: given.Quiet = False,
) -> None:
    """Score every image of a split with every caption of it, by a trained run or an imported checkpoint.

    The matrix is float32 with one row per image and one column per caption, in
    the order of the corpus. RUN is a folder such as results/training/SOME/RUN;
    its weights.safetensors, vocabulary.json and run.yaml must be of one run, and
    all three are read even where --corpus and --features are given.

    RUN may also be a folder that "fivesentences checkpoint import" made. It
    names neither corpus nor features nor the authors' vocabulary: give all
    three. Features are read as they are stored; they must be of the kind
    (mostly bottom-up regions) and size that the authors trained with.

    Examples:

        fivesentences similarity RUN -o sims.npy --captions captions.txt

        fivesentences similarity scan -o sims.npy --corpus f30k.parquet
        --features f30k.npy --vocabulary f30k_precomp_vocab.json
    """
    check_npy(out, "a similarity matrix")
    for path in (out, captions, image_of_caption):
        if path is not None:
            check_writable(path)
    imported = not (run / RUN).is_file() and (run / IMPORTED).is_file()
    if not imported and not (run / RUN).is_file():
        raise InputError(
            f"there is no {RUN} in it; name the folder of a finished run, or of an imported checkpoint.", where=run
        )
    if not imported and vocabulary is not None:
        raise InputError(f"{run} is a run of ours and has its own vocabulary; leave --vocabulary out.")
    from fivesentences.evaluation.scoring import files_of_run, score_imported, score_split

    check_outputs(
        {"--out": out, "--captions": captions, "--image-of-caption": image_of_caption},
        [corpus, features, vocabulary, *files_of_run(run)],
    )
    label = f"score {split} by {run}" if sys.stderr.isatty() else ""
    with quietly(quiet):
        if imported:
            if corpus is None or features is None or vocabulary is None:
                raise InputError(
                    f"{run} is an imported checkpoint, which names no data; give --corpus, --features and --vocabulary."
                )
            gallery, matrix = score_imported(run, split, corpus, features, vocabulary, device, label=label)
        else:
            gallery, matrix = score_split(run, split, corpus, features, device, label=label)
    with replacing(out) as temporary:
        np.save(temporary, matrix)
    if captions is not None:
        write_lines(captions, gallery.captions)
    if image_of_caption is not None:
        write_lines(image_of_caption, gallery.image_of_caption.tolist())
    if not quiet:
        rows, columns = matrix.shape
        print(f"{out}: similarity, float32 [{rows:,} images, {columns:,} captions] of {gallery.name}/{split}")
