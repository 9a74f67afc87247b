"""Correlation of a score with human judgement, and a bootstrap interval that respects which pairs belong together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.retrieval.arguments import checked_choice, checked_count, checked_labels, checked_share

# How many resamples an interval has by default. Each of Kendall's sorts all pairs (3 ms for 48,000).
RESAMPLES = {"pearson": 1000, "spearman": 1000, "kendall_b": 200, "kendall_c": 200}
#: The statistics of ``correlation``.
STATISTICS = tuple(RESAMPLES)
KENDALL_INTERVAL_PAIRS = 100_000  # with more, Kendall's tau has no interval unless resamples are asked for

WEIGHTS_AT_ONCE = 4_000_000  # pair weights held in memory: 32 MB
CONSTANT = 1e-12  # a resample whose variance is below this share of the sample's is one value repeated


@dataclass(frozen=True)
class Correlation:
    """A correlation and its interval.

    Attributes:
        value: -1 to 1; None if it is undefined because one of the vectors is constant.
        low: Lower end of the interval; None if there is none: value undefined, a single cluster, no resamples.
        high: Upper end.
        pairs: Number of pairs (x, y).
        statistic: ``"pearson"``, ``"spearman"``, ``"kendall_b"`` or ``"kendall_c"``.
        confidence: Coverage that the interval aims at, such as 0.95.
        resamples: Resamples the interval was made of; those with a constant vector, which have no correlation, are
            not counted.
        clusters: How many clusters were resampled, one number per way of clustering.
    """

    value: float | None
    low: float | None
    high: float | None
    pairs: int
    statistic: str
    confidence: float
    resamples: int
    clusters: tuple[int, ...]


def correlation(
    x: ArrayLike,
    y: ArrayLike,
    statistic: str = "pearson",
    clusters: ArrayLike | None = None,
    resamples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Correlation:
    """Correlate two vectors, with a percentile bootstrap interval.

    Values equal those of ``scipy.stats``: ``pearsonr``, ``spearmanr``, ``kendalltau`` of variants b and c. Pairs that
    share an image are not independent, so whole clusters are drawn: a pair counts as often as its cluster was drawn.
    With two ways of clustering at once (image and caption), both are drawn independently and the weight of a pair is
    the product of the two counts: the pigeonhole bootstrap (Owen 2007). It is never too narrow, but where clusters do
    not matter its intervals are up to 1.7 times too wide.

    Resampled Pearson is exact, from sums of moments within clusters. Resampled Spearman is Pearson of the ranks in
    the whole sample, which are not computed again. Resampled Kendall is scipy's on the repeated pairs. Equal arguments
    give equal numbers, and calls that differ only in ``x`` use the same resamples.

    Args:
        x: ``[pairs]`` finite numbers, such as phi.
        y: ``[pairs]`` finite numbers, such as the human score.
        statistic: ``"pearson"``, ``"spearman"``, ``"kendall_b"`` (tau-b) or ``"kendall_c"`` (tau-c).
        clusters: ``[pairs]`` label of each pair's cluster (numbers or strings), or ``[ways, pairs]``; default every
            pair is its own.
        resamples: How many; default 1,000 for Pearson and Spearman, and for Kendall 200, or none with more than 100,000
            pairs. 0 for no interval.
        confidence: Coverage of the interval, in (0, 1).
        seed: Seed of the resampling, at least 0.

    Raises:
        InputError: If lengths disagree, there are fewer than 2 pairs, a value is not finite, or an option is out of
            range.
    """
    return correlations(x, y, (statistic,), clusters, resamples, confidence, seed)[statistic]


def correlations(
    x: ArrayLike,
    y: ArrayLike,
    statistics: Sequence[str] = STATISTICS,
    clusters: ArrayLike | None = None,
    resamples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Correlation]:
    """Compute several correlations of the same vectors, by statistic; tau-b and tau-c together cost as much as one.

    Arguments, numbers and errors as in ``correlation``.
    """
    for statistic in statistics:
        checked_choice("statistic", statistic, STATISTICS)
    xs, ys = _checked_vector("x", x), _checked_vector("y", y)
    if len(xs) != len(ys):
        raise InputError(f"x has {len(xs)} values but y has {len(ys)}; a correlation needs pairs.")
    if len(xs) < 2:
        raise InputError(f"the number of pairs is {len(xs)}; a correlation needs at least 2.")
    confidence, seed = checked_share("confidence", confidence), checked_count("seed", seed, least=0)
    if resamples is not None:
        resamples = checked_count("resamples", resamples, least=0)
    design = _design(clusters, len(xs))
    constant = xs.min() == xs.max() or ys.min() == ys.max()

    def how_many(statistic: str) -> int:
        if max(design.sizes) < 2:  # the same cluster again and again
            return 0
        if resamples is not None:
            return resamples
        too_many = statistic.startswith("kendall") and len(xs) > KENDALL_INTERVAL_PAIRS
        return 0 if too_many else RESAMPLES[statistic]

    found: dict[str, tuple[float, NDArray[np.float64]]] = {}
    for statistic in () if constant else statistics:
        if statistic in found:
            continue
        if statistic.startswith("kendall"):
            found |= _kendall(xs, ys, design, how_many(statistic), seed)
        else:
            ranked = statistic == "spearman"
            first, second = (scipy.stats.rankdata(of) if ranked else of for of in (xs, ys))
            found[statistic] = _pearson(first, second, design, how_many(statistic), seed)

    def result(statistic: str) -> Correlation:
        value, drawn = found.get(statistic, (math.nan, np.zeros(0)))
        drawn = drawn[np.isfinite(drawn)]
        low = high = None
        if len(drawn):
            low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
        shown = value if math.isfinite(value) else None
        return Correlation(shown, low, high, len(xs), statistic, confidence, len(drawn), tuple(design.sizes))

    return {statistic: result(statistic) for statistic in statistics}


@dataclass(frozen=True)
class _Design:
    """Pairs grouped into cells that are always drawn together.

    Attributes:
        cell: ``[pairs]`` index of the pair's cell.
        codes: For each way of clustering, ``[cells]`` the cluster of the cell.
        sizes: For each way of clustering the number of clusters.
    """

    cell: NDArray[np.int64]
    codes: list[NDArray[np.int64]]
    sizes: list[int]

    def weights(self, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
        """``[some resamples, cells]``, how often each cell is drawn; the numbers do not depend on the batch size."""
        streams = [np.random.default_rng([seed, way]) for way in range(len(self.sizes))]
        n_cells = len(self.codes[0])
        rows_at_once = max(1, WEIGHTS_AT_ONCE // n_cells)
        for start in range(0, resamples, rows_at_once):
            rows = min(rows_at_once, resamples - start)
            weight = np.ones((rows, 1), dtype=np.int64)
            for stream, size, codes in zip(streams, self.sizes, self.codes, strict=True):
                drawn = stream.integers(0, size, (rows, size))
                drawn += np.arange(rows)[:, None] * size
                weight = weight * np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)[:, codes]
            yield weight


def _design(clusters: ArrayLike | None, n_pairs: int) -> _Design:
    if clusters is None:
        each = np.arange(n_pairs)
        return _Design(each, [each], [n_pairs])
    cell = np.zeros(n_pairs, dtype=np.int64)
    sizes, labels = [], []
    for way in np.atleast_2d(np.asarray(clusters)):
        label = checked_labels(way, n_pairs, "pairs")
        sizes.append(int(label.max()) + 1)
        labels.append(label)
        # Renumbered after every way, so that the product cannot overflow.
        cell = np.unique(cell * sizes[-1] + label, return_inverse=True)[1]
    first = np.unique(cell, return_index=True)[1]
    return _Design(cell, [label[first] for label in labels], sizes)


def _pearson(
    x: NDArray[np.float64], y: NDArray[np.float64], design: _Design, resamples: int, seed: int
) -> tuple[float, NDArray[np.float64]]:
    """Return Pearson's r, and that of every resample from sums of 1, x, y, x^2, y^2 and xy within cells."""
    x, y = _standardised(x), _standardised(y)
    n_cells = len(design.codes[0])
    moments = np.stack(
        [np.bincount(design.cell, weights=m, minlength=n_cells) for m in (np.ones(len(x)), x, y, x * x, y * y, x * y)],
        axis=1,
    )
    drawn = [_pearson_of_sums(weight.astype(np.float64) @ moments) for weight in design.weights(resamples, seed)]
    return float(np.clip(np.mean(x * y), -1.0, 1.0)), np.concatenate([np.zeros(0), *drawn])


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale numbers of any size to mean 0 and mean square 1."""
    centred = values - values.mean()
    centred /= np.abs(centred).max()
    return np.asarray(centred / np.sqrt(np.mean(centred * centred)))


def _pearson_of_sums(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``[resamples, 6]`` sums -> r of each, NaN where x or y is constant or nothing was drawn."""
    count = np.where(sums[:, 0] > 0, sums[:, 0], np.nan)
    x, y, xx, yy, xy = (sums[:, moment] / count for moment in range(1, 6))
    var_x, var_y = xx - x * x, yy - y * y
    defined = (var_x > CONSTANT) & (var_y > CONSTANT)
    scale = np.sqrt(np.where(defined, var_x * var_y, np.nan))
    return np.asarray(np.clip((xy - x * y) / scale, -1.0, 1.0))


def _kendall(
    x: NDArray[np.float64], y: NDArray[np.float64], design: _Design, resamples: int, seed: int
) -> dict[str, tuple[float, NDArray[np.float64]]]:
    """Return Kendall's tau-b and tau-c, and those of every resample: the pairs repeated as often as they were drawn."""
    # scipy sorts every resample by its second argument and then by its first: x is passed already sorted, and y as
    # 16-bit numbers, which numpy sorts fastest.
    order = np.lexsort((y, x))
    codes = [np.unique(v, return_inverse=True)[1][order] for v in (x, y)]
    x_code, y_code = (np.asarray(code, np.int16 if code.max() < 2**15 else np.int32) for code in codes)
    cell = design.cell[order]
    drawn = [np.zeros((0, 2))]
    for weights in design.weights(resamples, seed):
        for weight in weights:
            often = weight[cell]
            drawn.append(np.array([_taus(np.repeat(x_code, often), np.repeat(y_code, often))]))
    of_resample = np.concatenate(drawn)
    tau_b, tau_c = _taus(x_code, y_code)
    return {"kendall_b": (tau_b, of_resample[:, 0]), "kendall_c": (tau_c, of_resample[:, 1])}


def _taus(x: NDArray[Any], y: NDArray[Any]) -> tuple[float, float]:
    """Return tau-b, and tau-c from the same count of concordant minus discordant pairs; NaN for a constant."""
    n = len(x)
    classes, untied = [], []
    for codes in (x, y):
        often = np.bincount(codes) if n else np.zeros(0, dtype=np.int64)
        classes.append(np.count_nonzero(often))
        untied.append((n * n - int(np.sum(often * often))) // 2)
    if min(classes) < 2:
        return math.nan, math.nan
    tau_b = float(scipy.stats.kendalltau(y, x, variant="b").statistic)
    excess = round(tau_b * math.sqrt(untied[0]) * math.sqrt(untied[1]))
    return tau_b, float(2 * excess / (n * n * (min(classes) - 1) / min(classes)))


def _checked_vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is not a number; a correlation needs numbers.") from None
    if vector.ndim != 1:
        raise InputError(f"{name} is {list(vector.shape)}; a correlation needs a vector, one value per pair.")
    wrong = np.flatnonzero(~np.isfinite(vector))
    if len(wrong):
        raise InputError(f"{name}[{wrong[0]}] is {vector[wrong[0]]}; leave pairs without a value out.")
    return vector
