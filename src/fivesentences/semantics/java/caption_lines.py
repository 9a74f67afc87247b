"""Captions as single lines, for programs that read one caption per line, and their lengths in words."""

from __future__ import annotations

import re


def one_line(caption: str) -> str:
    """Replace white space of any kind by single spaces, and unpaired surrogates, which are not text, by U+FFFD."""
    text = caption.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return " ".join(text.replace("\0", " ").split())


def words_in(text: str) -> int:
    """Count words and punctuation marks, roughly as a tokenizer does."""
    return sum(1 for _ in re.finditer(r"\w+|[^\w\s]", text))


def longest_sentence(text: str) -> int:
    """Count the words and punctuation marks of the longest sentence, which determines parsing time and memory."""
    return max(map(words_in, re.split(r"[.!?]", text)))
