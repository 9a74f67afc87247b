"""`fivesentences schema`: JSON schemas of the configuration files, and the page of options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.errors import InputError
from fivesentences.storage import replacing


def schema(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="where the schemas go")] = Path(
        "config/schemas"
    ),
    page: Annotated[Path, typer.Option(metavar="FILE", help="where the page of options goes")] = Path(
        "docs/options.md"
    ),
    check: Annotated[bool, typer.Option("--check", help="write nothing; fail if a file is not up to date")] = False,
) -> None:
    """Write JSON schemas of the configuration files, and the page of all options.

    With them an editor completes config/*.yaml: the first line of each of these
    files names its schema. Both follow from the specifications of models and
    losses and from the typed configuration; run this after changing one.

    Example:

        fivesentences schema --check
    """
    from fivesentences.paper.studies import PaperStudy
    from fivesentences.plan.options_page import options_page
    from fivesentences.plan.schemas import schema_texts

    texts = {out / name: text for name, text in schema_texts(PaperStudy).items()} | {page: options_page()}
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if check and stale:
        raise InputError(
            f"{', '.join(map(str, stale))}: not up to date with the specifications",
            cure="run: fivesentences schema",
        )
    for path in stale:
        with replacing(path) as temporary:
            temporary.write_text(texts[path], encoding="utf-8")
        print(path)
