"""The words of the training captions and their numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.storage import write_json
from fivesentences.training.released_words import released_words

Tokens = Literal["pattern", "nltk"]

PAD, START, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")  # numbered as in every released vocabulary
FORMAT = 1
# Letters and digits of any script, with apostrophes and hyphens inside: "man's", "t-shirt". Punctuation is dropped.
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words_of(caption: str) -> list[str]:
    """Lower-case words of a caption, by the pattern ``WORD``.

    The released codes cut otherwise, see ``released_words``: punctuation marks are words too, and "man's" is two.
    """
    return WORD.findall(caption.lower())


@dataclass(frozen=True)
class Vocabulary:
    """The words of a model, in the order of their numbers; the first four are ``SPECIAL``.

    Attributes:
        words: As strings.
        tokens: What cuts captions into words: ``"pattern"``, see ``words_of``, or ``"nltk"``, see ``released_words``.

    Raises:
        InputError: If the special words do not come first or a word occurs twice.
    """

    words: tuple[str, ...]
    tokens: Tokens = "pattern"

    def __post_init__(self) -> None:
        if self.words[: len(SPECIAL)] != SPECIAL:
            raise InputError(f"a vocabulary starts with {', '.join(SPECIAL)}, not {', '.join(self.words[:4])}.")
        if len(set(self.words)) != len(self.words):
            twice = next(word for word, count in Counter(self.words).items() if count > 1)
            raise InputError(f"the word '{twice}' occurs twice in the vocabulary.")

    @classmethod
    def of_captions(cls, captions: Iterable[str], min_count: int = 4) -> Vocabulary:
        """Words that occur at least ``min_count`` times, the most frequent first, ties in alphabetical order."""
        counts = Counter(word for caption in captions for word in words_of(caption))
        kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
        return cls((*SPECIAL, *kept))

    @cached_property
    def number(self) -> dict[str, int]:
        """Word -> number."""
        return {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, caption: str) -> list[int]:
        """``<start>``, the caption's words, ``<end>``, as numbers."""
        number, cut = self.number, words_of if self.tokens == "pattern" else released_words
        return [START, *(number.get(word, UNKNOWN) for word in cut(caption)), END]

    def decode(self, numbers: Sequence[int]) -> str:
        """The words of some numbers, separated by spaces, special words included."""
        return " ".join(self.words[number] for number in numbers)

    def write(self, path: Path | str) -> None:
        """Write as JSON: the format's version, what cuts captions, the words in the order of their numbers."""
        cut = {"word_pattern": WORD.pattern} if self.tokens == "pattern" else {"tokens": self.tokens}
        write_json(path, {"format": FORMAT, "words": list(self.words)} | cut)

    @classmethod
    def read(cls, path: Path | str) -> Vocabulary:
        """Read a file that ``write`` wrote.

        Raises:
            InputError: If the file is missing or is no such vocabulary.
        """
        content = read_json(path)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"{path} is not a vocabulary of format {FORMAT}; train the model again.")
        words = content.get("words")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError("its 'words' is no list of words", where=path, cure="train the model again")
        tokens = content.get("tokens", "pattern")
        if tokens not in get_args(Tokens):
            raise InputError(f"its 'tokens' is {str(tokens)[:40]}", where=path, cure="train the model again")
        return cls(tuple(words), tokens)
