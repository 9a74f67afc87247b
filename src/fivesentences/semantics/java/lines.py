"""Captions as single lines, for programs that read a caption a line."""

from __future__ import annotations


def one_line(caption: str) -> str:
    """White space of any kind as single spaces; halves of a surrogate pair, which are no text, as U+FFFD."""
    text = caption.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return " ".join(text.replace("\0", " ").split())
