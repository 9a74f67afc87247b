"""Intervals over seeds and images equal those of scipy where there is one, and cover what they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from fivesentences.metrics.crossed import (
    CrossedDifference,
    _partly_crossed_error,
    crossed_bootstrap,
    crossed_differences,
    variance_components,
)


def crossed(sizes, shape: tuple[int, int], draw: np.random.Generator, of_seed: int | None = None) -> np.ndarray:
    """Differences ``[seeds, images]`` of true mean 0, with these standard deviations of seeds, images and the rest.

    Each seed has ``of_seed`` of the images, and NaN elsewhere.
    """
    seeds, images, rest = sizes
    values = seeds * draw.normal(size=(shape[0], 1)) + images * draw.normal(size=(1, shape[1]))
    values = values + rest * draw.normal(size=shape)
    for row in values if of_seed else ():
        row[draw.permutation(shape[1])[of_seed:]] = np.nan
    return values[:, ~np.isnan(values).all(axis=0)]


def one(differences: np.ndarray, **options) -> CrossedDifference:
    return crossed_differences(differences[None], resamples=options.pop("resamples", 50), **options)[0]


@pytest.fixture
def of_seeds_alone() -> np.ndarray:
    """Every image has the same difference."""
    return np.repeat(np.random.default_rng(3).normal(0.4, 1, (7, 1)), 30, axis=1)


@pytest.mark.parametrize("confidence", [0.95, 0.9])
def test_without_an_effect_of_images_it_is_the_t_test_of_the_seeds(of_seeds_alone, confidence):
    found, test = one(of_seeds_alone, confidence=confidence), stats.ttest_1samp(of_seeds_alone[:, 0], 0)
    assert found.degrees == pytest.approx(test.df)
    assert found.standard_error == pytest.approx(stats.sem(of_seeds_alone[:, 0]))
    assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval(confidence)))
    assert found.spread == pytest.approx(np.std(of_seeds_alone[:, 0], ddof=1))


def test_mean_squares_are_those_of_a_regression_on_seeds_and_images():
    differences = crossed((1, 2, 3), (5, 8), np.random.default_rng(5))
    seed, image = (place.ravel() for place in np.indices(differences.shape))

    def unexplained(*factors: np.ndarray) -> float:
        design = np.column_stack([np.ones(40), *(factor[:, None] == np.unique(factor)[1:] for factor in factors)])
        return float(np.linalg.lstsq(design, differences.ravel(), rcond=None)[1][0])

    rest = unexplained(seed, image)
    of_seeds, of_images, of_rest = (unexplained(image) - rest) / 4, (unexplained(seed) - rest) / 7, rest / 28
    assert of_seeds > of_rest and of_images > of_rest
    total, found = of_seeds + of_images - of_rest, one(differences)
    assert found.standard_error == pytest.approx(np.sqrt(total / 40))
    assert found.degrees == pytest.approx(total**2 / (of_seeds**2 / 4 + of_images**2 / 7 + of_rest**2 / 28))


@pytest.mark.parametrize(
    ("sizes", "shape", "most"),
    [((1, 1, 5), (10, 60), 0.97), ((0.3, 1, 5), (20, 60), 0.97), ((1, 0, 1), (4, 30), 0.97), ((0, 1, 3), (3, 60), 1)],
)
def test_intervals_cover_the_true_difference_as_often_as_they_say_or_more(sizes, shape, most):
    draw = np.random.default_rng(0)
    found = [one(crossed(sizes, shape, draw), resamples=1) for _ in range(400)]
    assert 0.92 <= np.mean([each.low <= 0 <= each.high for each in found]) <= most + 0.01


@pytest.mark.parametrize("of_seed", [9, 6])  # images that each seed has, of nine
def test_the_bootstrap_draws_seeds_and_images_with_replacement_each_independently(of_seed):
    differences = crossed((1, 1, 2), (4, 9), np.random.default_rng(2), of_seed)
    ours = crossed_bootstrap(np.nan_to_num(differences)[None], ~np.isnan(differences), 20_000)[0]
    draw, means = np.random.default_rng(7), []
    while len(means) < 5_000:
        seeds, images = draw.integers(4, size=4), draw.integers(differences.shape[1], size=differences.shape[1])
        cells = differences[np.ix_(seeds, images)]
        if not np.isnan(cells).all():
            means.append(np.nanmean(cells))
    assert ours.std() == pytest.approx(np.std(means), rel=0.05)
    ends = [0.025, 0.25, 0.5, 0.75, 0.975]
    assert np.quantile(ours, ends) == pytest.approx(np.quantile(means, ends), abs=0.12 if of_seed == 9 else 0.08)
    found = one(differences, resamples=20_000)
    assert (found.bootstrap_low, found.bootstrap_high) == pytest.approx(tuple(np.quantile(ours, [0.025, 0.975])))


@pytest.mark.parametrize("shift", [-1.0, 0.0, 0.3])
def test_two_one_sided_tests_just_reject_a_difference_as_large_as_the_bound(of_seeds_alone, shift):
    seeds = of_seeds_alone[:, 0] + shift

    def larger_p(bound: float) -> float:
        below = stats.ttest_1samp(seeds, bound, alternative="less").pvalue
        return max(below, stats.ttest_1samp(seeds, -bound, alternative="greater").pvalue)

    assert one(of_seeds_alone + shift).equivalence == pytest.approx(
        optimize.brentq(lambda bound: larger_p(bound) - 0.05, 1e-6, 50)
    )


@pytest.mark.parametrize("n_seeds", [2, 3, 7, 30])
def test_a_difference_as_large_as_the_detectable_one_is_found_four_times_in_five(n_seeds):
    differences = np.repeat(np.random.default_rng(n_seeds).normal(size=(n_seeds, 1)), 5, axis=1)
    found, degrees = one(differences), n_seeds - 1
    noncentrality = found.detectable / stats.sem(differences[:, 0])
    # The other tail, in which the sign would be wrong, is not a find.
    power = stats.nct.sf(stats.t.ppf(0.975, degrees), degrees, noncentrality)
    assert power == pytest.approx(0.8, abs=1e-6)


def test_one_seed_has_a_mean_and_no_interval():
    found = one(np.arange(6.0)[None])
    assert found == CrossedDifference(2.5, 1, 6)


# --- where seeds lack items ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 2, 3), (0, 1, 5), (1, 0, 1)])
def test_with_every_item_the_error_and_degrees_are_those_of_crossed_factors(sizes):
    values = crossed(sizes, (5, 30), np.random.default_rng(4))
    theirs, found = one(values), _partly_crossed_error(values, np.ones(values.shape, bool))
    assert found == pytest.approx((theirs.standard_error, theirs.degrees), rel=1e-9)


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
    for _ in range(1000):
        values = crossed((1, 2, 3), (5, 30), draw, 20)
        found.append(variance_components(values, ~np.isnan(values)))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - [1, 4, 9]) < 3.5 * error).all() and error.max() < 0.15
