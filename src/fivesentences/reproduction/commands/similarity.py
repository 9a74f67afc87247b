"""`fivesentences similarity`: images and captions scored by a trained model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fivesentences.choices import Split
from fivesentences.commands.arguments import SPLITS, Device, Out, Quiet, split_asked
from fivesentences.errors import InputError, need
from fivesentences.storage import check_npy, check_outputs, replacing, together, write_lines

RUN, IMPORTED = "weights.safetensors", "released.safetensors"


def similarity(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    *,
    out: Out,
    split: Annotated[Split, typer.Option(parser=split_asked, metavar=SPLITS)] = "test",
    corpus: Path | None = None,
    features: Path | None = None,
    vocabulary: Path | None = None,
    captions: Path | None = None,
    image_of_caption: Path | None = None,
    device: Device = "cpu",
    quiet: Quiet = False,
) -> None:
    """Score every image of a split with every caption of it, by a run or an imported checkpoint.

    The matrix is float32 with one row per image and one column per caption, in
    the order of the corpus. RUN is a folder such as results/training/SOME/RUN;
    its weights.safetensors, vocabulary.json and run.yaml must be of one run, and
    all three are read even where --corpus and --features are given.

    RUN may also be a folder that "fivesentences checkpoint import" made. It
    names neither corpus nor features nor the authors' vocabulary: give all
    three. Features are read as they are stored; they must be of the kind
    (mostly bottom-up regions) and size that the authors trained with.

    Args:
        run: Folder of a finished run, or of an imported checkpoint.
        out: The matrix, .npy.
        split: Split to score.
        corpus: Corpus (the table of captions), .parquet; default: the one in run.yaml.
        features: Its features, .npy; default: those in run.yaml.
        vocabulary: The authors' vocabulary of an imported checkpoint, *_vocab.json.
        captions: Also write the captions to this file, one per line.
        image_of_caption: Also write the index of each caption's image, one per line.
        device: Where the model runs.
        quiet: No progress bar, and nothing about what was written.

    Examples:

        fivesentences similarity RUN -o sims.npy --captions captions.txt

        fivesentences similarity scan -o sims.npy --corpus f30k.parquet \\
        --features f30k.npy --vocabulary f30k_precomp_vocab.json
    """
    check_npy(out, "a similarity matrix")
    outputs = {"--out": out, "--captions": captions, "--image-of-caption": image_of_caption}
    check_outputs(outputs, [corpus, features, vocabulary])
    imported = not (run / RUN).is_file()
    if imported and not (run / IMPORTED).is_file():
        what = f"there is no {RUN} in it; name the folder of a finished run, or of an imported checkpoint."
        raise InputError(what, where=run)
    if not imported and vocabulary is not None:
        raise InputError(f"{run} is a run of ours and has its own vocabulary; leave --vocabulary out.")
    need("torch", "train", "scoring by a trained model")
    from fivesentences.reproduction.evaluation.scoring import files_of_run, score_imported, score_split  # needs torch

    check_outputs(outputs, files_of_run(run))
    label = f"score {split} by {run}" if sys.stderr.isatty() else ""
    if not imported:
        gallery, matrix = score_split(run, split, corpus, features, device, label=label)
    elif corpus is None or features is None or vocabulary is None:
        what = f"{run} is an imported checkpoint, which names no data; give --corpus, --features and --vocabulary."
        raise InputError(what)
    else:
        gallery, matrix = score_imported(run, split, corpus, features, vocabulary, device, label=label)
    with together():
        with replacing(out) as temporary:
            np.save(temporary, matrix)
        if captions is not None:
            write_lines(captions, gallery.captions)
        if image_of_caption is not None:
            write_lines(image_of_caption, gallery.image_of_caption.tolist())
    rows, columns = matrix.shape
    print(f"{out}: similarity, float32 [{rows:,} images, {columns:,} captions] of {gallery.name}/{split}")
