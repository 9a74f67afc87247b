"""Measured values -> effects with intervals: pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fivesentences.metrics.crossed import (
    CrossedDifference,
    crossed_differences,
    partly_crossed_differences,
    weights_of_draws,
    with_intervals,
)
from fivesentences.paper.claims.verdicts import LEVEL, Effect, Over

RESAMPLES = 2000


def over_seeds_and_queries(values: NDArray[np.float64], resamples: int = RESAMPLES) -> Effect:
    """The mean of what was measured, with its interval over seeds and queries by a two-way random-effects model.

    See ``metrics.crossed`` and, where seeds have queries of their own, ``metrics.partly_crossed``. A single seed gives
    an interval over its queries, which says nothing about training again.

    Args:
        values: ``[seeds, queries]``, such as differences of two runs; NaN where a seed does not have a query.
        resamples: Draws of the bootstrap, whose interval stands beside the other.
    """
    if len(values) == 1:
        return _over_queries(values[0])
    measured = not np.isnan(values).any()
    compute = crossed_differences if measured else partly_crossed_differences
    (found,) = compute(values[None], 1 - LEVEL, resamples)
    return replace(
        _of_crossed(found, "seeds and queries"),
        seeds=found.seeds,
        queries=found.images,
        bootstrap_low=found.bootstrap_low,
        bootstrap_high=found.bootstrap_high,
    )


def over_seeds(values: Sequence[float]) -> Effect:
    """The mean over seeds with its t interval; the queries are taken as they are. One seed has no interval."""
    found = np.asarray(values, dtype=np.float64)
    if len(found) == 1:
        return Effect(float(found[0]), "seeds", seeds=1)
    return replace(_t(found, "seeds"), seeds=len(found))


def _over_queries(values: NDArray[np.float64]) -> Effect:
    known = values[~np.isnan(values)]
    # What would have been seen is left out: it depends on how much training differs, which one seed cannot tell.
    return replace(_t(known, "queries"), seeds=1, queries=len(known), detectable=None)


def _t(values: NDArray[np.float64], over: Over) -> Effect:
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    one = CrossedDifference(float(values.mean()), 0, 0, standard_error=error, degrees=float(len(values) - 1))
    return _of_crossed(with_intervals(one, 1 - LEVEL), over)


def _of_crossed(found: CrossedDifference, over: Over) -> Effect:
    return Effect(
        found.mean,
        over,
        low=found.low,
        high=found.high,
        standard_error=found.standard_error,
        degrees=found.degrees,
        detectable=found.detectable,
    )


def correlation_difference(
    a: NDArray[np.float64], b: NDArray[np.float64] | None, human: NDArray[np.float64], cluster: NDArray[np.int64]
) -> Effect:
    """Pearson's r of a with people minus that of b, with a bootstrap that draws images with their pairs.

    Args:
        a: ``[pairs]`` values of one phi.
        b: Of the other; None: zero is subtracted.
        human: What people say.
        cluster: ``[pairs]`` the image of each.
    """
    sides = [a] if b is None else [a, b]
    places = np.unique(cluster, return_inverse=True)[1]
    count = int(places.max()) + 1
    generator = np.random.default_rng(0)
    weights = np.concatenate([np.ones((1, count)), weights_of_draws(generator, RESAMPLES, count) * count])
    found = [_correlations(side, human, places, weights) for side in sides]
    drawn = found[0] - found[1] if b is not None else found[0]
    return _bootstrapped(drawn[0], drawn[1:], "judged images", count, found)


def mean_over_images(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> Effect:
    """The mean of pairs, with a bootstrap that draws images with their pairs.

    Args:
        values: ``[pairs]``.
        cluster: ``[pairs]`` the image of each.
    """
    places = np.unique(cluster, return_inverse=True)[1]
    count = int(places.max()) + 1
    weights = weights_of_draws(np.random.default_rng(0), RESAMPLES, count)
    drawn = (weights @ np.bincount(places, values)) / (weights @ np.bincount(places))
    return _bootstrapped(float(values.mean()), drawn, "judged images", count, [])


def _correlations(
    x: NDArray[np.float64], y: NDArray[np.float64], places: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``[draws]`` Pearson's r with each image counted as often as it was drawn."""
    x, y = x - x.mean(), y - y.mean()
    sums = np.stack([np.bincount(places, one) for one in (np.ones_like(x), x, y, x * x, y * y, x * y)], axis=1)
    n, sx, sy, sxx, syy, sxy = (weights @ sums).T
    spread = np.sqrt((n * sxx - sx**2) * (n * syy - sy**2))
    found: NDArray[np.float64] = np.divide(n * sxy - sx * sy, spread, out=np.zeros_like(spread), where=spread > 0)
    return found


def rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> Effect:
    """Kendall's tau-b over settings, with a bootstrap that draws settings.

    Args:
        x: ``[settings]`` means over seeds by one metric.
        y: By the other.
    """
    order = np.sign(x[:, None] - x[None]), np.sign(y[:, None] - y[None])
    agree, ties_x, ties_y = order[0] * order[1], np.abs(order[0]), np.abs(order[1])
    generator = np.random.default_rng(0)
    weights = np.concatenate([np.ones((1, len(x))), weights_of_draws(generator, RESAMPLES, len(x)) * len(x)])
    top, of_x, of_y = (np.einsum("bi,bi->b", weights @ one, weights) for one in (agree, ties_x, ties_y))
    spread = np.sqrt(of_x * of_y)
    drawn = np.divide(top, spread, out=np.zeros_like(top), where=spread > 0)
    return _bootstrapped(drawn[0], drawn[1:], "settings", len(x), [])


def _bootstrapped(
    value: float, drawn: NDArray[np.float64], over: Over, count: int, sides: Sequence[NDArray[np.float64]]
) -> Effect:
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2]).tolist()
    a, b = (float(side[0]) for side in sides) if len(sides) == 2 else (None, None)
    error = float(drawn.std(ddof=1))
    return Effect(
        float(value),
        over,
        queries=count,
        low=low,
        high=high,
        standard_error=error,
        detectable=2.8 * error,  # normal: 1.96 for the test and 0.84 for its power
        a=a,
        b=b,
    )
