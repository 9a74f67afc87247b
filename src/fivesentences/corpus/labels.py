"""Labels of images (which kinds of things a picture shows): COCO's annotations, and tables beside a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.corpus.archives import entries, open_zip, read_entry
from fivesentences.corpus.parquet import read_frame, read_parquet, write_frame
from fivesentences.documents import parse_json, read_bytes
from fivesentences.errors import InputError
from fivesentences.seals import checksum_of

LABELS = "labels.parquet"
_BESIDE = b"fivesentences.checksum "  # and a name: metadata with the checksum of a file beside the labels
INSTANCES = "instances_val2014.json"
CLASSES = 90  # category ids run from 1 to 90; ten of them are not used


def write_labels(table: pd.DataFrame, path: Path, beside: Iterable[Path]) -> None:
    """Write labels, with checksums of files beside them that ``check_beside_labels`` compares."""
    write_frame(table, path, {_BESIDE + file.name.encode(): checksum_of(file).encode() for file in beside})


def check_beside_labels(path: Path, cure: str) -> None:
    """Compare a file with the checksum that labels beside it keep of it; others keep none, and nothing is compared.

    Raises:
        InputError: If it differs, or the labels are damaged.
    """
    if (labels := path.with_name(LABELS)).is_file():
        noted = (read_parquet(labels, cure).schema.metadata or {}).get(_BESIDE + path.name.encode())
        if noted not in (None, checksum_of(path).encode()):
            raise InputError(f"it is damaged, or not what {LABELS} was written for", where=path, cure=cure)


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
    table = read_frame(path, "make it again", ["image_id"])
    labels = table.drop(columns="image_id")
    if labels.empty or any(kind.name != "bool" for kind in labels.dtypes):
        raise InputError("label columns must be true or false", where=path, cure="make the table again")
    row_of = pd.Series(np.arange(len(table)), index=table["image_id"].astype(str))
    if row_of.index.has_duplicates:
        raise InputError(f"the image '{row_of.index[row_of.index.duplicated()][0]}' occurs twice.", where=path)
    wanted = [str(image) for image in image_ids]
    if missing := [image for image in wanted if image not in row_of.index]:
        raise InputError(f"the image '{missing[0]}' has no row; the labels belong to another corpus.", where=path)
    return np.asarray(labels.to_numpy(dtype=bool)[row_of[wanted].to_numpy()])


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
            raise InputError(f"{len(found)} entries are named {INSTANCES}; one is expected.", where=archive)
        labels = _instance_labels(read_entry(opened, found[0]), INSTANCES, image_ids).astype(bool)
    table = pd.DataFrame(labels, columns=[str(number + 1) for number in range(CLASSES)])
    table.insert(0, "image_id", list(image_ids))
    write_frame(table, out)


def read_instances(path: Path | str, image_ids: Sequence[int | str]) -> NDArray[np.uint8]:
    """Read labels of images from ``instances_val2014.json`` or a similar file.

    Crowd annotations (``iscrowd``) count like others, as in the released code of PCME. An image that the file lists but
    does not annotate has a row of zeros.

    Args:
        path: The JSON file, with the lists ``images`` and ``annotations``.
        image_ids: COCO ids in the desired order, as numbers or digits, such as the image ids of a Karpathy corpus.

    Returns:
        ``[images, 90]`` 0 or 1; column ``c`` is category id ``c + 1``.

    Raises:
        InputError: If the file is missing or does not have this form, or an image is not in it.
    """
    return _instance_labels(read_bytes(path), Path(path).name, image_ids)


def _instance_labels(data: bytes, where: str, image_ids: Sequence[int | str]) -> NDArray[np.uint8]:
    content = parse_json(data, where, "fetch it again")
    rows: dict[int, list[int]] = {image: [] for (image,) in _whole_numbers(content, "images", ("id",), where)}
    for row, given in enumerate(image_ids):
        image = int(given) if str(given).isdecimal() and len(str(given)) <= 18 else -1
        if image not in rows:
            what = f"image {str(given)[:40]!r} (number {row}) is not in it; the file annotates another part of COCO."
            raise InputError(what, where=where)
        rows[image].append(row)
    labels = np.zeros((len(image_ids), CLASSES), dtype=np.uint8)
    for image, category in _whole_numbers(content, "annotations", ("image_id", "category_id"), where):
        if not 1 <= category <= CLASSES:
            what = f"an annotation of image {image} has the category_id {category}; COCO's run from 1 to {CLASSES}."
            raise InputError(what, where=where)
        labels[rows.get(image, []), category - 1] = 1
    return labels


def _whole_numbers(content: Any, key: str, fields: tuple[str, ...], where: str) -> Iterator[tuple[int, ...]]:
    """Yield the fields of every entry of a list."""
    listed = content.get(key) if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise InputError(f"there is no list '{key}'; is it one of COCO's instances files?", where=where)
    for number, entry in enumerate(listed):
        values = tuple[Any, ...](entry.get(field) if isinstance(entry, dict) else None for field in fields)
        if any(type(value) is not int for value in values):
            what = f"{key}[{number}] is {str(entry)[:80]}; {' and '.join(fields)} must be whole numbers."
            raise InputError(what, where=where)
        yield values
