"""`fivesentences features regions`: the regions of a folder of photographs, by a detector."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.features import chosen
from fivesentences.errors import InputError, need
from fivesentences.machine import device_named

if TYPE_CHECKING:
    from fivesentences.features.detectors import Detector


class NetworkName(StrEnum):
    """The detectors."""

    BOTTOM_UP = "bottom_up"
    FASTER_RCNN = "faster_rcnn"


class FlavourName(StrEnum):
    """Conversions of the bottom-up attention network."""

    D2 = "d2"
    CAFFE = "caffe"


class SelectionName(StrEnum):
    """How proposals become regions."""

    PER_CLASS = "per_class"
    CLASS_AGNOSTIC = "class_agnostic"


class ResizeName(StrEnum):
    """Whose resizing is imitated."""

    OPENCV = "opencv"
    PILLOW = "pillow"
    TORCH = "torch"


class CorruptName(StrEnum):
    """What happens with photographs that cannot be read."""

    FAIL = "fail"
    SKIP = "skip"


class StorageName(StrEnum):
    """Types of numbers."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"


def regions(
    photographs: chosen.PhotographPaths,
    out: chosen.Out,
    network: Annotated[
        NetworkName,
        typer.Option(
            metavar="NAME", help="bottom_up (Visual Genome, needs --weights) or faster_rcnn (torchvision, COCO)"
        ),
    ] = NetworkName.BOTTOM_UP,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=".safetensors, a file of torch.save, or a pickle of arrays; nothing in it is run"
        ),
    ] = None,
    flavour: Annotated[
        FlavourName | None,
        typer.Option(
            metavar="NAME",
            help="bottom_up: whose conversion: d2 (Hugging Face, airsplay), the default, or caffe (MILVLG)",
        ),
    ] = None,
    count: Annotated[
        str, typer.Option("--regions", metavar="N", help="regions per image, or fewest and most: 36, 10-100")
    ] = "36",
    selection: Annotated[
        SelectionName | None,
        typer.Option(
            metavar="NAME",
            help="bottom_up: per_class (the original extraction), the default, or class_agnostic (its conversions)",
        ),
    ] = None,
    resize: Annotated[
        ResizeName | None,
        typer.Option(
            metavar="NAME",
            help="bottom_up: opencv (Caffe, MILVLG), the default, pillow (airsplay) or torch (Hugging Face)",
        ),
    ] = None,
    short: Annotated[int | None, typer.Option(min=1, help="pixels of the shorter side; default 600 or 800")] = None,
    long: Annotated[int | None, typer.Option(min=1, help="most pixels of the longer; default 1000 or 1333")] = None,
    corpus: chosen.OfCorpus = None,
    part: chosen.Part = "1/1",
    on_corrupt: Annotated[
        CorruptName,
        typer.Option(metavar="WHAT", help="photographs that cannot be read: fail at the end, or skip them"),
    ] = CorruptName.FAIL,
    storage: Annotated[StorageName, typer.Option("--as", metavar="TYPE", help="float32 or float16")] = (
        StorageName.FLOAT32
    ),
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
    if network is NetworkName.FASTER_RCNN and (given := [name for name, value in of_bottom_up.items() if value]):
        raise InputError(f"faster_rcnn has no {given[0]}; leave it out, or give --network bottom_up.")
    if network is NetworkName.BOTTOM_UP and weights is None:
        raise InputError(
            "bottom_up needs --weights FILE, since its weights are no longer offered by a stable host; "
            "give a file, or --network faster_rcnn, which downloads its own."
        )
    from fivesentences.corpus import Photographs
    from fivesentences.features.detectors.extraction import extract_regions

    there = Photographs(*photographs)
    images = chosen.part_of(chosen.images_of(there, corpus), part)
    settings: dict[str, Any] = {"least": fewest, "most": most}
    settings |= {name: value for name, value in (("short", short), ("long", long)) if value is not None}
    words = {"selection": selection, "resize": resize}
    settings |= {name: value.value for name, value in words.items() if value is not None}
    detector = _detector(network, weights, flavour or FlavourName.D2, settings, device_named(device.value))
    done = extract_regions(there, images, detector, out, on_corrupt=on_corrupt.value, storage=storage.value)
    print(f"{out}: {done.images:,} images, {done.made:,} of them by this call, {detector.dim:,} numbers per region")
    for reason in done.corrupt:
        print(f"skipped: {reason}")


def _detector(
    network: NetworkName, weights: Path | None, flavour: FlavourName, settings: dict[str, Any], device: str
) -> Detector:
    if network is NetworkName.FASTER_RCNN or weights is None:
        from fivesentences.features.detectors.faster_rcnn import FasterRCNN, FasterRCNNSettings

        return FasterRCNN(weights, FasterRCNNSettings(**settings), device)
    from fivesentences.features.detectors.bottom_up import BottomUpAttention, Settings

    return BottomUpAttention(weights, flavour.value, Settings(**settings), device)


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text)
    if not found:
        raise InputError(f"--regions is '{text}'; give a number such as 36, or two such as 10-100.")
    fewest, most = int(found[1]), int(found[2] or found[1])
    if not 1 <= fewest <= most:
        raise InputError(f"--regions is '{text}'; give at least 1, and the smaller number first, such as 10-100.")
    return fewest, most
