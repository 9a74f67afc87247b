"""`fivesentences schema`: what is written from the code, and checked in beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.errors import InputError
from fivesentences.storage import replacing


def schema(
    root: Annotated[
        Path, typer.Option("--root", metavar="FOLDER", help="the checkout, in which config/ and docs/ lie")
    ] = Path(),
    check: Annotated[bool, typer.Option("--check", help="write nothing; fail if a file is not up to date")] = False,
) -> None:
    """Write the files that follow from the code: config/schemas and docs/{options,metrics,glossary}.md.

    The JSON schemas let an editor complete config/*.yaml: the first line of each
    of these files names its schema. The pages list every option, metric and
    word. Run this after a change of a specification, the configuration, the
    registry of metrics or the glossary. The names of the files are printed.

    Example:

        fivesentences schema --check
    """
    from fivesentences.config.metrics import metrics_page
    from fivesentences.glossary import glossary_page
    from fivesentences.plan.options_page import options_page
    from fivesentences.plan.schemas import schema_texts
    from fivesentences.study.study import Study

    if not (root / "config").is_dir() or not (root / "docs").is_dir():
        raise InputError(
            "it has no folders config and docs, into which a checkout of the project gets its schemas and pages",
            where=root.resolve(),
            cure="run it in a checkout, or name one by --root",
        )
    texts = {root / "config" / "schemas" / name: text for name, text in schema_texts(Study).items()}
    pages = {"options.md": options_page(), "metrics.md": metrics_page(), "glossary.md": glossary_page()}
    texts |= {root / "docs" / name: text for name, text in pages.items()}
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if check and stale:
        raise InputError(
            f"{', '.join(map(str, stale))}: not up to date with the code",
            cure="run: fivesentences schema",
        )
    for path in stale:
        with replacing(path) as temporary:
            temporary.write_text(texts[path], encoding="utf-8")
        print(path)
