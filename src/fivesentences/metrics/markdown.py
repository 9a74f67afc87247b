"""Text for Markdown; a module of its own because commands, which must start fast, import it too."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fivesentences.errors import visible

_WHITE = re.compile("[ \t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
# Of brackets and underscores only those that make a link or emphasis: the others are left readable in the file.
_SIGNS = re.compile(r"[\\|*`~]|(?<=\])[(\[:]|(?<![^\W_])_|_(?![^\W_])")
# What begins a quotation, a heading, a list or a rule; a backslash belongs behind the group.
_BEGINNING = re.compile(r"^( ?(?:\d{1,9}(?=[.)](?: |$))|(?=>|#+(?: |$)|[-+](?:[ -]|$))))")
_ENTITY = re.compile(r"&(?=#?\w+;)")


def escape_markdown(text: str) -> str:
    """Put a text on one line, and escape what GitHub would not show as it is in a table or paragraph."""
    escaped = _SIGNS.sub(r"\\\g<0>", visible(_WHITE.sub(" ", text)))
    return _ENTITY.sub("&amp;", _BEGINNING.sub(r"\1\\", escaped)).replace("<", "&lt;")


def piped(cells: Iterable[str]) -> str:
    """Join cells, which are Markdown already, to a line of a table."""
    return "| " + " | ".join(cells) + " |"
