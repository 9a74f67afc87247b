"""The page of a scale: every table and figure of its studies, from what the earlier rules wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fivesentences.config import Scale
from fivesentences.paper.figures.canvas import read_texts
from fivesentences.paper.html import LinkedTable, Picture, Section, page
from fivesentences.paper.tables.table import Table
from fivesentences.plan.studies import Study
from fivesentences.storage import replacing

LEAD = (
    "Made by one command. Every number of ours stands beside the number in print, where there is one; a difference is "
    "shown only where both were measured on the same: dataset, judge, features, gallery and semantic metric.",
)
_TABLE_FILES = (("CSV", "csv"), ("Markdown", "md"), ("LaTeX", "tex"), ("JSON", "json"), ("by itself", "html"))
_FIGURE_FILES = (("PDF", "pdf"), ("PNG", "png"), ("numbers as CSV", "csv"))


def write_page(
    scale: Scale, studies: Mapping[str, Study], folder: Path | str, photographs: Sequence[Picture] = ()
) -> Path:
    """Write ``folder/index.html`` from the tables and figures of the scale, which lie in ``folder/<study>/<name>.*``.

    The page holds its pictures itself, so that it can be sent to someone; only the links to other formats need the
    folder. ``photographs`` (sheets, see ``examples``) are shown above everything.

    Raises:
        InputError: If a table or figure of a study has not been made, or a picture is neither PNG nor JPEG.
    """
    folder = Path(folder)
    sections = []
    for name, study in studies.items():
        things = [
            _table(folder, name, exhibit.name) if exhibit in study.tables else _figure(folder, name, exhibit.name)
            for exhibit in study.made_at(scale)
        ]
        if things:
            sections.append(Section(study.paper, tuple(things)))
    text = page(scale.title, LEAD, sections, photographs)
    with replacing(folder / "index.html") as temporary:
        temporary.write_text(text, encoding="utf-8")
    return folder / "index.html"


def _table(folder: Path, study: str, name: str) -> LinkedTable:
    return LinkedTable(Table.read(folder / study / f"{name}.json"), _links(study, name, _TABLE_FILES))


def _figure(folder: Path, study: str, name: str) -> Picture:
    title, caption, notes = read_texts(folder / study / f"{name}.json")
    links = _links(study, name, _FIGURE_FILES)
    return Picture(folder / study / f"{name}.png", title, (caption, *notes), links)


def _links(study: str, name: str, files: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((label, f"{study}/{name}.{suffix}") for label, suffix in files)
