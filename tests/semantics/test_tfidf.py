"""The tf-idf cosine against what the DAA release returned, and against its definition."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from fivesentences.semantics.tfidf import TfidfScorer, tfidf_matrix


def slow_vectors(captions: list[str]) -> list[dict[str, float]]:
    counts = [Counter(re.findall(r"(?u)\b\w\w+\b", text.lower())) for text in captions]
    with_word = Counter(word for of_caption in counts for word in of_caption)
    vectors = []
    for of_caption in counts:
        vector = {
            word: count * (math.log((1 + len(captions)) / (1 + with_word[word])) + 1)
            for word, count in of_caption.items()
        }
        norm = math.hypot(*vector.values()) or 1.0
        vectors.append({word: value / norm for word, value in vector.items()})
    return vectors


def slow_mean(vectors: list[dict[str, float]], caption: int, references: list[int]) -> float:
    ours = vectors[caption]
    return float(np.mean([sum(ours[word] * vectors[k].get(word, 0.0) for word in ours) for k in references]))


@pytest.mark.parity
def test_the_matrix_equals_that_of_the_release(parity_folder):
    with np.load(parity_folder / "asp_released.npz", allow_pickle=False) as released:
        captions = [str(text) for text in released["in/tfidf/captions"]]
        theirs = released["out64/tfidf/semantic"].T
    image_of_caption = np.arange(len(captions)) // 5
    np.testing.assert_allclose(tfidf_matrix(captions, image_of_caption), theirs, atol=1e-12, rtol=0)


def test_the_matrix_equals_that_of_scikit_learn(hostile_corpus):
    captions, image_of_caption = hostile_corpus
    vectors = TfidfTransformer().fit_transform(CountVectorizer().fit_transform(captions)).toarray()
    cosine = vectors @ vectors.T
    theirs = np.stack([cosine[:, image_of_caption == i].mean(axis=1) for i in range(image_of_caption.max() + 1)], 1)
    np.testing.assert_allclose(tfidf_matrix(captions, image_of_caption), theirs, atol=1e-12, rtol=0)


def assert_everything_is_the_definition(captions, image_of_caption, cells, references_of):
    vectors = slow_vectors(captions)
    scorer = TfidfScorer(captions, image_of_caption)
    everyone = np.arange(len(captions))
    whole = scorer.score(everyone)
    wanted = [
        [slow_mean(vectors, caption, references_of(image_of_caption, image)) for image in range(whole.shape[1])]
        for caption in everyone
    ]
    np.testing.assert_allclose(whole, wanted, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(whole == 0, np.equal(wanted, 0))
    np.testing.assert_array_equal(scorer.sparse(everyone).toarray(), whole)
    some, images = cells(image_of_caption)
    np.testing.assert_allclose(scorer.pairs(some, images), whole[some, images], atol=1e-14, rtol=0)
    for score, caption, image in zip(scorer.pairs(some, images, without_own=True), some, images, strict=True):
        references = references_of(image_of_caption, image, without=caption)
        if references:
            assert score == pytest.approx(slow_mean(vectors, caption, references), abs=1e-12)
        else:
            assert np.isnan(score)


@pytest.mark.parametrize("seed", range(6))
def test_random_corpora_equal_the_definition(made_corpus, cells, references_of, seed):
    assert_everything_is_the_definition(*made_corpus(seed), cells, references_of)


def test_hostile_captions_equal_the_definition(hostile_corpus, cells, references_of):
    assert_everything_is_the_definition(*hostile_corpus, cells, references_of)


@pytest.mark.parametrize("captions", [["a", ""], [".", "!"]])
def test_captions_without_a_word_of_two_letters_score_zero(captions):
    np.testing.assert_array_equal(tfidf_matrix(captions, [0, 1]), np.zeros((2, 2)))
