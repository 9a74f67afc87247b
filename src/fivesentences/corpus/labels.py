"""Labels of images (which kinds of things a picture shows), as a table beside the corpus and as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.corpus.archives import entries, open_zip, read_entry
from fivesentences.corpus.instances import instance_labels
from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.errors import InputError
from fivesentences.storage import replacing

INSTANCES = "instances_val2014.json"


def read_labels(path: Path | str, image_ids: Sequence[str]) -> NDArray[np.bool_]:
    """Read ``labels.parquet``: one row per image with ``image_id`` and one boolean column per label.

    Args:
        path: The table; it may contain more images than requested, in any order.
        image_ids: Images of a split.

    Returns:
        ``[images, labels]`` whether an image has a label, in the order of ``image_ids``.

    Raises:
        InputError: If the file is missing or is not such a table, or an image is missing from it or occurs twice.
    """
    table = frame_of(read_parquet(path, "make it again"), path, "make it again")
    kinds = [name for name in table.columns if name != "image_id"]
    if "image_id" not in table.columns or not kinds:
        raise InputError(f"{path}: a table of labels has the column 'image_id' and one column per label.")
    if any(table[name].dtype != bool for name in kinds):
        raise InputError(f"{path}: label columns must be true or false; make the table again.")
    ids = table["image_id"].astype(str)
    if ids.duplicated().any():
        raise InputError(f"{path}: the image '{ids[ids.duplicated()].iloc[0]}' occurs twice.")
    row_of = pd.Series(np.arange(len(ids)), index=ids)
    wanted = [str(image) for image in image_ids]
    missing = [image for image in wanted if image not in row_of.index]
    if missing:
        raise InputError(f"{path}: the image '{missing[0]}' has no row; the labels belong to another corpus.")
    return np.asarray(table[kinds].to_numpy(dtype=bool)[row_of[wanted].to_numpy()])


def write_coco_labels(archive: Path | str, image_ids: Sequence[str], out: Path | str) -> None:
    """Write ``labels.parquet`` for images of COCO's val2014, which contains the test split of Karpathy and Li.

    Args:
        archive: ``annotations_trainval2014.zip``, with ``instances_val2014.json`` inside.
        image_ids: COCO's ids of the images.
        out: The table: ``image_id`` and one boolean column for each of the 90 category ids.

    Raises:
        InputError: If the archive is damaged or lacks that file, or an image is not in it.
    """
    with open_zip(archive) as opened:
        found = entries(opened, INSTANCES)
        if len(found) != 1:
            raise InputError(f"{Path(archive).name}: {len(found)} entries are named {INSTANCES}; one is expected.")
        labels = instance_labels(read_entry(opened, found[0]), INSTANCES, image_ids).astype(bool)
    table = pd.DataFrame(labels, columns=[str(number + 1) for number in range(labels.shape[1])])
    table.insert(0, "image_id", [str(image) for image in image_ids])
    with replacing(out) as temporary:
        table.to_parquet(temporary, index=False)
