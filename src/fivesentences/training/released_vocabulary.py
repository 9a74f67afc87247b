"""Captions as sequences of the word numbers of a released code: for its authors' checkpoints, and for runs of ours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.training.released_words import released_words
from fivesentences.training.vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary


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

    def for_training(self) -> Vocabulary:
        """The same words with the same numbers, for a run that is trained here.

        Raises:
            InputError: If the special words are not the first four in their usual order.
        """
        return Vocabulary(tuple(sorted(self.number, key=self.number.__getitem__)), "nltk")
