"""Do two models differ on the same queries? A paired test of the values that ``Evaluator.per_query`` gives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import Argument, InputError
from fivesentences.retrieval.arguments import checked_choice, checked_count, checked_labels, checked_share

RESAMPLES = 10_000
NUMBERS_PER_BATCH = 2_000_000  # signs or draws that are held at once
NUMBERS_KEPT = 100_000_000  # differences, of every metric under every flip or draw: 0.8 GB, of which there are copies


@dataclass(frozen=True)
class PairedTest:
    """How much two models differ on the same queries, and how sure that is.

    Attributes:
        difference: Mean of ``a - b`` over the queries that count, in the unit of the values.
        low: Lower end of the bootstrap interval of the difference (percentiles); None with fewer than 2 clusters.
        high: Upper end.
        p: Two-sided: how often chance alone gives a difference this large if the models are equally good.
        n: Queries that count, for which both models have a value.
        clusters: Groups that were flipped or drawn together; as many as queries if no clusters were given.
        method: "permutation" or "bootstrap".
        resamples: Sign flips or draws; fewer than asked for where all sign flips are enumerated.
    """

    difference: float
    low: float | None
    high: float | None
    p: float
    n: int
    clusters: int
    method: str
    resamples: int


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    method: str = "permutation",
    clusters: ArrayLike | None = None,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedTest:
    """Test whether the mean of ``a`` differs from that of ``b`` on the same queries.

    ``"permutation"`` (``scipy.stats.permutation_test``): if the models were equally good, the two values of a query
    could be exchanged, so the sign of its difference is flipped at random; p is the share of flips whose mean
    difference is at least as far from zero, on either side. If there are no more than ``resamples`` flips, all of them
    are tried and p is exact; otherwise the observed signs count as one more flip, so that p is at least
    1 / (resamples + 1). ``"bootstrap"`` (``scipy.stats.bootstrap``): queries are drawn with replacement; p is twice
    the share of draws whose difference does not have the sign of the observed one, and at least 2 / (resamples + 1).
    Both use the interval of the bootstrap (Efron 1979; Smucker, Allan and Carterette 2007 compare the two).

    Queries of one image are not independent: its five captions are alike. ``clusters`` names the image of each query;
    all queries of a cluster are flipped or drawn together.

    Args:
        a: ``[queries]`` values of one model; NaN where the query does not count.
        b: ``[queries]`` values of the other, NaN at the same queries.
        method: How p is computed, ``"permutation"`` or ``"bootstrap"``.
        clusters: ``[queries]`` label of each query's cluster; default every query is its own.
        resamples: How many flips or draws, at least 1 and at most 100 million over the number of metrics.
        confidence: Coverage of the interval, in (0, 1).
        seed: Seed of the resampling, at least 0.

    Raises:
        InputError: If lengths disagree, no query counts, a value is infinite or only one of two is NaN, or an option
            is out of range.
    """
    one_a, one_b = (np.asarray(values)[None] if np.ndim(values) == 1 else values for values in (a, b))
    return paired_tests(one_a, one_b, method, clusters, resamples, confidence, seed)[0]


def paired_tests(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    method: str = "permutation",
    clusters: ArrayLike | None = None,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[PairedTest]:
    """Test several metrics of the same queries by ``paired_test``, at little more than the cost of one.

    All metrics see the same flips and draws. The p values are not adjusted for their number.

    Args:
        a: ``[metrics, queries]``.
        b: ``[metrics, queries]``.
        method: As in ``paired_test``.
        clusters: ``[queries]``.
        resamples: As in ``paired_test``.
        confidence: As in ``paired_test``.
        seed: As in ``paired_test``.

    Returns:
        One test per metric.

    Raises:
        InputError: As in ``paired_test``.
    """
    checked_choice("method", method, ("permutation", "bootstrap"))
    confidence = checked_share("confidence", confidence)
    resamples, seed = checked_count("resamples", resamples), checked_count("seed", seed, least=0)
    difference = _difference(a, b)
    n_metrics, n_queries = difference.shape
    if resamples > (most := NUMBERS_KEPT // n_metrics):
        what = f"is {resamples:,}; at most {most:,} are possible with {n_metrics} metrics, and 10,000 are usual."
        raise InputError(what, where=Argument("resamples"))
    label = np.arange(n_queries) if clusters is None else checked_labels(clusters, n_queries, "queries")
    n_clusters = int(label.max()) + 1
    counts = np.isfinite(difference)

    def per_cluster(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([np.bincount(label, weights=row, minlength=n_clusters) for row in values])

    sums, sizes = per_cluster(np.where(counts, difference, 0.0)), per_cluster(counts.astype(np.float64))
    n = counts.sum(axis=1)
    p, tried = np.ones(n_metrics), 2 if method == "permutation" else 0  # scipy refuses a single cluster
    ends: list[list[float | None]] = [[None, None]] * n_metrics
    if n_clusters > 1:
        drawn = _bootstrap(sums, sizes, resamples, seed)
        ends = np.nanquantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1).T.tolist()
        if method == "permutation":
            p, tried = _permutation(sums / n[:, None], resamples, seed)
        else:
            beyond = np.minimum(np.count_nonzero(drawn <= 0, axis=1), np.count_nonzero(drawn >= 0, axis=1))
            p, tried = np.minimum(1.0, 2.0 * (beyond + 1) / (drawn.shape[1] + 1)), resamples
    return [
        PairedTest(float(of.sum() / count), low, high, float(of_p), int(count), n_clusters, method, tried)
        for of, count, (low, high), of_p in zip(sums, n, ends, p, strict=True)
    ]


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjust p values of several tests for their number by Holm's step-down method (Holm 1979).

    Rejecting where the adjusted p is below alpha makes a false rejection among all tests no more likely than alpha,
    however the tests depend on each other. The i-th smallest p, from 1, of n is multiplied by n - i + 1; a larger p is
    never adjusted to less than a smaller one.

    Args:
        p: ``[tests]`` in 0 to 1.

    Returns:
        ``[tests]``, at most 1, in the same order.

    Raises:
        InputError: If it is not a list of numbers from 0 to 1.
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise InputError("is not a list of numbers from 0 to 1.", where=Argument("p"))
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values), 0, -1) * values[order]
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def _difference(a: ArrayLike | Sequence[ArrayLike], b: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Return ``[metrics, queries]``, NaN where a query does not count."""
    both = []
    for name, given in (("a", a), ("b", b)):
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{name} holds something that is not a number; give one number per query.") from None
        if values.ndim != 2 or not values.size:
            raise InputError(f"{name} has shape {list(values.shape)}; give one number per query, and at least one.")
        both.append(values)
    first, second = both
    if first.shape != second.shape:
        lengths = f"a has {first.shape[-1]} values but b has {second.shape[-1]}"
        raise InputError(f"{lengths}; a paired test needs the same queries.")
    wrong = np.argwhere(np.isinf(first) | np.isinf(second) | (np.isnan(first) != np.isnan(second)))
    if len(wrong):
        metric, query = wrong[0].tolist()
        found = f"query {query} is {first[metric, query]} in a and {second[metric, query]} in b"
        raise InputError(f"{found}; both must be finite, or both NaN where the query does not count.")
    if np.isnan(first).all(axis=1).any():
        raise InputError("no query counts: all values are NaN; a paired test needs at least one pair.")
    return first - second


def _permutation(shares: NDArray[np.float64], resamples: int, seed: int) -> tuple[NDArray[np.float64], int]:
    """Return p of each metric, and how many flips were tried.

    Args:
        shares: ``[metrics, clusters]`` what each cluster contributes to the difference.
        resamples: The most flips.
        seed: Seed of the flips.
    """
    n_clusters = shares.shape[1]

    def differences(signs: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        return np.asarray(signs @ shares.T)

    # The test flips a row of ones, so that one set of signs serves every metric by a matrix product.
    test = scipy.stats.permutation_test(
        (np.ones(n_clusters),),
        differences,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, NUMBERS_PER_BATCH // n_clusters),
        rng=np.random.default_rng(seed),
    )
    # scipy's own p is twice the smaller tail, which is less if some flips reproduce the observed difference.
    tried = len(test.null_distribution)
    rounding = 1e-12 * np.abs(shares).sum(axis=1)
    as_far = np.abs(test.null_distribution) >= np.abs(test.statistic) - rounding
    all_flips = resamples >= 2**n_clusters
    unseen = 0 if all_flips else 1  # the observed signs, which random flips need not contain
    return (np.count_nonzero(as_far, axis=0) + unseen) / (tried + unseen), tried


def _bootstrap(sums: NDArray[np.float64], sizes: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """``[metrics, resamples]`` mean difference of clusters drawn with replacement; NaN where no query was drawn."""
    n_metrics, n_clusters = sums.shape
    moments = np.concatenate([sums, sizes]).T  # [clusters, 2 metrics]

    def differences(drawn: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        rows = drawn.reshape(-1, n_clusters).astype(np.int64)
        place = rows + np.arange(len(rows))[:, None] * n_clusters
        often = np.bincount(place.ravel(), minlength=rows.size).reshape(rows.shape).astype(np.float64)
        total = (often @ moments).T.reshape(2, n_metrics, *drawn.shape[:-1])
        return np.asarray(total[0] / np.where(total[1] > 0, total[1], np.nan))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a metric in which nothing differs has an interval of no width
        result = scipy.stats.bootstrap(
            (np.arange(n_clusters, dtype=np.float64),),
            differences,
            vectorized=True,
            method="percentile",
            n_resamples=resamples,
            batch=max(1, NUMBERS_PER_BATCH // n_clusters),
            rng=np.random.default_rng([seed, 1]),
        )
    return np.asarray(result.bootstrap_distribution)
