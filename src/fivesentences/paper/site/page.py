"""The page of a scale: every table and figure of its studies, as self-contained HTML."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fivesentences.config import Scale
from fivesentences.errors import InputError
from fivesentences.paper.figures.writing import read_texts
from fivesentences.paper.kinds import FigureKind, TableKind
from fivesentences.paper.site.shell import Site
from fivesentences.paper.tables.table import Table
from fivesentences.plan.exhibits import Exhibit
from fivesentences.plan.studies import Study

LEAD = "Made by one command."
# Only where there is a published number.
ON_PUBLISHED = (
    " Below each of our numbers stands the published one, where there is one; a difference is "
    "shown only where both were measured in the same way: dataset, judge, features, gallery and semantic metric."
)
TABLE_FILES = (("CSV", "csv"), ("Markdown", "md"), ("LaTeX", "tex"), ("JSON", "json"), ("by itself", "html"))
FIGURE_FILES = (("PDF", "pdf"), ("PNG", "png"), ("numbers as CSV", "csv"))
MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
Links = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """A picture with the text below it: a caption and notes. ``links`` are (label, address) of its other forms."""

    path: Path
    title: str
    caption: str
    notes: tuple[str, ...] = ()
    links: Links = ()
    name: str = ""


@dataclass(frozen=True)
class LinkedTable:
    """A table; ``links`` are (label, address) of its other forms."""

    table: Table
    links: Links = ()


@dataclass(frozen=True)
class Section:
    """The tables and figures of one paper, in the order of the page."""

    name: str
    paper: str
    tables: tuple[LinkedTable, ...]
    figures: tuple[Picture, ...]


def write_page(
    site: Site,
    scale: Scale,
    studies: Mapping[str, Study],
    folder: Path,
    examples: Sequence[Picture] = (),
    claims: str = "",
) -> Path:
    """Write ``folder/index.html`` from the tables and figures of the scale, which lie in ``folder/<study>/<name>.*``.

    The page contains its pictures, so that it can be sent to someone; only the links to other formats need the folder.

    Args:
        site: Its site.
        scale: The scale.
        studies: Its studies, by the names of their files.
        folder: Where the tables and figures are.
        examples: Pictures above everything else; see ``examples``.
        claims: What the page of claims in ``folder/claims`` says in short; empty if there is none.

    Raises:
        InputError: If a table or figure of a study has not been made, or a picture is neither PNG nor JPEG.
    """
    made = {name: study.made_at(scale) for name, study in studies.items()}
    sections = [_section(name, study, made[name], folder) for name, study in studies.items() if made[name]]
    lead = LEAD + (ON_PUBLISHED if any(_names_published(one) for one in sections) else "")
    shown = {"lead": [lead], "sections": sections, "examples": examples, "data_uri": as_data_uri, "claims": claims}
    return site.write(folder, "page.html", "index.html", **shown)


def _section(name: str, study: Study, made: Sequence[Exhibit], folder: Path) -> Section:
    return Section(
        name,
        study.paper,
        tuple(_table(folder, f"{name}/{one.name}") for one in made if isinstance(one, TableKind)),
        tuple(_figure(folder, f"{name}/{one.name}") for one in made if isinstance(one, FigureKind)),
    )


def _names_published(section: Section) -> bool:
    """Whether a table of the section holds a published value."""
    groups = [group for one in section.tables for group in one.table.groups]
    return any(cell.published is not None for group in groups for row in group.rows for cell in row.cells)


def _table(folder: Path, name: str) -> LinkedTable:
    return LinkedTable(Table.read(folder / f"{name}.json"), _links(name, TABLE_FILES))


def _figure(folder: Path, name: str) -> Picture:
    title, caption, notes = read_texts(folder / f"{name}.json")
    return Picture(
        folder / f"{name}.png", title, caption, tuple(notes), _links(name, FIGURE_FILES), name.partition("/")[2]
    )


def _links(name: str, files: Sequence[tuple[str, str]]) -> Links:
    return tuple((label, f"{name}.{suffix}") for label, suffix in files)


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
