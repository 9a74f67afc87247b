"""The page of a study: its result in a sentence, its figures, its tables, and their notes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.claims.writing import Stored, counts_of
from fivesentences.reproduction.paper.numbers.selected import filler
from fivesentences.reproduction.paper.site.findings import filled
from fivesentences.reproduction.paper.site.pictures import Picture, addresses_in
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.paper.tables.table import Column, Group, Table
from fivesentences.reproduction.paper.tables.writing import read_texts
from fivesentences.reproduction.study.exhibits import Exhibit, FigureSpec, TableSpec
from fivesentences.reproduction.study.study import Study

ON_PUBLISHED = (
    "The published value, where there is one, is in italics below ours. A difference from it is shown only where both "
    "were measured in the same way: dataset, human ratings, features, gallery and semantic metric."
)
TABLE_FILES = {"CSV": "csv", "Markdown": "md", "LaTeX": "tex", "JSON": "json"}
FIGURE_FILES = {"data of this figure (CSV)": "csv", "SVG": "svg", "texts (JSON)": "json"}
NOT_KEPT = ("tex",)  # by git: a page that it keeps links to nothing that is not beside it in a clone
KINDS = {"table": TableSpec, "figure": FigureSpec}
SHOWN = 4  # notes that several tables share, before the others are folded


class SharedNote(NamedTuple):
    """A note of several tables and figures; ``of`` names those, and is empty if it holds for all that have notes."""

    text: str
    of: tuple[str, ...] = ()


def write_study_page(
    site: Site, scale: Scale, name: str, study: Study, folder: Path, claims: Sequence[Stored] = ()
) -> Path:
    """Write ``folder/<name>/index.html`` from the tables and figures of the study, which lie beside it.

    The page contains its pictures, so that it can be sent to someone; only the links to other formats need the folder.

    Args:
        site: The site of the scale.
        scale: The scale.
        name: The study's file, without its ending.
        study: The study.
        folder: Folder of the site.
        claims: Claims that runs of the scale test, see ``claims.writing.read_claims``.

    Raises:
        InputError: If a table or figure of the study has not been made.
    """
    made, here = study.made_at(scale), folder / name
    tables = {one.name: Table.read(here / f"{one.name}.json") for one in made if isinstance(one, TableSpec)}
    for one, table in tables.items():
        if (table.study, table.name) != (name, one):
            what = f"it is the table {table.name} of {table.study}"
            raise InputError(what, where=here / f"{one}.json", cure="make the table again")
    figures = {one.name: one for one in made if isinstance(one, FigureSpec)}
    texts = {one: read_texts(here / f"{one}.json") for one in figures}
    for one, known in texts.items():
        if (known.title, known.caption) != (figures[one].title, figures[one].caption):
            what = f"it is of the figure '{known.title}'"
            raise InputError(what, where=here / f"{one}.json", cure="draw the figure again")
    empty = {one for one, table in tables.items() if not table.groups}
    empty |= {one for one in figures if not _has_data(here / f"{one}.csv")}
    notes = {one: table.notes for one, table in tables.items()} | {one: known.notes for one, known in texts.items()}
    notes = {one: some for one, some in notes.items() if one not in empty}
    shared = shared_notes(notes)
    twice = {note.text for note in shared}
    own = {one: [note for note in some if note not in twice] for one, some in notes.items()}
    links = {
        one: [
            (label, f"{one}.{form}")
            for label, form in (TABLE_FILES if one in tables else FIGURE_FILES).items()
            if not (site.is_kept and form in NOT_KEPT)
        ]
        for one in notes
    }
    finding = study.finding_at(scale)
    if finding is not None and finding.figure is not None:  # which opens the page
        first = finding.figure.partition("/")[2]
        texts = {first: texts[first]} | texts
    of_paper = [claim for claim in claims if claim["paper"] == name]
    return site.write(
        folder,
        "study.html",
        f"{name}/index.html",
        paper=study.paper,
        scale=scale.scale,
        target=name,
        finding=None if finding is None else filled(finding, folder),
        result=_result(scale, name, made, folder),
        on_published=_on_published(list(tables.values())),
        empty=[one.title for one in made if one.name in empty],
        claims=counts_of(of_paper) if of_paper else {},
        paper_anchor=name,
        shared=shared[:SHOWN],
        shared_further=shared[SHOWN:],
        tables=[
            {"table": table, "notes": own[one], "links": links[one]}
            for one, table in tables.items()
            if one not in empty
        ],
        figures=[
            Picture(
                here / f"{one}.svg", of.heading, of.below, own[one], links[one], one, figures[one].shows_photographs
            )
            for one, of in texts.items()
            if one not in empty
        ],
        rows=site_rows,
        address=addresses_in(here),
    )


def _has_data(path: Path) -> bool:
    """Tell whether the data of a figure has a line below its headings."""
    check_file(path, "draw the figure again")
    with path.open(encoding="utf-8") as lines:
        return len(list(itertools.islice(lines, 2))) == 2


def _result(scale: Scale, name: str, made: Sequence[Exhibit], folder: Path) -> str:
    """Fill what the finding of a scale says of a study; empty if it says nothing, or its tables are not made."""
    if scale.finding is None:
        return ""
    text, tables = scale.finding.result_of(name), {f"{name}/{one.name}" for one in made}
    return filler(scale.finding, folder)(text) if scale.finding.tables_of([text]) <= tables else ""


def shared_notes(notes_of: Mapping[str, Sequence[str]]) -> list[SharedNote]:
    """Notes that at least two tables or figures have word for word, those of most of them first.

    The files of a table or figure keep all of their notes, since someone may take one of them away.

    Args:
        notes_of: The notes of each table or figure, by its name.
    """
    having: dict[str, list[str]] = {}
    for name, notes in notes_of.items():
        for note in dict.fromkeys(notes):
            having.setdefault(note, []).append(name)
    every = sum(bool(notes) for notes in notes_of.values())
    several = sorted((one for one in having.items() if len(one[1]) > 1), key=lambda one: -len(one[1]))
    return [SharedNote(text, () if len(names) == every else tuple(names)) for text, names in several]


def count_of(made: Sequence[Exhibit]) -> str:
    """Count tables and figures: ``5 tables and 1 figure``."""
    counts = {word: sum(isinstance(one, kind) for one in made) for word, kind in KINDS.items()}
    return " and ".join(f"{count} {word}{'s' if count != 1 else ''}" for word, count in counts.items() if count)


def site_rows(table: Table, group: Group) -> Iterator[dict[str, Any]]:
    """Lay out the rows of a group: one per row of ours, the published value and the difference within its cells.

    Yields:
        ``labels``; ``remark``: words on a row that learnt nothing; ``source``: what the second number is;
        ``of_paper``: whether the row is the paper's alone; and ``cells``: ``ours`` (of a row of the paper's its
        number), ``published`` and ``difference`` as text, ``sense``
        ("better", "worse" or ""), and ``sort``: the unrounded number by which the column is sorted.
    """
    for row in group.rows:
        lines = {line.kind: line for line in table.lines(row)}
        first, beside = lines.get("ours") or lines["published"], lines.get("published") if "ours" in lines else None
        difference, cells = lines.get("difference"), []
        for index, (cell, column) in enumerate(zip(row.cells, table.columns, strict=True)):
            value = cell.published if cell.value is None and "ours" not in lines else cell.value
            cells.append(
                {
                    "ours": first.cells[index],
                    "published": beside.cells[index] if beside else "",
                    "difference": difference.cells[index] if difference else "",
                    "sense": _sense(cell.difference, column, table.digits[index]),
                    "sort": "" if value is None else repr(float(value)),
                }
            )
        source = beside.stub[-1] if beside else ("" if row.kind == "ours" else first.stub[-1])
        yield {
            "labels": row.labels,
            "remark": row.remark,
            "source": source,
            "of_paper": row.kind == "published",
            "cells": cells,
        }


def _sense(difference: float | None, column: Column, digits: int) -> str:
    """Tell whether a difference, rounded as shown, is for the better."""
    if difference is None or column.better == "neither" or round(difference, digits) == 0:
        return ""
    return "better" if (difference > 0) == (column.better == "higher") else "worse"


def _on_published(tables: Sequence[Table]) -> str:
    """Explain what stands below our numbers, on a page where something does."""
    cells = [cell for table in tables for group in table.groups for row in group.rows for cell in row.cells]
    if all(cell.published is None for cell in cells):
        return ""
    return ON_PUBLISHED + " Here there is no such case." * all(cell.difference is None for cell in cells)
