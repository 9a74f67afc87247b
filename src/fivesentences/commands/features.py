"""`fivesentences features ...`: extract image features, find regions, convert files of features, and look at them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fivesentences.commands import arguments as given
from fivesentences.errors import InputError, need
from fivesentences.machine import device_named, processors

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.corpus import Photographs

# What these import takes a second, and `--help` should not wait for it; so each command imports what it needs.
features = typer.Typer(no_args_is_help=True, epilog=given.WORDS)
command = features.command(epilog=given.WORDS)

MOST_IMAGES = 40  # on one picture
PhotographPaths = Annotated[list[Path], typer.Argument(metavar="PHOTOGRAPHS...", help="folders or zip archives")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the .npy to write")]
OfCorpus = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="only the images of this corpus (.parquet), with its ids; default: all, by file name"
    ),
]
Part = Annotated[
    str,
    typer.Option(metavar="I/N", help="the I-th of N parts of the images, for N jobs; join with features convert"),
]
FormatName = Literal["table", "precomp", "tsv", "daa"]


@features.callback()
def _root() -> None:
    """Make files of image features, convert them and look at them.

    Examples:

        fivesentences features extract photos.zip --network resnet50 -o features.npy

        fivesentences features convert trainval_36.tsv features.npy
    """


@command
def extract(
    photographs: PhotographPaths,
    network: Annotated[
        str,
        typer.Option(
            metavar="NAME[:LAYOUT]",
            help="a timm network such as vgg19, resnet152:grid, vit_base_patch14_dinov2, or grid_descriptors; "
            "global (default): one vector per image, grid: one per cell",
        ),
    ],
    out: Out,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="weights of this network, .safetensors; default: timm downloads its own"),
    ] = None,
    corpus: OfCorpus = None,
    part: Part = "1/1",
    crops: Annotated[
        Literal["centre", "ten"],
        typer.Option(metavar="NAME", help="centre, or ten: the mean over corners, centre and their mirrors"),
    ] = "centre",
    normalise: Annotated[bool, typer.Option("--normalise", help="scale each vector to length 1")] = False,
    precision: given.Precision = given.PrecisionName.FLOAT32,
    storage: Annotated[
        Literal["auto", "float32", "float16"],
        typer.Option("--as", metavar="TYPE", help="float32 or float16; auto: float16 for more than 8,192 per image"),
    ] = "auto",
    on_corrupt: Annotated[
        Literal["fail", "skip", "zero"],
        typer.Option(metavar="WHAT", help="photographs that cannot be read: fail at the end, skip them, or zero rows"),
    ] = "fail",
    workers: Annotated[
        int | None, typer.Option(min=0, help="processes; default: one per core; 0: all in this process")
    ] = None,
) -> None:
    """Describe every photograph of a folder or archive by a network.

    FILE.npy gets one row per image, of one vector or of one per cell. Beside it
    are .images.parquet (ids and file names) and .source.json (network, SHA-256
    of its weights, how images are prepared, and all else that the numbers
    depend on). Training reads these files, and "fivesentences features convert"
    turns them into other formats.

    A run that was killed goes on with the images that are missing. Photographs
    that cannot be read are named at the end.

    Examples:

        fivesentences features extract photos.zip --network resnet152 -o resnet.npy

        fivesentences features extract photos --network vgg19 --crops ten --normalise -o vgg.npy

        fivesentences features extract photos --network resnet152:grid --part 2/4 -o part2.npy
    """
    name, colon, layout = network.partition(":")
    layout = layout if colon else "global"
    if not name or layout not in ("global", "grid"):
        raise typer.BadParameter(
            f"it is '{network}'; give NAME, NAME:global or NAME:grid, such as resnet152:grid.", param_hint="--network"
        )
    if name != "grid_descriptors":
        need("timm", "train", "a network")
    from fivesentences.corpus import Photographs
    from fivesentences.features import extract_features

    there = Photographs(*photographs)
    images = _images_of(there, corpus, part)
    done = extract_features(
        there,
        images,
        name,
        "grid" if layout == "grid" else "global",
        out,
        workers=min(processors() if workers is None else workers, len(images)),
        weights=weights,
        storage=storage,
        crops=crops,
        normalise=normalise,
        precision=precision.value,
        on_corrupt=on_corrupt,
    )
    count, *sizes = (f"{length:,}" for length in done.shape)
    cells = f" of {sizes[0]} cells" if len(sizes) == 2 else ""
    print(f"{out}: {count} images{cells}, {sizes[-1]} numbers ({done.dtype})")


@command
def regions(
    photographs: PhotographPaths,
    out: Out,
    network: Annotated[
        Literal["bottom_up", "faster_rcnn"],
        typer.Option(
            metavar="NAME", help="bottom_up (Visual Genome, needs --weights) or faster_rcnn (torchvision, COCO)"
        ),
    ] = "bottom_up",
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=".safetensors, a file of torch.save, or a pickle of arrays; nothing in it is run"
        ),
    ] = None,
    flavour: Annotated[
        Literal["d2", "caffe"] | None,
        typer.Option(
            metavar="NAME",
            help="bottom_up: whose conversion: d2 (Hugging Face, airsplay), the default, or caffe (MILVLG)",
        ),
    ] = None,
    count: Annotated[
        str, typer.Option("--regions", metavar="N", help="regions per image, or fewest and most: 36, 10-100")
    ] = "36",
    selection: Annotated[
        Literal["per_class", "class_agnostic"] | None,
        typer.Option(
            metavar="NAME",
            help="bottom_up: per_class (the original extraction), the default, or class_agnostic (its conversions)",
        ),
    ] = None,
    resize: Annotated[
        Literal["opencv", "pillow", "torch"] | None,
        typer.Option(
            metavar="NAME",
            help="bottom_up: opencv (Caffe, MILVLG), the default, pillow (airsplay) or torch (Hugging Face)",
        ),
    ] = None,
    short: Annotated[int | None, typer.Option(min=1, help="pixels of the shorter side; default 600 or 800")] = None,
    long: Annotated[int | None, typer.Option(min=1, help="most pixels of the longer; default 1000 or 1333")] = None,
    corpus: OfCorpus = None,
    part: Part = "1/1",
    on_corrupt: Annotated[
        Literal["fail", "skip"],
        typer.Option(metavar="WHAT", help="photographs that cannot be read: fail at the end, or skip them"),
    ] = "fail",
    storage: Annotated[
        Literal["float32", "float16"], typer.Option("--as", metavar="TYPE", help="float32 or float16")
    ] = "float32",
    device: given.Device = given.DeviceName.AUTO,
) -> None:
    """Find regions and describe them, for every photograph of a folder or archive.

    FILE.npy gets the features, and beside it .images.parquet, .regions.parquet
    (boxes, classes, scores) and .source.json: network, SHA-256 of the weights,
    and every rule that the numbers depend on. "fivesentences features convert"
    turns them into any other format.

    A run that was killed resumes with the next photograph. Those that cannot be
    read are named at the end.

    Examples:

        fivesentences features regions photos.zip --weights faster_rcnn_from_caffe_attr.pkl -o regions.npy

        fivesentences features regions photos --network faster_rcnn -o regions.npy

        fivesentences features regions photos --weights caffe.pth --flavour caffe --regions 10-100 --part 2/4
        -o part2.npy
    """
    need("torchvision", "train", "a detector")
    fewest, most = _range(count)
    of_bottom_up = {"--flavour": flavour, "--selection": selection, "--resize": resize}
    if network == "faster_rcnn" and (strange := [name for name, value in of_bottom_up.items() if value]):
        raise InputError(f"faster_rcnn has no {strange[0]}; leave it out, or give --network bottom_up.")
    from fivesentences.corpus import Photographs
    from fivesentences.features.detectors.extraction import detector_named, extract_regions

    there = Photographs(*photographs)
    images = _images_of(there, corpus, part)
    chosen = {"short": short, "long": long, "selection": selection, "resize": resize}
    settings: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    settings |= {"least": fewest, "most": most}
    detector = detector_named(network, weights, flavour or "d2", settings, device_named(device.value))
    done = extract_regions(there, images, detector, out, on_corrupt=on_corrupt, storage=storage)
    print(f"{out}: {done.images:,} images, {done.made:,} of them by this call, {detector.dim:,} numbers per region")
    for reason in done.corrupt:
        print(f"skipped: {reason}")


@command
def convert(
    paths: Annotated[list[Path], typer.Argument(metavar="FROM... TO", help="files of features, and last the result")],
    target: Annotated[
        FormatName | None,
        typer.Option("--to", metavar="FORMAT", help="table, precomp, tsv or daa; default: what the name TO tells"),
    ] = None,
    source: Annotated[
        FormatName | None, typer.Option("--from", metavar="FORMAT", help="likewise; default: what names of FROM tell")
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
        Literal["as_stored", "float16", "float32"],
        typer.Option("--as", metavar="TYPE", help="float16 or float32; default: as stored"),
    ] = "as_stored",
) -> None:
    """Convert features between the formats that the community has.

    table    X.npy with X.images.parquet (and boxes, sizes, source beside)
    precomp  SPLIT_ims.npy of SCAN, VSRN, CVSE, SGRAF, with SPLIT_ids.txt
    tsv      bottom-up attention's TSV, 6 columns (LXMERT's 10 are read)
    daa      SPLIT.h5 with the dataset feat, of DAA, with SPLIT_ids.txt

    What the new format cannot hold is not lost silently: name it with --drop.
    Several files FROM are joined. Memory holds the features of one image at a
    time, and TO appears when it is complete.

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
        storage=storage,
    )
    outline, of_regions = done.outline, ""
    if outline.counts is not None:
        fewest, most = int(outline.counts.min()), int(outline.counts.max())
        of_regions = f" of {fewest} regions" if fewest == most else f" of {fewest} to {most} regions"
    facts = "".join(f", {fact}" for fact in FACTS if fact in outline.facts)
    numbers = f"{outline.dim:,} numbers ({outline.dtype}){facts}"
    print(f"{out}: {done.written}, {len(outline):,} images{of_regions}, {numbers}")
    if done.dropped:
        print(f"left out, as asked: {', '.join(done.dropped)}")


@command
def show(
    path: Annotated[Path, typer.Argument(metavar="FEATURES", help="features in any format of 'features convert'")],
    photographs: Annotated[
        list[Path], typer.Option("--photographs", "-p", metavar="PATH", help="their folder or zip archive; repeatable")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the picture, .png")],
    what: Annotated[
        Literal["boxes", "neighbours"] | None,
        typer.Option(metavar="WHAT", help="boxes or neighbours; default: boxes where the features have any"),
    ] = None,
    image: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="an image; repeat for more; default: some, evenly spread")
    ] = None,
    count: Annotated[
        int | None, typer.Option("-n", min=1, max=100, help="boxes (default 10) or neighbours (default 6) per image")
    ] = None,
    classes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="names of the detector's classes, one per line, such as objects_vocab.txt"),
    ] = None,
    attributes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="likewise of attributes, such as attributes_vocab.txt")
    ] = None,
) -> None:
    """Draw photographs with the boxes of their regions, or beside their nearest neighbours.

    boxes       the best boxes of each image, numbered, with class, attribute
                and score where the features know them
    neighbours  a contact sheet: beside each image those with the most similar
                features (cosine; regions are averaged). Features that mean
                something put dogs beside dogs.

    A .pdf, the numbers (.csv) and notes (.json) are written beside the .png.

    Examples:

        fivesentences features show regions.npy -p photos.zip -o boxes.png --classes objects_vocab.txt

        fivesentences features show resnet.npy -p photos.zip -o sheet.png --image dog.jpg

        fivesentences features show trainval_36.tsv -p photos -o sheet.png --what neighbours -n 8
    """
    need("matplotlib", "workflow", "a picture")
    if out.suffix != ".png":
        raise InputError("the file name of a picture must end in .png.", where=out)
    from fivesentences.corpus import Photographs
    from fivesentences.features.formats import open_features
    from fivesentences.features.neighbours import rows_of
    from fivesentences.paper.figures.drawing import write_drawing
    from fivesentences.paper.figures.features import boxes_drawing, neighbours_drawing

    there = Photographs(*photographs)
    with open_features(path) as source:
        boxed = "boxes" in source.outline.facts
        what = what or ("boxes" if boxed else "neighbours")
        if what == "boxes" and not boxed:
            raise InputError("these features have no boxes", where=path, cure="draw them with --what neighbours")
        rows = rows_of(source, image or [], 4 if what == "boxes" else 8)
        if len(rows) > MOST_IMAGES:
            raise InputError(f"{len(rows)} images are too many for one picture; give at most {MOST_IMAGES}.")
        if what == "boxes":
            title, drawing = "Regions", boxes_drawing(source, rows, there, count or 10, classes, attributes)
        else:
            title, drawing = "Nearest images", neighbours_drawing(source, rows, there, count or 6)
    write_drawing(out.with_suffix(""), title, f"Features of {path.name}.", drawing)
    print(f"{out}: {what} of {len(rows)} images of {path} (numbers in {out.with_suffix('.csv').name})")


def _images_of(photographs: Photographs, corpus: Path | None, part: str) -> pd.DataFrame:
    """``image_id`` and ``filename`` of the I-th of N parts of a corpus, or of all photographs, whose names are the ids.

    Raises:
        typer.BadParameter: If the part is not I/N.
        InputError: If there are fewer images than parts.
    """
    import pandas as pd

    from fivesentences.corpus import Corpus
    from fivesentences.corpus.table import check_image_id
    from fivesentences.features.extract import part_of

    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", part)
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise typer.BadParameter(f"it is '{part}'; give I/N with I from 1 to N, such as 2/4.", param_hint="--part")
    if corpus is not None:
        return part_of(Corpus.read(corpus).images, number, parts)
    names = photographs.names()
    for name in names:  # before pandas, which fails at a name that is not UTF-8
        check_image_id(name, " and ".join(map(str, photographs.paths)))
    return part_of(pd.DataFrame({"image_id": names, "filename": names}), number, parts)


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text)
    fewest, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= fewest <= most:
        raise InputError(
            f"--regions is '{text}'; give at least 1, such as 36, or two numbers, the smaller first, such as 10-100."
        )
    return fewest, most
