"""Verdicts follow from intervals by rules that hold in closed form, and in repeated experiments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fivesentences.paper.claims.effects import over_seeds_and_queries
from fivesentences.paper.claims.verdicts import Effect, chance_of, outcome_of, verdict_of


def effect(low: float | None, high: float | None, seeds: int = 5, over: str = "seeds and queries") -> Effect:
    value = 0.0 if low is None or high is None else (low + high) / 2
    return Effect(value, over, seeds=seeds, queries=100, low=low, high=high)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "expect", "level", "outcome"),
    [
        (0.1, 9, "more", 0, "holds"),
        (-0.1, 9, "more", 0, "open"),
        (-5, 2.9, "more", 0, "fails"),  # an effect of 3 is excluded
        (-5, 3.1, "more", 0, "open"),
        (0.1, 0.2, "more", 0, "holds"),  # small and sure: the direction is as stated
        (-9, -0.1, "less", 0, "holds"),
        (-2.9, 5, "less", 0, "fails"),
        (-3.1, 5, "less", 0, "open"),
        (-2.9, 2.9, "same", 0, "holds"),
        (-2.9, 3.1, "same", 0, "open"),
        (3.1, 9, "same", 0, "fails"),
        (-9, -3.1, "same", 0, "fails"),
        (-2.9, 9, "not_less", 0, "holds"),
        (-3.1, 9, "not_less", 0, "open"),
        (-9, -3.1, "not_less", 0, "fails"),
        (-9, -2.9, "not_less", 0, "open"),
        (51, 60, "more", 50, "holds"),
        (40, 49, "more", 50, "fails"),
        (49, 51, "more", 50, "open"),
        (40, 49, "less", 50, "holds"),
        (51, 60, "less", 50, "fails"),
    ],
)
def test_an_interval_against_its_bar(low, high, expect, level, outcome):
    assert outcome_of(effect(low, high), expect, 3.0, level) == outcome


def test_too_little_repeated_settles_nothing():
    for sure in (effect(90, 91, seeds=2), effect(90, 91, seeds=1, over="queries"), effect(None, None)):
        assert outcome_of(sure, "more", 3.0) == outcome_of(sure, "less", 3.0) == "open"
    assert outcome_of(effect(90, 91, seeds=3), "more", 3.0) == "holds"
    assert outcome_of(effect(0.1, 0.2, seeds=0, over="judged images"), "more", 0.01) == "holds"


def test_a_statement_holds_where_every_cell_does_and_fails_by_majority():
    sure, unsure = 1e-6, 0.5
    assert verdict_of([], []) == "not testable"
    assert verdict_of(["holds", "holds"], [sure, 0.02]) == "holds"
    assert verdict_of(["holds", "fails"], [sure, unsure]) == "partly"
    assert verdict_of(["holds", "open"], [sure, unsure]) == "partly"
    assert verdict_of(["fails", "fails", "open"], [unsure] * 3) == "does not"
    assert verdict_of(["fails", "open"], [unsure] * 2) == "not testable"
    assert verdict_of(["open"], [unsure]) == "not testable"


def test_one_of_many_cells_holds_by_chance_only_if_it_is_very_sure():
    outcomes = ["holds", *["fails"] * 9]
    assert verdict_of(outcomes, [0.0024, *[0.9] * 9]) == "partly"  # 10 times that is below 0.025
    assert verdict_of(outcomes, [0.0026, *[0.9] * 9]) == "not testable"


def test_the_chance_of_a_cell_is_the_one_sided_p_value():
    values = np.array([1.0, 2.5, 0.5, 3.0, 1.5])
    found = stats.ttest_1samp(values, 0.0, alternative="greater")
    error = values.std(ddof=1) / 5**0.5
    one = Effect(values.mean(), "seeds", seeds=5, low=0.1, high=3.0, standard_error=error, degrees=4.0)
    assert chance_of(one, "more", 3.0) == pytest.approx(found.pvalue)
    assert chance_of(one, "less", 3.0) == pytest.approx(1 - found.pvalue)
    assert chance_of(one, "more", 3.0, level=1.0) == pytest.approx(
        stats.ttest_1samp(values, 1.0, alternative="greater").pvalue
    )
    assert chance_of(one, "not_less", 3.0) == pytest.approx(
        stats.ttest_1samp(values, -3.0, alternative="greater").pvalue
    )
    assert chance_of(effect(None, None), "more", 3.0) == 1.0


def experiments(true: float, seeds: int, count: int = 400) -> list[str]:
    """Outcomes of repeated experiments: seeds differ by 2, images by 20, and what is left by 20."""
    draw, found = np.random.default_rng(seeds), []
    for _ in range(count):
        of_seeds, of_images = 2 * draw.normal(size=(seeds, 1)), 20 * draw.normal(size=(1, 200))
        values = true + of_seeds + of_images + 20 * draw.normal(size=(seeds, 200))
        found.append(outcome_of(over_seeds_and_queries(values, resamples=1), "more", 3.0))
    return found


@pytest.mark.parametrize("seeds", [3, 10])
def test_what_is_not_so_seldom_seems_to_hold_and_what_is_so_seldom_seems_to_fail(seeds):
    of_nothing, of_much = experiments(0.0, seeds), experiments(10.0, seeds)
    # 2.5% are expected; 400 experiments give more than 5.5% with a probability below one in a thousand.
    assert of_nothing.count("holds") <= 22
    assert of_much.count("fails") == 0
    # An effect at the smallest that counts is called none in 2.5% of experiments, too.
    assert experiments(3.0, seeds).count("fails") <= 22
    assert of_much.count("holds") > (100 if seeds == 3 else 390)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    draw, covered = np.random.default_rng(1), 0
    for _ in range(400):
        of_seeds, of_images = 3 * draw.normal(size=(4, 1)), 20 * draw.normal(size=(1, 100))
        found = over_seeds_and_queries(7 + of_seeds + of_images + 10 * draw.normal(size=(4, 100)), resamples=1)
        covered += found.low < 7 < found.high
    assert 0.92 <= covered / 400 <= 0.99
