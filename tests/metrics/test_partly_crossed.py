"""Intervals where seeds lack items: the two closed forms at the extremes, unbiased components, and what they cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fivesentences.errors import InputError
from fivesentences.metrics.crossed import (
    CrossedDifference,
    _partly_crossed_error,
    crossed_differences,
    partly_crossed_bootstrap,
    partly_crossed_differences,
    variance_components,
)


def drawn(sizes, shape, of_seed: int, draw: np.random.Generator) -> np.ndarray:
    """Differences ``[seeds, items]`` of true mean 0, of which each seed has ``of_seed`` items, and NaN elsewhere."""
    seeds, items, rest = sizes
    values = seeds * draw.normal(size=(shape[0], 1)) + items * draw.normal(size=(1, shape[1]))
    values = values + rest * draw.normal(size=shape)
    for row in values:
        row[draw.permutation(shape[1])[of_seed:]] = np.nan
    return values[:, ~np.isnan(values).all(axis=0)]


def one(values: np.ndarray, **options) -> CrossedDifference:
    return partly_crossed_differences(values[None], resamples=options.pop("resamples", 50), **options)[0]


@pytest.mark.parametrize("sizes", [(1, 2, 3), (0, 1, 5), (1, 0, 1)])
def test_with_every_item_the_error_and_degrees_are_those_of_crossed_factors(sizes):
    values = drawn(sizes, (5, 30), 30, np.random.default_rng(4))
    theirs = crossed_differences(values[None], resamples=50)[0]
    found = _partly_crossed_error(values, np.ones(values.shape, bool))
    assert found == pytest.approx((theirs.standard_error, theirs.degrees), rel=1e-9)
    assert one(values) == theirs


def test_seeds_without_a_common_item_are_the_t_test_of_their_means():
    draw = np.random.default_rng(0)
    values = np.full((6, 60), np.nan)
    for seed in range(6):
        values[seed, 10 * seed : 10 * seed + 10] = 2 * draw.normal() + draw.normal(size=10)
    means = np.nanmean(values, axis=1)
    found, test = one(values), stats.ttest_1samp(means, 0)
    assert (found.mean, found.spread) == pytest.approx((means.mean(), means.std(ddof=1)))
    assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval()))
    assert found.degrees == 5 and found.images == 60


def test_components_are_unbiased():
    draw, found = np.random.default_rng(1), []
    for _ in range(2000):
        values = drawn((1, 2, 3), (5, 30), 20, draw)
        found.append(variance_components(values, ~np.isnan(values)))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - [1, 4, 9]) < 3.5 * error).all() and error.max() < 0.1


@pytest.mark.parametrize(("sizes", "seeds"), [((1, 1, 5), 10), ((0.3, 2, 2), 5), ((0.1, 3, 1), 5), ((1, 0, 1), 4)])
def test_intervals_cover_the_true_difference_as_often_as_they_say_or_more(sizes, seeds):
    draw = np.random.default_rng(0)
    found = [one(drawn(sizes, (seeds, 60), 40, draw), resamples=1) for _ in range(600)]
    assert 0.92 <= np.mean([each.low <= 0 <= each.high for each in found]) <= 0.985


def test_the_bootstrap_draws_seeds_and_items_of_the_pool():
    values = drawn((1, 1, 2), (4, 9), 6, np.random.default_rng(2))
    measured = ~np.isnan(values)
    ours = partly_crossed_bootstrap(np.nan_to_num(values)[None], measured, 20_000, 0)[0]
    draw, means = np.random.default_rng(7), []
    while len(means) < 5_000:
        rows, columns = draw.integers(4, size=4), draw.integers(values.shape[1], size=values.shape[1])
        cells = values[np.ix_(rows, columns)]
        if not np.isnan(cells).all():
            means.append(np.nanmean(cells))
    assert np.quantile(ours, [0.025, 0.25, 0.5, 0.75, 0.975]) == pytest.approx(
        np.quantile(means, [0.025, 0.25, 0.5, 0.75, 0.975]), abs=0.08
    )


def test_mistakes_are_said():
    good = drawn((1, 1, 1), (3, 8), 5, np.random.default_rng(0))
    other = np.roll(good, 1, axis=1)
    for values, message in [
        (good, r"has shape \[3"),
        (np.stack([good, other]), "in one metric than in another"),
        (np.where(np.isnan(good), good, np.inf)[None], "infinite"),
        (np.array([[[1.0, np.nan, np.nan], [1.0, 2.0, 3.0]]]), "fewer than two items"),
    ]:
        with pytest.raises(InputError, match=message):
            partly_crossed_differences(values)
