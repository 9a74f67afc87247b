"""Padding and order of batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.config.hyperparameters import Hyperparameters
from fivesentences.errors import InputError
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


def order_of(image_of_caption: np.ndarray, size: int, seed: int, epoch: int, lengths=None, **settings) -> np.ndarray:
    settings = Hyperparameters(batch_size=size, **settings)
    return training_order(
        settings, np.ones_like(image_of_caption) if lengths is None else lengths, image_of_caption, seed, epoch
    )


@pytest.mark.parametrize("setting", [None, "bucketing", "one_caption_per_image"])
def test_an_epochs_order_is_a_permutation_that_depends_on_seed_and_epoch_alone(setting):
    def order(seed, epoch):
        images, settings = np.repeat(np.arange(20), 3), {} if setting is None else {setting: True}
        return order_of(images, 8, seed, epoch, np.arange(60) % 7, **settings)

    assert sorted(order(3, 2)) == list(range(60))
    np.testing.assert_array_equal(order(3, 2), order(3, 2))
    assert any(order(3, 2) != order(3, 3)) and any(order(3, 2) != order(2, 2))


def test_batches_cover_the_order_and_can_start_in_the_middle():
    order = np.arange(10)
    assert [batch.tolist() for batch in batches_of(order, 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [batch.tolist() for batch in batches_of(order, 4, first=2)] == [[8, 9]]
    assert list(batches_of(order, 4, first=3)) == []
    assert [batch.tolist() for batch in batches_by_length(np.array([3, 9, 3, 5]), 2)] == [[1, 3], [0, 2]]


def test_buckets_hold_captions_of_similar_length_in_another_order_each_epoch():
    lengths = np.random.default_rng(0).integers(3, 30, size=1003)
    order, plain = (order_of(np.arange(1003), 10, 3, 2, lengths, bucketing=one) for one in (True, False))

    def padding(order):
        return sum(int((lengths[batch].max() - lengths[batch]).sum()) for batch in batches_of(order, 10))

    assert padding(order) < 0.2 * padding(plain)
    assert len(list(batches_of(order, 10))[-1]) == 3


@given(st.lists(st.integers(1, 6), min_size=1, max_size=30), st.integers(2, 12), st.integers(0, 1000))
def test_no_batch_holds_two_captions_of_an_image_wherever_that_is_possible(captions_of_image, size, seed):
    image_of_caption = np.repeat(np.arange(len(captions_of_image)), captions_of_image)
    captions, batches = len(image_of_caption), -(-len(image_of_caption) // size)
    last = captions - (batches - 1) * size
    # Gale and Ryser: the batches' sizes fit if no number of the largest of them asks for more places than images fill.
    sizes = [size] * (batches - 1) + [last]
    possible = (
        all(sum(sizes[:count]) <= np.minimum(captions_of_image, count).sum() for count in range(1, batches + 1))
        and max(captions_of_image) <= batches
    )
    if not possible:
        with pytest.raises(InputError, match="one_caption_per_image: "):
            order_of(image_of_caption, size, seed, 0, one_caption_per_image=True)
        return
    order = order_of(image_of_caption, size, seed, 0, one_caption_per_image=True)
    assert sorted(order) == list(range(captions))
    assert all(len(set(image_of_caption[batch])) == len(batch) for batch in batches_of(order, size))
