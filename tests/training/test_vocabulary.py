"""Words and their numbers."""

from __future__ import annotations

import pytest

from fivesentences.errors import InputError
from fivesentences.training.vocabulary import Vocabulary, words_of


def test_words_are_lower_case_runs_of_letters_and_digits_without_punctuation():
    assert words_of("The man's T-shirt, (red) says: 42!") == ["the", "man's", "t-shirt", "red", "says", "42"]
    assert words_of("Ein Mädchen läuft") == ["ein", "mädchen", "läuft"]
    assert words_of("... !") == []


def test_special_words_come_first_then_the_most_frequent_and_equals_by_alphabet():
    vocabulary = Vocabulary.of_captions(["b a a", "c a b rare"], min_count=1)
    assert vocabulary.words == ("<pad>", "<start>", "<end>", "<unk>", "a", "b", "c", "rare")
    assert Vocabulary.of_captions(["c a b rare", "b a a"], min_count=1) == vocabulary
    assert Vocabulary.of_captions(["b a a", "c a b rare"], min_count=2).words[4:] == ("a", "b")


def test_captions_are_wrapped_and_rare_words_are_unknown():
    vocabulary = Vocabulary.of_captions(["a dog a dog"], min_count=2)
    assert vocabulary.encode("A wild DOG.") == [1, 4, 3, 5, 2]
    assert vocabulary.decode([1, 4, 3, 5, 2]) == "<start> a <unk> dog <end>"
    assert vocabulary.encode("!") == [1, 2]


def test_a_vocabulary_is_written_and_read_back(tmp_path):
    vocabulary = Vocabulary.of_captions(["ein Mädchen", "a dog"], min_count=1)
    vocabulary.write(tmp_path / "vocabulary.json")
    assert Vocabulary.read(tmp_path / "vocabulary.json") == vocabulary


def test_something_else_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "other.json").write_text('{"word2idx": {}}')
    with pytest.raises(InputError, match=r"other\.json is not a vocabulary"):
        Vocabulary.read(tmp_path / "other.json")
    with pytest.raises(InputError, match="'dog' occurs twice"):
        Vocabulary(("<pad>", "<start>", "<end>", "<unk>", "dog", "dog"))
    with pytest.raises(InputError, match="starts with"):
        Vocabulary(("dog",))
