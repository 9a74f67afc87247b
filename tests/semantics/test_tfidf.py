"""The tf-idf cosine against what the DAA release returned, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from fivesentences.semantics.tfidf import tfidf_matrix


@pytest.mark.parity
def test_the_matrix_equals_that_of_the_release(parity_folder):
    with np.load(parity_folder / "asp_released.npz", allow_pickle=False) as released:
        captions = [str(text) for text in released["in/tfidf/captions"]]
        theirs = released["out64/tfidf/semantic"].T
    image_of_caption = np.arange(len(captions)) // 5
    np.testing.assert_allclose(tfidf_matrix(captions, image_of_caption), theirs, atol=1e-12, rtol=0)


def assert_the_matrix_equals_scikit_learn(captions, image_of_caption):
    vectors = TfidfTransformer().fit_transform(CountVectorizer().fit_transform(captions)).toarray()
    cosine = vectors @ vectors.T
    theirs = np.stack([cosine[:, image_of_caption == i].mean(axis=1) for i in range(image_of_caption.max() + 1)], 1)
    ours = tfidf_matrix(captions, image_of_caption)
    np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(ours == 0, theirs == 0)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_random_corpora_equal_scikit_learn_with_the_same_zeros(corpora, data):
    assert_the_matrix_equals_scikit_learn(*data.draw(corpora))


def test_hostile_captions_equal_scikit_learn(hostile_corpus):
    assert_the_matrix_equals_scikit_learn(*hostile_corpus)


@pytest.mark.parametrize("captions", [["a", ""], [".", "!"]])
def test_captions_without_a_word_of_two_letters_score_zero(captions):
    np.testing.assert_array_equal(tfidf_matrix(captions, [0, 1]), np.zeros((2, 2)))
