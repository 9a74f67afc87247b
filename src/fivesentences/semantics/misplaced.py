"""Are two things that know the same images in the same order? If not: from which image on, how many, and moved how far?

Both describe every image by a profile: how it scores with other images, or which words people use of it. Profiles of
one image correlate, those of two images hardly do. ``z`` says how far the correlation of an image with itself stands
above those of different images, in their standard deviations: 0 by chance, 2 to 4 where the order is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import counted

FEWEST = 50  # images with profiles; fewer say nothing
ROLLS = 7  # orders by which chance is known, each image with one that is far away
ROUNDS = 3  # in which profiles are narrowed to the images that are in place
ANCHORS = 400  # images of a profile at most
CHANCE = 0.5  # z of an image that may be out of place
TYPICAL = 2.0  # z of those in place, below which single images cannot be told from misplaced ones
SPREAD = 0.9  # of z, at least
SHARE, TIMES = 0.1, 4  # of images at chance: the least, and how many times more than a normal distribution has
WHOLE = 4.0  # standard errors of the mean z of all images that may be chance
CLEAR = 3.0  # by how much z rises at most where an image is moved back
SURE = 30.0  # standard errors of the mean z of all images that leave no doubt
UNLIKELY = 1e-6  # odds of a break by chance
MOVES = (1, -1, 2, -2)  # images or captions that are often lost or added at one place

Order = NDArray[np.int64]
Profiles = Any  # [images, columns] float, dense or sparse


@dataclass(frozen=True)
class Misplaced:
    """Images that are out of place.

    Attributes:
        first: The first of them, from 0.
        last: The last of them.
        count: How many there are, about.
        n_images: Images in all.
        scattered: True if images in place are among them.
        moved: Where image i of the first is in the second: at i + moved; 0 if that is not known.
    """

    first: int
    last: int
    count: int
    n_images: int
    scattered: bool = False
    moved: int = 0

    def words(self, line: int) -> str:
        """Say where the order breaks, as the end of a sentence.

        Args:
            line: Line of the first misplaced image, from 1, in the file that has one or several for each image.
        """
        number = (
            f"all {self.n_images:,}" if self.count == self.n_images else f"about {self.count:,} of {self.n_images:,}"
        )
        place = f"{'first' if self.scattered else 'from'} line {line:,} (image {self.first:,}, from 0)"
        moved = f", where the two are {counted(abs(self.moved), 'image')} apart" if self.moved else ""
        return f"{number} images, {place}{'' if self.scattered else ' on'}{moved}"


def misplaced(
    first: Profiles,
    second: Callable[[Order], Profiles],
    n_anchors: int = 0,
    *,
    any_move: bool = False,
) -> Misplaced | None:
    """Say which images two sets of profiles do not have in the same order; None if they may have.

    All are misplaced if the mean z is below ``WHOLE`` standard errors. A run of images is if z falls below half of what
    is typical so deeply that normal z do it with a probability of 1e-6 (Lundberg's bound: for steps of drift -m and
    variance s^2, the largest sum of a run exceeds x with a probability of at most n exp(-2 m x / s^2); a third of that
    exponent is taken). Scattered images, of 100 or more, are if a tenth has z below 0.5, and Poisson counts of four
    times what a normal distribution has there reach their number with a probability of 1e-6.

    Args:
        first: ``[images, columns]``.
        second: Returns the profiles of the other one if its images are taken in an order.
        n_anchors: Images that columns are about, whose number is then a multiple of it; 0 if they are about words.
        any_move: True to look for images that are moved by one or two even where z does not fall, because neighbours
            are alike.
    """
    in_order = np.arange(first.shape[0])
    z = z_of(first, other := second(in_order))
    found = _breaks_everywhere(z) or breaks(_narrowed(z, first, other, n_anchors))
    known = z[~np.isnan(z)]
    if found is None and not (any_move or (len(known) >= FEWEST and known.mean() < TYPICAL)):
        return None
    runs = []
    for move in MOVES if found is None else (*MOVES, len(z) // 2):
        gain = np.nan_to_num(z_of(first, second(np.roll(in_order, -move))) - np.nan_to_num(z))
        start, end, excess = longest_run(np.clip(gain, -CLEAR, CLEAR) - 1)  # none counts for many
        runs.append((excess, start, end, move))
    excess, start, end, move = max(runs)
    if excess < np.log(len(z) / UNLIKELY) or (found is not None and 2 * (end - start) < found.count):
        return found
    if found is not None and found.count < len(z):
        return replace(found, moved=move, scattered=False)
    return Misplaced(start, end - 1, end - start, len(z), moved=move)


def longest_run(steps: NDArray[np.float64]) -> tuple[int, int, float]:
    """Return the run of consecutive steps with the largest sum: its first, the one behind its last, and the sum."""
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    rise = sums - np.minimum.accumulate(sums)
    end = int(rise.argmax())
    return int(sums[: end + 1].argmin()), end, float(rise[end])


def _narrowed(z: NDArray[np.float64], first: Profiles, second: Profiles, n_anchors: int) -> NDArray[np.float64]:
    """Return z by profiles that are about images in place alone, as far as these can be told."""
    anchors = np.linspace(0, len(z) - 1, n_anchors).astype(np.int64)
    for _ in range(ROUNDS if n_anchors else 0):
        above = z[z > CHANCE]
        kept = np.flatnonzero(z[anchors] > np.median(above) / 2) if len(above) else anchors[:0]
        if not FEWEST / 2 <= len(kept) < n_anchors:
            break
        columns = np.concatenate([kept + start for start in range(0, first.shape[1], n_anchors)])
        z = z_of(first[:, columns], second[:, columns])
    return z


def z_of(first: Profiles, second: Profiles) -> NDArray[np.float64]:
    """Return ``[images]`` how far the correlation of each with itself stands above chance; NaN without a profile."""
    n = first.shape[0]
    lengths = [np.sqrt(np.asarray((one * one).sum(axis=1))) for one in (first, second)]

    def cosines(order: Order) -> NDArray[np.float64]:
        other = second if np.array_equal(order, np.arange(n)) else second[order]
        products = np.asarray((first * other).sum(axis=1))
        return np.asarray(products / np.maximum(lengths[0] * lengths[1][order], 1e-12), dtype=np.float64)

    known = (lengths[0] > 0) & (lengths[1] > 0)
    chance = np.concatenate([cosines(np.roll(np.arange(n), n * k // (ROLLS + 1)))[known] for k in range(1, ROLLS + 1)])
    if not len(chance) or chance.std() == 0:
        return np.full(n, np.nan)
    return np.where(known, (cosines(np.arange(n)) - chance.mean()) / chance.std(), np.nan)


def _breaks_everywhere(z: NDArray[np.float64]) -> Misplaced | None:
    values = z[~np.isnan(z)]
    by_chance = len(values) >= FEWEST and values.mean() * np.sqrt(len(values)) < WHOLE
    return Misplaced(0, len(z) - 1, len(z), len(z)) if by_chance else None


def breaks(z: NDArray[np.float64]) -> Misplaced | None:
    """Return the images that are out of place while others are not, by their z, see ``misplaced``; None if none are."""
    known = np.flatnonzero(~np.isnan(z))
    values, n = z[known], len(known)
    if n < FEWEST:
        return None
    above = values[values > CHANCE]
    typical = float(np.median(above)) if len(above) >= FEWEST / 2 else 0.0
    if typical < TYPICAL:
        return None
    from scipy.special import ndtr, pdtrc  # takes a fifth of a second

    spread = max(float(np.median(above[above > typical] - typical)) / 0.6745, SPREAD)
    start, end, depth = longest_run(typical / 2 - values)
    is_run = depth > 3 * np.log(n / UNLIKELY) * spread**2 / typical
    is_run = is_run and values[start:end].mean() * np.sqrt(end - start) < WHOLE
    low = np.flatnonzero(values < CHANCE)
    expected = max(TIMES * n * float(ndtr((CHANCE - typical) / spread)), 1e-9)
    # Half of those out of place have a z above 0, the middle of theirs.
    count = max(min(2 * int((values < 0).sum()), n), len(low))
    is_scattered = n >= 2 * FEWEST and len(low) >= SHARE * n and pdtrc(len(low) - 1, expected) < UNLIKELY
    if is_scattered and not (is_run and 2 * (end - start) > count):
        return Misplaced(int(known[low[0]]), int(known[low[-1]]), count, len(z), scattered=True)
    return Misplaced(int(known[start]), int(known[end - 1]), end - start, len(z)) if is_run else None
