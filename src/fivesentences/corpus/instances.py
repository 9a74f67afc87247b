"""COCO's instance annotations as labels: which of the 90 kinds of objects an image shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.documents import parse_json, read_bytes
from fivesentences.errors import InputError

CLASSES = 90  # category ids run from 1 to 90; ten of them are not used


def read_instances(path: Path | str, image_ids: Sequence[int | str]) -> NDArray[np.uint8]:
    """Labels of images from ``instances_val2014.json`` or a similar file.

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
    return instance_labels(read_bytes(path), Path(path).name, image_ids)


def instance_labels(data: bytes, where: str, image_ids: Sequence[int | str]) -> NDArray[np.uint8]:
    """The same from the bytes of the file; errors begin with ``where``."""
    ids = [_checked_id(image_id, number) for number, image_id in enumerate(image_ids)]
    content = parse_json(data, where, "fetch it again")
    known = {numbers[0] for numbers, _ in _whole_numbers(content, "images", ("id",), where)}
    rows: dict[int, list[int]] = {}
    for row, image_id in enumerate(ids):
        if image_id not in known:
            raise InputError(
                f"{where}: image {image_id} (number {row} of {len(ids)}) is not in it; the file annotates another part "
                "of COCO."
            )
        rows.setdefault(image_id, []).append(row)
    labels = np.zeros((len(ids), CLASSES), dtype=np.uint8)
    for (image_id, category), place in _whole_numbers(content, "annotations", ("image_id", "category_id"), where):
        if not 1 <= category <= CLASSES:
            raise InputError(f"{where}: {place}: category_id is {category}; COCO's run from 1 to {CLASSES}.")
        for row in rows.get(image_id, ()):
            labels[row, category - 1] = 1
    return labels


def _checked_id(image_id: Any, row: int) -> int:
    if isinstance(image_id, int | np.integer) and not isinstance(image_id, bool):
        return int(image_id)
    if isinstance(image_id, str) and image_id.isascii() and image_id.isdigit() and len(image_id) <= 18:
        return int(image_id)
    raise InputError(f"image_ids[{row}] is {image_id!r}; a COCO image id is a whole number such as 391895.")


def _whole_numbers(
    content: Any, key: str, fields: tuple[str, ...], where: str
) -> Iterator[tuple[tuple[int, ...], str]]:
    """The fields of every entry of a list, and the entry's place in the file."""
    listed = content.get(key) if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise InputError(f"{where}: there is no list '{key}'; is it one of COCO's instances files?")
    for number, entry in enumerate(listed):
        place = f"{key}[{number}]"
        if not isinstance(entry, dict):
            raise InputError(f"{where}: {place} is {type(entry).__name__}; it must be an object.")
        values: list[int] = []
        for field in fields:
            value = entry.get(field)
            if type(value) is not int:
                raise InputError(f"{where}: {place}: {field} is {str(value)[:40]!r}; it must be a whole number.")
            values.append(value)
        yield tuple(values), place
