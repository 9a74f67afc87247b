"""From intervals to verdicts: the rules, once.

A statement is tested in one or more cells, each a setting that the scale trains. A cell *holds* where the whole 95%
interval lies on the stated side of the bar, *fails* where all of the interval stays short of the smallest effect that
counts, and is *open* otherwise, or where too little was repeated to say. From its cells a statement

- *holds* if every cell holds,
- *holds partly* if some do and others do not; one of those that hold must do so at the level divided by the number of
  cells (Bonferroni), or so many cells would hold one by chance,
- *fails* if no cell holds and more than half of the cells fail.

Otherwise it is undecided, for one of four reasons: no cell at all (*nobody has run it*), no cell with enough seeds,
intervals that are too wide in every cell, or cells that disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from fivesentences.metrics import holm
from fivesentences.metrics.crossed import (
    CrossedDifference,
    crossed_differences,
    weights_of_draws,
    with_intervals,
)
from fivesentences.reproduction.study.claims import Expect

Outcome = Literal["holds", "fails", "open"]
Verdict = Literal[
    "holds",
    "holds partly",
    "fails",
    "open: interval too wide",
    "open: settings disagree",
    "too few seeds",
    "nobody has run it",
]
DECIDED: tuple[Verdict, ...] = ("holds", "holds partly", "fails")
# What an interval covers: a difference is settled only if training was repeated, or no training is in it.
Over = Literal["seeds and queries", "seeds", "queries", "judged images", "settings", "families of models and queries"]
FEWEST_SEEDS = 3
LEVEL = 0.05  # of the two-sided interval
SHARE = 0.005  # of a metric's range: the smallest effect that counts, such as 3 of 600 points of Rsum


@dataclass(frozen=True)
class Effect:
    """A difference or value, and how sure it is.

    Attributes:
        value: The estimate.
        over: Samples that the interval is over.
        seeds: How many; 0 if no training is in it.
        queries: Test images, judged images or settings; 0 if they are not in the interval.
        low: Lower end of the 95% interval; None if there is none.
        high: Upper end.
        standard_error: None if there is none.
        degrees: Degrees of freedom of the t distribution; None: normal.
        detectable: The smallest true effect that would have been found with a power of 80%.
        bootstrap_low: Lower end of the bootstrap's interval over seeds and queries, beside the other.
        bootstrap_high: Upper end.
        a: The first side's value; None if there is only one.
        b: The second side's.
    """

    value: float
    over: Over
    seeds: int = 0
    queries: int = 0
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    degrees: float | None = None
    detectable: float | None = None
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None
    a: float | None = None
    b: float | None = None

    @property
    def is_repeated(self) -> bool:
        """True if enough was repeated for the interval to settle anything."""
        if self.over in ("judged images", "settings", "families of models and queries"):
            return True
        return self.over != "queries" and self.seeds >= FEWEST_SEEDS


def outcome_of(effect: Effect, expect: Expect, smallest: float, level: float = 0.0) -> Outcome:
    """Return the outcome of a cell.

    Args:
        effect: Effect of the cell.
        expect: ``more``: than ``level``. ``less``: than it. ``same``: not ``smallest`` away from it. ``not_less``: not
            ``smallest`` less than it.
        smallest: The smallest effect that counts, above 0.
        level: The bar; 0 for differences.
    """
    if effect.low is None or effect.high is None or not effect.is_repeated:
        return "open"
    low, high = effect.low - level, effect.high - level
    match expect:
        case "less":
            low, high = -high, -low
        case "not_less":
            low, high = low + smallest, high + smallest
        case "same":
            if low > -smallest and high < smallest:
                return "holds"
            return "fails" if low > smallest or high < -smallest else "open"
    if low > 0:
        return "holds"
    # Of an effect that was stated, one too small to count is none; a bar is a bar.
    short = 0.0 if expect == "not_less" or level != 0 else smallest
    return "fails" if high < short else "open"


def chance_of(effect: Effect, expect: Expect, smallest: float, level: float = 0.0) -> float:
    """Return the one-sided p value of a cell: how likely such an effect is at the bar; 1 without an interval."""
    return _tail(effect, -_beyond(effect, expect, smallest, level))


def chance_of_failing(effect: Effect, expect: Expect, smallest: float, level: float = 0.0) -> float:
    """Return the one-sided p value of a cell that fails: how likely so little is if the stated effect just counted."""
    beyond = _beyond(effect, expect, smallest, level)
    return _tail(effect, beyond - smallest if expect in ("more", "less") and level == 0 else beyond)


def _beyond(effect: Effect, expect: Expect, smallest: float, level: float) -> float:
    """Return how far an effect lies beyond its bar, on the stated side."""
    distance = effect.value - level
    match expect:
        case "less":
            return -distance
        case "not_less":
            return distance + smallest
        case "same":
            return smallest - abs(distance)
    return distance


def _tail(effect: Effect, distance: float) -> float:
    """Return how likely a distance this low or lower is, in standard errors of an effect; 1 without an interval."""
    if effect.standard_error is None or effect.low is None:
        return 1.0
    if effect.standard_error == 0:
        return 0.0 if distance < 0 else 1.0
    t = distance / effect.standard_error
    return float(ndtr(t) if effect.degrees is None else stdtr(effect.degrees, t))


def chance_of_verdict(verdict: Verdict, outcomes: Sequence[Outcome], chances: Sequence[float]) -> float:
    """Return the one-sided p value of a verdict, which a correction for many verdicts adjusts; 1 if undecided.

    It holds at the worst of its cells, holds partly at the best times their number, and fails at the worst of the
    fewest cells that are more than half.

    Args:
        verdict: The verdict.
        outcomes: Outcome of each cell.
        chances: Chance of each cell: ``chance_of``, and of cells that fail ``chance_of_failing``.
    """
    of = {name: sorted(p for one, p in zip(outcomes, chances, strict=True) if one == name) for name in outcomes}
    match verdict:
        case "holds":
            return of["holds"][-1]
        case "holds partly":
            return min(1.0, of["holds"][0] * len(outcomes))
        case "fails":
            return of["fails"][len(outcomes) // 2]
    return 1.0


def still_decided(chances: Sequence[float]) -> list[bool]:
    """Tell which verdicts stand after Holm's correction for all of them, undecided ones included.

    Args:
        chances: ``chance_of_verdict`` of every claim that was tested.
    """
    return [bool(p < LEVEL / 2) for p in holm(chances)]


def verdict_of(outcomes: Sequence[Outcome], chances: Sequence[float], repeated: bool) -> Verdict:
    """Combine the outcomes of the cells of a statement; see the module.

    Args:
        outcomes: Outcome of each cell.
        chances: Chance of each cell, see ``chance_of``.
        repeated: True if enough was repeated in at least one cell.
    """
    if not outcomes:
        return "nobody has run it"
    holding = [chance for outcome, chance in zip(outcomes, chances, strict=True) if outcome == "holds"]
    if len(holding) == len(outcomes):
        return "holds"
    if holding and min(holding) * len(outcomes) < LEVEL / 2:
        return "holds partly"
    if not holding and 2 * outcomes.count("fails") > len(outcomes):
        return "fails"
    if not repeated:
        return "too few seeds"
    return "open: interval too wide" if set(outcomes) == {"open"} else "open: settings disagree"


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
    (found,) = crossed_differences(values[None], 1 - LEVEL, resamples)
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
        human: Judgements of people.
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
