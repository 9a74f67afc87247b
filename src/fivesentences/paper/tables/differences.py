"""Lines and columns of a table of paired differences, and the cells of one difference."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.paper.numbers.contrasts import Difference
from fivesentences.paper.tables.table import Cell, Column
from fivesentences.paper.text.numbers import MINUS
from fivesentences.plan.contrasts import AnyLine, Paired

COLUMNS = (
    Column(("means", "A"), "A", {"statistic": "mean_a"}),
    Column(("means", "B"), "B", {"statistic": "mean_b"}),
    Column(("A − B", "95% interval"), "A − B, 95% interval", {"statistic": "difference"}),
    Column(("bootstrap", "from"), "bootstrap from", {"statistic": "bootstrap_low"}),
    Column(("bootstrap", "to"), "bootstrap to", {"statistic": "bootstrap_high"}),
    Column(("seeds", "number"), "seeds", {"statistic": "seeds"}, decimals=0),
    Column(("seeds", "sd"), "sd over seeds", {"statistic": "spread"}),
    Column(("bounds", "within ±"), "within ±", {"statistic": "equivalence"}),
    Column(("bounds", "detectable"), "detectable", {"statistic": "detectable"}),
)


def cells_of(found: Difference) -> tuple[Cell, ...]:
    """One cell for each of ``COLUMNS``."""
    one_number = (found.bootstrap_low, found.bootstrap_high, float(found.seeds), found.spread, found.equivalence)
    return (
        Cell(found.mean_a, count=found.seeds),
        Cell(found.mean_b, count=found.seeds),
        Cell(found.mean, low=found.low, high=found.high, count=found.seeds),
        *(Cell(value, count=found.seeds) for value in (*one_number, found.detectable)),
    )


def stub_of(contrasts: Sequence[Paired[AnyLine]]) -> tuple[str, ...]:
    """Headings of what names a line: questions have a column if there is any."""
    asked = any(contrast.question for contrast in contrasts)
    return ("Question", "A − B", "Metric") if asked else ("A − B", "Metric")


def labels_of(
    sides: tuple[str, str], metrics: Sequence[str], question: str, stub: Sequence[str]
) -> list[tuple[str, ...]]:
    """What names the lines of one contrast, one line per metric.

    Args:
        sides: What A and B are called.
        metrics: What the metrics are called.
        question: Of the contrast; empty if it was shown above.
        stub: As ``stub_of`` says.
    """
    first, second = sides
    # In two lines where there are two, which saves width.
    names = [first, f"{MINUS} {second}"] if len(metrics) > 1 else [f"{first} {MINUS} {second}"]
    lines = []
    for place, metric in enumerate(metrics):
        labels: tuple[str, ...] = (names[place] if place < len(names) else "", metric)
        lines.append(("" if place else question, *labels) if len(stub) > 2 else labels)
    return lines
