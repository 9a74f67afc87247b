"""What adaptive margins are made of, by loss and training captions, and which hinges change without the negative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fivesentences.evaluation.margins import CAP, LOW
from fivesentences.paper.context import Context
from fivesentences.paper.numbers.margins import Margins, Numbers, made_at, mean_and_sd, read_all_margins
from fivesentences.paper.tables.table import Cell, Column, Group, Keys, Table, TableRow
from fivesentences.paper.text.labels import label_of, loss_in_words
from fivesentences.paper.text.numbers import UNDEFINED
from fivesentences.study.exhibits import MarginsTable
from fivesentences.study.expand import Row
from fivesentences.study.runs import members_of

CSV = (
    *((key, "") for key in ("dataset", "fraction", "loss", "row", "quantity", "epochs")),
    ("value", "value"),
    ("spread", "spread"),
    ("runs", "count"),
)
DECIMALS = 3


@dataclass(frozen=True)
class Quantity:
    """A column that needs no model where negatives are random.

    Attributes:
        headings: Two, the upper one first.
        name: In the CSV.
        value: Of the numbers of some hinges.
        spread: Their standard deviation, if the quantity has one.
        decimals: Digits shown after the point.
    """

    headings: tuple[str, str]
    name: str
    value: Callable[[Numbers], float | None]
    spread: Callable[[Numbers], float] | None = None
    decimals: int = DECIMALS


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


POSITIVE, NEGATIVE, MARGIN = "φ of the positive", "φ of the negative", "Margin"
QUANTITIES = (
    Quantity(
        (POSITIVE, "mean"), "phi_positive", lambda n: n["phi_positive"]["mean"], lambda n: n["phi_positive"]["sd"], 2
    ),
    Quantity(
        (NEGATIVE, "mean"), "phi_negative", lambda n: n["phi_negative"]["mean"], lambda n: n["phi_negative"]["sd"]
    ),
    Quantity((NEGATIVE, f"% < {LOW:g}"), "negative_below", lambda n: _percent(n["negative_below"]), decimals=1),
    Quantity((MARGIN, "mean"), "margin", lambda n: n["margin"]["mean"], lambda n: n["margin"]["sd"]),
    Quantity((MARGIN, f"% ≥ {CAP:g}"), "at_cap", lambda n: _percent(n["at_cap"]), decimals=1),
    Quantity((MARGIN, "% of variance"), "share_of_negative", lambda n: _percent(n["shares"]["negative"]), decimals=1),
    Quantity(
        ("Correlation with φ of", "positive"),
        "correlation_positive",
        lambda n: n["correlations"]["phi_positive"],
        decimals=2,
    ),
    Quantity(
        ("Correlation with φ of", "negative"),
        "correlation_own",
        lambda n: n["correlations"]["phi_own_negative"],
        decimals=2,
    ),
)


def margins_table(spec: MarginsTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with what was measured of the scale's datasets."""
    return _MarginsTableMaker(spec, context, context.rows(spec), read_all_margins(numbers)).table


@dataclass(frozen=True)
class _MarginsTableMaker:
    """One table at one scale, with everything that it is filled from."""

    spec: MarginsTable
    context: Context
    rows: Sequence[Row]
    margins: Sequence[Margins]

    @property
    def table(self) -> Table:
        spec, study = self.spec, self.context.study
        groups = []
        for margins in self.margins:
            by_fraction: dict[float, list[TableRow]] = {}
            for fraction, loss in made_at(study, self.context.scale, spec.fractions, spec.losses):
                row = self.row(margins, fraction, loss)
                if row is not None:
                    by_fraction.setdefault(fraction, []).append(row)
            for fraction, rows in by_fraction.items():
                title = f"{study.label_of(margins.dataset)}, {label_of(study, 'fraction', fraction)}"
                counted = self.counted(margins, fraction)
                groups.append(Group(title + counted, {"dataset": margins.dataset, "fraction": fraction}, tuple(rows)))
        notes = (*(self.notes() if groups else ()), *spec.notes)
        return Table(*self.context.texts(spec), ("Loss",), self.columns, tuple(groups), notes, DECIMALS, CSV)

    def counted(self, margins: Margins, fraction: float) -> str:
        """How many captions a group has, if it was measured without a model."""
        for (of_set, _), one in margins.sets.items():
            if of_set == fraction:
                return f": {one['captions']:,} captions of {one['images']:,} images"
        return ""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of every loss, and one for each length of a run."""
        columns = [
            Column(one.headings, " ".join(one.headings), {"quantity": one.name, "epochs": ""}, "neither", one.decimals)
            for one in QUANTITIES
        ]
        for epochs in self.epochs:
            after = f"after {epochs} epoch{'' if epochs == 1 else 's'}"
            heading = "% of hinges changed"
            keys: Keys = {"quantity": "changed", "epochs": epochs}
            columns.append(Column((heading, after), f"{heading} {after}", keys, "neither", 1))
        return tuple(columns)

    @property
    def epochs(self) -> list[int]:
        """The lengths of the runs."""
        return sorted({_epochs(row) for row in self.rows if row.runs})

    def row(self, margins: Margins, fraction: float, loss: str) -> TableRow | None:
        """The row of a loss; None where nothing was measured."""
        rows = [
            row
            for row in self.rows
            if row.runs and (row.dataset, row.fraction, row.loss) == (margins.dataset, fraction, loss)
        ]
        alone = margins.of_captions(fraction, self.context.study.losses[loss])
        longest = max(rows, key=_epochs, default=None)
        if alone is None and longest is None:
            return None
        measured = [alone] if alone is not None else margins.of_runs(longest) if longest is not None else []
        cells = [_cell(one, measured) for one in QUANTITIES]
        for epochs in self.epochs:
            found = [numbers for row in rows if _epochs(row) == epochs for numbers in margins.of_runs(row)]
            changed = [100 * numbers["changed"] for numbers in found]
            value, spread = mean_and_sd(changed) if changed else (None, None)
            cells.append(Cell(value, spread, count=len(changed)))
        label = loss_in_words(self.context.study, loss)
        return TableRow("ours", (label,), {"loss": loss}, "", False, tuple(cells))

    def notes(self) -> list[str]:
        """What is measured, and how."""
        of_sets = [one for margins in self.margins for one in margins.sets.values()]
        notes = [
            "Batches are drawn as in training. φ and margins: mean ± standard deviation over hinges. "
            f"“% < {LOW:g}”: share of negatives that have next to nothing in common with the image.",
            "“% of variance”: share of the variance of the margins that comes from their negatives; the rest comes "
            "from their positives. A share is the covariance with the margin divided by its variance, so that the two "
            "add up to 100%.",
            "Correlations are those of the margin of a hinge with φ of its own positive and of its own negative; the "
            "released code gives a hinge the margin of another negative.",
        ]
        if of_sets:
            sizes = sorted({one["batch_size"] for one in of_sets})
            notes.append(
                f"Random negatives: measured on captions alone, in batches of {' or '.join(map(str, sizes))}. Other "
                "negatives are chosen by similarity, so that there are margins only where a run was trained."
            )
        if self.epochs:
            model = self.context.study.label_of(next(row.model for row in self.rows if row.runs))
            notes.append(
                f"“% of hinges changed”: share of the hinges of a run ({model}, trained with the loss of its row; the "
                "weights of its best epoch on dev) that become active or inactive when what the negative takes from "
                "the margin is replaced by its mean over the batch. A hinge’s gradient depends on its margin in this "
                "only. "
                f"{UNDEFINED}: no such run."
            )
            if any(len(row.runs) > 1 for row in self.rows):
                notes.append("Beside it, the sample standard deviation over seeds.")
        return notes


def _epochs(row: Row) -> int:
    return next(member.training.epochs for run in row.runs for member in members_of(run))


def _cell(quantity: Quantity, measured: Sequence[Numbers]) -> Cell:
    """The mean over runs; the spread is that of the hinges of a run."""
    values = [value for one in measured if (value := quantity.value(one)) is not None]
    if not values:
        return Cell(None, count=len(measured))
    spread = None if quantity.spread is None else mean_and_sd([quantity.spread(one) for one in measured])[0]
    return Cell(mean_and_sd(values)[0], spread, count=len(measured))
