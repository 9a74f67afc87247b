"""Components of adaptive margins, by loss and training captions, and hinges that change without the negative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from fivesentences.reproduction.evaluation.margins import CAP, LOW
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.numbers.margins import Margins, Numbers, made_at, read_all_margins
from fivesentences.reproduction.paper.tables.table import Cell, Column, Group, Table, TableRow, csv_of
from fivesentences.reproduction.paper.text.labels import label_of, loss_in_words
from fivesentences.reproduction.paper.text.names import UNDEFINED
from fivesentences.reproduction.study.exhibits import MarginsTable
from fivesentences.reproduction.study.expand import Row
from fivesentences.training.spec import members_of

KEYS = ("dataset", "fraction", "loss", "row", "quantity", "epochs")
VALUES = {"value": "value", "spread": "spread", "runs": "count"}
DECIMALS = 3


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


POSITIVE, NEGATIVE, MARGIN, CORRELATION = "φ of the positive", "φ of the negative", "Margin", "Correlation with φ of"
# Columns that need no model where negatives are random: headings, name in the CSV, digits after the point, and the
# value of the numbers of some hinges. Those named in SPREAD have a standard deviation, too.
SPREAD = ("phi_positive", "phi_negative", "margin")
QUANTITIES: list[tuple[tuple[str, str], str, int, Callable[[Numbers], float | None]]] = [
    ((POSITIVE, "mean"), "phi_positive", 2, lambda n: n["phi_positive"]["mean"]),
    ((NEGATIVE, "mean"), "phi_negative", DECIMALS, lambda n: n["phi_negative"]["mean"]),
    ((NEGATIVE, f"% < {LOW:g}"), "negative_below", 1, lambda n: _percent(n["negative_below"])),
    ((MARGIN, "mean"), "margin", DECIMALS, lambda n: n["margin"]["mean"]),
    ((MARGIN, f"% ≥ {CAP:g}"), "at_cap", 1, lambda n: _percent(n["at_cap"])),
    ((MARGIN, "% of variance"), "share_of_negative", 1, lambda n: _percent(n["shares"]["negative"])),
    ((CORRELATION, "positive"), "correlation_positive", 2, lambda n: n["correlations"]["phi_positive"]),
    ((CORRELATION, "negative"), "correlation_own", 2, lambda n: n["correlations"]["phi_own_negative"]),
]


def margins_table(spec: MarginsTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with what was measured of the scale's datasets."""
    study, measured = context.study, read_all_margins(numbers)
    rows = [row for row in context.rows(spec) if row.runs]
    lengths = sorted({_epochs(row) for row in rows})
    columns = [
        Column(headings, " ".join(headings), {"quantity": name, "epochs": ""}, "neither", decimals)
        for headings, name, decimals, _ in QUANTITIES
    ]
    for epochs in lengths:
        headings = ("% of hinges changed", f"after {epochs} epoch{'' if epochs == 1 else 's'}")
        columns.append(Column(headings, " ".join(headings), {"quantity": "changed", "epochs": epochs}, "neither", 1))

    def row_of(margins: Margins, fraction: float, loss: str) -> TableRow | None:
        """Make the row of a loss; None if nothing was measured."""
        ours = [row for row in rows if (row.dataset, row.fraction, row.loss) == (margins.dataset, fraction, loss)]
        alone = margins.of_captions(fraction, study.losses[loss])
        if alone is None and not ours:
            return None
        hinges = [alone] if alone is not None else margins.of_runs(max(ours, key=_epochs))
        cells = [_cell(name, value, hinges) for _, name, _, value in QUANTITIES]
        for epochs in lengths:
            found = [numbers for row in ours if _epochs(row) == epochs for numbers in margins.of_runs(row)]
            changed = [100 * numbers["changed"] for numbers in found]
            cells.append(Cell.over_seeds(changed) if changed else Cell())
        return TableRow("ours", (loss_in_words(study, loss),), {"loss": loss}, "", False, tuple(cells))

    groups = []
    for margins in measured:
        for fraction in spec.fractions:
            made = made_at(study, context.scale, fraction, spec.losses)
            filled = [row for loss in made if (row := row_of(margins, fraction, loss)) is not None]
            sets = [one for (of_set, _), one in margins.sets.items() if of_set == fraction]
            counted = f": {sets[0]['captions']:,} captions of {sets[0]['images']:,} images" if sets else ""
            title = f"{study.label_of(margins.dataset)}, {label_of(study, 'fraction', fraction)}{counted}"
            if filled:
                groups.append(Group(title, {"dataset": margins.dataset, "fraction": fraction}, tuple(filled)))
    notes = _notes(measured, rows, context) if groups else []
    texts, csv = context.texts(spec), csv_of(KEYS, VALUES)
    return Table(*texts, ("Loss",), tuple(columns), tuple(groups), (*notes, *spec.notes), DECIMALS, csv)


def _notes(measured: Sequence[Margins], rows: Sequence[Row], context: Context) -> list[str]:
    """Word what is measured, and how."""
    notes = [
        "Batches are drawn as in training. φ and margins: mean ± standard deviation over hinges. "
        f"“% < {LOW:g}”: share of negatives that have next to nothing in common with the image.",
        "“% of variance”: share of the variance of the margins that comes from their negatives; the rest comes "
        "from their positives. A share is the covariance with the margin divided by its variance, so that the two "
        "add up to 100%.",
        "Correlations are those of the margin of a hinge with φ of its own positive and of its own negative; the "
        "released code gives a hinge the margin of another negative.",
    ]
    sizes = sorted({one["batch_size"] for margins in measured for one in margins.sets.values()})
    if sizes:
        notes.append(
            f"Random negatives: measured on captions alone, in batches of {' or '.join(map(str, sizes))}. Other "
            "negatives are chosen by similarity, so that there are margins only where a run was trained."
        )
    if rows:
        notes.append(
            f"“% of hinges changed”: share of the hinges of a run ({context.study.label_of(rows[0].model)}, trained "
            "with the loss of its row; the weights of its best epoch on dev) that become active or inactive when what "
            "the negative takes from the margin is replaced by its mean over the batch. A hinge’s gradient depends on "
            f"its margin in this only. {UNDEFINED}: no such run."
        )
        if any(len(row.runs) > 1 for row in rows):
            notes.append("Beside it, the sample standard deviation over seeds.")
    return notes


def _epochs(row: Row) -> int:
    return next(member.training.epochs for run in row.runs for member in members_of(run))


def _cell(name: str, value_of: Callable[[Numbers], float | None], measured: Sequence[Numbers]) -> Cell:
    """Average a quantity over runs; its spread is that of the hinges of a run."""
    values = [value for one in measured if (value := value_of(one)) is not None]
    if not values:
        return Cell(count=len(measured))
    spread = fmean(one[name]["sd"] for one in measured) if name in SPREAD else None
    return Cell(fmean(values), spread, count=len(measured))
