"""How far two ways of training differ where every seed has test items of its own, drawn from one pool.

Items that several seeds share are as good or bad for all of them, so seeds and items are crossed random factors as in
``crossed``, but not every seed meets every item. Mean squares of a complete table do not exist then. Variance
components are estimated from sums of squares within seeds, within items and in total instead (Gao and Owen 2017), and
the bootstrap draws seeds and items of the pool (Owen 2007, "The pigeonhole bootstrap", made for such tables).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import Argument, InputError
from fivesentences.metrics.crossed import (
    NUMBERS_AT_ONCE,
    RESAMPLES,
    CrossedDifference,
    crossed_differences,
    weights_of_draws,
    with_intervals,
)
from fivesentences.retrieval.arguments import checked_count, checked_share


class Components(NamedTuple):
    """Variance components of a difference; estimates, so that one may be negative."""

    seeds: float
    items: float
    rest: float


def partly_crossed_differences(
    differences: ArrayLike, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> list[CrossedDifference]:
    """The mean difference of each metric, with its intervals over seeds and items, where seeds lack items.

    With N measured differences, N_s of seed s and N_i of item i, the variance of their mean is estimated as
    ``max(var_seeds, 0) sum(N_s^2) / N^2 + max(var_items, 0) sum(N_i^2) / N^2 + var_rest / N``. If every seed has every
    item this, its degrees of freedom and the result are those of ``crossed_differences``. If no two seeds share an
    item, and all have equally many, it is the t test of the seeds' means, as for any nested sample.

    Args:
        differences: ``[metrics, seeds, items]`` one run minus the other run of the same seed on the same item; NaN
            where the item is not of the seed's test part, the same for all metrics.
        confidence: Of both intervals, in (0, 1).
        resamples: Draws of the bootstrap, at least 1.
        seed: Of the draws, at least 0.

    Returns:
        One for each metric; ``images`` is the number of items of the pool that any seed has.

    Raises:
        InputError: If a difference is infinite, a seed has fewer than two items, an item belongs to no seed, metrics
            differ in which are missing, or an option is out of range.
    """
    values = np.asarray(differences, dtype=np.float64)
    measured = _checked(values)
    if measured.all():
        return crossed_differences(values, confidence, resamples, seed)
    checked_share("confidence", confidence)
    checked_count("resamples", resamples)
    drawn = _bootstrap(np.nan_to_num(values), measured, resamples, seed)
    ends = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
    found = []
    for one, low, high in zip(values, *ends.tolist(), strict=True):
        standard_error, degrees = _error_of_mean(one, measured)
        found.append(
            with_intervals(
                CrossedDifference(
                    mean=float(np.nanmean(one)),
                    seeds=values.shape[1],
                    images=values.shape[2],
                    standard_error=standard_error,
                    degrees=degrees,
                    bootstrap_low=low,
                    bootstrap_high=high,
                    spread=float(np.nanmean(one, axis=1).std(ddof=1)),
                ),
                confidence,
            )
        )
    return found


def variance_components(values: NDArray[np.float64], measured: NDArray[np.bool_]) -> Components:
    """Unbiased estimates of how much seeds, items and the rest vary.

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
    expected = np.array(
        [
            [0.0, free_of_seeds, free_of_seeds],
            [free_of_items, 0.0, free_of_items],
            [number - (of_seed**2).sum() / number, number - (of_item**2).sum() / number, number - 1.0],
        ]
    )
    if free_of_items == 0:
        seeds, rest = np.linalg.solve(expected[[0, 2]][:, [0, 2]], [sums[0], sums[2]])
        return Components(float(seeds), 0.0, float(rest))
    return Components(*np.linalg.solve(expected, sums).tolist())


def _error_of_mean(values: NDArray[np.float64], measured: NDArray[np.bool_]) -> tuple[float, float]:
    """Standard error of the mean of what was measured, and its degrees of freedom."""
    of_seed, of_item, number = measured.sum(axis=1), measured.sum(axis=0), int(measured.sum())
    found = variance_components(values, measured)
    rest = max(found.rest, 0.0)
    # In the unit of a mean square, as in `crossed`, so that both agree where nothing is missing.
    of_trainings = rest + max(found.seeds, 0.0) * float((of_seed**2).sum()) / number
    beyond = max(found.items, 0.0) * float((of_item**2).sum()) / number
    free = len(of_seed) - 1
    total = of_trainings + beyond
    if total == 0:
        return 0.0, float(free)
    unsure = of_trainings**2 / free
    if beyond > 0:
        unsure += (beyond + rest) ** 2 / (len(of_item) - 1) + rest**2 / max(1, number - len(of_seed) - len(of_item) + 1)
    return (total / number) ** 0.5, max(total**2 / unsure, float(free))


def _bootstrap(
    values: NDArray[np.float64], measured: NDArray[np.bool_], resamples: int, seed: int
) -> NDArray[np.float64]:
    """``[metrics, resamples]`` means of what was measured in draws of seeds and items, both with replacement.

    A draw in which no seed has any of its items is drawn again.
    """
    _, n_seeds, n_items = values.shape
    generator = np.random.default_rng(seed)
    step = max(1, NUMBERS_AT_ONCE // n_items)
    counts = measured.astype(np.float64)
    parts: list[NDArray[np.float64]] = []
    left = resamples
    while left:
        size = min(step, left)
        of_seeds, of_items = weights_of_draws(generator, size, n_seeds), weights_of_draws(generator, size, n_items)
        weight = np.einsum("bi,bi->b", of_seeds @ counts, of_items)
        kept = weight > 0
        sums = np.stack([np.einsum("bi,bi->b", of_seeds @ one, of_items) for one in values])
        parts.append(sums[:, kept] / weight[kept])
        left -= int(kept.sum())
    return np.concatenate(parts, axis=1)


def _checked(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """``[seeds, items]`` which were measured."""
    where = Argument("differences")
    if values.ndim != 3 or not values.size:
        raise InputError(f"has shape {list(values.shape)}; give [metrics, seeds, items].", where=where)
    missing = np.isnan(values)
    if (missing != missing[0]).any():
        raise InputError("lacks other items in one metric than in another; give the same for all.", where=where)
    if np.isinf(values).any():
        raise InputError("holds an infinite value.", where=where)
    measured: NDArray[np.bool_] = ~missing[0]
    if measured.sum(axis=1).min() < 2 or measured.sum(axis=0).min() < 1:
        raise InputError(
            "has a seed with fewer than two items, or an item of no seed; leave such seeds and items out.", where=where
        )
    return measured
