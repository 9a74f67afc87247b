"""Do two metrics order models alike? Kendall's tau, with intervals over models and queries together.

A metric of a set of models is a function from how often each unit of the test split (an image, with the captions that
were written for it) is drawn to the metric of every model; see ``mean_over``. Once each gives the metric itself, and
numbers that were drawn with replacement a bootstrap's draw. All metrics read the same draws, so that differences
between them are paired.

Orders of systems by two measures are compared by Kendall's tau, and measures by the share of pairs of systems that they
tell apart (discriminative power), since Sakai, SIGIR 2006 and 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

from fivesentences.errors import InputError

#: From ``[draws, units]`` how often each unit is drawn to ``[draws, models]``.
Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]
DRAWS = 1000
PAIRS_AT_ONCE = 2_000_000


def mean_over(values: ArrayLike, unit: ArrayLike | None = None, n_units: int | None = None) -> Score:
    """Make a metric that is a mean over queries.

    Args:
        values: ``[models, queries]``, larger is better; NaN where a query does not count, at the same queries for all.
        unit: ``[queries]`` the unit that each query belongs to, such as its image; default every query is its own.
        n_units: Number of units; default the largest of ``unit`` and one.

    Raises:
        InputError: If shapes disagree, a query counts for some models alone, or none counts.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 2:
        raise InputError(f"values are {list(given.shape)}; give [models, queries].")
    places = np.arange(given.shape[1]) if unit is None else np.asarray(unit)
    if places.shape != given.shape[1:]:
        raise InputError(f"values have {given.shape[1]} queries, but unit {list(places.shape)}.")
    counted = ~np.isnan(given)
    if (counted != counted[:1]).any() or not counted.any():
        raise InputError("a query counts for all models or for none, and at least one counts.")
    size = int(places.max()) + 1 if n_units is None else n_units
    sums, counts = np.zeros((size, len(given))), np.zeros(size)
    np.add.at(sums, places[counted[0]], given[:, counted[0]].T)
    np.add.at(counts, places[counted[0]], 1)

    def score(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((drawn @ sums) / np.maximum(drawn @ counts, 1e-12)[:, None])

    return score


def median_over(values: ArrayLike, unit: ArrayLike) -> Score:
    """Make a metric that is a median over queries (the lower one of two); arguments as in ``mean_over``, no NaN."""
    given, places = np.asarray(values, dtype=np.float64), np.asarray(unit)
    order = np.argsort(given, axis=1, kind="stable")

    def score(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.empty((len(drawn), len(given)))
        half = drawn[:, places].sum(axis=1, keepdims=True) / 2
        for model, queries in enumerate(order):
            reached = np.cumsum(drawn[:, places[queries]], axis=1) >= half
            found[:, model] = given[model, queries[reached.argmax(axis=1)]]
        return found

    return score


def sum_of(*scores: Score) -> Score:
    """Add metrics, such as recalls to Rsum."""
    return lambda drawn: np.sum([score(drawn) for score in scores], axis=0)


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far a metric orders models as a reference does.

    Attributes:
        tau: Kendall's tau-b.
        share: Share of pairs that both order alike; a tie in the metric counts half, one in the reference not at all.
        pairs: Number of pairs of models.
        draws: ``[draws, 2]`` tau and share of each draw.
    """

    tau: float
    share: float
    pairs: int
    draws: NDArray[np.float64]

    def interval(self, of: str = "tau", confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval of ``"tau"`` or ``"share"``: value and bootstrapped standard error, by the normal.

        Percentiles would be too low: each draw adds the noise of resampled queries to that of the queries themselves.
        """
        low = -1.0 if of == "tau" else 0.0
        value, spread = (self.tau, self.draws[:, 0]) if of == "tau" else (self.share, self.draws[:, 1])
        reach = norm.ppf((1 + confidence) / 2) * np.nanstd(spread)
        return max(low, value - reach), min(1.0, value + reach)

    def difference(self, other: Agreement, confidence: float = 0.95) -> tuple[float, float, float]:
        """Return how much larger this tau is than another of the same draws, and its interval."""
        reach = norm.ppf((1 + confidence) / 2) * np.nanstd(self.draws[:, 0] - other.draws[:, 0])
        found = self.tau - other.tau
        return found, found - reach, found + reach


def agreements(
    metrics: Mapping[str, Score],
    reference: Score,
    n_units: int,
    families: ArrayLike,
    among: ArrayLike | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Agreement]:
    """Compare the order of models by each metric with that by a reference.

    A draw takes units of the test split with replacement, and families of models with replacement: a model that is
    drawn twice counts twice in its pairs with others, and is no pair with itself.

    Args:
        metrics: By name, larger is better.
        reference: What orders the models rightly, such as people's average precision.
        n_units: Number of units of the test split.
        families: ``[models]`` label of each model's family, such as all seeds and re-scored forms of one training.
        among: ``[models, models]`` which pairs count, such as those of close models; default all.
        draws: Number of draws, at least 2.
        seed: Seed of the draws.

    Raises:
        InputError: If there are fewer than two draws, families do not fit the models, or no pair counts.
    """
    once = np.ones((1, n_units))
    truth = reference(once)[0]
    _, family = np.unique(np.asarray(families), return_inverse=True)
    if family.shape != truth.shape or draws < 2:
        raise InputError(f"there are {len(truth)} models, {family.size} families and {draws} draws.")
    first, second = np.triu_indices(len(truth), 1)
    if among is not None:
        counts = np.asarray(among, dtype=bool)[first, second]
        first, second = first[counts], second[counts]
    if not len(first):
        raise InputError("no pair of models counts.")
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_units, np.full(n_units, 1 / n_units), draws).astype(np.float64)
    n_families = int(family.max()) + 1
    times = rng.multinomial(n_families, np.full(n_families, 1 / n_families), draws).astype(np.float64)
    same = family[first] == family[second]
    found = {}
    real, resampled = np.ones((1, len(first))), reference(drawn)
    step = max(1, PAIRS_AT_ONCE // len(first))
    for name, metric in metrics.items():
        tau, share = _of_pairs(metric(once), truth[None], first, second, real)
        values, of_draws = metric(drawn), np.empty((draws, 2))
        for start in range(0, draws, step):
            part = slice(start, start + step)
            one, other = times[part][:, family[first]], times[part][:, family[second]]
            weight = np.where(same, one, one * other)  # two models of a family are drawn together
            of_draws[part] = np.column_stack(_of_pairs(values[part], resampled[part], first, second, weight))
        found[name] = Agreement(float(tau[0]), float(share[0]), len(first), of_draws)
    return found


def _of_pairs(
    a: NDArray[np.float64], b: NDArray[np.float64], first: NDArray, second: NDArray, weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``[draws]`` tau-b and share of pairs ordered alike, of ``[draws, models]`` values."""
    in_a, in_b = (np.sign(of[:, first] - of[:, second]) for of in (a, b))
    alike = (weight * in_a * in_b).sum(axis=1)
    of_a, of_b = ((weight * np.abs(of)).sum(axis=1) for of in (in_a, in_b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return alike / np.sqrt(of_a * of_b), (alike / of_b + 1) / 2


@dataclass(frozen=True, eq=False)
class Power:
    """How surely a metric tells models apart on the same queries.

    Attributes:
        apart: Share of pairs that a paired t-test over units tells apart (discriminative power).
        noncentrality: Mean square of the pairs' t less that of noise; the number of queries that are needed to tell
            two models apart is proportional to its inverse.
        statistic: ``[pairs]`` t of each pair that counts, in the order of ``numpy.triu_indices``; positive where the
            first model is better.
    """

    apart: float
    noncentrality: float
    statistic: NDArray[np.float64]


def power(values: ArrayLike, among: ArrayLike, level: float = 0.05) -> Power:
    """Return the discriminative power of a metric.

    Args:
        values: ``[models, units]`` mean of the metric over each unit's queries; NaN where a unit does not count.
        among: ``[models, models]`` which pairs count.
        level: Chance at which two equal models are told apart.

    Raises:
        InputError: If no pair counts.
    """
    given = np.asarray(values, dtype=np.float64)
    given = given[:, ~np.isnan(given).any(axis=0)]
    first, second = np.nonzero(np.triu(np.asarray(among, dtype=bool), 1))
    if not len(first):
        raise InputError("no pair of models counts.")
    n = given.shape[1]
    mean, product = given.mean(axis=1), given @ given.T / n
    squares = np.diag(product)
    difference = mean[first] - mean[second]
    variance = squares[first] + squares[second] - 2 * product[first, second] - difference**2
    statistic = difference / np.sqrt(np.maximum(variance, 1e-15) / (n - 1))
    bound, noise = t.ppf(1 - level / 2, n - 1), (n - 1) / (n - 3)
    apart = float(np.mean(np.abs(statistic) > bound))
    return Power(apart, float(np.mean(statistic**2) - noise), statistic)
