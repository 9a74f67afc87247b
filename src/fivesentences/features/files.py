"""The two files of a set of features: an array with one row per image, and the table of images beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fivesentences.arrays import read_npy
from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.errors import InputError
from fivesentences.storage import replacing


def images_beside(path: Path) -> Path:
    """Path of the table of images that belongs to an array of features."""
    return path.with_suffix(".images.parquet")


def write_images(path: Path, images: pd.DataFrame) -> None:
    """Write the table of images (``image_id``, ``filename``) beside an array of features, whole or not at all."""
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
