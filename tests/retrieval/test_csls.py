"""CSLS against its formula written with sorts, and what reference facts say of it."""

from __future__ import annotations

import numpy as np
import pytest

from fivesentences.retrieval import csls


def by_definition(similarity, k):
    """Eq. 6 with full sorts."""
    scores = np.asarray(similarity, dtype=np.float64)
    caption_means = -np.sort(-scores, axis=0)[:k].mean(axis=0)
    image_means = -np.sort(-scores, axis=1)[:, :k].mean(axis=1)
    return 2 * scores - caption_means[None, :] - image_means[:, None]


def matrices():
    rng = np.random.default_rng(11)
    yield "random", rng.standard_normal((60, 300))
    yield "ties", rng.integers(0, 3, (50, 250)).astype(np.float64)
    yield "duplicated columns", np.repeat(rng.standard_normal((20, 20)), 5, axis=1)
    yield "mostly zero", np.where(rng.random((40, 300)) < 0.02, 1.0, 0.0)
    yield "one image", rng.standard_normal((1, 5))
    yield "one pair", np.array([[0.25]])


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("k", [1, 10, 10_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("name, matrix", list(matrices()))
def test_values_are_those_of_equation_6(name, matrix, dtype, k):
    given = matrix.astype(dtype)
    ours = csls(given, k)
    assert ours.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(ours, by_definition(given, k), atol=1e-6, rtol=1e-6)
    exact = csls(given, k, out=np.empty(given.shape))
    np.testing.assert_allclose(exact, by_definition(given, k), atol=1e-12, rtol=0)
