"""Words of captions."""

from __future__ import annotations

import pytest

from fivesentences.semantics.tokenisation import tokenise


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A dog runs .", ["a", "dog", "runs."]),
        ("a dog , a cat ; and : what ? no !", ["a", "dog,", "a", "cat;", "and:", "what?", "no!"]),
        ("a man 's hat is n't red", ["a", "man's", "hat", "isn't", "red"]),
        (
            "they 're here and we 'll go , I 'm sure , he 'd say I 've",
            ["they're", "here", "and", "we'll", "go,", "i'm", "sure,", "he'd", "say", "i've"],
        ),
        ("a ( small ) dog [ left ] # 5 $ 3 50 %", ["a", "(small)", "dog", "[left]", "#5", "$3", "50%"]),
        ("a 's-shaped 'sofa n'tx", ["a's-shaped", "'sofa", "n'tx"]),
        (" \t ", []),
        ("dog\u2028.", ["dog."]),
    ],
)
def test_reattached_punctuation_belongs_to_the_word_beside_it(caption, words):
    assert tokenise([caption], "reattached") == [words]


def test_every_character_but_white_space_is_a_word():
    assert tokenise(["一只 狗在跑。\u3000", "A Dog", " \t"], "characters") == [[*"一只狗在跑。"], [*"adog"], []]
