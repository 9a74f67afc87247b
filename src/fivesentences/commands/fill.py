"""`fivesentences fill`: numbers, tables and output of commands in pages of Markdown, from results."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.documents import read_bytes, text_of
from fivesentences.errors import InputError
from fivesentences.storage import replacing

if TYPE_CHECKING:
    from fivesentences.paper.text.pages import Remade


def fill(
    pages: Annotated[list[Path], typer.Argument(metavar="PAGE.md...", help="pages with places to fill")],
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="where the workflow keeps its results")] = Path(
        "results"
    ),
    only: Annotated[str, typer.Option(metavar="PATTERN", help="fill only places whose FILE or command matches")] = "*",
    check: Annotated[bool, typer.Option("--check", help="write nothing; fail if a page is not up to date")] = False,
    available: Annotated[
        bool, typer.Option("--available", help="leave places alone, and count them, whose results are not here")
    ] = False,
    preparations: Annotated[
        Path, typer.Option(metavar="YAML", help="what makes the files that commands of pages read")
    ] = Path("docs/outputs.yaml"),
) -> None:
    """Write numbers, tables and output of commands into pages, where these ask for them.

    A place in a page begins with <!-- fill FILE --> and ends with
    <!-- /fill -->. FILE is below --results: a table (.md), with "table" behind
    it without its title and notes, or a .csv with a line and a format:
    <!-- fill a.csv where loss=sam show {mean:.1f} --> 71.2 <!-- /fill -->

    A block between <!-- output PREPARATION: COMMAND --> and <!-- /output -->
    holds what the command prints. PREPARATION is named in --preparations, and
    may be left out; "PREPARATION, lines 1-9 12" shows these lines alone.

    Beside the preparations a record (.json) says on which kind of processor
    each page was made. --check compares exactly on that kind; elsewhere training
    gives other last digits, and it compares all but numbers, and says so.

    Examples:

        fivesentences fill docs/evidence.md

        fivesentences fill docs/evidence.md --only '*/evidence_seeds/*'

        fivesentences fill README.md docs/*.md --check --available
    """
    from fivesentences.machine import cpu_kind
    from fivesentences.paper.text.outputs import Outputs
    from fivesentences.paper.text.pages import difference, key_of, record_kinds, recorded_kinds, remade

    texts = {page: text_of(read_bytes(page), page) for page in pages}
    with Outputs(preparations, results) as runner:
        new = {
            page: remade(text, page, results, runner, only=only, available=available) for page, text in texts.items()
        }
    record, kind = preparations.with_suffix(".json"), cpu_kind()
    made_on = recorded_kinds(record)
    if check:
        elsewhere = {page: was for page in pages if (was := made_on.get(key_of(page, record), kind)) != kind}
        diffs = {page: difference(texts[page], new[page].text, page, exactly=page not in elsewhere) for page in pages}
        _report({page: one for page, one in new.items() if page not in elsewhere}, "places compared exactly")
        if elsewhere:
            others = ", ".join(sorted(set(elsewhere.values())))
            how = f"places compared WITHOUT THEIR NUMBERS, which were made on {others}; this is {kind}"
            _report({page: new[page] for page in elsewhere}, how)
        if stale := [page for page in pages if diffs[page]]:
            print("\n".join(diffs[page] for page in stale))
            raise InputError(
                f"{', '.join(map(str, stale))}: not what the results say",
                cure="run: fivesentences fill, and look at them",
            )
        return
    for page in pages:
        if new[page].text != texts[page]:
            with replacing(page) as temporary:
                temporary.write_text(new[page].text, encoding="utf-8")
            print(page)
    project = record.resolve().parent.parent  # whose pages are recorded, and no others
    ours = {page: one for page, one in new.items() if page.resolve().is_relative_to(project)}
    written = {key_of(page, record): kind for page, one in ours.items() if one.made and one.whole}
    if {**made_on, **written} != made_on:
        record_kinds(record, {**made_on, **written})
    _report(new, "places filled")


def _report(pages: dict[Path, Remade], how: str) -> None:
    left = [name for one in pages.values() for name in one.left]
    print(f"{how}: {sum(one.made for one in pages.values())}", file=sys.stderr)
    if left:
        groups = Counter("/".join(Path(name).parts[:2]) for name in left)
        listed = ", ".join(f"{name}: {count}" for name, count in sorted(groups.items()))
        print(f"left alone, since results are not here: {len(left)} ({listed})", file=sys.stderr)
