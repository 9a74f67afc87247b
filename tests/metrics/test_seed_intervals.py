from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fivesentences.metrics.seed_intervals import paired_interval, t_interval


@pytest.mark.parametrize("count", [2, 30])
def test_an_interval_over_seeds_is_scipys_of_one_sample(count):
    values = np.random.default_rng(count).normal(70, 4, count)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert t_interval(values.tolist()) == pytest.approx((values.mean(), theirs.low, theirs.high, count), abs=1e-9)


def test_a_paired_interval_is_scipys_of_related_samples_over_the_seeds_that_both_have():
    draw = np.random.default_rng(1)
    ours = dict(zip(range(8), draw.normal(70, 4, 8), strict=True))
    theirs = dict(zip(range(3, 12), draw.normal(65, 4, 9), strict=True))
    both = range(3, 8)
    test = stats.ttest_rel([ours[seed] for seed in both], [theirs[seed] for seed in both])
    interval, mean = test.confidence_interval(0.95), np.mean([ours[seed] - theirs[seed] for seed in both])
    assert paired_interval(ours, theirs) == pytest.approx((mean, interval.low, interval.high, 5), abs=1e-9)


def test_one_seed_has_no_interval_and_none_no_mean():
    assert t_interval([7.5]) == pytest.approx((7.5, np.nan, np.nan, 1), nan_ok=True)
    assert paired_interval({0: 1.0}, {1: 2.0}) == pytest.approx((np.nan, np.nan, np.nan, 0), nan_ok=True)
