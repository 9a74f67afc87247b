"""`fivesentences captions`: write the captions of a dataset or of a table, one per line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import pyarrow.parquet
import typer

from fivesentences.choices import CATALOGUE_NAMES, Split, datasets_called, each_once
from fivesentences.commands.arguments import SPLITS, Dataset, Downloads, Out, Quiet, split_asked
from fivesentences.commands.download import catalogue_of
from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import read
from fivesentences.corpus import Corpus
from fivesentences.corpus.caption_tables import SUFFIXES, CaptionTable, read_caption_table
from fivesentences.errors import InputError, counted, did_you_mean
from fivesentences.evaluation.benchmark_captions import benchmark_split
from fivesentences.storage import check_outputs, together, write_lines

DATASETS = get_args(Dataset)


def captions(
    dataset: Annotated[str, typer.Argument(metavar="DATASET")],
    *,
    out: Out,
    split: Annotated[Split, typer.Option(parser=split_asked, metavar=SPLITS)] = "test",
    image_of_caption: Path | None = None,
    image_names: Path | None = None,
    column: list[str] | None = None,
    image_column: str | None = None,
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

    Or it is a file of others, or a folder of its parts: .parquet of Hugging
    Face's datasets, .tar of WebDataset, Flickr's token files, COCO's or
    Karpathy's JSON, .jsonl, or a CSV whose first line names its columns. Its
    captions stay in their order; photographs in it are not read.

    Args:
        dataset: flickr8k, f30k (or flickr30k), coco-5k (or coco), coco-1k-5fold or coco-1k-first; or a corpus,
            .parquet; or a table.
        out: The captions, one per line.
        split: Split of the dataset.
        image_of_caption: Also write the index of each caption's image, one per line.
        image_names: Also write the file (in some tables the id) of each image, one per line.
        column: Column of a table with a caption or a list of captions, or a field in it, such as de.caption; repeat for
            more; default: a usual name.
        image_column: Column of a table that names the image; default: a usual name, or every row is an image.
        quiet: Say nothing about what was written.

    Examples:

        fivesentences captions f30k -o captions.txt

        fivesentences phi cider captions.txt -o cider.npy

        fivesentences captions shards/test -o captions.txt

        fivesentences captions xm3600.jsonl --column de.caption -o de.txt --image-of-caption image_of_de.txt
    """
    outputs = {"--out": out, "--image-of-caption": image_of_caption, "--image-names": image_names}
    check_outputs(outputs, [None if benchmark_called(dataset) else Path(dataset), catalogue_of(downloads)])
    if is_table(dataset):
        table = read_caption_table(dataset, each_once(column or ()), image_column, split)
    elif column or image_column:
        raise InputError(f"{dataset} is not a table; leave --column and --image-column out.")
    else:
        corpus = corpus_of(dataset, split, downloads)
        table = CaptionTable(corpus.captions, corpus.image_of_caption, list(corpus.images["filename"]), split)
    what = dataset if table.split is None else f"{dataset}/{table.split}"
    counts = np.bincount(table.image_of_caption)
    fewest, most = int(counts.min()), int(counts.max())
    in_blocks = fewest == most and bool((np.diff(table.image_of_caption) >= 0).all())
    if not in_blocks and image_of_caption is None:
        raise InputError(
            f"{what}: an image has {fewest} to {most} captions{'' if fewest < most else ', not beside each other'}, so "
            "the captions alone do not say whose they are; write that too with --image-of-caption FILE."
        )
    with together():
        write_lines(out, table.captions)
        if image_of_caption is not None:
            write_lines(image_of_caption, table.image_of_caption.tolist())
        if image_names is not None:
            write_lines(image_names, table.images)
    needed = f"--per-image {most}" if in_blocks else f"--image-of-caption {image_of_caption}"
    phi = "" if in_blocks and most == 5 else f'; "phi" needs {needed}'
    print(f"{out}: {counted(len(table.captions), 'caption')} of {counted(len(table.images), 'image')}, {what}{phi}")


def benchmark_called(name: str) -> Dataset | None:
    """Return the benchmark that a name means; None if it is none, or a file of this name is here.

    All names of COCO mean its test split of 5,000 images.
    """
    meant = datasets_called(name)
    return meant[0] if meant and (name in DATASETS or not Path(name).exists()) else None


def is_table(dataset: str) -> bool:
    """Return True for a file or folder of captions that this program did not write, by its name and schema."""
    path = Path(dataset)
    if benchmark_called(dataset) or not (path.exists() or path.suffix in SUFFIXES):
        return False
    if path.suffix != ".parquet" or path.is_dir():
        return True
    try:
        labels = pyarrow.parquet.read_schema(path).metadata or {}
    except (OSError, ValueError, pyarrow.ArrowException):  # missing or damaged, which its reader says
        return False
    return not any(key.startswith(b"fivesentences") for key in labels)


def corpus_of(dataset: str, split: str, downloads: Downloads) -> Corpus:
    """Read a split of a data set by its name, or of a corpus by its file.

    Raises:
        InputError: If it is neither, or a file is missing or damaged.
    """
    if benchmark := benchmark_called(dataset):
        folders = [downloads.data, *([] if downloads.mirror is None else [downloads.mirror])]
        return benchmark_split(benchmark, split, read(Catalogue, catalogue_of(downloads)), folders)
    if Path(dataset).suffix == ".parquet":
        return Corpus.read(dataset).split(split)
    hint = did_you_mean(dataset, [*DATASETS, *CATALOGUE_NAMES.values()])
    tables = f"table (a folder, {', '.join(SUFFIXES)}, .csv, a token file)"
    what = f"'{dataset}' is neither a dataset ({', '.join(DATASETS)}) nor a corpus (.parquet) nor a {tables}"
    raise InputError(f"{what}{f'; {hint}' if hint else '.'}")
