"""From intervals to verdicts: the rules, once.

A statement is tested in one or more cells, each a setting that the scale trains. A cell *holds* where the whole 95%
interval lies on the stated side of the bar, *fails* where all of the interval stays short of the smallest effect that
counts, and is *open* otherwise, or where too little was repeated to say. From its cells a statement

- *holds* if every cell holds,
- holds *partly* if some do and others do not; one of those that hold must do so at the level divided by the number of
  cells (Bonferroni), or so many cells would hold one by chance,
- *does not* hold if no cell holds and more than half of the cells fail,
- is *not testable* otherwise: no cell at all, or cells that are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fivesentences.study.claims import Expect

Outcome = Literal["holds", "fails", "open"]
Verdict = Literal["holds", "partly", "does not", "not testable"]
# What an interval covers: a difference is settled only if training was repeated, or no training is in it.
Over = Literal["seeds and queries", "seeds", "queries", "judged images", "settings"]
FEWEST_SEEDS = 3
LEVEL = 0.05  # of the two-sided interval
SHARE = 0.005  # of a metric's range: the smallest effect that counts, such as 3 of 600 points of Rsum


@dataclass(frozen=True)
class Effect:
    """A difference or value, and how sure it is.

    Attributes:
        value: The estimate.
        over: What the interval is over.
        seeds: How many; 0 if no training is in it.
        queries: Test images, judged images or settings; 0 if they are not in the interval.
        low: Lower end of the 95% interval; None if there is none.
        high: Upper end.
        standard_error: None if there is none.
        degrees: Of freedom of the t distribution; None: normal.
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
        if self.over in ("judged images", "settings"):
            return True
        return self.over != "queries" and self.seeds >= FEWEST_SEEDS


def outcome_of(effect: Effect, expect: Expect, smallest: float, level: float = 0.0) -> Outcome:
    """Return the outcome of a cell.

    Args:
        effect: Of the cell.
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
    from scipy.special import ndtr, stdtr

    if effect.standard_error is None or effect.low is None:
        return 1.0
    distance = effect.value - level
    match expect:
        case "less":
            distance = -distance
        case "not_less":
            distance += smallest
        case "same":
            distance = smallest - abs(distance)
    if effect.standard_error == 0:
        return 0.0 if distance > 0 else 1.0
    t = -distance / effect.standard_error
    return float(ndtr(t) if effect.degrees is None else stdtr(effect.degrees, t))


def verdict_of(outcomes: Sequence[Outcome], chances: Sequence[float]) -> Verdict:
    """Combine the outcomes of the cells of a statement; see the module.

    Args:
        outcomes: One per cell.
        chances: Of each, as ``chance_of``.
    """
    if not outcomes:
        return "not testable"
    holding = [chance for outcome, chance in zip(outcomes, chances, strict=True) if outcome == "holds"]
    if len(holding) == len(outcomes):
        return "holds"
    if holding and min(holding) * len(outcomes) < LEVEL / 2:
        return "partly"
    if not holding and 2 * outcomes.count("fails") > len(outcomes):
        return "does not"
    return "not testable"
