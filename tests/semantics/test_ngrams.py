"""Words and n-grams of captions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fivesentences.semantics.ngrams import count_ngrams, levels_of
from fivesentences.semantics.tokenisation import number_words, tokenise


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
        ("WO N'T", ["won't"]),
        ("a ' quoted ' sign", ["a", "'", "quoted", "'", "sign"]),
        ("a 's-shaped 'sofa n'tx", ["a's-shaped", "'sofa", "n'tx"]),
        (".", ["."]),
        (" \t ", []),
        ("dog\u2028.", ["dog."]),
    ],
)
def test_reattached_punctuation_belongs_to_the_word_beside_it(caption, words):
    assert tokenise([caption], "reattached") == [words]


def test_captions_without_spaced_punctuation_have_the_same_words_either_way(made_corpus):
    captions = ["A man's dog, isn't it?", "red (small) #5", "", "plain words"]
    assert tokenise(captions, "reattached") == tokenise(captions, "whitespace")


def test_counts_and_levels_are_those_of_a_counter(made_corpus):
    captions, _ = made_corpus(3)
    tokens = tokenise(captions)
    grams = count_ngrams(tokens, 3)
    levels = levels_of(grams)
    ones = np.zeros((len(captions), levels.n_columns))
    np.add.at(ones, (grams.caption[levels.entry], levels.column), 1)
    assert ones.max() == 1
    for caption, words in enumerate(tokens):
        wanted = Counter(tuple(words[k : k + n]) for n in (1, 2, 3) for k in range(len(words) - n + 1))
        mine = grams.caption == caption
        assert sorted(grams.count[mine]) == sorted(wanted.values())
        for order in range(3):
            of_order = grams.order_of_gram[levels.gram_of_column] == order
            assert ones[caption, of_order].sum() == max(0, len(words) - order)
    for left, right in ((0, 1), (2, 3)):
        ours = Counter(tokens[left]), Counter(tokens[right])
        single = grams.order_of_gram[levels.gram_of_column] == 0
        assert ones[left, single] @ ones[right, single] == sum((ours[0] & ours[1]).values())


def test_words_are_numbered_as_they_come():
    word, words, distinct = number_words([["a", "dog"], [], ["dog", "b"]])
    assert (word.tolist(), words.tolist(), distinct) == ([0, 1, 1, 2], [2, 0, 2], 3)
