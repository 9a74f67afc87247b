"""Verdicts follow from intervals by rules that hold in closed form, and in repeated experiments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fivesentences.metrics.crossed import crossed_differences
from fivesentences.reproduction.paper.claims.verdicts import (
    Effect,
    chance_of,
    chance_of_failing,
    chance_of_verdict,
    correlation_difference,
    outcome_of,
    over_seeds,
    over_seeds_and_queries,
    rank_correlation,
    still_decided,
    verdict_of,
)


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


SURE, UNSURE = 1e-6, 0.5


@pytest.mark.parametrize(
    ("outcomes", "chances", "verdict"),
    [
        ([], [], "nobody has run it"),
        (["holds", "holds"], [SURE, 0.02], "holds"),
        (["holds", "fails"], [SURE, UNSURE], "holds partly"),
        (["holds", "open"], [SURE, UNSURE], "holds partly"),
        (["fails", "fails", "open"], [UNSURE] * 3, "fails"),
        (["fails", "open"], [UNSURE] * 2, "open: settings disagree"),
        (["open"], [UNSURE], "open: interval too wide"),
        # One of many cells holds by chance unless it is very sure: 10 times its chance must be below 0.025.
        (["holds", *["fails"] * 9], [0.0024, *[0.9] * 9], "holds partly"),
        (["holds", *["fails"] * 9], [0.0026, *[0.9] * 9], "open: settings disagree"),
    ],
)
def test_a_statement_holds_where_every_cell_does_and_fails_by_majority(outcomes, chances, verdict):
    assert verdict_of(outcomes, chances, repeated=True) == verdict


def test_without_repeated_training_a_statement_has_too_few_seeds():
    assert verdict_of(["open", "open"], [UNSURE] * 2, repeated=False) == "too few seeds"


@pytest.mark.parametrize(
    ("expect", "level", "bar", "side"),
    [
        ("more", 0.0, 0.0, "greater"),
        ("less", 0.0, 0.0, "less"),
        ("more", 1.0, 1.0, "greater"),
        ("not_less", 0.0, -3.0, "greater"),
    ],
)
def test_the_chance_of_a_cell_is_the_one_sided_p_value(expect, level, bar, side):
    values = np.array([1.0, 2.5, 0.5, 3.0, 1.5])
    error = values.std(ddof=1) / 5**0.5
    one = Effect(values.mean(), "seeds", seeds=5, low=0.1, high=3.0, standard_error=error, degrees=4.0)
    wanted = stats.ttest_1samp(values, bar, alternative=side).pvalue
    assert chance_of(one, expect, 3.0, level) == pytest.approx(wanted)
    assert chance_of(effect(None, None), expect, 3.0, level) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 10])
def test_of_repeated_experiments_few_find_what_is_not_there_or_miss_what_is(seeds):
    draw, shape = np.random.default_rng(seeds), (seeds, 200)

    def outcomes(true: float) -> list[str]:
        """Outcomes of 400 experiments: seeds differ by 2, images by 20, and what is left by 20."""
        noise = (
            2 * draw.normal(size=(seeds, 1)) + 20 * draw.normal(size=(1, 200)) + 20 * draw.normal(size=shape)
            for _ in range(400)
        )
        return [outcome_of(over_seeds_and_queries(true + one, resamples=1), "more", 3.0) for one in noise]

    # 2.5% are expected; 400 experiments give more than 5.5% with a probability below one in a thousand.
    assert outcomes(0.0).count("holds") <= 22
    # An effect at the smallest that counts is called none in 2.5% of experiments, too.
    assert outcomes(3.0).count("fails") <= 22
    assert outcomes(10.0).count("holds") > (100 if seeds == 3 else 390)


# --- effects with their intervals, against closed forms and other libraries ---


def test_seeds_and_queries_are_crossed_random_effects():
    values = np.random.default_rng(0).normal(2, 5, (6, 50))
    found, (wanted,) = over_seeds_and_queries(values), crossed_differences(values[None], resamples=2000)
    assert (found.value, found.low, found.high, found.detectable) == (
        wanted.mean,
        wanted.low,
        wanted.high,
        wanted.detectable,
    )
    assert (found.over, found.seeds, found.queries) == ("seeds and queries", 6, 50)
    assert (found.bootstrap_low, found.bootstrap_high) == (wanted.bootstrap_low, wanted.bootstrap_high)


def test_one_seed_has_an_interval_over_its_queries_alone():
    values = np.random.default_rng(0).normal(2, 5, (1, 50))
    found, wanted = over_seeds_and_queries(values), stats.ttest_1samp(values[0], 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert (found.over, found.seeds, found.is_repeated, found.detectable) == ("queries", 1, False, None)


def test_seeds_alone_are_a_paired_t_interval():
    values = [1.0, 2.5, 0.5, 3.0]
    found, wanted = over_seeds(values), stats.ttest_1samp(values, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert (found.over, found.seeds, found.queries) == ("seeds", 4, 0)
    assert (over_seeds([2.0]).value, over_seeds([2.0]).low) == (2.0, None)


@pytest.fixture
def judged() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two phis, people, and the image of each of 600 pairs; the first phi follows people more closely."""
    draw = np.random.default_rng(0)
    people, images = draw.normal(size=600), np.repeat(np.arange(120), 5)
    return people + 0.5 * draw.normal(size=600), people + 2 * draw.normal(size=600), people, images


def test_correlations_are_those_of_scipy(judged):
    a, b, people, images = judged
    of_a, of_b = (stats.pearsonr(one, people).statistic for one in (a, b))
    found = correlation_difference(a, b, people, images)
    assert (found.a, found.b, found.value) == pytest.approx((of_a, of_b, of_a - of_b))
    assert found.low < found.value < found.high and found.low > 0.2
    assert (found.over, found.queries, found.seeds) == ("judged images", 120, 0)
    assert correlation_difference(np.zeros(600), None, people, images).value == 0  # a constant has none
    alone = correlation_difference(a, None, people, images)
    wanted = stats.pearsonr(a, people).confidence_interval()
    assert alone.value == pytest.approx(of_a) and alone.a is None
    assert (alone.low, alone.high) == pytest.approx((wanted.low, wanted.high), abs=0.02)


def test_pairs_of_an_image_are_drawn_together(judged):
    a, b, people, images = judged
    apart = correlation_difference(a, b, people, images)
    same = correlation_difference(np.repeat(a, 4), np.repeat(b, 4), np.repeat(people, 4), np.repeat(images, 4))
    # Four copies of every pair are no more evidence.
    assert (same.low, same.high) == pytest.approx((apart.low, apart.high), abs=1e-9)


def test_ranks_are_those_of_scipy_with_ties():
    draw = np.random.default_rng(0)
    x = draw.integers(0, 12, 30).astype(float)
    y = x + draw.integers(-4, 5, 30)
    found = rank_correlation(x, y)
    assert found.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found.low < found.value < found.high and (found.over, found.queries) == ("settings", 30)
    assert rank_correlation(np.arange(9.0), np.arange(9.0)[::-1]).value == pytest.approx(-1)


@pytest.mark.parametrize("expect", ["more", "less", "same", "not_less"])
@pytest.mark.parametrize("mean", [-9.0, -3.2, -2.9, 0.0, 1.0, 4.0, 9.0])
def test_a_cell_holds_or_fails_at_the_level_of_its_p(expect, mean):
    for error in (0.05, 0.4, 1.5):
        half = stats.t.ppf(0.975, 7) * error
        one = Effect(mean, "seeds and queries", 8, 100, mean - half, mean + half, error, 7.0)
        outcome = outcome_of(one, expect, 3.0)
        if expect != "same" or outcome != "holds":  # within both bars needs two tests
            assert (chance_of(one, expect, 3.0) < 0.025) == (outcome == "holds")
        if outcome != "holds":  # what is small but sure holds first
            assert (chance_of_failing(one, expect, 3.0) < 0.025) == (outcome == "fails")


def test_a_verdict_is_as_sure_as_the_least_sure_of_its_cells_that_count():
    assert chance_of_verdict("holds", ["holds", "holds"], [0.001, 0.02]) == 0.02
    assert chance_of_verdict("holds partly", ["holds", "open", "holds"], [0.02, 0.4, 0.001]) == pytest.approx(0.003)
    assert chance_of_verdict("fails", ["fails", "fails", "open"], [0.01, 0.002, 0.3]) == 0.01
    assert chance_of_verdict("fails", ["fails", "fails", "fails"], [0.01, 0.002, 0.3]) == 0.01  # two are more than half
    assert chance_of_verdict("too few seeds", ["open"], [0.001]) == 1.0


def test_of_many_verdicts_without_an_effect_one_in_twenty_families_has_one_that_stands():
    rng = np.random.default_rng(0)
    families = rng.random((4000, 30))  # one-sided p of verdicts that are all by chance
    alone = np.mean((families < 0.025).any(axis=1))
    together = np.mean([any(still_decided(family.tolist())) for family in families])
    assert alone > 0.4 and together < 0.025 + 4 * np.sqrt(0.025 * 0.975 / 4000)
