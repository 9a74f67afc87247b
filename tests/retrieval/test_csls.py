"""CSLS against its formula written with sorts, and what reference facts say of it."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.retrieval import csls
from fivesentences.retrieval.largest import INSERTED, LANES, largest_of_columns, largest_of_rows


def by_definition(similarity, k):
    """Eq. 6 with full sorts."""
    scores = np.asarray(similarity, dtype=np.float64)
    caption_means = -np.sort(-scores, axis=0)[:k].mean(axis=0)
    image_means = -np.sort(-scores, axis=1)[:, :k].mean(axis=1)
    return 2 * scores - caption_means[None, :] - image_means[:, None]


def matrices():
    rng = np.random.default_rng(11)
    yield "random", rng.standard_normal((60, 4 * LANES + 44))
    yield "ties", rng.integers(0, 3, (50, 250)).astype(np.float64)
    yield "duplicated columns", np.repeat(rng.standard_normal((20, 20)), 5, axis=1)
    yield "mostly zero", np.where(rng.random((40, 300)) < 0.02, 1.0, 0.0)
    yield "one image", rng.standard_normal((1, 5))
    yield "one pair", np.array([[0.25]])


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("k", [1, 2, 10, 45, 10_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name, matrix", list(matrices()))
def test_values_are_those_of_equation_6(name, matrix, dtype, k):
    given = matrix.astype(dtype)
    ours = csls(given, k)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, by_definition(given, k), atol=1e-6, rtol=1e-6)


def test_with_every_item_a_neighbour_it_is_twice_the_score_minus_both_means():
    matrix = np.random.default_rng(0).standard_normal((30, 90))
    expected = 2 * matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(csls(matrix, 90, out=np.empty((30, 90))), expected, atol=1e-12)


def test_the_querys_own_term_changes_no_ranking():
    matrix = np.random.default_rng(1).standard_normal((25, 125))
    ours = csls(matrix, out=np.empty(matrix.shape))
    item_side = 2 * matrix - (-np.sort(-matrix, axis=0)[:10]).mean(axis=0)
    np.testing.assert_array_equal(np.argsort(-ours, axis=1), np.argsort(-item_side, axis=1))
    item_side = 2 * matrix - (-np.sort(-matrix, axis=1)[:, :10]).mean(axis=1, keepdims=True)
    np.testing.assert_array_equal(np.argsort(-ours, axis=0), np.argsort(-item_side, axis=0))


@pytest.mark.parametrize("k", [1, 3, INSERTED, INSERTED + 1, 97])
@pytest.mark.parametrize("width", [97, 4 * LANES, 6 * LANES + 1])
def test_the_largest_values_are_those_of_a_sort(k, width):
    rng = np.random.default_rng(k)
    for block in (rng.standard_normal((5, width)), rng.integers(-2, 2, (5, width)).astype(np.float32)):
        np.testing.assert_array_equal(largest_of_rows(block.copy(), k), -np.sort(-block, axis=1)[:, :k].T)
        found = np.empty((k, 5), dtype=block.dtype)
        for part, top in largest_of_columns(block.T, k):
            found[:, part] = top
        np.testing.assert_array_equal(found, -np.sort(-block, axis=1)[:, :k].T)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_is_a_whole_number_of_at_least_1(k):
    with pytest.raises(InputError, match="k is"):
        csls(np.zeros((2, 4)), k)
