"""`fivesentences fill`: numbers and tables of a page of Markdown from results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError
from fivesentences.storage import replacing


def fill(
    pages: Annotated[list[Path], typer.Argument(metavar="PAGE.md...", help="pages with places to fill")],
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="where the workflow keeps its results")] = Path(
        "results"
    ),
    only: Annotated[str, typer.Option(metavar="PATTERN", help="fill only places whose FILE matches")] = "*",
    check: Annotated[bool, typer.Option("--check", help="write nothing; fail if a page is not up to date")] = False,
) -> None:
    """Write numbers and tables from results into pages, where these ask for them.

    A place in a page begins with <!-- fill FILE --> and ends with
    <!-- /fill -->. FILE is below --results: a table (.md), with "table" behind
    it without its title and notes, or a .csv with a line and a format:
    <!-- fill a.csv where loss=sam show {mean:.1f} --> 71.2 <!-- /fill -->

    Examples:

        fivesentences fill docs/evidence.md

        fivesentences fill docs/evidence.md --only '*/evidence_seeds/*'

        fivesentences fill docs/evidence.md --check
    """
    from fivesentences.paper.text.filling import filled

    texts = {page: text_of(read_bytes(page), page) for page in pages}
    new = {page: filled(text, results, page, only) for page, text in texts.items()}
    stale = [page for page in pages if new[page] != texts[page]]
    if check and stale:
        raise InputError(
            f"{', '.join(map(str, stale))}: not what the results say", cure="run: fivesentences fill, and look at them"
        )
    for page in stale:
        with replacing(page) as temporary:
            temporary.write_text(new[page], encoding="utf-8")
        print(page)
