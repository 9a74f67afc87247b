"""ROUGE-L against pycocoevalcap, called as its authors call it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.rouge.rouge import Rouge

from fivesentences.semantics.rouge import rouge_l_matrix


def assert_the_matrix_equals_pycocoevalcap(cells, captions, image_of_caption, tokenize="whitespace"):
    ours = rouge_l_matrix(captions, image_of_caption, tokenize).ravel()
    texts, references = cells(captions, image_of_caption, tokenize)
    theirs = [Rouge().calc_score([text], of_image) for text, of_image in zip(texts, references, strict=True)]
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, np.equal(theirs, 0))


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_random_corpora_equal_pycocoevalcap_with_the_same_zeros(cells, corpora, data):
    assert_the_matrix_equals_pycocoevalcap(cells, *data.draw(corpora))


@pytest.mark.parametrize("tokenize", ["whitespace", "reattached"])
def test_hostile_captions_equal_pycocoevalcap(cells, hostile_corpus, tokenize):
    assert_the_matrix_equals_pycocoevalcap(cells, *hostile_corpus, tokenize)


def test_lengths_around_whole_machine_words_equal_pycocoevalcap(cells):
    rng = np.random.default_rng(0)
    sizes = [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 3, 0]
    captions = [" ".join(rng.choice(["a", "b"], size=size)) for size in sizes]
    captions.append("a " * 128 + "b")  # a carry through two machine words
    assert_the_matrix_equals_pycocoevalcap(cells, captions, np.arange(len(captions)) // 3)


def test_captions_of_two_thousand_words_equal_pycocoevalcap(cells):
    rng = np.random.default_rng(0)
    captions = [" ".join(rng.choice(["a", "b", "dog"], size=size)) for size in (2000, 40, 7, 0)]
    assert_the_matrix_equals_pycocoevalcap(cells, captions, np.array([0, 0, 1, 1]))
