"""`fivesentences glossary`: what the words of this project mean."""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.glossary import TERMS, Term, by_stage, terms_of
from fivesentences.storage import check_writable, write_json

WIDEST = 100  # columns; longer lines are hard to read


def glossary(
    word: Annotated[
        str | None, typer.Argument(metavar="WORD", help="a word, such as GT, role or phi; default: all words")
    ] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="write JSON instead; - is standard output")
    ] = None,
) -> None:
    """Explain a word of the help, the tables or the configuration, and say where it occurs.

    "fivesentences metrics" lists the metrics.

    Examples:

        fivesentences glossary

        fivesentences glossary "ideal pool"
    """
    terms = list(TERMS) if word is None else terms_of(word)
    if json_out is not None:
        content = [asdict(term) for term in terms]
        if str(json_out) == "-":
            print(json.dumps(content, indent=1, ensure_ascii=False))
        else:
            check_writable(json_out)
            write_json(json_out, content)
        return
    width = min(WIDEST, shutil.get_terminal_size().columns)
    if word is not None:
        print("\n\n".join(_lines(term, width) for term in terms))
        return
    for title, some in by_stage().items():
        print(f"{title.upper()}\n")
        print("\n\n".join(_lines(term, width) for term in some), end="\n\n")


def _lines(term: Term, width: int) -> str:
    more = "; ".join(part for part in (term.where, f"more: {term.page.partition('#')[0]}") if part)
    also = f" (also: {', '.join(term.also)})" if term.also else ""
    filled = [
        textwrap.fill(text, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        for text in (term.means, f"[{more}]")
    ]
    return "\n".join([f"{term.word}{also}", *filled])
