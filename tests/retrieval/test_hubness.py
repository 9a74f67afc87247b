"""k-occurrences counted with full sorts, and their statistics by scipy and by definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from fivesentences.retrieval import hubness
from fivesentences.retrieval.hubness import hubness_of_ranking


def by_definition(similarity, direction, k):
    scores = np.asarray(similarity, dtype=np.float64)
    scores = scores if direction == "i2t" else scores.T
    first = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.bincount(first.ravel(), minlength=scores.shape[1])


def matrices():
    rng = np.random.default_rng(21)
    yield "random", rng.standard_normal((40, 300))
    yield "ties", rng.integers(0, 4, (30, 270))
    yield "mostly equal", np.where(rng.random((30, 90)) < 0.03, 1.0, 0.0)
    yield "duplicated columns", np.repeat(rng.standard_normal((20, 20)), 5, axis=1)
    yield "all equal", np.zeros((6, 12))
    yield "one image", rng.standard_normal((1, 5))


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("k", [1, 2, 50, 1000])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("name, matrix", list(matrices()))
def test_counts_are_those_of_full_sorts_with_the_lower_index_first(name, matrix, dtype, k, direction):
    given = matrix.astype(dtype)
    found = hubness(given, direction, k)
    expected = by_definition(given, direction, k)
    np.testing.assert_array_equal(found.counts, expected)
    n_queries, n_gallery = given.shape if direction == "i2t" else given.shape[::-1]
    assert found.n_queries == n_queries and found.counts.sum() == n_queries * min(k, n_gallery)
    scores = given if direction == "i2t" else given.T
    ranked = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")
    again = hubness_of_ranking(ranked, n_gallery, k)
    np.testing.assert_array_equal(again.counts, expected)
    assert again.shares == found.shares


def with_a_hub():
    matrix = np.random.default_rng(2).uniform(0, 1, (50, 250))
    matrix[:, 31] = 2.0
    return matrix


@pytest.mark.parametrize(
    ("matrix", "k", "maximum"),
    [(np.random.default_rng(1).standard_normal((60, 180)), 3, None), (with_a_hub(), 1, 50), (np.eye(20), 1, 1)],
)
def test_statistics_are_those_of_scipy_and_of_the_definition(matrix, k, maximum):
    found = hubness(matrix, k=k)
    counts = found.counts
    assert maximum in (None, found.maximum) and found.maximum == counts.max()
    # scipy says NaN where every item is found equally often; there is no skew then.
    skewness = scipy.stats.skew(counts) if np.ptp(counts) else 0.0
    assert found.skewness == pytest.approx(skewness, rel=1e-12)
    differences = np.abs(counts[:, None] - counts[None, :]).mean()
    assert found.gini == pytest.approx(differences / (2 * counts.mean()), rel=1e-12)
    chosen = {"0": counts == 0, "1": counts == 1, **{f">={least}": counts >= least for least in (2, 5, 10)}}
    assert found.numbers == {name: items.sum() for name, items in chosen.items()}
    assert found.shares == pytest.approx({name: 100 * items.mean() for name, items in chosen.items()})
