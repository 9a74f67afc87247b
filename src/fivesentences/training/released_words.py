"""Words of a caption as the released codes cut them, by nltk's ``word_tokenize``."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from fivesentences.errors import InputError, install

if TYPE_CHECKING:
    from nltk.tokenize.destructive import NLTKWordTokenizer

# A sentence ends at . ? ! before white space, but not behind a single letter (j. smith) or one of these.
ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "st", "jr", "sr", "vs", "mt", "ft", "no", "prof", "u.s", "a.m", "p.m"}
)
# Most captions: words and hyphens, and perhaps a full stop at the end. nltk cuts them at white space, apart from words
# that it cuts in two, and takes thirty times as long.
PLAIN = re.compile(r"\s*([a-z0-9]+(?:-[a-z0-9]+)*(?:\s+[a-z0-9]+(?:-[a-z0-9]+)*)*)\s*(\.?)\s*")
TWO_WORDS = frozenset({"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"})
SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


def released_words(caption: str) -> list[str]:
    """Words of a caption as nltk's ``word_tokenize`` cuts its lower case, where punctuation marks are words too.

    Within a sentence this is nltk's own tokenizer. To find where sentences end, ``word_tokenize`` asks a trained model
    (punkt), which would be one more download; here ``SENTENCE_END`` and ``ABBREVIATIONS`` decide, which affects only
    captions of several sentences.

    Raises:
        InputError: If nltk is not installed.
    """
    text = caption.lower()
    if (plain := PLAIN.fullmatch(text)) is not None and TWO_WORDS.isdisjoint(words := plain[1].split()):
        return [*words, "."] if plain[2] else words
    return [word for sentence in _sentences(text) for word in _tokenizer().tokenize(sentence)]


@cache
def _tokenizer() -> NLTKWordTokenizer:
    """Imported when it is first needed: nltk takes seconds where scikit-learn is installed."""
    try:
        from nltk.tokenize.destructive import NLTKWordTokenizer
    except ImportError:
        raise InputError(
            "captions are cut as the released codes do by nltk, which is not installed", cure=install("train")
        ) from None
    return NLTKWordTokenizer()


def _sentences(text: str) -> list[str]:
    sentences: list[str] = []
    for part in SENTENCE_END.split(text.strip()):
        before = sentences[-1].split()[-1].removesuffix(".") if sentences else ""
        if sentences and sentences[-1].endswith(".") and (len(before) == 1 or before in ABBREVIATIONS):
            sentences[-1] += " " + part
        else:
            sentences.append(part)
    return sentences
