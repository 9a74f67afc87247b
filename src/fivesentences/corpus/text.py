"""Lines of text files, which end at ``\\n`` only."""

from __future__ import annotations


def lines_of(text: str) -> list[str]:
    """Lines without their ends.

    Not ``str.splitlines()``: that also splits at U+2028, form feeds and other characters that real captions contain,
    and every later line would belong to the wrong image.
    """
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
