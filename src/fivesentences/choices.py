"""Choices that the configuration, functions and commands share; nothing here needs pydantic or numpy."""

from typing import Literal, get_args

Direction = Literal["i2t", "t2i"]
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
_SPLITS = {"val": "dev", "validation": "dev"}  # names of the same split in different releases
_OTHER_NAMES = {"f8k": "flickr8k", "mscoco": "coco", "ms-coco": "coco"}


def split_named(name: str) -> str:
    """Return ``dev`` for the names that releases use of it; other names are kept."""
    name = name.strip()
    return _SPLITS.get(name, name)


def split_in_file(name: str) -> str:
    """Return the split of what a release names so: as ``split_named``, and ``train`` of what it adds to training.

    "restval" are the COCO validation images that Karpathy's split uses for training: a part of a split, for which
    nobody can ask.
    """
    return "train" if name.strip() == "restval" else split_named(name)


def datasets_called(name: str) -> list[Dataset]:
    """Return what a name of a dataset may mean: itself, or all that a name of the catalogue stands for; case is equal.

    "flickr30k" is "f30k", and "coco" any of its three protocols.
    """
    name = _OTHER_NAMES.get(name.lower(), name.lower())
    known: tuple[Dataset, ...] = get_args(Dataset)
    return [one for one in known if one == name] or [one for one in known if CATALOGUE_NAMES[one] == name]
