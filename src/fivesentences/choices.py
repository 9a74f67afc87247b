"""Choices that the configuration, functions and commands share; nothing here needs pydantic or numpy."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Literal, TypeVar, get_args

Direction = Literal["i2t", "t2i"]
Each = TypeVar("Each", bound=Hashable)
Split = Literal["train", "dev", "test"]
Precision = Literal["float32", "bfloat16", "float16"]
# Inference methods that read training queries, which a run's weights must score first.
BANKED = ("qb_norm", "dual_bank")

Dataset = Literal["flickr8k", "f30k", "coco-5k", "coco-1k-5fold", "coco-1k-first"]  # as evaluation.protocols
#: The name in the catalogue of downloads of each of these.
CATALOGUE_NAMES: dict[str, str] = {
    "flickr8k": "flickr8k",
    "f30k": "flickr30k",
    "coco-5k": "coco",
    "coco-1k-5fold": "coco",
    "coco-1k-first": "coco",
}
# Names of the same split in different releases and tables, in lower case, also with "set" or "split" behind them.
_SPLITS: dict[Split, tuple[str, ...]] = {
    "train": ("train", "training", "trn"),
    "dev": ("dev", "development", "val", "validation"),
    "test": ("test", "testing", "tst"),
}
_SPLIT_OF = {name: split for split, names in _SPLITS.items() for name in names}
_ENDING = re.compile("[ _-]?(set|split)$")
RESTVAL = "restval"
_IN_FILES: dict[str, Split] = {RESTVAL: "train", "valid": "dev"}
_OTHER_NAMES = {"f8k": "flickr8k", "mscoco": "coco", "ms-coco": "coco"}


def each_once(values: Iterable[Each], key: Callable[[Each], Hashable] | None = None) -> tuple[Each, ...]:
    """Return values in the order in which they are first named, each once.

    Lists of what to report, read or write are sets in order: cut-offs, sizes m, zetas, metrics, phi, variants,
    directions, statistics, readings, formats, tables and figures, files and facts. A number that is asked for twice is
    reported once, and counts once in a sum. Elsewhere a repeat must be a mistake and is refused, see ``repeat_in``:
    names of models and of phi, settings NAME=VALUE, and every list of a configuration (seeds, studies, rows, ...).

    Args:
        values: The values.
        key: What two names of one value have in common; default: the value itself.
    """
    found: dict[Hashable, Each] = {}
    for value in values:
        found.setdefault(value if key is None else key(value), value)
    return tuple(found.values())


def repeat_in(values: Sequence[object]) -> tuple[int, int] | None:
    """Return the places of the first value that stands twice in a list; None if each stands once."""
    for place, value in enumerate(values):
        if (first := values.index(value)) < place:
            return first, place
    return None


def split_named(name: str) -> str:
    """Return the split that a name stands for, whatever its case and the blanks around it; other names are kept."""
    name = name.strip()
    return _SPLIT_OF.get(_ENDING.sub("", name.casefold()), name)


def split_in_file(name: str) -> str:
    """Return the split of what a file names so: as ``split_named``, or by a name that files alone use.

    "restval" are the COCO validation images that Karpathy's split uses for training: a part of a split, for which
    nobody can ask.
    """
    return _IN_FILES.get(name.strip().casefold()) or split_named(name)


def datasets_called(name: str) -> list[Dataset]:
    """Return what a name of a dataset may mean: itself, or all that a name of the catalogue stands for; case is equal.

    "flickr30k" is "f30k", and "coco" any of its three protocols.
    """
    name = _OTHER_NAMES.get(name.lower(), name.lower())
    known: tuple[Dataset, ...] = get_args(Dataset)
    return [one for one in known if one == name] or [one for one in known if CATALOGUE_NAMES[one] == name]
