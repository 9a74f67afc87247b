"""The files of a set of features: an array with one row per image, and what lies beside it.

``X.npy`` ``[images, dim]`` or ``[images, regions, dim]`` and ``X.images.parquet`` (image_id, filename) are all that
training reads. Where they are known there are also width, height and ``regions`` (how many rows of an image count;
those behind them are zero) in ``X.images.parquet``, ``X.regions.parquet`` (boxes and what was recognised, one row per
region, image by image), and ``X.source.json`` (where the features come from).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fivesentences.arrays import read_npy
from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.documents import read_formatted
from fivesentences.errors import InputError
from fivesentences.storage import replacing, write_json

SOURCE = "fivesentences.feature_source 1"


def images_beside(path: Path) -> Path:
    """Path of the table of images that belongs to an array of features."""
    return path.with_suffix(".images.parquet")


def regions_beside(path: Path) -> Path:
    """Path of the table of regions that belongs to an array of features, where they have boxes."""
    return path.with_suffix(".regions.parquet")


def source_beside(path: Path) -> Path:
    """Path of the note on where an array of features comes from."""
    return path.with_suffix(".source.json")


def write_source(path: Path, source: Mapping[str, Any]) -> None:
    """Write where an array of features comes from, whole or not at all.

    Args:
        path: The array.
        source: Everything that the numbers depend on, as JSON: the extractor, the weights' SHA-256, how images are
            prepared, versions; or the file that they were converted from.
    """
    write_json(source_beside(path), {**source, "format": SOURCE})


def read_source(path: Path) -> dict[str, Any] | None:
    """Where an array of features comes from; None if it has no such note.

    Raises:
        InputError: If the note is damaged.
    """
    beside = source_beside(path)
    if not beside.exists():
        return None
    found = read_formatted(beside, SOURCE, "it does not say where features come from; extract them again.")
    return {name: value for name, value in found.items() if name != "format"}


def write_images(path: Path, images: pd.DataFrame) -> None:
    """Write the table of images (``image_id``, ``filename``) beside an array of features, whole or not at all.

    Tables of regions and notes on the source that lie there belong to older features, and are removed.
    """
    regions_beside(path).unlink(missing_ok=True)
    source_beside(path).unlink(missing_ok=True)
    with replacing(images_beside(path)) as temporary:
        images.to_parquet(temporary, index=False)


def read_images(path: Path) -> pd.DataFrame:
    """Read the table of images beside an array of features.

    Raises:
        InputError: If it is missing or damaged, or has no column ``image_id``.
    """
    beside = images_beside(path)
    cure = "extract the features again"
    images = frame_of(read_parquet(beside, cure), beside, cure)
    if "image_id" not in images.columns:
        raise InputError(f"{beside} has no column 'image_id'; extract the features again.")
    return images


def open_array(path: Path, cure: str) -> npt.NDArray[Any]:
    """Map a ``.npy`` file into memory without reading it.

    Raises:
        InputError: If it is missing or damaged; the sentence ends with the cure.
    """
    return read_npy(path, cure)


def check_kind(array: npt.NDArray[Any] | Any, what: str, images: bool) -> None:
    """Check that an array can hold features: float16 or float32, with one vector or several per image.

    Args:
        array: The array, or anything with its ``dtype``, ``ndim`` and ``shape``.
        what: What to call it in an error.
        images: Whether its first dimension is that of the images.

    Raises:
        InputError: If it cannot.
    """
    if array.dtype not in (np.float16, np.float32) or array.ndim - images not in (1, 2):
        first = "images, " if images else ""
        raise InputError(
            f"{what} is {array.dtype} of shape {list(array.shape)}; features must be float16 or float32, "
            f"[{first}dim] or [{first}regions, dim]."
        )
