"""Measured values -> effects with intervals: pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fivesentences.metrics.crossed import (
    CrossedDifference,
    partly_crossed_differences,
    weights_of_draws,
    with_intervals,
)
from fivesentences.paper.claims.verdicts import LEVEL, Effect, Over

RESAMPLES = 2000


def over_seeds_and_queries(values: NDArray[np.float64], resamples: int = RESAMPLES) -> Effect:
    """Return the mean with its interval over seeds and queries by a two-way random-effects model.

    See ``metrics.crossed``. A single seed gives
    an interval over its queries, which says nothing about training again.

    Args:
        values: ``[seeds, queries]``, such as differences of two runs; NaN where a seed does not have a query.
        resamples: Draws of the bootstrap, whose interval stands beside the other.
    """
    if len(values) == 1:
        known = values[0][~np.isnan(values[0])]
        # What would have been seen is left out: it depends on how much training differs, which one seed cannot tell.
        return replace(_t(known, "queries"), seeds=1, queries=len(known), detectable=None)
    (found,) = partly_crossed_differences(values[None], 1 - LEVEL, resamples)
    effect = replace(_effect(found, "seeds and queries"), seeds=found.seeds, queries=found.images)
    return replace(effect, bootstrap_low=found.bootstrap_low, bootstrap_high=found.bootstrap_high)


def over_seeds(values: Sequence[float]) -> Effect:
    """Return the mean over seeds with its t interval; the queries are taken as they are. One seed has no interval."""
    found = np.asarray(values, dtype=np.float64)
    return replace(Effect(float(found[0]), "seeds") if len(found) == 1 else _t(found, "seeds"), seeds=len(found))


def _t(values: NDArray[np.float64], over: Over) -> Effect:
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    one = CrossedDifference(float(values.mean()), 0, 0, standard_error=error, degrees=float(len(values) - 1))
    return _effect(with_intervals(one, 1 - LEVEL), over)


def _effect(found: CrossedDifference, over: Over) -> Effect:
    kept = {name: getattr(found, name) for name in ("low", "high", "standard_error", "degrees", "detectable")}
    return Effect(found.mean, over, **kept)


def correlation_difference(
    a: NDArray[np.float64], b: NDArray[np.float64] | None, human: NDArray[np.float64], cluster: NDArray[np.int64]
) -> Effect:
    """Return Pearson's r of a with people minus that of b, with a bootstrap that draws images with their pairs.

    Args:
        a: ``[pairs]`` values of one phi.
        b: Values of the other; None: zero is subtracted.
        human: What people say.
        cluster: ``[pairs]`` the image of each.
    """
    places, count = np.unique(cluster, return_inverse=True)[1], len(np.unique(cluster))
    weights = _weights(count)
    found = [_correlations(side, human, places, weights) for side in (a, b) if side is not None]
    drawn = found[0] - found[1] if b is not None else found[0]
    effect = _bootstrapped(drawn[0], drawn[1:], "judged images", count)
    return effect if b is None else replace(effect, a=float(found[0][0]), b=float(found[1][0]))


def mean_over_images(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> Effect:
    """Return the mean of pairs, with a bootstrap that draws images with their pairs.

    Args:
        values: ``[pairs]``.
        cluster: ``[pairs]`` the image of each.
    """
    places, count = np.unique(cluster, return_inverse=True)[1], len(np.unique(cluster))
    weights = weights_of_draws(np.random.default_rng(0), RESAMPLES, count)
    drawn = (weights @ np.bincount(places, values)) / (weights @ np.bincount(places))
    return _bootstrapped(float(values.mean()), drawn, "judged images", count)


def rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> Effect:
    """Return Kendall's tau-b over settings, with a bootstrap that draws settings.

    Args:
        x: ``[settings]`` means over seeds by one metric.
        y: Means by the other.
    """
    order = np.sign(x[:, None] - x[None]), np.sign(y[:, None] - y[None])
    weights = _weights(len(x))
    sums = (order[0] * order[1], np.abs(order[0]), np.abs(order[1]))
    top, of_x, of_y = (np.einsum("bi,bi->b", weights @ one, weights) for one in sums)
    drawn = _quotient(top, np.sqrt(of_x * of_y))
    return _bootstrapped(drawn[0], drawn[1:], "settings", len(x))


def _weights(items: int) -> NDArray[np.float64]:
    """Return ``[1 + draws, items]`` counts of each item: one each, then as often as it is drawn."""
    drawn = weights_of_draws(np.random.default_rng(0), RESAMPLES, items) * items
    return np.concatenate([np.ones((1, items)), drawn])


def _correlations(
    x: NDArray[np.float64], y: NDArray[np.float64], places: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``[draws]`` Pearson's r with each image counted as often as it was drawn."""
    x, y = x - x.mean(), y - y.mean()
    sums = np.stack([np.bincount(places, one) for one in (np.ones_like(x), x, y, x * x, y * y, x * y)], axis=1)
    n, sx, sy, sxx, syy, sxy = (weights @ sums).T
    return _quotient(n * sxy - sx * sy, np.sqrt((n * sxx - sx**2) * (n * syy - sy**2)))


def _quotient(top: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``top / spread``, 0 where the spread is 0."""
    found: NDArray[np.float64] = np.divide(top, spread, out=np.zeros_like(spread), where=spread > 0)
    return found


def _bootstrapped(value: float, drawn: NDArray[np.float64], over: Over, count: int) -> Effect:
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2]).tolist()
    error = float(drawn.std(ddof=1))
    # Detectable by a normal distribution: 1.96 for the test and 0.84 for its power.
    about = {"low": low, "high": high, "standard_error": error, "detectable": 2.8 * error}
    return Effect(float(value), over, queries=count, **about)
