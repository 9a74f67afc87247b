"""How far two ways of training differ, from runs paired by seed and tested on the same images.

A difference is measured once for every seed and every test image, and both are samples: of the trainings that might
have been made, and of the images that might have been tested. Seeds and images are crossed random factors, as readers
and cases are in multi-reader multi-case studies of diagnostic imaging, whose analysis this is (Dorfman, Berbaum and
Metz 1992; Hillis 2007). A bootstrap over images alone says nothing about training again.

Where every seed has test items of its own, drawn from one pool, items that several seeds share are as good or bad for
all of them, but not every seed meets every item. Mean squares of a complete table do not exist then. Variance
components are estimated from sums of squares within seeds, within items and in total instead (Gao and Owen 2017), and
the bootstrap draws seeds and items of the pool (Owen 2007, "The pigeonhole bootstrap", made for such tables).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtrinc, stdtr, stdtrit

RESAMPLES = 10_000
POWER = 0.8
NUMBERS_AT_ONCE = 4_000_000  # weights of images that the bootstrap holds


@dataclass(frozen=True)
class CrossedDifference:
    """A mean difference over seeds and images, and how sure it is.

    Everything but ``mean``, ``seeds`` and ``images`` is None with a single seed: nothing is known of other trainings.

    Attributes:
        mean: Over seeds and images, in the unit of the differences.
        seeds: How many.
        images: How many.
        standard_error: Standard error of the mean, with seeds and images as random factors.
        degrees: Degrees of freedom of the standard error, at least ``seeds - 1``.
        low: Lower end of the interval of the mean, from a t distribution with these degrees.
        high: Upper end.
        bootstrap_low: Lower end of the percentile interval of a bootstrap over seeds and images.
        bootstrap_high: Upper end.
        spread: Sample standard deviation of the differences of the seeds, each a mean over images.
        equivalence: The smallest bound below which two one-sided tests (Schuirmann 1987) place the size of the
            difference; the ways of training are equivalent within any larger bound.
        detectable: The smallest true difference that a two-sided test finds with a power of 80%, had the difference
            this standard error.
    """

    mean: float
    seeds: int
    images: int
    standard_error: float | None = None
    degrees: float | None = None
    low: float | None = None
    high: float | None = None
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None
    spread: float | None = None
    equivalence: float | None = None
    detectable: float | None = None

    @property
    def p(self) -> float | None:
        """Two-sided p that the true difference is 0, of the t distribution of the interval; None with a single seed."""
        if self.standard_error is None or self.degrees is None:
            return None
        if self.standard_error == 0:
            return 1.0 if self.mean == 0 else 0.0
        return float(2 * stdtr(self.degrees, -abs(self.mean) / self.standard_error))


def crossed_differences(
    differences: NDArray[np.float64], confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> list[CrossedDifference]:
    """Return the mean difference of each metric, with its intervals over seeds and images (or other test items).

    With mean squares MS of seeds, images and their residual, the variance of the mean is estimated as
    ``(max(MS_seeds, MS_residual) + max(MS_images - MS_residual, 0)) / (seeds * images)``. Without the maxima it is the
    unbiased estimate of the analysis of variance; they keep each of its three components from being negative. Degrees
    of freedom are Satterthwaite's, with the first term in the place of the mean square of seeds, as Hillis (2007)
    corrects them. If images make no difference, this is the t test of the seeds' differences.

    Where seeds lack images, with N measured differences, N_s of seed s and N_i of image i, it is
    ``max(var_seeds, 0) sum(N_s^2) / N^2 + max(var_images, 0) sum(N_i^2) / N^2 + var_rest / N``, which is the same if
    every seed has every image. If no two seeds share an image, and all have equally many, it is the t test of the
    seeds' means, as for any nested sample.

    The bootstrap draws seeds and, independently, images with replacement; the mean of a draw is that over its seeds and
    images (Owen 2007). With few seeds its interval is too narrow, as that of any percentile bootstrap of few items; the
    t interval is not. All metrics see the same draws.

    Args:
        differences: ``[metrics, seeds, images]`` one run minus the other run of the same seed on the same image; NaN
            where the image is not of the seed's test part, the same for all metrics. Every seed has two images or more,
            and every image a seed.
        confidence: Coverage of both intervals, in (0, 1). The tests behind ``equivalence`` and ``detectable`` have
            the level ``1 - confidence``.
        resamples: Draws of the bootstrap, at least 1.
        seed: Seed of the draws, at least 0.

    Returns:
        One for each metric; ``images`` is the number of images that any seed has.
    """
    if differences.shape[1] == 1:
        return [CrossedDifference(float(one.mean()), 1, one.shape[1]) for one in differences]
    measured = ~np.isnan(differences[0])
    drawn = crossed_bootstrap(np.nan_to_num(differences), measured, resamples, seed)
    ends = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1).T.tolist()
    found = []
    for one, (low, high) in zip(differences, ends, strict=True):
        error, degrees = _error_of_mean(one) if measured.all() else _partly_crossed_error(one, measured)
        spread = float(np.nanmean(one, axis=1).std(ddof=1))
        n_seeds, n_images = one.shape
        known = CrossedDifference(float(np.nanmean(one)), n_seeds, n_images, error, degrees, spread=spread)
        found.append(with_intervals(replace(known, bootstrap_low=low, bootstrap_high=high), confidence))
    return found


def crossed_bootstrap(
    values: NDArray[np.float64], measured: NDArray[np.bool_], resamples: int, seed: int = 0
) -> NDArray[np.float64]:
    """Return ``[metrics, resamples]`` means of what was measured in draws of seeds and images, both with replacement.

    A draw in which no seed has any of its images is drawn again.

    Args:
        values: ``[metrics, seeds, images]``, 0 where nothing was measured.
        measured: ``[seeds, images]``.
        resamples: How many draws.
        seed: Seed of the generator.
    """
    _, n_seeds, n_images = values.shape
    generator = np.random.default_rng(seed)
    step = max(1, NUMBERS_AT_ONCE // n_images)
    parts: list[NDArray[np.float64]] = []
    left = resamples
    while left:
        size = min(step, left)
        of_seeds, of_images = weights_of_draws(generator, size, n_seeds), weights_of_draws(generator, size, n_images)
        sums = np.stack([np.einsum("bi,bi->b", of_seeds @ one, of_images) for one in values])
        if not measured.all():  # else the weights are 1, but for rounding
            weight = np.einsum("bi,bi->b", of_seeds @ measured.astype(np.float64), of_images)
            sums = sums[:, weight > 0] / weight[weight > 0]
        parts.append(sums)
        left -= sums.shape[1]
    return np.concatenate(parts, axis=1)


def weights_of_draws(generator: np.random.Generator, count: int, items: int) -> NDArray[np.float64]:
    """Return ``[count, items]`` the share of each item in draws of as many items with replacement."""
    drawn = generator.integers(items, size=(count, items))
    place = drawn + np.arange(count)[:, None] * items
    return np.bincount(place.ravel(), minlength=drawn.size).reshape(drawn.shape) / items


def with_intervals(found: CrossedDifference, confidence: float) -> CrossedDifference:
    """A difference whose standard error is known, with what follows from it: interval, equivalence, detectable."""
    assert found.standard_error is not None and found.degrees is not None
    # A two-sided test at 5% has 2.5% on either side; the one-sided tests of equivalence are at 5% each.
    two_sided, one_sided = (float(stdtrit(found.degrees, share)) for share in ((1 + confidence) / 2, confidence))
    return replace(
        found,
        low=found.mean - two_sided * found.standard_error,
        high=found.mean + two_sided * found.standard_error,
        equivalence=abs(found.mean) + one_sided * found.standard_error,
        detectable=found.standard_error * float(nctdtrinc(found.degrees, 1 - POWER, two_sided)),
    )


def _error_of_mean(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the standard error of the mean of ``[seeds, images]``, and its degrees of freedom."""
    n_seeds, n_images = values.shape
    of_seeds, of_images, mean = values.mean(axis=1), values.mean(axis=0), values.mean()
    residual = values - of_seeds[:, None] - of_images + mean
    free_seeds, free_images, free_rest = n_seeds - 1, n_images - 1, (n_seeds - 1) * (n_images - 1)
    seeds = n_images * float(((of_seeds - mean) ** 2).sum()) / free_seeds
    images = n_seeds * float(((of_images - mean) ** 2).sum()) / free_images
    rest = float((residual**2).sum()) / free_rest
    beyond = images**2 / free_images + rest**2 / free_rest
    return _satterthwaite(max(seeds, rest), max(images - rest, 0.0), beyond, n_seeds * n_images, free_seeds)


def _satterthwaite(trainings: float, beyond: float, unsure: float, number: int, free: int) -> tuple[float, float]:
    """Return the standard error of a mean of so many numbers, and its degrees of freedom, at least those of the seeds.

    Args:
        trainings: Mean square between trainings.
        beyond: Mean square of images beyond that.
        unsure: How unsure that is: the squares of its mean squares over their degrees of freedom.
        number: Numbers of which it is the mean.
        free: Degrees of freedom of the seeds.
    """
    total = trainings + beyond
    if total == 0:
        return 0.0, float(free)
    of_trainings = trainings**2 / free
    unsure = of_trainings + unsure if beyond > 0 else of_trainings
    return (total / number) ** 0.5, max(total**2 / unsure, float(free))


# --- where seeds lack images ---------------------------------------------------------------------------------


class Components(NamedTuple):
    """Variance components of a difference; estimates, so that one may be negative."""

    seeds: float
    items: float
    rest: float


def variance_components(values: NDArray[np.float64], measured: NDArray[np.bool_]) -> Components:
    """Estimate without bias how much seeds, items and the rest vary.

    Where no two seeds share an item, items cannot be told from the rest, which then has both.

    Args:
        values: ``[seeds, items]``; those that were not measured are not read.
        measured: ``[seeds, items]``.
    """
    known = np.where(measured, values, 0.0)
    of_seed, of_item = measured.sum(axis=1), measured.sum(axis=0)
    number = int(measured.sum())
    within_seeds = np.where(measured, values - (known.sum(axis=1) / of_seed)[:, None], 0.0)
    within_items = np.where(measured, values - known.sum(axis=0) / of_item, 0.0)
    around_mean = np.where(measured, values - known.sum() / number, 0.0)
    sums = [float((one**2).sum()) for one in (within_seeds, within_items, around_mean)]
    free_of_seeds, free_of_items = number - len(of_seed), number - len(of_item)
    # What each sum of squares is expected to be of the variances of seeds, items and the rest.
    of_total = [number - (of_seed**2).sum() / number, number - (of_item**2).sum() / number, number - 1.0]
    expected = np.array([[0.0, free_of_seeds, free_of_seeds], [free_of_items, 0.0, free_of_items], of_total])
    if free_of_items == 0:
        seeds, rest = np.linalg.solve(expected[[0, 2]][:, [0, 2]], [sums[0], sums[2]])
        return Components(float(seeds), 0.0, float(rest))
    return Components(*np.linalg.solve(expected, sums).tolist())


def _partly_crossed_error(values: NDArray[np.float64], measured: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the standard error of the mean of what was measured, and its degrees of freedom."""
    of_seed, of_item, number = measured.sum(axis=1), measured.sum(axis=0), int(measured.sum())
    found = variance_components(values, measured)
    rest = max(found.rest, 0.0)
    # In the unit of a mean square, as without missing items, so that both agree where nothing is missing.
    trainings = rest + max(found.seeds, 0.0) * float((of_seed**2).sum()) / number
    beyond = max(found.items, 0.0) * float((of_item**2).sum()) / number
    free_rest = max(1, number - len(of_seed) - len(of_item) + 1)
    unsure = (beyond + rest) ** 2 / (len(of_item) - 1) + rest**2 / free_rest
    return _satterthwaite(trainings, beyond, unsure, number, len(of_seed) - 1)
