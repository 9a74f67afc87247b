"""The mean of a setting over seeds, and its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95
NAN = float("nan")


class Interval(NamedTuple):
    """A mean over seeds with the ends of an interval around it, which are NaN where none is known."""

    mean: float
    low: float
    high: float
    seeds: int


def t_interval(values: Sequence[float]) -> Interval:
    """Return the mean over seeds and its 95% t interval: normal values of unknown variance.

    Args:
        values: One per seed. With one of them no interval is known; with none the mean is NaN too.
    """
    if len(values) < 2:
        return Interval(float(values[0]) if len(values) else NAN, NAN, NAN, len(values))
    mean, count = float(np.mean(values)), len(values)
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2) * np.std(values, ddof=1) / np.sqrt(count))
    return Interval(mean, mean - half, mean + half, count)


def paired_interval(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Interval:
    """Return the mean of ours minus theirs by seed, over the seeds that both have, and its 95% t interval.

    Two runs of one seed begin with the same weights and see the same batches, so that their difference varies less
    than either of them.
    """
    return t_interval([ours[seed] - theirs[seed] for seed in ours if seed in theirs])
