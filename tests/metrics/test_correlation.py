"""Correlations and their intervals, beside scipy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from fivesentences.errors import InputError
from fivesentences.metrics import STATISTICS, correlation

SCIPY = {
    "pearson": lambda x, y: scipy.stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: scipy.stats.spearmanr(x, y).statistic,
    "kendall_b": lambda x, y: scipy.stats.kendalltau(x, y, variant="b").statistic,
    "kendall_c": lambda x, y: scipy.stats.kendalltau(x, y, variant="c").statistic,
}


def judged(n=400, seed=0, levels=4):
    """A score with ties, and ratings of few levels."""
    rng = np.random.default_rng(seed)
    x = np.maximum(0.0, np.round(rng.normal(size=n), 2))
    return x, np.clip(np.round(x + rng.normal(size=n)), 0, levels - 1)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("seed", range(4))
def test_values_equal_scipys_with_ties(statistic, seed):
    x, y = judged(n=[6, 12, 60, 900][seed], seed=seed + 5, levels=2 + seed)
    assert correlation(x, y, statistic, resamples=0).value == pytest.approx(SCIPY[statistic](x, y), abs=1e-12)


def draws(seed, way, size, resamples):
    """Which clusters each resample draws, as documented by the code: one stream a way of clustering."""
    return np.random.default_rng([seed, way]).integers(0, size, (resamples, size))


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("sizes", [(12,), (10, 15)])
def test_the_interval_is_that_of_pairs_repeated_cluster_by_cluster(statistic, sizes):
    """With two ways of clustering, as often as the product of both draws says."""
    x, y = judged(n=90, seed=3)
    ways = [np.random.default_rng(size).permutation(np.arange(90) % size) for size in sizes]
    drawn = []
    for of_ways in zip(*(draws(7, way, size, 30) for way, size in enumerate(sizes)), strict=True):
        counts = [np.bincount(c, minlength=n)[w] for c, n, w in zip(of_ways, sizes, ways, strict=True)]
        pairs = np.repeat(np.arange(90), np.prod(counts, axis=0))
        if statistic == "spearman":  # of the ranks in the whole sample
            drawn.append(SCIPY["pearson"](scipy.stats.rankdata(x)[pairs], scipy.stats.rankdata(y)[pairs]))
        else:
            drawn.append(SCIPY[statistic](x[pairs], y[pairs]))
    found = correlation(x, y, statistic, ways, resamples=30, confidence=0.8, seed=7)
    assert [found.low, found.high] == pytest.approx(np.quantile(drawn, [0.1, 0.9]).tolist(), abs=1e-10)
    assert (found.pairs, found.clusters, found.resamples) == (90, sizes, 30)
    if len(sizes) == 1:
        assert correlation(x, y, statistic, ways[0], resamples=30, confidence=0.8, seed=7) == found


def test_nine_or_ten_of_ten_intervals_at_95_percent_hold_the_truth_when_clusters_matter():
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(100):
        image = np.repeat(np.arange(60), 8)
        shared = rng.normal(size=(2, 60))[:, image]
        noise = rng.normal(size=(2, 480))
        x = shared[0] + noise[0]
        y = shared[0] + shared[1] + noise[1]  # covariance 1, variances 2 and 3
        found = correlation(x, y, clusters=image, resamples=200)
        held += found.low <= 1 / np.sqrt(6) <= found.high
    assert 0.87 * 100 <= held <= 100


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_constant_has_no_correlation(statistic):
    x, y = judged()
    for constant in (np.zeros(400), np.full(400, 0.1)):
        for found in (correlation(constant, y, statistic), correlation(x, constant, statistic)):
            assert (found.value, found.low, found.high, found.resamples, found.pairs) == (None, None, None, 0, 400)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_resamples_in_which_a_vector_is_constant_are_not_counted(statistic):
    x, y = np.array([0.0, 0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0])
    found = correlation(x, y, statistic, resamples=100)
    with_the_one = sum(3 in chosen and len(set(chosen.tolist())) > 1 for chosen in draws(0, 0, 4, 100))
    assert found.resamples == with_the_one < 100
    assert np.isfinite([found.low, found.high]).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x": [1.0, 2.0, 3.0]}, "x has 3"),
        ({"x": [1.0], "y": [2.0]}, "pairs is 1"),
        ({"x": [1.0, float("nan")]}, r"x\[1\] is nan"),
        ({"x": [[1.0, 2.0]]}, r"x is \[1, 2\]"),
        ({"x": ["a", "b"]}, "^x "),
        ({"statistic": "kendall"}, "statistic is 'kendall'"),
        ({"clusters": [1, 2, 3]}, r"clusters is \[3\]"),
        ({"clusters": [float("nan"), 1.0]}, "clusters"),
        ({"seed": 0.5}, "seed is 0.5"),
    ],
)
def test_what_does_not_fit_is_named(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        correlation(**({"x": [1.0, 2.0], "y": [2.0, 1.0]} | arguments))
