"""BLEU and ROUGE of the DAA release against nltk and rouge, called as the release calls them."""

from __future__ import annotations

import string
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge import Rouge

from fivesentences.semantics.bleu_daa import BleuDaaScorer
from fivesentences.semantics.rouge_daa import RougeDaaScorer

NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def nltk_bleu(candidate: str, references: list[str]) -> float:
    words = [text.translate(NO_PUNCTUATION).split(" ") for text in (candidate, *references)]
    return sentence_bleu(words[1:], words[0], smoothing_function=SmoothingFunction().method1)


def rouge_package(candidate: str, references: list[str]) -> float:
    candidate, *references = (text.replace(".", "") for text in (candidate, *references))
    try:
        f = Rouge().get_scores(candidate, ".".join(references), avg=True)
    except ValueError:  # it refuses captions without words
        return 0.0
    return (f["rouge-1"]["f"] + f["rouge-2"]["f"] + f["rouge-l"]["f"]) / 3


OFFICIAL = {BleuDaaScorer: nltk_bleu, RougeDaaScorer: rouge_package}


def assert_the_matrix_equals_the_package(cells, kind, captions, image_of_caption):
    ours = kind(captions, image_of_caption).score(np.arange(len(captions))).ravel()
    theirs = list(map(OFFICIAL[kind], *cells(captions, image_of_caption)))
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, np.equal(theirs, 0))


@pytest.mark.parametrize("kind", OFFICIAL)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_random_corpora_equal_the_packages_with_the_same_zeros(cells, corpora, kind, data):
    assert_the_matrix_equals_the_package(cells, kind, *data.draw(corpora))


@pytest.mark.parametrize("kind", OFFICIAL)
def test_hostile_captions_equal_the_packages(cells, hostile_corpus, kind):
    assert_the_matrix_equals_the_package(cells, kind, *hostile_corpus)


@pytest.mark.parametrize("kind", OFFICIAL)
def test_more_words_than_a_machine_word_has_bits_equal_the_packages(cells, kind):
    rng = np.random.default_rng(0)
    sizes = [15, 16, 17, 33, 63, 64, 65, 129, 3, 0]
    vocabulary = [f"w{k}" for k in range(90)]
    few = [" ".join(rng.choice(["a", "b", "c"], size=size)) for size in sizes]
    many = [" ".join(rng.choice(vocabulary, size=size)) for size in sizes[4:]]
    captions = few + many
    assert_the_matrix_equals_the_package(cells, kind, captions, np.arange(len(captions)) // 3)


def test_bleu_of_captions_of_two_thousand_words_equals_nltk(cells):
    rng = np.random.default_rng(0)
    vocabulary = [f"w{k}" for k in range(50)]
    captions = [" ".join(rng.choice(vocabulary, size=size)) for size in (2000, 30, 1800, 9)]
    assert_the_matrix_equals_the_package(cells, BleuDaaScorer, captions, np.array([0, 0, 1, 1]))


def test_rouge_against_a_reference_of_two_thousand_words_equals_the_package():
    rng = np.random.default_rng(1)
    captions = [" ".join(rng.choice([f"w{k}" for k in range(200)], size=size)) for size in (200, 2000)]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # the package recurses once per word
    try:
        wanted = rouge_package(captions[0], captions[1:])
    finally:
        sys.setrecursionlimit(limit)
    scorer = RougeDaaScorer(captions, [0, 1])
    assert scorer.score(np.array([0]))[0, 1] == pytest.approx(wanted, abs=1e-12)
    assert scorer.pairs([0], [1])[0] == pytest.approx(wanted, abs=1e-12)
