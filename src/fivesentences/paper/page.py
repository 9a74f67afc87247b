"""The page of a scale: every table and figure of its studies, from what the earlier rules wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fivesentences.config import Scale, Study
from fivesentences.paper.figures import read_texts
from fivesentences.paper.html import LinkedTable, Picture, Section, page
from fivesentences.paper.tables import Table
from fivesentences.storage import replacing

LEAD = (
    "Made by one command from photographs and captions. Every number of ours stands beside the number in print, where "
    "there is one; a difference is shown only where dataset, features, gallery and semantic metric are the paper's.",
)
_TABLE_FILES = (("CSV", "csv"), ("Markdown", "md"), ("LaTeX", "tex"), ("JSON", "json"), ("by itself", "html"))
_FIGURE_FILES = (("PDF", "pdf"), ("PNG", "png"), ("numbers as CSV", "csv"))


def write_page(
    scale: Scale, studies: Mapping[str, Study], folder: Path | str, photographs: Sequence[Picture] = ()
) -> Path:
    """Write ``folder/index.html`` from the tables and figures that lie in ``folder/<study>/<name>.*``.

    The page holds its pictures itself, so that it can be sent to someone; only the links to other formats need the
    folder. ``photographs`` (sheets, see ``examples``) are shown above everything.

    Raises:
        InputError: If a table or figure of a study has not been made, or a picture is neither PNG nor JPEG.
    """
    folder = Path(folder)
    sections = []
    for name, study in studies.items():
        tables = [
            LinkedTable(Table.read(folder / name / f"{table}.json"), _links(name, table, _TABLE_FILES))
            for table in study.tables
        ]
        figures = []
        for figure in study.figures:
            title, caption, notes = read_texts(folder / name / f"{figure}.json")
            links = _links(name, figure, _FIGURE_FILES)
            figures.append(Picture(folder / name / f"{figure}.png", title, (caption, *notes), links))
        sections.append(Section(study.paper, tuple(tables), tuple(figures)))
    text = page(scale.title, LEAD, sections, photographs)
    with replacing(folder / "index.html") as temporary:
        temporary.write_text(text, encoding="utf-8")
    return folder / "index.html"


def _links(study: str, name: str, files: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((label, f"{study}/{name}.{suffix}") for label, suffix in files)
