"""Labels of images (which kinds of things are in a picture) as a table beside a corpus, and as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.errors import InputError


def read_labels(path: Path | str, image_ids: Sequence[str]) -> NDArray[np.bool_]:
    """``labels.parquet``: a row per image with ``image_id`` and a boolean column for each label.

    Args:
        path: The table; it may hold more images than are asked for, in any order.
        image_ids: Images of a split.

    Returns:
        ``[images, labels]`` whether an image has a label, in the order of ``image_ids``.

    Raises:
        InputError: If the file is missing or is no such table, or an image is not in it or stands there twice.
    """
    try:
        table = pd.read_parquet(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: this is no table of labels ({error}).") from None
    kinds = [name for name in table.columns if name != "image_id"]
    if "image_id" not in table.columns or not kinds:
        raise InputError(f"{path}: a table of labels has the column 'image_id' and one column a label.")
    if any(table[name].dtype != bool for name in kinds):
        raise InputError(f"{path}: columns of labels hold true or false; make the table again.")
    ids = table["image_id"].astype(str)
    if ids.duplicated().any():
        raise InputError(f"{path}: the image '{ids[ids.duplicated()].iloc[0]}' stands there twice.")
    row_of = pd.Series(np.arange(len(ids)), index=ids)
    wanted = [str(image) for image in image_ids]
    missing = [image for image in wanted if image not in row_of.index]
    if missing:
        raise InputError(f"{path}: the image '{missing[0]}' has no row; labels and corpus belong to different data.")
    return np.asarray(table[kinds].to_numpy(dtype=bool)[row_of[wanted].to_numpy()])
