"""Captions as the released codes number them, for checkpoints that their authors trained."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fivesentences.errors import InputError
from fivesentences.storage import read_json
from fivesentences.training.vocabulary import END, PAD, SPECIAL, START, UNKNOWN

# Where nltk's word tokenizer puts spaces; a rule sees what those before it did.
SPACED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"([«“‘„»”’]|`+)", r" \1 "),
        (r"(^|(?<=[ (\[{<]))\"|(?<=[ (\[{<])''", r" `` "),  # an opening quotation mark; below, the others
        (r"(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "' "),
        (r"([:,])(?!\d)", r" \1 "),
        (r"(\.{2,}|--|[;@#$%&?!*()\[\]{}<>\u2012-\u2015])", r" \1 "),
        (r"(?<!\.)\.(?=[\"' )\]}>]*$)", " . "),  # of all single periods the last alone
        (r"\"|''", " '' "),
        (r"(?<=[^' ])('s|'m|'d|'ll|'re|'ve|n't|')(?= |$)", r" \1"),
        (
            r"\b(can)(not)\b|\b(gim|lem)(me)\b|\b(gon)(na)\b|\b(wan)(na)(?= |$)|\b(got)(ta)\b",
            r" \1\3\5\7\9 \2\4\6\8\g<10> ",
        ),
        (r"\b(d)('ye)\b|\b(more)('n)\b|(?<= )('t)(is|was)\b", r" \1\3\5 \2\4\6 "),
    )
)
# A sentence ends at . ? ! before white space; not behind a letter alone (j. smith) or one of these.
ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "st", "jr", "sr", "vs", "mt", "ft", "no", "prof", "u.s", "a.m", "p.m"}
)
SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


def released_words(caption: str) -> list[str]:
    """Words of a caption as nltk's ``word_tokenize`` cuts its lower case, punctuation being words too.

    Equal to nltk's tokenizer within a sentence. Where sentences end nltk asks a trained model; here, ``SENTENCE_END``
    and ``ABBREVIATIONS`` decide, which matters for captions of several sentences alone.
    """
    words: list[str] = []
    for sentence in _sentences(caption.lower()):
        spaced = sentence
        for pattern, by in SPACED:
            spaced = pattern.sub(by, spaced)
        words += spaced.split()
    return words


def _sentences(text: str) -> list[str]:
    sentences: list[str] = []
    for part in SENTENCE_END.split(text.strip()):
        before = sentences[-1].split()[-1].removesuffix(".") if sentences else ""
        if sentences and sentences[-1].endswith(".") and (len(before) == 1 or before in ABBREVIATIONS):
            sentences[-1] += " " + part
        else:
            sentences.append(part)
    return sentences


@dataclass(frozen=True)
class ReleasedVocabulary:
    """The words that a released checkpoint numbers.

    Attributes:
        number: Word -> number; the special words have the numbers that ours have.
    """

    number: dict[str, int]

    def __len__(self) -> int:
        return len(self.number)

    @cached_property
    def _specials(self) -> tuple[int, int, int]:
        return self.number[SPECIAL[START]], self.number[SPECIAL[END]], self.number[SPECIAL[UNKNOWN]]

    def encode(self, caption: str) -> list[int]:
        """``<start>``, the caption's words, ``<end>``, as numbers."""
        start, end, unknown = self._specials
        return [start, *(self.number.get(word, unknown) for word in released_words(caption)), end]

    @classmethod
    def read(cls, path: Path | str) -> ReleasedVocabulary:
        """Read a released ``*_vocab.json``, of which ``word2idx`` counts.

        Raises:
            InputError: If the file is missing or is no such vocabulary (a ``.pkl`` is none: it is a program).
        """
        content = read_json(path)
        number = content.get("word2idx") if isinstance(content, dict) else None
        if not isinstance(number, dict):
            raise InputError(
                f"{path} has no word2idx; name a vocabulary as the released codes ship it, such as "
                "f30k_precomp_vocab.json."
            )
        if sorted(number.values(), key=str) != sorted(range(len(number)), key=str):
            raise InputError(
                f"{path}: the numbers of word2idx are not 0 to {len(number) - 1}, each once; fetch the file again."
            )
        if missing := [word for word in SPECIAL if word not in number]:
            raise InputError(
                f"{path}: word2idx lacks '{missing[0]}', which released vocabularies have; is it another file?"
            )
        if number[SPECIAL[PAD]] != PAD:
            raise InputError(
                f"{path}: '{SPECIAL[PAD]}' is word {number[SPECIAL[PAD]]}; in released vocabularies it is {PAD}."
            )
        return cls({str(word): int(value) for word, value in number.items()})
