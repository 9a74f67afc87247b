"""Effects with their intervals, against closed forms and other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fivesentences.metrics.crossed import crossed_differences
from fivesentences.paper.claims.effects import (
    correlation_difference,
    over_seeds,
    over_seeds_and_queries,
    rank_correlation,
)


def test_seeds_and_queries_are_crossed_random_effects():
    values = np.random.default_rng(0).normal(2, 5, (6, 50))
    found, (wanted,) = over_seeds_and_queries(values), crossed_differences(values[None], resamples=2000)
    assert (found.value, found.low, found.high, found.detectable) == (
        wanted.mean,
        wanted.low,
        wanted.high,
        wanted.detectable,
    )
    assert (found.over, found.seeds, found.queries) == ("seeds and queries", 6, 50)
    assert (found.bootstrap_low, found.bootstrap_high) == (wanted.bootstrap_low, wanted.bootstrap_high)


def test_one_seed_has_an_interval_over_its_queries_alone():
    values = np.random.default_rng(0).normal(2, 5, (1, 50))
    found, wanted = over_seeds_and_queries(values), stats.ttest_1samp(values[0], 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert (found.over, found.seeds, found.is_repeated, found.detectable) == ("queries", 1, False, None)


def test_seeds_alone_are_a_paired_t_interval():
    values = [1.0, 2.5, 0.5, 3.0]
    found, wanted = over_seeds(values), stats.ttest_1samp(values, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert (found.over, found.seeds, found.queries) == ("seeds", 4, 0)
    assert (over_seeds([2.0]).value, over_seeds([2.0]).low) == (2.0, None)


@pytest.fixture
def judged() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two phis, people, and the image of each of 600 pairs; the first phi follows people more closely."""
    draw = np.random.default_rng(0)
    people, images = draw.normal(size=600), np.repeat(np.arange(120), 5)
    return people + 0.5 * draw.normal(size=600), people + 2 * draw.normal(size=600), people, images


def test_correlations_are_those_of_scipy(judged):
    a, b, people, images = judged
    of_a, of_b = (stats.pearsonr(one, people).statistic for one in (a, b))
    found = correlation_difference(a, b, people, images)
    assert (found.a, found.b, found.value) == pytest.approx((of_a, of_b, of_a - of_b))
    assert found.low < found.value < found.high and found.low > 0.2
    assert (found.over, found.queries, found.seeds) == ("judged images", 120, 0)
    assert correlation_difference(np.zeros(600), None, people, images).value == 0  # a constant has none
    alone = correlation_difference(a, None, people, images)
    wanted = stats.pearsonr(a, people).confidence_interval()
    assert alone.value == pytest.approx(of_a) and alone.a is None
    assert (alone.low, alone.high) == pytest.approx((wanted.low, wanted.high), abs=0.02)


def test_pairs_of_an_image_are_drawn_together(judged):
    a, b, people, images = judged
    apart = correlation_difference(a, b, people, images)
    same = correlation_difference(np.repeat(a, 4), np.repeat(b, 4), np.repeat(people, 4), np.repeat(images, 4))
    # Four copies of every pair are no more evidence.
    assert (same.low, same.high) == pytest.approx((apart.low, apart.high), abs=1e-9)


def test_ranks_are_those_of_scipy_with_ties():
    draw = np.random.default_rng(0)
    x = draw.integers(0, 12, 30).astype(float)
    y = x + draw.integers(-4, 5, 30)
    found = rank_correlation(x, y)
    assert found.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found.low < found.value < found.high and (found.over, found.queries) == ("settings", 30)
    assert rank_correlation(np.arange(9.0), np.arange(9.0)[::-1]).value == pytest.approx(-1)
