"""`fivesentences features ...`: extract image features, find regions, convert files of features, and look at them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer

from fivesentences.choices import each_once
from fivesentences.commands.arguments import Device, Out, Precision, names_typed
from fivesentences.commands.sheets import Outputs, number
from fivesentences.corpus import Corpus, Photographs
from fivesentences.corpus.table import check_image_id
from fivesentences.errors import InputError, counted, need
from fivesentences.features import extract_features
from fivesentences.features.comparison import Comparison, compare_features
from fivesentences.features.extract import part_of
from fivesentences.features.formats import convert as convert_features
from fivesentences.features.formats import open_features
from fivesentences.features.formats.record import FACTS
from fivesentences.features.neighbours import rows_of
from fivesentences.machine import device_named, processors
from fivesentences.metrics.sheet import Sheet
from fivesentences.storage import check_writable

MOST_IMAGES = 40  # on one picture
MOST_LINES = 20  # of a table of images
_DIGITS = (("overlap", 2), ("cosine", 3), ("length", 2))
PhotographPaths = Annotated[list[Path], typer.Argument(metavar="PHOTOGRAPHS...")]
Storage = Annotated[Literal["auto", "float32", "float16"], typer.Option("--as")]
FormatName = Literal["table", "precomp", "tsv", "daa"]


def extract(
    photographs: PhotographPaths,
    *,
    network: Annotated[str, typer.Option(metavar="NAME[:LAYOUT]")],
    out: Out,
    weights: Path | None = None,
    corpus: Path | None = None,
    part: str = "1/1",
    crops: Literal["centre", "ten"] = "centre",
    normalise: bool = False,
    precision: Precision = "float32",
    storage: Storage = "auto",
    on_corrupt: Literal["fail", "skip", "zero"] = "fail",
    workers: Annotated[int | None, typer.Option(min=0)] = None,
) -> None:
    """Describe every photograph of a folder or archive by a network.

    FILE.npy gets one row per image, of one vector or of one per cell. Beside it
    are .images.parquet (ids and file names) and .source.json (network, SHA-256
    of its weights, how images are prepared, and all else that the numbers
    depend on). Training reads these files, and "fivesentences features convert"
    turns them into other formats.

    A run that was killed goes on with the images that are missing. Photographs
    that cannot be read are named at the end.

    Args:
        photographs: Folders or zip archives.
        network: A timm network such as vgg19, resnet152:grid, vit_base_patch14_dinov2, or grid_descriptors; global
            (default): one vector per image, grid: one per cell.
        out: The .npy to write.
        weights: Weights of this network, .safetensors; default: timm downloads its own.
        corpus: Only the images of this corpus (.parquet), with its ids; default: all, by file name.
        part: I/N: the I-th of N parts of the images, for N jobs; join with features convert.
        crops: Crop of the image passed to the network; ten: the mean over corners, centre and their mirrors.
        normalise: Scale each vector to length 1.
        precision: Type in which the network computes.
        storage: Type of the file; auto: float16 for more than 8,192 per image.
        on_corrupt: Photographs that cannot be read: fail at the end, skip them, or zero rows.
        workers: Processes; default: one per core; 0: all in this process.

    Examples:

        fivesentences features extract photos.zip --network resnet152 -o resnet.npy

        fivesentences features extract photos --network vgg19 --crops ten --normalise -o vgg.npy

        fivesentences features extract photos --network resnet152:grid --part 2/4 -o part2.npy
    """
    found = re.fullmatch("([^:]+)(?::(global|grid))?", network)
    if not found:
        what = f"it is '{network}'; give NAME, NAME:global or NAME:grid, such as resnet152:grid."
        raise typer.BadParameter(what, param_hint="--network")
    if found[1] != "grid_descriptors":
        need("timm", "train", "a network")
    check_writable(out)
    there = Photographs(*photographs)
    images = _images_of(there, corpus, part)
    done = extract_features(
        there, images, found[1], "grid" if found[2] == "grid" else "global", out,
        workers=min(processors() if workers is None else workers, len(images)), weights=weights, storage=storage,
        crops=crops, normalise=normalise, precision=precision, on_corrupt=on_corrupt,
    )  # fmt: skip
    sizes = [f"{length:,}" for length in done.shape[1:]]
    cells = f" of {sizes[0]} cells" if len(sizes) == 2 else ""
    print(f"{out}: {counted(done.shape[0], 'image')}{cells}, {sizes[-1]} numbers ({done.dtype})")


def regions(
    photographs: PhotographPaths,
    *,
    out: Out,
    network: Literal["bottom_up", "faster_rcnn"] = "bottom_up",
    weights: Path | None = None,
    flavour: Literal["d2", "caffe"] | None = None,
    count: Annotated[str, typer.Option("--regions", metavar="N")] = "36",
    selection: Literal["per_class", "class_agnostic"] | None = None,
    resize: Literal["opencv", "pillow", "torch"] | None = None,
    short: Annotated[int | None, typer.Option(min=1)] = None,
    long: Annotated[int | None, typer.Option(min=1)] = None,
    corpus: Path | None = None,
    part: str = "1/1",
    on_corrupt: Literal["fail", "skip"] = "fail",
    storage: Annotated[Literal["float32", "float16"], typer.Option("--as")] = "float32",
    device: Device = "auto",
) -> None:
    """Find regions and describe them, for every photograph of a folder or archive.

    FILE.npy gets the features, and beside it .images.parquet, .regions.parquet
    (boxes, classes, scores) and .source.json: network, SHA-256 of the weights,
    and every rule that the numbers depend on. "fivesentences features convert"
    turns them into any other format.

    A run that was killed resumes with the next photograph. Those that cannot be
    read are named at the end.

    Args:
        photographs: Folders or zip archives.
        out: The .npy to write.
        network: bottom_up (Visual Genome, needs --weights) or faster_rcnn (torchvision, COCO).
        weights: .safetensors, a file of torch.save, or a pickle of arrays; nothing in it is run.
        flavour: Conversion of bottom_up: d2 (Hugging Face, airsplay), the default, or caffe (MILVLG).
        count: Regions per image, or fewest and most: 36, 10-100.
        selection: How bottom_up selects: per_class (the original extraction), the default, or class_agnostic (its
            conversions).
        resize: Library whose resizing bottom_up reproduces: opencv (Caffe, MILVLG), the default, pillow (airsplay) or
            torch (Hugging Face).
        short: Pixels of the shorter side; default 600 or 800.
        long: Most pixels of the longer side; default 1000 or 1333.
        corpus: Only the images of this corpus (.parquet), with its ids; default: all, by file name.
        part: I/N: the I-th of N parts of the images, for N jobs; join with features convert.
        on_corrupt: Photographs that cannot be read: fail at the end, or skip them.
        storage: Type of the file.
        device: Where the network runs.

    Examples:

        fivesentences features regions photos.zip --weights faster_rcnn_from_caffe_attr.pkl -o regions.npy

        fivesentences features regions photos --network faster_rcnn -o regions.npy

        fivesentences features regions photos --weights caffe.pth --flavour caffe --regions 10-100 --part 2/4 \\
        -o part2.npy
    """
    need("torchvision", "train", "a detector")
    found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", count)
    fewest, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= fewest <= most:
        what = (
            f"--regions is '{count}'; give at least 1, such as 36, or two numbers, the smaller first, such as 10-100."
        )
        raise InputError(what)
    of_bottom_up = {"--flavour": flavour, "--selection": selection, "--resize": resize}
    if network == "faster_rcnn" and (strange := [name for name, value in of_bottom_up.items() if value]):
        raise InputError(f"faster_rcnn has no {strange[0]}; leave it out, or give --network bottom_up.")
    from fivesentences.features.detectors.extraction import detector_named, extract_regions  # needs torch

    check_writable(out)
    there = Photographs(*photographs)
    images = _images_of(there, corpus, part)
    chosen = {"short": short, "long": long, "selection": selection, "resize": resize}
    settings: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    settings |= {"least": fewest, "most": most}
    detector = detector_named(network, weights, flavour or "d2", settings, device_named(device))
    done = extract_regions(there, images, detector, out, on_corrupt=on_corrupt, storage=storage)
    made = f"{counted(done.images, 'image')}, {done.made:,} of them by this call"
    print(f"{out}: {made}, {detector.dim:,} numbers per region")
    for reason in done.corrupt:
        print(f"skipped: {reason}")


def convert(
    paths: Annotated[list[Path], typer.Argument(metavar="FROM... TO")],
    *,
    target: Annotated[FormatName | None, typer.Option("--to")] = None,
    source: Annotated[FormatName | None, typer.Option("--from")] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="WHAT,...")] = None,
    ids: Path | None = None,
    repeat: int = 1,
    storage: Annotated[Literal["as_stored", "float16", "float32"], typer.Option("--as")] = "as_stored",
) -> None:
    """Convert features between the formats that the community has.

    table    X.npy with X.images.parquet (and boxes, sizes, source beside)
    precomp  SPLIT_ims.npy of SCAN, VSRN, CVSE, SGRAF, with SPLIT_ids.txt
    tsv      bottom-up attention's TSV, 6 columns (LXMERT's 10 are read)
    daa      SPLIT.h5 with the dataset feat, of DAA, with SPLIT_ids.txt

    What the new format cannot hold is not lost silently: name it with --drop.
    Several files FROM are joined. Memory holds the features of one image at a
    time, and TO appears when it is complete.

    Args:
        paths: Files of features, and last the result.
        target: Format of TO; default: what its name tells.
        source: Format of FROM; default: what their names tell.
        drop: Leave out what the new format cannot hold: counts, boxes, sizes, scores, classes, attributes,
            attribute_scores, filenames.
        ids: Only these images in this order, one id per line, such as train_ids.txt.
        repeat: Rows per image in precomp and daa; the releases have 5 for dev and test.
        storage: Type of the numbers.

    Examples:

        fivesentences features convert trainval_36.tsv features.npy

        fivesentences features convert trainval_36.tsv dev_ims.npy --ids dev_ids.txt --repeat 5 --drop boxes,sizes

        fivesentences features convert train_ims.npy dev_ims.npy test_ims.npy features.npy --as float16
    """
    if len(paths) < 2:
        raise InputError("give what to convert, and last what to write.")
    *sources, out = paths
    done = convert_features(
        sources, out, source_format=source, target_format=target, ids=ids, repeat=repeat, storage=storage,
        drop=names_typed(drop),
    )  # fmt: skip
    outline, of_regions = done.outline, ""
    if outline.counts is not None:
        fewest, most = int(outline.counts.min()), int(outline.counts.max())
        of_regions = f" of {fewest} regions" if fewest == most else f" of {fewest} to {most} regions"
    facts = "".join(f", {fact}" for fact in FACTS if fact in outline.facts)
    numbers = f"{outline.dim:,} numbers ({outline.dtype}){facts}"
    print(f"{out}: {done.written}, {counted(len(outline), 'image')}{of_regions}, {numbers}")
    if done.dropped:
        print(f"left out, as asked: {', '.join(done.dropped)}")


def show(
    path: Annotated[Path, typer.Argument(metavar="FEATURES")],
    *,
    photographs: Annotated[list[Path], typer.Option("--photographs", "-p")],
    out: Out,
    what: Literal["boxes", "neighbours"] | None = None,
    image: Annotated[list[str] | None, typer.Option(metavar="ID")] = None,
    count: Annotated[int | None, typer.Option("-n", min=1, max=100)] = None,
    classes: Path | None = None,
    attributes: Path | None = None,
) -> None:
    """Draw photographs with the boxes of their regions, or beside their nearest neighbours.

    boxes       the best boxes of each image, numbered, with class, attribute
                and score where the features know them
    neighbours  a contact sheet: beside each image those with the most similar
                features (cosine; regions are averaged). Features that mean
                something put dogs beside dogs.

    A .pdf, the numbers (.csv) and notes (.json) are written beside the .png.

    Args:
        path: Features in any format of 'features convert'.
        photographs: Their folder or zip archive; repeat for more.
        out: The picture, .png.
        what: Kind of drawing; default: boxes where the features have any.
        image: An image; repeat for more; default: some, evenly spread.
        count: Boxes (default 10) or neighbours (default 6) per image.
        classes: Names of the detector's classes, one per line, such as objects_vocab.txt.
        attributes: Names of its attributes, one per line, such as attributes_vocab.txt.

    Examples:

        fivesentences features show regions.npy -p photos.zip -o boxes.png --classes objects_vocab.txt

        fivesentences features show resnet.npy -p photos.zip -o sheet.png --image dog.jpg

        fivesentences features show trainval_36.tsv -p photos -o sheet.png --what neighbours -n 8
    """
    need("matplotlib", "plots", "a picture")
    if out.suffix != ".png":
        raise InputError("the file name of a picture must end in .png.", where=out)
    check_writable(out)
    from fivesentences.reproduction.paper.figures.drawing import write_drawing  # needs matplotlib
    from fivesentences.reproduction.paper.figures.features import boxes_drawing, neighbours_drawing

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
    write_drawing(out.with_suffix(""), title, f"Features of {path.name}.", drawing, ("png", "pdf", "csv", "json"))
    print(f"{out}: {what} of {counted(len(rows), 'image')} of {path} (numbers in {out.with_suffix('.csv').name})")


def compare(
    ours: Annotated[Path, typer.Argument(metavar="OURS")],
    theirs: Annotated[Path, typer.Argument(metavar="THEIRS")],
    *,
    check: Annotated[bool, typer.Option("--check")] = False,
    picture: Path | None = None,
    photographs: Annotated[list[Path] | None, typer.Option("--photographs", "-p")] = None,
    image: Annotated[list[str] | None, typer.Option(metavar="ID")] = None,
    count: Annotated[int, typer.Option("-n", min=1, max=100)] = 10,
    outputs: Outputs,
) -> None:
    """Compare two sets of features region by region: are ours those that were released?

    Regions of each image are paired one to one by the overlap of their boxes
    (intersection over union). Of partners with an overlap of 0.7 or more, which
    are the same region, the table has the median cosine of their features, the
    ratio of their lengths, and the share of equal classes. Where a side has no
    boxes (precomp), regions are paired by their features, which flatters.

    --check says whether ours are as released: 90% of regions have a partner,
    with a median cosine of 0.95, lengths within 10%, and 80% of classes equal.
    The exit code is 1 if not. Run it on a few photographs before a cluster
    spends a night on wrong weights.

    Args:
        ours: Features in any format of 'features convert'.
        theirs: Released features of the same images; equal ids, or equal but for the suffix.
        check: End with exit code 1 unless ours are as released.
        picture: Draw boxes of both on some images, and histograms, as .png.
        photographs: Folders or zip archives of the photographs, for the picture; repeat for more.
        image: An image to draw, by its id in THEIRS; repeat for more; default: four, evenly spread.
        count: Boxes of theirs per image to draw.

    Examples:

        fivesentences features compare ours.npy train2014_obj36.tsv --check

        fivesentences features compare ours.npy train2014_obj36.tsv --picture boxes.png -p images

        fivesentences features compare ours.npy theirs.tsv --csv images.csv -q
    """
    if picture is not None:
        need("matplotlib", "plots", "a picture")
        if picture.suffix != ".png":
            raise InputError("the file name of a picture must end in .png.", where=picture)
    read = [("ours", ours), ("theirs", theirs)]
    outputs.check(read, {"--picture": picture})
    with open_features(ours) as one, open_features(theirs) as other:
        found = compare_features(one, other)
        if picture is not None:
            from fivesentences.reproduction.paper.figures.compared_features import compared_drawing  # needs matplotlib
            from fivesentences.reproduction.paper.figures.drawing import write_drawing

            rows = {image_id: (mine, its) for image_id, mine, its in found.rows}
            for name in (asked := each_once(image or [])):
                if name not in rows:
                    raise InputError(f"image '{name}' is not in both; ids look like '{next(iter(rows))}'.")
            names = list(rows)
            spread = [names[len(names) * at // 4] for at in range(4)] if len(names) > 4 else names
            chosen = asked or spread
            if len(chosen) > MOST_IMAGES:
                raise InputError(f"{len(chosen)} images are too many for one picture; give at most {MOST_IMAGES}.")
            shown = [(one.read(rows[name][0]), other.read(rows[name][1])) for name in chosen]
            drawing = compared_drawing(found, shown, Photographs(*photographs) if photographs else None, count)
            title = f"{ours.name} beside {theirs.name}"
            write_drawing(
                picture.with_suffix(""), title, "Regions of both, one to one.", drawing, ("png", "pdf", "csv", "json")
            )
    wrong = found.shortfalls()
    verdict = f"Not as released: {'; '.join(wrong)}." if wrong else "As released."
    notes = [] if check and wrong else [verdict]  # which ends the command
    sheet = _sheet_of(found, ours, theirs, notes)
    content = {"overall": found.overall, "as_released": not wrong, "shortfalls": wrong}
    outputs.write([sheet], lambda: found.images, content | {"images": found.images.to_dict("records")}, read)
    if check and wrong:
        cure = "check weights, flavour, selection, resizing and the order of colours (docs/detectors.md)"
        raise InputError(f"not as released: {'; '.join(wrong)}", where=ours, cure=cure)


def _sheet_of(found: Comparison, ours: Path, theirs: Path, last: list[str]) -> Sheet:
    """Return the table of a comparison: the images that agree least, and all of them together."""

    def cells(row: Mapping[Any, Any]) -> list[str]:
        shares = {name: "" if pd.isna(row[name]) else f"{row[name]:.0%}" for name in ("same_regions", "same_classes")}
        mean, cosine, length = (number(row[name], digits) for name, digits in _DIGITS)
        sizes = f"{row['ours']:,.0f} / {row['theirs']:,.0f}"
        return [sizes, shares["same_regions"], mean, cosine, length, shares["same_classes"]]

    by = "same_regions" if found.boxed else "cosine"
    least = found.images.sort_values(by, kind="stable").head(MOST_LINES).to_dict("records")
    lines = [[str(row["image_id"]), *cells(row)] for row in least]
    overall = f"all {found.overall['images']:,.0f} images"
    headings = ["ours / theirs", "same regions", "overlap", "cosine", "length", "same classes"]
    notes = [f"{theirs.name} has {found.only_theirs:,} further images, which {ours.name} lacks."] * bool(
        found.only_theirs
    )
    if len(found.images) > MOST_LINES:
        notes.append(f"Shown are the {MOST_LINES} images that agree least; --csv has all of them.")
    if not found.boxed:
        notes.append("A side has no boxes: regions are paired by their features, which flatters the cosine.")
    columns = [("", heading) for heading in headings]
    return Sheet(["image"], columns, [*lines, [overall, *cells(found.overall)]], notes=[*notes, *last])


def _images_of(photographs: Photographs, corpus: Path | None, part: str) -> pd.DataFrame:
    """Return ``image_id`` and ``filename`` of one part of a corpus, or of all photographs, whose names are the ids.

    Raises:
        typer.BadParameter: If the part is not I/N.
        InputError: If there are fewer images than parts.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", part)
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise typer.BadParameter(f"it is '{part}'; give I/N with I from 1 to N, such as 2/4.", param_hint="--part")
    if corpus is not None:
        return part_of(Corpus.read(corpus).images, number, parts, photographs)
    names = photographs.names()
    for name in names:  # before pandas, which fails at a name that is not UTF-8
        check_image_id(name, " and ".join(map(str, photographs.paths)))
    return part_of(pd.DataFrame({"image_id": names, "filename": names}), number, parts)
