"""Pictures on the pages: files as data addresses, and sheets of photographs and of features."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.paper.tables.writing import read_texts

MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


@dataclass(frozen=True)
class Picture:
    """A picture with the text below it.

    Attributes:
        path: A PNG or JPEG file.
        title: Its heading.
        caption: One sentence or two.
        notes: Further sentences for a reader.
        links: (label, address) of its other forms.
        name: Its anchor on a page; empty for none.
    """

    path: Path
    title: str
    caption: str
    notes: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    name: str = ""


def as_data_uri(path: Path) -> str:
    """Return a PNG or JPEG file as an address that contains the picture.

    Raises:
        InputError: If the file is missing or is neither PNG nor JPEG.
    """
    if path.suffix.lower() not in MEDIA:
        raise InputError(f"{path}: a picture of the page must be a PNG or JPEG file.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such picture.") from None
    return f"data:{MEDIA[path.suffix.lower()]};base64,{base64.b64encode(data).decode('ascii')}"


def read_examples(path: Path) -> Picture:
    """Read the sheet as a picture for the page, from the ``.json`` beside it.

    Raises:
        InputError: If the file is missing.
    """
    shown = read_json(path, "make it again")
    caption = f"{shown['images']} of the {shown['of']} test images of {shown['dataset']}, each with its captions."
    title, name = f"What {shown['dataset']} looks like", f"examples-{path.stem}"
    return Picture(path.with_suffix(".png"), title, caption, name=name)


def read_features_sheet(path: Path) -> Picture:
    """Read the picture for the page, from the ``.json`` beside it.

    Raises:
        InputError: If the file is missing.
    """
    title, caption, notes = read_texts(path)
    return Picture(path.with_suffix(".png"), title, caption, notes, name=path.stem)
