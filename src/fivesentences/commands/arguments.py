"""Options that several commands have, alone or in groups."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints, overload

import typer

LARGEST = 1_000_000_000  # number in a list, such as a cut-off
MATRIX = ".npy, .npz, .json, .csv or .pt"
WORDS = "Words such as phi, GT or role: docs/glossary.md"  # below every help
SHAPE = r"\[images, captions]"  # escaped, since typer takes square brackets for markup


class DatasetName(StrEnum):
    """The protocols of ``evaluation.protocols``, which takes half a second to import."""

    FLICKR8K = "flickr8k"
    F30K = "f30k"
    COCO_5K = "coco-5k"
    COCO_1K_5FOLD = "coco-1k-5fold"
    COCO_1K_FIRST = "coco-1k-first"


class SplitName(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class Side(StrEnum):
    """What the queries are."""

    I2T = "i2t"
    T2I = "t2i"


class PrecisionName(StrEnum):
    """What a network computes in; its weights are float32 in any case."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class DeviceName(StrEnum):
    """Where a network runs."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


Phi = Annotated[
    list[str] | None,
    typer.Option(
        "--phi",
        metavar="FILE",
        help=r"a phi matrix \[captions, images], as 'fivesentences phi' writes it; repeat for more; NAME=FILE names it",
    ),
]
Dataset = Annotated[
    DatasetName | None,
    typer.Option(
        "--dataset",
        "--protocol",
        metavar="NAME",
        help=f"{', '.join(list(DatasetName)[:-1])} or {list(DatasetName)[-1]}; default: one gallery of everything",
    ),
]
ImageOfCaption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="index of each caption's image, from 0, one per line")
]
SplitOf = Annotated[SplitName, typer.Option("--split", metavar="NAME", help="train, dev or test")]
WriteImageOfCaption = Annotated[
    Path | None,
    typer.Option(
        "--image-of-caption", metavar="FILE", help="also write the index of each caption's image, one per line"
    ),
]
Transposed = Annotated[bool, typer.Option("--transposed", help="rows of the similarity are captions")]
Precision = Annotated[
    PrecisionName, typer.Option(metavar="TYPE", help="the network computes in float32, bfloat16 or float16")
]
Device = Annotated[DeviceName, typer.Option(metavar="NAME", help="cpu, cuda or auto")]
Data = Annotated[Path, typer.Option("--data", metavar="FOLDER", help="folder of downloads")]
Mirror = Annotated[
    Path | None, typer.Option(help="a folder with copies of the downloads, used first", envvar="FIVESENTENCES_MIRROR")
]
Catalogue = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="list of downloads (default: config/datasets.yaml of this folder, or the package's own)"
    ),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write JSON; - is standard output")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="write one row per number; - as above")]
Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="write the table; - as above")]
Latex = Annotated[Path | None, typer.Option("--latex", metavar="FILE", help="write the table; - as above")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no progress bar; no table where one is written to a file")]


Captions = Annotated[
    Path | None, typer.Option(metavar="FILE", help="captions, one per line, from which phi is computed")
]
Metric = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="which phi of --captions (default cider); repeat for more"),
]


@dataclasses.dataclass(frozen=True)
class Resampling:
    """How models are tested."""

    resamples: Annotated[int, typer.Option(min=1, help="number of sign flips of the tests")] = 10_000
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="seed of the sign flips")] = 0


def in_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter that is a dataclass into one option per field, so that commands share groups of options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))
            continue
        kinds = get_type_hints(groups[name], include_extras=True)
        for field in dataclasses.fields(groups[name]):
            parameters.append(
                inspect.Parameter(
                    field.name, parameter.KEYWORD_ONLY, default=field.default, annotation=kinds[field.name]
                )
            )

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        command(**given)

    del run.__wrapped__  # typer would follow it
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


@overload
def numbers_of(text: str, option: str) -> tuple[int, ...]: ...
@overload
def numbers_of(text: str, option: str, words: Mapping[str, Any]) -> tuple[Any, ...]: ...
def numbers_of(text: str, option: str, words: Mapping[str, Any] = MappingProxyType({})) -> tuple[Any, ...]:
    """Whole numbers from 1 to ``LARGEST``, separated by commas.

    Args:
        text: What was typed.
        option: The option that it was typed after.
        words: Words that are accepted too, and their values.

    Raises:
        typer.BadParameter: If it is something else.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part in words or _is_number(part) for part in parts):
        also = "".join(f" or '{word}'" for word in words)
        shown = text if len(text) <= 60 else f"{text[:60]}..."
        raise typer.BadParameter(
            f"it is '{shown}'; give whole numbers from 1 to {LARGEST:,}{also}, separated by commas, such as 1,5,10.",
            param_hint=option,
        )
    return tuple(words[part] if part in words else int(part) for part in parts)


def _is_number(text: str) -> bool:
    digits = text.lstrip("0")
    return text.isascii() and text.isdigit() and 0 < len(digits) <= len(str(LARGEST)) and int(digits) <= LARGEST
