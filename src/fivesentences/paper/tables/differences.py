"""The columns of a table of paired differences, and the cells of one difference."""

from __future__ import annotations

from fivesentences.paper.numbers.contrasts import Difference
from fivesentences.paper.tables.table import Cell, Column

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
