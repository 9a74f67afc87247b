"""Pictures that stand within a page."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from fivesentences.errors import InputError
from fivesentences.paper.site.notes import NO_NOTES, Notes

MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
Links = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """A picture with the text below it.

    Attributes:
        path: A PNG or JPEG file.
        title: Its heading.
        caption: One sentence or two.
        notes: What else a reader should know.
        links: (label, address) of its other forms.
        name: Its anchor on a page; empty for none.
    """

    path: Path
    title: str
    caption: str
    notes: Notes = NO_NOTES
    links: Links = ()
    name: str = ""


def as_data_uri(path: Path) -> str:
    """A PNG or JPEG file as an address that contains the picture.

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
