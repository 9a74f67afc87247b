"""Text for Markdown; a module of its own because commands, which must start fast, import it too."""

from __future__ import annotations

from collections.abc import Iterable


def escape_markdown(text: str) -> str:
    """Text with everything escaped that GitHub would not show as it is in a table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def piped(cells: Iterable[str]) -> str:
    """One line of a table, from cells that are Markdown already."""
    return "| " + " | ".join(cells) + " |"
