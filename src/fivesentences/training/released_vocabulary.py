"""Captions as sequences of the word numbers of a released code, for checkpoints that its authors trained."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fivesentences.documents import read_json
from fivesentences.errors import InputError, install
from fivesentences.training.vocabulary import END, PAD, SPECIAL, START, UNKNOWN

if TYPE_CHECKING:
    from nltk.tokenize.destructive import NLTKWordTokenizer

# A sentence ends at . ? ! before white space, but not behind a single letter (j. smith) or one of these.
ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "st", "jr", "sr", "vs", "mt", "ft", "no", "prof", "u.s", "a.m", "p.m"}
)
SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


def released_words(caption: str) -> list[str]:
    """Words of a caption as nltk's ``word_tokenize`` cuts its lower case, where punctuation marks are words too.

    Within a sentence this is nltk's own tokenizer. To find where sentences end, ``word_tokenize`` asks a trained model
    (punkt), which would be one more download; here ``SENTENCE_END`` and ``ABBREVIATIONS`` decide, which affects only
    captions of several sentences.

    Raises:
        InputError: If nltk is not installed.
    """
    return [word for sentence in _sentences(caption.lower()) for word in _tokenizer().tokenize(sentence)]


@cache
def _tokenizer() -> NLTKWordTokenizer:
    """Imported when it is first needed: nltk takes seconds where scikit-learn is installed."""
    try:
        from nltk.tokenize.destructive import NLTKWordTokenizer
    except ImportError:
        raise InputError(
            "captions for a released checkpoint are tokenized by nltk, which is not installed", cure=install("train")
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


@dataclass(frozen=True)
class ReleasedVocabulary:
    """The words of a released checkpoint.

    Attributes:
        number: Word -> number; the special words are numbered as in every released vocabulary.
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
        """Read ``word2idx`` of a released ``*_vocab.json``.

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
