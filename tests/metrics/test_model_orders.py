"""Agreement of orders of models, against scipy and on made-up models whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, ttest_rel

from fivesentences.errors import InputError
from fivesentences.metrics.model_orders import agreements, mean_over, median_over, power, sum_of


def made(rng, families=40, seeds=2, queries=300, noise=1.0, apart=0.15, shared=0.5):
    """Values of a metric and of a reference, ``[models, queries]``, of models of which seeds of a family are alike.

    The metric's quality of a family is that of the reference and something of its own; seeds differ a little.
    """
    quality = rng.normal(0, apart, families)
    own = rng.normal(0, apart * noise, families)
    of_model = np.repeat(quality, seeds) + rng.normal(0, apart / 5, families * seeds)
    other = np.repeat(quality + own, seeds) + rng.normal(0, apart / 5, families * seeds)
    hard = rng.normal(size=queries)  # queries are hard for all models
    reference = of_model[:, None] + shared * hard + rng.normal(size=(len(of_model), queries))
    metric = other[:, None] + shared * hard + rng.normal(size=(len(of_model), queries))
    return metric, reference, np.repeat(np.arange(families), seeds)


def test_tau_and_share_equal_scipys_and_a_count():
    metric, reference, families = made(np.random.default_rng(0), 12)
    metric = np.round(4 * metric.mean(axis=1, keepdims=True)) / 4 + 0 * metric  # with ties
    a, b = metric.mean(axis=1), reference.mean(axis=1)
    found = agreements({"m": mean_over(metric)}, mean_over(reference), 300, families, draws=20)["m"]
    assert found.tau == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
    signs = [np.sign((a[i] - a[j]) * (b[i] - b[j])) for i in range(24) for j in range(i)]
    assert found.share == pytest.approx(np.mean([(sign + 1) / 2 for sign in signs]))
    assert found.pairs == 24 * 23 / 2


def test_a_draw_is_the_metric_of_the_drawn_queries():
    rng = np.random.default_rng(1)
    values, unit = rng.normal(size=(3, 20)), np.repeat(np.arange(5), 4)
    values[:, 3] = np.nan
    drawn = np.array([[2.0, 0, 1, 0, 2], [1, 1, 1, 1, 1]])
    queries = np.concatenate([np.flatnonzero(unit == one) for one in (0, 0, 2, 4, 4)])
    np.testing.assert_allclose(mean_over(values, unit)(drawn)[0], np.nanmean(values[:, queries], axis=1))
    ranks = rng.integers(1, 9, (3, 20))
    wanted = [np.sort(of[queries])[(len(queries) - 1) // 2] for of in ranks]
    np.testing.assert_array_equal(median_over(ranks, unit)(drawn)[0], wanted)
    both = sum_of(mean_over(values, unit), mean_over(2 * values, unit))(drawn)
    np.testing.assert_allclose(both, 3 * mean_over(values, unit)(drawn))


def test_close_pairs_alone_count():
    metric, reference, families = made(np.random.default_rng(2), 12)
    mean = reference.mean(axis=1)
    close = np.abs(mean[:, None] - mean) < 0.1
    found = agreements({"m": mean_over(metric)}, mean_over(reference), 300, families, close, draws=20)["m"]
    assert found.pairs == (np.count_nonzero(close) - 24) / 2
    far = agreements({"m": mean_over(metric)}, mean_over(reference), 300, families, ~close, draws=20)["m"]
    assert found.share < far.share


def test_the_reference_agrees_with_itself_in_every_draw():
    _, reference, families = made(np.random.default_rng(3), 10)
    found = agreements({"m": mean_over(reference)}, mean_over(reference), 300, families, draws=30)["m"]
    assert found.tau == found.share == 1 and found.interval() == (1, 1)
    assert found.difference(found) == (0, 0, 0)


def test_power_equals_a_paired_test_of_every_pair():
    metric, _, _ = made(np.random.default_rng(4), 6)
    among = np.ones((12, 12), dtype=bool)
    tests = [ttest_rel(metric[i], metric[j]) for i in range(12) for j in range(i + 1, 12)]
    found = power(metric, among)
    np.testing.assert_allclose(found.statistic, [one.statistic for one in tests])
    assert found.apart == pytest.approx(np.mean([one.pvalue < 0.05 for one in tests]))
    mean_square = np.mean([one.statistic**2 for one in tests])
    assert found.noncentrality == pytest.approx(mean_square - 299 / 297)


@pytest.mark.slow
def test_twice_the_noise_needs_twice_the_queries():
    rng = np.random.default_rng(5)
    quality = rng.normal(0, 0.3, 60)[:, None]
    sharp, blunt = (quality + rng.normal(0, scale, (60, 2000)) for scale in (1, np.sqrt(2)))
    among = np.ones((60, 60), dtype=bool)
    ratio = power(sharp, among).noncentrality / power(blunt, among).noncentrality
    assert ratio == pytest.approx(2, abs=0.25)
    same = rng.normal(size=(60, 2000))
    assert power(same, among).apart == pytest.approx(0.05, abs=0.03)
    assert power(same, among).noncentrality == pytest.approx(0, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_intervals_contain_the_mean_of_fresh_models_and_queries(noise):
    """Of tau, and of the difference between two metrics of which one is better, in nearly 95% of the experiments."""
    rng = np.random.default_rng(6)

    def experiment(draws):
        metric, reference, families = made(rng, noise=noise)
        worse = metric + rng.normal(0, 0.15, len(metric))[:, None]
        metrics = {"metric": mean_over(metric), "worse": mean_over(worse)}
        return agreements(metrics, mean_over(reference), 300, families, draws=draws, seed=int(rng.integers(1e6)))

    truth = [experiment(2) for _ in range(600)]
    tau = np.mean([one["metric"].tau for one in truth])
    difference = np.mean([one["metric"].tau - one["worse"].tau for one in truth])
    inside = []
    for _ in range(200):
        found = experiment(200)
        low, high = found["metric"].interval()
        _, least, most = found["metric"].difference(found["worse"])
        inside.append((low <= tau <= high, least <= difference <= most))
    covered = np.mean(inside, axis=0)
    assert (covered > 0.9).all(), covered


def test_what_does_not_fit_is_refused():
    metric, reference, families = made(np.random.default_rng(7), 5)
    given = {"m": mean_over(metric)}, mean_over(reference), 300
    with pytest.raises(InputError, match="9 families"):
        agreements(*given, families[:9])
    with pytest.raises(InputError, match="1 draws"):
        agreements(*given, families, draws=1)
    with pytest.raises(InputError, match="no pair"):
        agreements(*given, families, np.zeros((10, 10)))
    with pytest.raises(InputError, match="no pair"):
        power(metric, np.eye(10))
    with pytest.raises(InputError, match="300 queries"):
        mean_over(metric, np.zeros(3, dtype=int))
    metric[0, 0] = np.nan
    with pytest.raises(InputError, match="for all models or for none"):
        mean_over(metric)
