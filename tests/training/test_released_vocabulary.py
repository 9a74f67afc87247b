"""Captions for the authors' checkpoints: words as nltk cuts them, numbers as the released file gives them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from nltk.tokenize.destructive import NLTKWordTokenizer

from fivesentences.errors import InputError
from fivesentences.training.released_vocabulary import ReleasedVocabulary, released_words

PIECES = [
    *("a", "dog", "man's", "men's", "dogs'", "don't", "isn't", "they're", "he'll", "i'm", "she'd", "we've", "t-shirt"),
    *("cannot", "gonna", "wanna", "gimme", "'tis", "rock'n'roll", "o'clock", "'90s", "2,000", "3:30", "5.5", "u.s.a"),
    *(
        '"stop"',
        "“go”",
        "‘no’",
        "(left)",
        "[right]",
        "a,b",
        "red,",
        "blue:",
        "$5",
        "50%",
        "#1",
        "a&b",
        "--",
        "wait...",
        "...",
    ),
    *(
        "what?",
        "wow!",
        "and/or",
        "x;y",
        "e-mail",
        "naïve",
        "*",
        "—",
        "''",
        "'",
        '"',
        "'hello'",
        "girls'",
        ",",
        "`",
        "<b>",
    ),
]
CAPTIONS = [
    "Two young guys with shaggy hair look at their hands while hanging out in the yard.",
    "A man's dog isn't running , it 's sitting .",
    'A sign that says "Stop, don\'t go" on it.',
    "The team (in red) scored 2,000 points at 3:30 for $5.",
    "A man in a u.s. army t-shirt",
    "Someone says 'hello' and can't wait...",
]


@pytest.mark.parametrize("caption", CAPTIONS)
def test_a_caption_is_cut_as_nltk_does(caption):
    assert released_words(caption) == NLTKWordTokenizer().tokenize(caption.lower())


def test_pieces_in_any_order_are_cut_as_nltk_does():
    rng, tokenizer, other = np.random.default_rng(0), NLTKWordTokenizer(), []
    quiet = [piece for piece in PIECES if not piece.endswith(("?", "!", "..."))]  # those end a sentence
    for _ in range(3000):
        text = " ".join(rng.choice(quiet, size=int(rng.integers(1, 8)))) + str(rng.choice(["", ".", " .", "?", "..."]))
        if released_words(text) != tokenizer.tokenize(text):
            other.append((text, released_words(text), tokenizer.tokenize(text)))
    assert not other, f"{len(other)}: {other[:5]}"


def test_a_caption_of_two_sentences_has_two_full_stops():
    assert released_words("A man sits. He reads.") == ["a", "man", "sits", ".", "he", "reads", "."]
    assert released_words("Mr. T. Smith reads.") == ["mr.", "t.", "smith", "reads", "."]
    assert released_words("") == released_words("  ") == []


def vocabulary_file(path, words=("a", "dog", "'s", "."), **changes):
    number = {word: place for place, word in enumerate(("<pad>", "<start>", "<end>", "<unk>", *words))}
    content = {"word2idx": number | changes, "idx2word": {str(v): k for k, v in number.items()}, "idx": len(number)}
    path.write_text(json.dumps(content))
    return path


def test_a_released_vocabulary_gives_its_numbers(tmp_path):
    words = ReleasedVocabulary.read(vocabulary_file(tmp_path / "v.json"))
    assert len(words) == 8
    assert words.encode("A dog's cat.") == [1, 4, 5, 6, 3, 7, 2]


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "v.json"
    for content, what in (("{}", "no word2idx"), ("[]", "no word2idx"), ('{"word2idx": {"a": 0}}', "lacks '<pad>'")):
        path.write_text(content)
        with pytest.raises(InputError, match=what):
            ReleasedVocabulary.read(path)
    for changes, what in (
        ({"dog": 99}, "not 0 to 7"),
        ({"dog": "5"}, "not 0 to 7"),
        ({"<pad>": 4, "a": 0}, "'<pad>' is word 4"),
    ):
        with pytest.raises(InputError, match=what):
            ReleasedVocabulary.read(vocabulary_file(path, **changes))
