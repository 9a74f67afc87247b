"""`fivesentences captions`: write the captions of a dataset, one per line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import typer

from fivesentences.commands.arguments import Dataset, Downloads, Out, Quiet, Split
from fivesentences.commands.download import catalogue_of
from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import read
from fivesentences.corpus import Corpus
from fivesentences.errors import InputError, did_you_mean
from fivesentences.evaluation.benchmark_captions import benchmark_split
from fivesentences.storage import check_outputs, write_lines

DATASETS = get_args(Dataset)
# What the workflow calls these datasets.
_OTHER_NAMES = {"flickr30k": "f30k", "coco": "coco-5k", "mscoco": "coco-5k", "f8k": "flickr8k"}


def captions(
    dataset: Annotated[str, typer.Argument(metavar="DATASET")],
    *,
    out: Out,
    split: Split = "test",
    image_of_caption: Path | None = None,
    image_names: Path | None = None,
    downloads: Downloads,
    quiet: Quiet = False,
) -> None:
    """Write the captions of a dataset, in the order that "evaluate --dataset" expects.

    DATASET is a name of "evaluate --dataset", whose files "fivesentences
    download" fetches (flickr8k, flickr30k or coco) or a mirror holds; of each
    image it has the first five captions. Or it is a corpus that the workflow
    made, such as results/corpus/my_images.parquet, with all of its captions.

    The captions of an image stand together, and images are in the order of
    their dataset. coco-1k-5fold and coco-1k-first have the 5,000 images of
    coco-5k, which "evaluate" cuts.

    Args:
        dataset: flickr8k, f30k, coco-5k, coco-1k-5fold or coco-1k-first; or a corpus, .parquet.
        out: The captions, one per line.
        split: Split of the dataset.
        image_of_caption: Also write the index of each caption's image, one per line.
        image_names: Also write the file of each image, one per line.
        quiet: Say nothing about what was written.

    Examples:

        fivesentences captions f30k -o captions.txt

        fivesentences phi cider captions.txt -o cider.npy
    """
    outputs = {"--out": out, "--image-of-caption": image_of_caption, "--image-names": image_names}
    check_outputs(outputs, [None if dataset in DATASETS else Path(dataset), catalogue_of(downloads)])
    corpus = corpus_of(dataset, split, downloads)
    counts = np.bincount(corpus.image_of_caption)
    fewest, most = int(counts.min()), int(counts.max())
    if fewest != most and image_of_caption is None:
        raise InputError(
            f"{dataset}: an image of {split} has {fewest} to {most} captions, so the captions alone do not say whose "
            "they are; write that too with --image-of-caption FILE."
        )
    write_lines(out, corpus.captions)
    if image_of_caption is not None:
        write_lines(image_of_caption, corpus.image_of_caption.tolist())
    if image_names is not None:
        write_lines(image_names, corpus.images["filename"])
    needed = f"--per-image {most}" if most == fewest else f"--image-of-caption {image_of_caption}"
    phi = "" if most == fewest == 5 else f'; "phi" needs {needed}'
    print(f"{out}: {corpus.n_captions:,} captions of {corpus.n_images:,} images, {dataset}/{split}{phi}")


def corpus_of(dataset: str, split: str, downloads: Downloads) -> Corpus:
    """Read a split of a data set by its name, or of a corpus by its file.

    Raises:
        InputError: If it is neither, or a file is missing or damaged.
    """
    if dataset in DATASETS:
        folders = [downloads.data, *([] if downloads.mirror is None else [downloads.mirror])]
        return benchmark_split(dataset, split, read(Catalogue, catalogue_of(downloads)), folders)
    if Path(dataset).suffix == ".parquet":
        return Corpus.read(dataset).split(split)
    meant = _OTHER_NAMES.get(dataset.lower())
    hint = f"did you mean '{meant}'?" if meant else did_you_mean(dataset, DATASETS)
    what = f"'{dataset}' is neither a dataset ({', '.join(DATASETS)}) nor a corpus (.parquet)"
    raise InputError(f"{what}{f'; {hint}' if hint else '.'}")
