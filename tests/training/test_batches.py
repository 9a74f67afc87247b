"""Padding and order of batches."""

from __future__ import annotations

import numpy as np

from fivesentences.training.batches import EncodedCaptions, batches_by_length, batches_of, training_order
from fivesentences.training.vocabulary import Vocabulary

CAPTIONS = ["a dog", "a", "a small dog runs", "dog dog", "!"]


def test_a_batch_holds_each_captions_words_and_zeros_behind():
    vocabulary = Vocabulary.of_captions(CAPTIONS, min_count=1)
    encoded = EncodedCaptions.of(CAPTIONS, vocabulary)
    rows = np.array([4, 2, 0])
    tokens, lengths = encoded.batch(rows)
    assert lengths.tolist() == [2, 6, 4]
    expected = [vocabulary.encode(CAPTIONS[row]) for row in rows]
    assert tokens.tolist() == [words + [0] * (6 - len(words)) for words in expected]


def test_an_epochs_order_is_a_permutation_that_depends_on_seed_and_epoch_alone():
    order = training_order(60, 3, 2)
    assert sorted(order) == list(range(60))
    np.testing.assert_array_equal(order, training_order(60, 3, 2))
    assert any(order != training_order(60, 3, 3)) and any(order != training_order(60, 2, 2))


def test_batches_cover_the_order_and_can_start_in_the_middle():
    order = np.arange(10)
    assert [batch.tolist() for batch in batches_of(order, 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [batch.tolist() for batch in batches_of(order, 4, first=2)] == [[8, 9]]
    assert list(batches_of(order, 4, first=3)) == []
    assert [batch.tolist() for batch in batches_by_length(np.array([3, 9, 3, 5]), 2)] == [[1, 3], [0, 2]]
