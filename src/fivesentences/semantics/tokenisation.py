"""Captions to words, and words to numbers."""

from __future__ import annotations

import pkgutil
import re
import unicodedata
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.registry import TOKENISATIONS

# Most scripts write vowels, tones or accents by marks behind a letter, and Persian and Indian ones join letters within
# a word by invisible signs. Python's \w has none of them.
MARKS = "\u200c\u200d" + "".join(
    sign for sign in map(chr, chain(range(0x20000), range(0xE0100, 0xE01F0))) if unicodedata.category(sign)[0] == "M"
)
LETTER = rf"[^\W_][{MARKS}]*"  # or a digit, of any script
_PART = rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*"  # letters
WORD = rf"{_PART}(?:['’·״׳‐‑-]{_PART})*"  # with what may stand inside of one: "man's", "t-shirt", "צה״ל"
# Where a line may be broken, or the direction of writing: not seen, and inside words and beside them.
_UNSEEN = dict.fromkeys([0xAD, 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF])
_CHARACTER = re.compile(rf"\S[{MARKS}]*")

# Caption files such as those of SCAN set punctuation off by spaces; this undoes it.
_SPACE_BEFORE = re.compile(r"\s+(?=[.,!?;:%)\]])|\s+(?=(?:'(?:s|m|d|t|re|ve|ll)|n't)\b)", re.IGNORECASE)
_SPACE_AFTER = re.compile(r"(?<=[(\[#$])\s+")


def tokenise(captions: Sequence[str], tokenize: str = "whitespace") -> list[list[str]]:
    """Split each caption into words.

    Args:
        captions: Raw captions.
        tokenize: ``"whitespace"`` lower-cases and splits at white space, as the released metric code does, so
            punctuation stays where it is. ``"reattached"`` first removes the space before ``. , ! ? ; : % ) ]``,
            before suffixes such as ``'s`` and before ``n't``, and after ``( [ # $``; these words reproduce the
            correlations of Five Sentences Table 1. ``"characters"`` lower-cases and takes every character but white
            space, with the marks behind it, as a word, for languages written without spaces. ``"ptb"`` is the Penn
            Treebank tokenizer of coco-caption, which drops punctuation and needs Java.

    Returns:
        One list of words per caption, empty for a caption without words. Letters with accents are composed (Unicode's
        NFC), so that a caption has the same words however its file writes them.

    Raises:
        InputError: If ``tokenize`` is unknown, or is ``"ptb"`` and Java support is not installed.
    """
    captions = [*map(composed, captions)]
    if tokenize == "whitespace":
        return [caption.lower().split() for caption in captions]
    if tokenize == "reattached":
        return [_SPACE_AFTER.sub("", _SPACE_BEFORE.sub("", caption)).lower().split() for caption in captions]
    if tokenize == "characters":
        return [_CHARACTER.findall(caption.lower()) for caption in captions]
    if tokenize == "ptb":
        # By name: whoever splits at white space needs none of what runs Java.
        tokens: list[list[str]] = pkgutil.resolve_name("fivesentences.semantics.java.ptb_tokenizer:ptb_tokens")(
            captions
        )
        return tokens
    raise InputError(f"tokenize is {tokenize!r}; expected one of {', '.join(map(repr, TOKENISATIONS))}.")


def one_word_each(captions: Sequence[str]) -> str:
    """Return a note where most captions are one long word of another script, as without spaces; otherwise nothing."""
    long = [text for text in captions if not text.isascii() and len(text) > 3 and len(text.split()) == 1]
    if len(long) <= len(captions) / 2:
        return ""
    share = f"{len(long):,} of {len(captions):,} captions are one word"
    return f"{share} ('{long[0][:30]}'): for a language that is written without spaces, choose cider-characters."


def composed(text: str) -> str:
    """Return the text with each accented letter as one character, as keyboards write it: Unicode's NFC."""
    return unicodedata.normalize("NFC", text)


def find_words(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return what a pattern, such as that of ``WORD``, finds in a text in lower case, without its invisible signs."""
    return pattern.findall(composed(text).lower().translate(_UNSEEN))


def number_words(tokens: Sequence[Sequence[str]]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Number words in the order in which they first occur.

    Args:
        tokens: Words of each caption.

    Returns:
        ``[words of all captions]`` number of each word, one caption after the other; ``[captions]`` number of words
        in each caption; the number of distinct words.
    """
    words = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    vocabulary: dict[str, int] = {}
    word = np.fromiter(
        (vocabulary.setdefault(token, len(vocabulary)) for caption in tokens for token in caption),
        dtype=np.int64,
        count=int(words.sum()),
    )
    return word, words, len(vocabulary)
