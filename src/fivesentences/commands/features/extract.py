"""`fivesentences features extract`: global and grid features of a folder of photographs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.features import chosen
from fivesentences.errors import need
from fivesentences.machine import processors

LAYOUTS = ("global", "grid")


class CropsName(StrEnum):
    """What of an image a network sees."""

    CENTRE = "centre"
    TEN = "ten"


class StorageName(StrEnum):
    """Types of numbers."""

    AUTO = "auto"
    FLOAT32 = "float32"
    FLOAT16 = "float16"


class CorruptName(StrEnum):
    """What happens with photographs that cannot be read."""

    FAIL = "fail"
    SKIP = "skip"
    ZERO = "zero"


def extract(
    photographs: chosen.PhotographPaths,
    network: Annotated[
        str,
        typer.Option(
            metavar="NAME[:LAYOUT]",
            help="a timm network such as vgg19, resnet152:grid, vit_base_patch14_dinov2, or grid_descriptors; "
            "global (default): one vector per image, grid: one per cell",
        ),
    ],
    out: chosen.Out,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="weights of this network, .safetensors; default: timm downloads its own"),
    ] = None,
    corpus: chosen.OfCorpus = None,
    part: chosen.Part = "1/1",
    crops: Annotated[
        CropsName, typer.Option(metavar="NAME", help="centre, or ten: the mean over corners, centre and their mirrors")
    ] = CropsName.CENTRE,
    normalise: Annotated[bool, typer.Option("--normalise", help="scale each vector to length 1")] = False,
    precision: given.Precision = given.PrecisionName.FLOAT32,
    storage: Annotated[
        StorageName,
        typer.Option("--as", metavar="TYPE", help="float32 or float16; auto: float16 for more than 8,192 per image"),
    ] = StorageName.AUTO,
    on_corrupt: Annotated[
        CorruptName,
        typer.Option(metavar="WHAT", help="photographs that cannot be read: fail at the end, skip them, or zero rows"),
    ] = CorruptName.FAIL,
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

    A run that was killed goes on with the images that are missing; so does one
    after photographs were added or replaced. Those that cannot be read are
    named at the end.

    Examples:

        fivesentences features extract photos.zip --network resnet152 -o resnet.npy

        fivesentences features extract photos --network vgg19 --crops ten --normalise -o vgg.npy

        fivesentences features extract photos --network resnet152:grid --part 2/4 -o part2.npy
    """
    name, layout = _network(network)
    if name != "grid_descriptors":
        need("timm", "train", "a network")
    from fivesentences.corpus import Photographs
    from fivesentences.features import extract_features

    there = Photographs(*photographs)
    images = chosen.part_of(chosen.images_of(there, corpus), part)
    done = extract_features(
        there,
        images,
        name,
        "grid" if layout == "grid" else "global",
        out,
        workers=min(processors() if workers is None else workers, len(images)),
        weights=weights,
        storage=storage.value,
        crops=crops.value,
        normalise=normalise,
        precision=precision.value,
        on_corrupt=on_corrupt.value,
    )
    count, *sizes = (f"{length:,}" for length in done.shape)
    regions = f" of {sizes[0]} cells" if len(sizes) == 2 else ""
    print(f"{out}: {count} images{regions}, {sizes[-1]} numbers ({done.dtype})")


def _network(text: str) -> tuple[str, str]:
    """Name and layout."""
    name, colon, layout = text.partition(":")
    layout = layout if colon else "global"
    if not name or layout not in LAYOUTS:
        raise typer.BadParameter(
            f"it is '{text}'; give NAME, NAME:global or NAME:grid, such as resnet152:grid.", param_hint="--network"
        )
    return name, layout
