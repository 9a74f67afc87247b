"""Captions as single lines, for programs that read a caption a line."""

from __future__ import annotations

import re


def one_line(caption: str) -> str:
    """White space of any kind as single spaces; halves of a surrogate pair, which are no text, as U+FFFD."""
    text = caption.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return " ".join(text.replace("\0", " ").split())


def words_in(text: str) -> int:
    """Number of words and punctuation marks, about what a tokenizer makes of it."""
    return sum(1 for _ in re.finditer(r"\w+|[^\w\s]", text))


def longest_sentence(text: str) -> int:
    """Words and punctuation marks between two ends of a sentence, at most; parsing time and memory grow with it."""
    return max(map(words_in, re.split(r"[.!?]", text)))
