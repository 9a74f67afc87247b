"""Curves of runs as lines of SVG: where they go, and the axes around them.

A page may show hundreds of runs. matplotlib writes some 20 kB per chart, and a library that draws on a canvas needs
the data, scripts and a screen; a polyline needs ten bytes per epoch, prints, follows light and dark, and is drawn once:
the large chart of a kind of run refers to the small one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fivesentences.paper.site.shown_runs import Kind, Series, ShownRun
from fivesentences.paper.text.numbers import MINUS

WIDTH, HEIGHT = 200, 60  # of the box that lines are drawn in; charts stretch it
TICKS = 5
What = Literal["loss", "score"]


@dataclass(frozen=True)
class Tick:
    """A place on an axis, 0 to 1 from its beginning, and the number there."""

    place: float
    label: str


@dataclass(frozen=True)
class Line:
    """One run's line: ``points`` of an SVG polyline in the box, and the places of the epochs that were kept.

    These are shares of the box, from its left and from its upper end.
    """

    run: ShownRun
    points: str
    kept: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Chart:
    """What was recorded of the runs of a kind, over epochs."""

    what: What
    lines: tuple[Line, ...]
    epochs: tuple[Tick, ...]
    values: tuple[Tick, ...]


def chart_of(kind: Kind, what: What) -> Chart | None:
    """The curves of all seeds on common axes; None if nothing was recorded.

    Args:
        kind: Some runs.
        what: "loss", or "score" on dev.
    """
    shown = [(run, run.series[what]) for run in kind.runs if what in run.series and run.series[what].epochs]
    if not shown:
        return None
    across = _Axis.of([1, *(epoch for _, series in shown for epoch in series.epochs)], whole=True)
    up = _Axis.of([value for _, series in shown for value in series.values])
    return Chart(what, tuple(_line(run, series, across, up) for run, series in shown), across.ticks, up.ticks)


def _line(run: ShownRun, series: Series, across: _Axis, up: _Axis) -> Line:
    places = [(across.place(epoch), 1 - up.place(value)) for epoch, value in zip(*series, strict=True)]
    kept = set(run.kept.values())
    marks = tuple(place for epoch, place in zip(series.epochs, places, strict=True) if epoch in kept)
    if len(places) == 1:
        places *= 2  # a line of no length has round ends: a dot
    return Line(run, " ".join(f"{WIDTH * x:.4g},{HEIGHT * y:.4g}" for x, y in places), marks)


@dataclass(frozen=True)
class _Axis:
    """An axis between its first and last tick."""

    numbers: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float], whole: bool = False) -> _Axis:
        """One that holds all the values, with round numbers as ticks; ``whole`` ones for epochs."""
        from matplotlib.ticker import MaxNLocator

        ends = MaxNLocator(TICKS, integer=whole, steps=[1, 2, 2.5, 5, 10]).tick_values(min(values), max(values))
        if whole:  # epochs begin and end where they do
            inner = [end for end in ends if min(values) < end < max(values)]
            ends = [min(values), *inner, max(values)]
        return cls(tuple(map(float, ends)))

    def place(self, value: float) -> float:
        """From 0 to 1; in the middle of an axis without length."""
        first, last = self.numbers[0], self.numbers[-1]
        return 0.5 if last == first else (value - first) / (last - first)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        return tuple(Tick(self.place(one), f"{one:g}".replace("-", MINUS)) for one in dict.fromkeys(self.numbers))
