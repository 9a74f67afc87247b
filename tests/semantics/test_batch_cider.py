"""phi of a batch against rows and columns of the whole matrix, which is compared with pycocoevalcap."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesentences.errors import InputError
from fivesentences.semantics import BatchCider, cider_matrix


@settings(max_examples=20)
@given(data=st.data(), size=st.sampled_from([1, 2, 40, 200]), seed=st.integers(0, 2**32 - 1))
def test_a_batch_equals_the_rows_and_columns_of_the_whole_matrix(corpora, data, size, seed):
    captions, image_of_caption = data.draw(corpora)
    phi = cider_matrix(captions, image_of_caption)
    batch = np.random.default_rng(seed).integers(0, len(captions), size=size)  # captions and images repeat
    wanted = phi[batch][:, image_of_caption[batch]]
    prepared = BatchCider(captions, image_of_caption)
    exact = prepared.exact(batch)
    np.testing.assert_allclose(exact, wanted, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(exact == 0, wanted == 0)
    assert prepared.batch(batch).dtype == np.float32
    np.testing.assert_allclose(prepared.batch(batch), wanted, atol=1e-6, rtol=0)
    # The same batch gives the same bits, also after a pickle.
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(prepared)).exact(batch), exact)


@pytest.mark.parametrize(
    ("batch", "sentence"), [([], "at least one"), ([0, 99], r"\[1\] is 99"), ([-1], r"\[0\] is -1"), ([0.5], "whole")]
)
def test_indices_out_of_range_are_refused(batch, sentence):
    with pytest.raises(InputError, match=sentence):
        BatchCider(["a dog", "a cat"], [0, 1]).batch(batch)
