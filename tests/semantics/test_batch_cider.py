"""A batch's phi against rows and columns of the whole matrix, which is checked against pycocoevalcap."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.semantics import BatchCider, cider_matrix


def made_corpus(seed: int) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(seed)
    references = rng.integers(1, 8, size=30)
    image_of_caption = np.repeat(np.arange(30), references)
    if seed % 2:
        image_of_caption = rng.permutation(image_of_caption)
    vocabulary = [f"w{k}" for k in range(4 + 15 * seed)]
    return [" ".join(rng.choice(vocabulary, size=rng.integers(0, 15))) for _ in image_of_caption], image_of_caption


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [1, 2, 40, 200])
def test_a_batch_equals_the_rows_and_columns_of_the_whole_matrix(seed, size):
    captions, image_of_caption = made_corpus(seed)
    phi = cider_matrix(captions, image_of_caption)
    # 200 draws out of some 120 captions: captions and images repeat.
    batch = np.random.default_rng(seed).integers(0, len(captions), size=size)
    wanted = phi[batch][:, image_of_caption[batch]]
    prepared = BatchCider(captions, image_of_caption)
    np.testing.assert_allclose(prepared.exact(batch), wanted, atol=1e-12, rtol=0)
    assert prepared.batch(batch).dtype == np.float32
    np.testing.assert_allclose(prepared.batch(batch), wanted, atol=1e-6, rtol=0)
    np.testing.assert_array_equal(prepared.exact(batch) == 0, wanted == 0)


@pytest.mark.parametrize("captions", [["a dog"], ["", ""], ["a dog", "a dog"], ["a b", "c d"]])
def test_tiny_corpora_work(captions):
    image_of_caption = list(range(len(captions)))
    wanted = cider_matrix(captions, image_of_caption)
    np.testing.assert_allclose(BatchCider(captions, image_of_caption).batch(image_of_caption), wanted, atol=1e-6)


def test_the_same_batch_gives_the_same_bits_also_after_a_pickle():
    captions, image_of_caption = made_corpus(5)
    prepared = BatchCider(captions, image_of_caption)
    batch = np.random.default_rng(0).integers(0, len(captions), size=64)
    again = pickle.loads(pickle.dumps(prepared))
    np.testing.assert_array_equal(prepared.exact(batch), prepared.exact(batch))
    np.testing.assert_array_equal(prepared.exact(batch), again.exact(batch))


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        ([], "at least one"),
        ([0, 99], r"\[1\] is 99"),
        ([-1], r"\[0\] is -1"),
        ([0.5], "whole numbers"),
        ([[0]], "list"),
    ],
)
def test_indices_that_are_no_captions_are_refused(batch, sentence):
    with pytest.raises(InputError, match=sentence):
        BatchCider(["a dog", "a cat"], [0, 1]).batch(batch)
