"""Inputs of category retrieval: standardised by training documents, words counted in training texts."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from fivesentences.errors import InputError
from fivesentences.reproduction.categories.corpus.documents import Division, Documents
from fivesentences.reproduction.categories.inputs import bag_of_words, inputs_of, prepared

TEXTS = [
    "A dog, a DOG and a cat.",
    "the cat sat",
    "",
    "the bird the bird the bird",
    "zebra zebra zebra zebra dog",
    "naïve x-ray of the dog's cat_2",
]


def vectors(rows, dim=300, seed=0):
    return np.random.default_rng(seed).gamma(1.5, size=(rows, dim)) * np.logspace(-3, 3, dim)


@pytest.mark.parametrize("how", ["standardise", "sqrt_standardise"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_standardising_equals_scikit_learn(how, dtype):
    train, test = vectors(40).astype(dtype), vectors(9, seed=1).astype(dtype)
    root = np.sqrt if how == "sqrt_standardise" else np.asarray
    scaler = StandardScaler().fit(root(train.astype(np.float64)))
    for mine, given in zip(prepared(train, test, how=how), (train, test), strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, scaler.transform(root(given.astype(np.float64))), rtol=1e-6, atol=1e-6)
    for mine, given in zip(prepared(train, test, how="as_stored"), (train, test), strict=True):
        np.testing.assert_array_equal(mine, given.astype(np.float32))


@pytest.mark.parametrize("value", [0.1, 0.0, 1e-200, 3e30])
@pytest.mark.parametrize("how", ["standardise", "sqrt_standardise"])
def test_a_constant_dimension_is_zero_everywhere(value, how):
    train, test = vectors(7), vectors(3)
    train[:, 130] = value
    mine, other = prepared(train, test, how=how)
    assert (mine[:, 130] == 0).all() and (other[:, 130] == 0).all()
    assert (mine[:, 129] != 0).all() and np.isfinite(mine).all()


@pytest.mark.parametrize(
    ("change", "how", "words"),
    [
        (-0.5, "sqrt_standardise", "row 1, dimension 200 is -0.5, which has no square root; say `standardise`"),
        (np.nan, "standardise", "row 1, dimension 200 is nan"),
        (1e300, "as_stored", "row 1, dimension 200 is 1e+300"),
        (-np.inf, "sqrt_standardise", "is -inf; vectors must be finite"),
    ],
)
@pytest.mark.parametrize("part", [0, 1])
def test_values_that_cannot_be_used_are_named(change, how, words, part):
    given = [vectors(4), vectors(4)]
    given[part][1, 200] = change
    with pytest.raises(InputError, match=re.escape(words)):
        prepared(*given, how=how)


def counted(texts, train, n):
    """The same in plain Python."""
    split = lambda text: re.findall(r"\b\w\w+\b", text.lower())  # noqa: E731
    frequency = Counter(word for text in train for word in split(text))
    words = sorted(sorted(frequency, key=lambda word: (-frequency[word], word))[:n])
    return [[split(text).count(word) for word in words] for text in texts]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 1000])
def test_words_are_counted_as_one_would_by_hand(n):
    train, others = TEXTS[:4], TEXTS[4:]
    mine, other = bag_of_words(train, others, n=n)
    assert mine.dtype == other.dtype == np.float32
    assert mine.tolist() == counted(train, train, n)
    assert other.tolist() == counted(others, train, n)


def test_equally_frequent_words_are_taken_in_the_order_of_the_alphabet():
    texts = [" ".join(f"word{number:04d}" for number in range(3000))]
    bag, other = bag_of_words(texts, ["word0999 word1000"], n=1000)
    assert bag.shape == (1, 1000) and other.sum() == other[0, 999] == 1
    with pytest.raises(InputError, match="2"):
        bag_of_words(["", "a !"], ["dog"], n=10)


@pytest.fixture
def documents():
    ids = [f"d{number}" for number in range(6)]
    return Documents(ids, list("bacbaa"), [""] * 6, TEXTS, [None] * 6, ids)


def test_inputs_follow_the_division_and_learn_from_training_documents_alone(documents):
    division = Division(np.array([0, 1, 3]), np.array([4]), np.array([2, 5]))
    images = vectors(6, dim=4)
    parts = inputs_of(documents, images, None, division, "standardise", "as_stored", 3)
    assert [part.categories.tolist() for part in parts] == [[1, 0, 1], [0], [2, 0]]
    scaler = StandardScaler().fit(images[division.train])
    train = [TEXTS[row] for row in division.train]
    for part, rows in zip(parts, vars(division).values(), strict=True):
        np.testing.assert_allclose(part.images, scaler.transform(images[rows]), atol=1e-6)
        assert part.texts.tolist() == counted([TEXTS[row] for row in rows], train, 3)
        assert part.images.dtype == part.texts.dtype == np.float32 and part.categories.dtype == np.int64
    texts = vectors(6, dim=2, seed=5)
    again = inputs_of(documents, images, texts, division, "standardise", "as_stored", 3)
    np.testing.assert_array_equal(again[2].texts, texts[[2, 5]].astype(np.float32))
    with pytest.raises(InputError, match=re.escape("image vectors are [5, 4], but there are 6 documents")):
        inputs_of(documents, np.ones((5, 4)), None, division, "standardise", "as_stored", 3)
