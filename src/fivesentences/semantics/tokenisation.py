"""Captions to words, and words to numbers."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.registry import TOKENISATIONS

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
            space as a word, for languages written without spaces. ``"ptb"`` is the Penn Treebank tokenizer of
            coco-caption, which drops punctuation and needs Java.

    Returns:
        One list of words per caption, empty for a caption without words.

    Raises:
        InputError: If ``tokenize`` is unknown, or is ``"ptb"`` and Java support is not installed.
    """
    if tokenize == "whitespace":
        return [caption.lower().split() for caption in captions]
    if tokenize == "reattached":
        return [_SPACE_AFTER.sub("", _SPACE_BEFORE.sub("", caption)).lower().split() for caption in captions]
    if tokenize == "characters":
        return [[*"".join(caption.lower().split())] for caption in captions]
    if tokenize == "ptb":
        # By name: whoever splits at white space needs none of what runs Java.
        tokens: list[list[str]] = pkgutil.resolve_name("fivesentences.semantics.java.ptb_tokenizer:ptb_tokens")(
            captions
        )
        return tokens
    raise InputError(f"tokenize is {tokenize!r}; expected one of {', '.join(map(repr, TOKENISATIONS))}.")


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
