"""`fivesentences captions`: write the captions of a dataset, one per line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.arguments import DatasetName
from fivesentences.commands.download import catalogue_of
from fivesentences.errors import InputError, did_you_mean
from fivesentences.storage import check_outputs, check_writable, write_lines

if TYPE_CHECKING:
    from fivesentences.corpus import Corpus

# What the workflow calls these datasets.
_OTHER_NAMES = {"flickr30k": "f30k", "coco": "coco-5k", "mscoco": "coco-5k", "f8k": "flickr8k"}


def captions(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help=f"{', '.join(DatasetName)}; or a corpus, .parquet")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the captions, one per line")],
    split: given.SplitOf = given.SplitName.TEST,
    image_of_caption: given.WriteImageOfCaption = None,
    image_names: Annotated[
        Path | None,
        typer.Option("--image-names", metavar="FILE", help="also write the file of each image, one per line"),
    ] = None,
    data: given.Data = Path("data"),
    mirror: given.Mirror = None,
    catalogue: given.Catalogue = None,
    quiet: given.Quiet = False,
) -> None:
    """Write the captions of a dataset, in the order that "evaluate --dataset" expects.

    DATASET is a name of "evaluate --dataset", whose files "fivesentences
    download" fetches (flickr8k, flickr30k or coco) or a mirror holds; of each
    image it has the first five captions. Or it is a corpus that the workflow
    made, such as results/corpus/my_images.parquet, with all of its captions.

    The captions of an image stand together, and images are in the order of
    their dataset. coco-1k-5fold and coco-1k-first have the 5,000 images of
    coco-5k, which "evaluate" cuts.

    Examples:

        fivesentences captions f30k -o captions.txt

        fivesentences phi cider captions.txt -o cider.npy
    """
    read = None if dataset in set(DatasetName) else Path(dataset)
    outputs = {"--out": out, "--image-of-caption": image_of_caption, "--image-names": image_names}
    check_outputs(outputs, [read, catalogue_of(catalogue)])
    for path in outputs.values():
        if path is not None:
            check_writable(path)
    corpus = corpus_of(dataset, split, data, mirror, catalogue)
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
    if not quiet:
        phi = "" if most == fewest == 5 else f'; "phi" needs --per-image {most}'
        phi = phi if most == fewest else f'; "phi" needs --image-of-caption {image_of_caption}'
        print(f"{out}: {corpus.n_captions:,} captions of {corpus.n_images:,} images, {dataset}/{split}{phi}")


def corpus_of(dataset: str, split: str, data: Path, mirror: Path | None, catalogue: Path | None) -> Corpus:
    """A split of a data set by its name, or of a corpus by its file.

    Raises:
        InputError: If it is neither, or a file is missing or damaged.
    """
    if dataset in set(DatasetName):
        return _of_benchmark(dataset, split, data, mirror, catalogue_of(catalogue))
    return _of_file(dataset, split)


def _of_benchmark(dataset: str, split: str, data: Path, mirror: Path | None, catalogue: Path) -> Corpus:
    from fivesentences.config.datasets import Catalogue
    from fivesentences.config.reading import read
    from fivesentences.evaluation.benchmark_captions import benchmark_split

    folders = [data] if mirror is None else [data, mirror]
    return benchmark_split(dataset, split, read(Catalogue, catalogue), folders)


def _of_file(dataset: str, split: str) -> Corpus:
    from fivesentences.corpus import Corpus

    if Path(dataset).suffix != ".parquet":
        names = ", ".join(DatasetName)
        meant = _OTHER_NAMES.get(dataset.lower())
        hint = f"did you mean '{meant}'?" if meant else did_you_mean(dataset, DatasetName)
        raise InputError(
            f"'{dataset}' is neither a dataset ({names}) nor a corpus (.parquet){f'; {hint}' if hint else '.'}"
        )
    return Corpus.read(dataset).split(split)
