"""Captions as a reader wants to see them in a picture."""

from __future__ import annotations

import re
import textwrap


def as_written(caption: str) -> str:
    """Join punctuation to its word, where datasets set it apart."""
    return re.sub(r" ([.,;:!?]|'s\b|n't\b)", r"\1", caption)


def wrapped(caption: str, width: int, lines: int, indent: str = "") -> str:
    """Fold a caption into lines of at most ``width`` characters; one that needs more than ``lines`` ends in [...]."""
    return textwrap.fill(as_written(caption), width, subsequent_indent=indent, max_lines=lines)
