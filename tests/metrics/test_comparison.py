"""Paired tests: p and intervals against enumeration, a closed form, and scipy called in the ordinary way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.errors import InputError
from fivesentences.metrics.comparison import holm, paired_test, paired_tests


@pytest.mark.parametrize("clusters", [None, [3, 3, 1, 1, 1, 7, 7, 2, 9, 9, 9, 9]])
def test_p_is_the_share_of_all_sign_flips_of_whole_clusters(clusters):
    rng = np.random.default_rng(2)
    difference = rng.normal(0.5, 1, 12) - rng.normal(0, 1, 12)
    names, of_query = np.unique(range(12) if clusters is None else clusters, return_inverse=True)
    signs = np.array(list(itertools.product((1, -1), repeat=len(names))))
    means = (signs[:, of_query] * difference).mean(axis=1)
    found = paired_test(difference, np.zeros(12), clusters=clusters)
    assert found.p == pytest.approx(np.mean(np.abs(means) >= abs(difference.mean()) - 1e-12), abs=1e-12)
    assert (found.n, found.clusters, found.resamples) == (12, len(names), 2 ** len(names))
    assert found.difference == pytest.approx(difference.mean(), abs=1e-12)


def test_the_interval_is_scipys_percentile_bootstrap():
    rng = np.random.default_rng(4)
    a, b = rng.normal(1, 1, 60), rng.normal(0, 2, 60)
    by_scipy = scipy.stats.bootstrap(
        (a - b,), np.mean, method="percentile", n_resamples=10_000, rng=np.random.default_rng(8)
    ).confidence_interval
    found = paired_test(a, b, "bootstrap", resamples=10_000)
    assert found.low == pytest.approx(by_scipy.low, abs=0.04) and found.high == pytest.approx(by_scipy.high, abs=0.04)
    assert found.p < 0.01


def test_repeating_every_query_five_times_changes_nothing_if_the_copies_are_a_cluster():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.3, 1, 200), rng.normal(0, 1, 200)
    single = paired_test(a, b, resamples=2000)
    copies = paired_test(np.repeat(a, 5), np.repeat(b, 5), clusters=np.repeat(np.arange(200), 5), resamples=2000)
    naive = paired_test(np.repeat(a, 5), np.repeat(b, 5), resamples=2000)
    assert (copies.p, copies.low, copies.high) == pytest.approx((single.p, single.low, single.high), abs=1e-12)
    assert naive.high - naive.low < 0.6 * (single.high - single.low)  # what pretended independence would claim


@pytest.mark.parametrize("method", ["permutation", "bootstrap"])
def test_under_no_difference_p_is_spread_evenly(method):
    rng = np.random.default_rng(6)
    values = rng.normal(size=(2, 200, 60))
    p = np.array([test.p for test in paired_tests(*values, method=method, resamples=300)])
    assert scipy.stats.kstest(p, "uniform").pvalue > 1e-3
    assert 0.015 < np.mean(p < 0.05) < 0.1


@pytest.mark.parametrize("method", ["permutation", "bootstrap"])
def test_equal_models_do_not_differ(method):
    a = np.random.default_rng(8).normal(size=50)
    found = paired_test(a, a.copy(), method)
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_one_cluster_says_nothing():
    found = paired_test([1.0, 2.0], [0.0, 0.0], clusters=[4, 4])
    assert (found.difference, found.low, found.high, found.p) == (1.5, None, None, 1.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1.0], [1.0, 2.0]), "the same queries"),
        (([], []), "at least one"),
        (([np.nan], [1.0]), "query 0"),
        (([np.nan], [np.nan]), "no query counts"),
        (([1.0, np.inf], [1.0, 2.0]), "query 1"),
        ((["x"], [1.0]), "not a number"),
        (([1.0], [2.0], "t-test"), "t-test"),
        (([1.0], [2.0], "bootstrap", [1, 2]), "label each of them"),
        (([1.0], [2.0], "bootstrap", None, 10, 95), "95"),
    ],
)
def test_a_wrong_request_is_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        paired_test(*arguments)


def test_holm_gives_the_textbook_values():
    # The example of Wikipedia's article on the method; R: p.adjust(c(.01, .04, .03, .005), "holm").
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02], rtol=1e-12)
    assert holm([0.7, 0.8]).tolist() == [1.0, 1.0] and holm([0.2]).tolist() == [0.2] and holm([]).tolist() == []


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.02, 1.0]), min_size=1, max_size=7))
def test_holm_is_the_closed_test_of_bonferroni(p):
    # A hypothesis is rejected if Bonferroni rejects every intersection of hypotheses that it takes part in.
    def adjusted(one):
        others = [at for at in range(len(p)) if at != one]
        sets = [{one, *some} for size in range(len(p)) for some in itertools.combinations(others, size)]
        return max(min(1.0, len(of) * min(p[at] for at in of)) for of in sets)

    np.testing.assert_allclose(holm(p), [adjusted(at) for at in range(len(p))], rtol=1e-12)
