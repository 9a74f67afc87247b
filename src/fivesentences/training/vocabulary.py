"""The words of the training captions and their numbers; and those of a released code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from fivesentences.documents import read_json
from fivesentences.errors import InputError, install
from fivesentences.semantics.tokenisation import LETTER, WORD, composed, find_words
from fivesentences.storage import write_json

if TYPE_CHECKING:
    from nltk.tokenize.destructive import NLTKWordTokenizer

Tokens = Literal["pattern", "characters", "nltk"]

PAD, START, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")  # numbered so in our vocabularies, and <pad> in every released one
FORMAT = 1
_WORD, _CHARACTER = re.compile(WORD), re.compile(LETTER)
# A sentence ends at . ? ! before white space, but not behind a single letter (j. smith) or one of these.
ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "st", "jr", "sr", "vs", "mt", "ft", "no", "prof", "u.s", "a.m", "p.m"}
)
SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


def words_of(caption: str, characters: bool = False) -> list[str]:
    """Split a caption into lower-case words of any script, without punctuation.

    The released codes cut otherwise, see ``released_words``: punctuation marks are words too, and "man's" is two.

    Args:
        caption: Raw caption.
        characters: Whether each letter or digit, with its marks, is a word, for languages written without spaces.
    """
    return find_words(_CHARACTER if characters else _WORD, caption)


def released_words(caption: str) -> list[str]:
    """Split a caption as nltk's ``word_tokenize`` splits its lower case, where punctuation marks are words too.

    Within a sentence this is nltk's own tokenizer. To find where sentences end, ``word_tokenize`` asks a trained model
    (punkt), which would be one more download; here ``SENTENCE_END`` and ``ABBREVIATIONS`` decide, which affects only
    captions of several sentences.

    Raises:
        InputError: If nltk is not installed.
    """
    sentences: list[str] = []
    for part in SENTENCE_END.split(composed(caption).lower().strip()):
        before = sentences[-1].split()[-1].removesuffix(".") if sentences else ""
        if sentences and sentences[-1].endswith(".") and (len(before) == 1 or before in ABBREVIATIONS):
            sentences[-1] += " " + part
        else:
            sentences.append(part)
    return [word for sentence in sentences for word in _tokenizer().tokenize(sentence)]


@cache
def _tokenizer() -> NLTKWordTokenizer:
    """Import nltk when it is first needed: it takes seconds where scikit-learn is installed."""
    try:
        from nltk.tokenize.destructive import NLTKWordTokenizer
    except ImportError:
        raise InputError("a released vocabulary needs nltk, which is not installed", cure=install("train")) from None
    return NLTKWordTokenizer()


@dataclass(frozen=True)
class Vocabulary:
    """The words of a model, in the order of their numbers; ``<pad>`` is word 0.

    Attributes:
        words: As strings.
        tokens: How captions are split into words: ``"pattern"`` or ``"characters"``, see ``words_of``, or ``"nltk"``,
            see ``released_words``.

    Raises:
        InputError: If a special word is missing, ``<pad>`` is not the first word, or a word occurs twice.
    """

    words: tuple[str, ...]
    tokens: Tokens = "pattern"

    def __post_init__(self) -> None:
        twice = [word for word, count in Counter(self.words).items() if count > 1]
        missing = [word for word in SPECIAL if word not in self.words]
        if twice or missing or self.words[PAD] != SPECIAL[PAD]:
            found = (
                f"'{twice[0]}' twice" if twice else f"no '{missing[0]}'" if missing else f"'{self.words[PAD]}' first"
            )
            raise InputError(f"the vocabulary has {found}; it needs {', '.join(SPECIAL)}, and each word once.")

    @classmethod
    def of_captions(cls, captions: Iterable[str], min_count: int = 4, characters: bool = False) -> Vocabulary:
        """Take words that occur at least ``min_count`` times, the most frequent first, ties in alphabetical order."""
        counts = Counter(word for caption in captions for word in words_of(caption, characters))
        kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
        return cls((*SPECIAL, *kept), "characters" if characters else "pattern")

    @cached_property
    def number(self) -> dict[str, int]:
        """Word -> number."""
        return {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, caption: str) -> list[int]:
        """Return ``<start>``, the caption's words, ``<end>``, as numbers."""
        number = self.number
        start, end, unknown = number[SPECIAL[START]], number[SPECIAL[END]], number[SPECIAL[UNKNOWN]]
        words = released_words(caption) if self.tokens == "nltk" else words_of(caption, self.tokens == "characters")
        return [start, *(number.get(word, unknown) for word in words), end]

    def write(self, path: Path | str) -> None:
        """Write as JSON: the format's version, how captions are split, the words in the order of their numbers."""
        write_json(path, {"format": FORMAT, "words": list(self.words), "tokens": self.tokens})

    @classmethod
    def read(cls, path: Path | str) -> Vocabulary:
        """Read a file that ``write`` wrote.

        Raises:
            InputError: If the file is missing or is not such a vocabulary.
        """
        content = read_json(path)
        given: dict[str, Any] = content if isinstance(content, dict) else {}
        words, tokens = given.get("words"), given.get("tokens", "pattern")
        if given.get("format") != FORMAT:
            what = f"it is not a vocabulary of format {FORMAT}"
        elif not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            what = "its 'words' is not a list of words"
        elif tokens not in get_args(Tokens):
            what = f"its 'tokens' is {str(tokens)[:40]}"
        else:
            return cls(tuple(words), tokens)
        raise InputError(what, where=path, cure="train the model again")

    @classmethod
    def read_released(cls, path: Path | str) -> Vocabulary:
        """Read ``word2idx`` of a released ``*_vocab.json``: the words of its authors' checkpoints.

        Raises:
            InputError: If the file is missing or is not such a vocabulary (a ``.pkl`` is a program).
        """
        content = read_json(path)
        number = content.get("word2idx") if isinstance(content, dict) else None
        if not isinstance(number, dict):
            raise InputError("it has no word2idx", where=path, cure="name a released *_vocab.json")
        if sorted(number.values(), key=str) != sorted(range(len(number)), key=str):
            what = f"the numbers of word2idx are not 0 to {len(number) - 1}, each once"
            raise InputError(what, where=path, cure="fetch the file again")
        try:
            return cls(tuple(sorted(number, key=number.__getitem__)), "nltk")
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
