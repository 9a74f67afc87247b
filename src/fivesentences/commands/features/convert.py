"""`fivesentences features convert`: between all the formats that image features are kept in."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.errors import InputError


class FormatName(StrEnum):
    """The formats of ``features.formats.known``, which takes a second to import."""

    TABLE = "table"
    PRECOMP = "precomp"
    TSV = "tsv"
    LXMERT = "lxmert"
    NPY = "npy"
    NPZ = "npz"
    DAA = "daa"
    VQA = "vqa"


class StorageName(StrEnum):
    """Types of numbers."""

    FLOAT16 = "float16"
    FLOAT32 = "float32"


_NAMES = ", ".join(FormatName)


def convert(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FROM... TO", help="files or folders of features, and last what to write")
    ],
    target: Annotated[
        FormatName | None,
        typer.Option("--to", metavar="FORMAT", help=f"{_NAMES}; default: what the name TO tells"),
    ] = None,
    source: Annotated[
        FormatName | None,
        typer.Option("--from", metavar="FORMAT", help="likewise; default: what names and contents of FROM tell"),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT,...",
            help="leave out what the new format cannot hold: counts, boxes, sizes, scores, classes, attributes, "
            "attribute_scores, filenames",
        ),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="only these images in this order, one id per line, such as train_ids.txt"),
    ] = None,
    repeat: Annotated[
        int, typer.Option(metavar="N", help="precomp, daa: rows per image; the releases have 5 for dev and test")
    ] = 1,
    storage: Annotated[
        StorageName | None, typer.Option("--as", metavar="TYPE", help="float16 or float32; default: as stored")
    ] = None,
) -> None:
    """Convert features between the formats that the community has.

    table    X.npy with X.images.parquet (and boxes, sizes, source beside)
    precomp  SPLIT_ims.npy of SCAN, VSRN, CVSE, SGRAF, with SPLIT_ids.txt
    tsv      bottom-up attention's TSV, 6 columns; lxmert: 10 columns
    npy      a folder with an .npy per image; npz: with boxes, as MILVLG's
    daa      SPLIT.h5 with the dataset feat, of DAA, with SPLIT_ids.txt
    vqa      HDF5 of VQA models, with its _imgid2idx.pkl

    What the new format cannot hold is not lost silently: name it with --drop.
    Several files FROM are joined. Memory holds one image at a time, and TO
    appears when it is complete.

    Examples:

        fivesentences features convert trainval_36.tsv features.npy

        fivesentences features convert trainval_36.tsv dev_ims.npy --ids dev_ids.txt --repeat 5 --drop boxes,sizes

        fivesentences features convert train_ims.npy dev_ims.npy test_ims.npy features.npy --as float16
    """
    from fivesentences.features.formats import convert as converted
    from fivesentences.features.formats.record import FACTS

    if len(paths) < 2:
        raise InputError("give what to convert, and last what to write.")
    *sources, out = paths
    done = converted(
        sources,
        out,
        source_format=source,
        target_format=target,
        drop=[fact.strip() for facts in drop or [] for fact in facts.split(",") if fact.strip()],
        ids=ids,
        repeat=repeat,
        storage="as_stored" if storage is None else storage.value,
    )
    outline = done.outline
    regions = ""
    if outline.counts is not None:
        fewest, most = int(outline.counts.min()), int(outline.counts.max())
        regions = f" of {fewest} regions" if fewest == most else f" of {fewest} to {most} regions"
    facts = "".join(f", {fact}" for fact in FACTS if fact in outline.facts)
    print(f"{out}: {done.written}, {len(outline):,} images{regions}, {outline.dim:,} numbers ({outline.dtype}){facts}")
    if done.dropped:
        print(f"left out, as asked: {', '.join(done.dropped)}")
