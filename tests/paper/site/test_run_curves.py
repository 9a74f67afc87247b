"""Curves of runs stand where their numbers are."""

from __future__ import annotations

import pytest

from fivesentences.paper.site.run_curves import HEIGHT, WIDTH, chart_of
from fivesentences.paper.site.shown_runs import Kind, Series, ShownRun


def kind_of(*series, kept=None):
    runs = tuple(
        ShownRun(f"r/seed={seed}", seed, {}, kept or {}, {"loss": one} if one else {})
        for seed, one in enumerate(series)
    )
    return Kind("r", "matching", "training", "scenes", "VSE++", "hardest", 1.0, (), "", runs)


def places(points):
    """Shares of the box from its left and from its lower end."""
    pairs = (one.split(",") for one in points.split())
    return [(float(x) / WIDTH, 1 - float(y) / HEIGHT) for x, y in pairs]


def value_at(chart, share):
    """What the axis says at a share of its height, between two of its ticks."""
    first, last = chart.values[0], chart.values[-1]
    low, high = (float(tick.label.replace("\N{MINUS SIGN}", "-")) for tick in (first, last))
    return low + share * (high - low)


def test_a_line_goes_through_its_values_on_the_axes_that_all_seeds_share():
    losses = (Series((1, 2, 3, 5), (4.0, 2.5, 2.0, -0.5)), Series((1, 2, 3, 5), (8.0, 3.0, 1.0, 0.5)))
    chart = chart_of(kind_of(*losses), "loss")
    assert [tick.label for tick in chart.epochs][:: len(chart.epochs) - 1] == ["1", "5"]
    for line, loss in zip(chart.lines, losses, strict=True):
        found = places(line.points)
        assert [1 + 4 * x for x, _ in found] == pytest.approx(loss.epochs, abs=0.01)
        assert [value_at(chart, y) for _, y in found] == pytest.approx(loss.values, abs=0.05)
    # Ticks are evenly spaced round numbers around all values.
    assert chart.values[0].label.startswith("\N{MINUS SIGN}")
    assert [tick.place for tick in chart.values] == sorted(tick.place for tick in chart.values)


def test_epochs_without_a_score_leave_room_at_the_left():
    chart = chart_of(kind_of(Series((5, 10), (1.0, 2.0))), "loss")
    assert places(chart.lines[0].points)[0][0] == pytest.approx(4 / 9, abs=1e-3)


def test_kept_epochs_are_marked_where_they_were_recorded():
    chart = chart_of(kind_of(Series((1, 2, 4), (1.0, 3.0, 2.0)), kept={"": 2, "other": 3}), "loss")
    ((x, y),) = chart.lines[0].kept
    assert x == pytest.approx(1 / 3) and value_at(chart, 1 - y) == pytest.approx(3.0)


def test_one_epoch_is_a_dot_and_no_epoch_no_chart():
    chart = chart_of(kind_of(Series((1,), (2.0,)), None), "loss")
    assert len(chart.lines) == 1 and len(set(places(chart.lines[0].points))) == 1
    assert len(chart.lines[0].points.split()) == 2
    assert chart_of(kind_of(Series((), ()), None), "loss") is None and chart_of(kind_of(None), "score") is None
