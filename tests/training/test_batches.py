"""Padding and order of batches."""

from __future__ import annotations

import numpy as np

from fivesentences.training.batches import EncodedCaptions, batches_by_length, batches_of, bucketed_order, epoch_order
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
    order = epoch_order(50, seed=3, epoch=2)
    assert sorted(order) == list(range(50))
    np.testing.assert_array_equal(order, epoch_order(50, seed=3, epoch=2))
    assert any(order != epoch_order(50, seed=3, epoch=3))
    assert any(order != epoch_order(50, seed=2, epoch=2))


def test_batches_cover_the_order_and_can_start_in_the_middle():
    order = np.arange(10)
    assert [batch.tolist() for batch in batches_of(order, 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [batch.tolist() for batch in batches_of(order, 4, first=2)] == [[8, 9]]
    assert list(batches_of(order, 4, first=3)) == []
    assert [batch.tolist() for batch in batches_by_length(np.array([3, 9, 3, 5]), 2)] == [[1, 3], [0, 2]]


def test_buckets_hold_captions_of_similar_length_in_another_order_each_epoch():
    lengths = np.random.default_rng(0).integers(3, 30, size=1003)
    order = bucketed_order(lengths, 10, seed=3, epoch=2)
    assert sorted(order) == list(range(1003))
    np.testing.assert_array_equal(order, bucketed_order(lengths, 10, seed=3, epoch=2))
    assert any(order != bucketed_order(lengths, 10, seed=3, epoch=3))

    def padding(order):
        return sum(int((lengths[batch].max() - lengths[batch]).sum()) for batch in batches_of(order, 10))

    assert padding(order) < 0.2 * padding(epoch_order(1003, seed=3, epoch=2))
    assert len(list(batches_of(order, 10))[-1]) == 3
