"""Tables and the page of a scale as self-contained HTML: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from fivesentences.errors import InputError
from fivesentences.paper.tables.table import Table, spans

_MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


@dataclass(frozen=True)
class Picture:
    """A picture with the text that stands below it, and links (label, address) to its other forms."""

    path: Path
    title: str
    texts: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class LinkedTable:
    """A table with links (label, address) to its other forms."""

    table: Table
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Section:
    """The tables and figures of one paper, in the order of the page."""

    paper: str
    things: tuple[LinkedTable | Picture, ...] = ()


def table_sheet(table: Table) -> str:
    """A page with one table."""
    return _environment().get_template("sheet.html").render(table=table)


def page(title: str, lead: Sequence[str], sections: Sequence[Section], photographs: Sequence[Picture] = ()) -> str:
    """The page of a scale: sheets of photographs, then the tables and figures of every paper.

    Raises:
        InputError: If a picture is missing or is neither PNG nor JPEG.
    """
    template = _environment().get_template("page.html")
    return template.render(title=title, lead=lead, sections=sections, photographs=photographs)


def as_data_uri(path: Path | str) -> str:
    """A PNG or JPEG file as an address that holds the picture itself.

    Raises:
        InputError: If the file is missing or is neither PNG nor JPEG.
    """
    path = Path(path)
    if path.suffix.lower() not in _MEDIA:
        raise InputError(f"{path}: a picture of the page must be a PNG or JPEG file.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such picture.") from None
    return f"data:{_MEDIA[path.suffix.lower()]};base64,{base64.b64encode(data).decode('ascii')}"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fivesentences.paper", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(spans=spans, data_uri=as_data_uri, width=_width)
    return environment


def _width(text: str) -> float:
    """About how wide a text is in a sans-serif font, in em."""
    return round(0.1 + sum(0.3 if letter in " .,[]" else 0.58 for letter in text), 1)
