"""How well each phi agrees with the judges of a scale, beside the published correlations (Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fivesentences.config.scales import JudgeSpec
from fivesentences.paper.context import Context
from fivesentences.paper.numbers.agreements import Agreement, Agreements, read_agreements
from fivesentences.paper.numbers.published import PublishedRow, published_row
from fivesentences.paper.tables.table import Cell, Column, Group, Table, TableRow, mark_best
from fivesentences.paper.text.judge_notes import note_without_judges, notes_on_judges, notes_on_phi
from fivesentences.paper.text.names import REFERENCES, STATISTICS, metric_in_words, tokens_in_words, unique
from fivesentences.paper.text.numbers import UNDEFINED
from fivesentences.paper.text.phi_notes import note_on_left_out
from fivesentences.study.exhibits import OTHER_IMAGES, AgreementColumnSpec, AgreementRowSpec, AgreementTable

PAIRS = {"all": "all pairs", OTHER_IMAGES: "other images"}
# Where the paper has a column's numbers.
PUBLISHED_PAIRS = {"all": "All", OTHER_IMAGES: "Non-GT"}
PUBLISHED_STATISTICS = {"pearson": "pearson_r"}
# Columns of the CSV, and which attribute of a cell they hold; the others are keys of group, row and column.
CSV = (
    *((key, "") for key in ("judge", "dataset", "references", "row", "phi", "published_row", "statistic", "pairs")),
    ("value", "value"),
    ("low", "low"),
    ("high", "high"),
    ("n_pairs", "count"),
    ("published", "published"),
    ("difference", "difference"),
)
DECIMALS = 3


def agreement_table(spec: AgreementTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with the correlations of the scale's judges."""
    return table_of_agreements(spec, context, read_agreements(numbers))


def table_of_agreements(spec: AgreementTable, context: Context, agreements: Agreements) -> Table:
    """Fill a table with correlations that were read."""
    return _AgreementTableMaker(spec, context, agreements, context.published_rows(spec)).table


@dataclass(frozen=True)
class _AgreementTableMaker:
    """One table at one scale, with everything that it is filled from."""

    spec: AgreementTable
    context: Context
    agreements: Agreements
    published: Mapping[str, PublishedRow]

    @property
    def table(self) -> Table:
        spec, context = self.spec, self.context
        columns = tuple(_column(column) for column in spec.columns)
        groups = []
        for judge in context.scale.judges:
            for references in dict.fromkeys(row.references for row in self.rows):
                rows = [self.row(row, judge) for row in self.rows if row.references == references]
                title = f"{context.study.label_of(judge.judge)}: {REFERENCES[references]}"
                keys = {"judge": judge.judge, "dataset": judge.dataset, "references": references}
                groups.append(Group(title, keys, tuple(mark_best(rows, columns, DECIMALS))))
        notes = self.notes([cell for group in groups for row in group.rows for cell in row.cells])
        return Table(*context.texts(spec), ("Metric", "Tokens"), columns, tuple(groups), notes, DECIMALS, CSV)

    @property
    def rows(self) -> list[AgreementRowSpec]:
        """The rows that the scale does not leave out."""
        return [row for row in self.spec.rows if self.context.scale.shows(row.phi)]

    def row(self, row: AgreementRowSpec, judge: JudgeSpec) -> TableRow:
        """A row of one judge."""
        comparable = self.spec.compares_with(judge)
        cells = []
        for column in self.spec.columns:
            ours = self.agreements.one(judge.judge, row.phi, row.references, column.pairs, column.statistic)
            published = self.published_value(row, column)
            difference = None
            if comparable and ours.value is not None and published is not None:
                difference = ours.value - published
            cells.append(Cell(ours.value, None, ours.low, ours.high, ours.n_pairs, published, difference))
        metric = row.phi.split("-")[0]
        labels = (self.context.study.label_of(metric, metric_in_words(metric)), tokens_in_words(row.phi))
        return TableRow("ours", labels, {"phi": row.phi}, row.published or "", comparable, tuple(cells))

    def published_value(self, row: AgreementRowSpec, column: AgreementColumnSpec) -> float | None:
        """The published correlation; None where the paper has none."""
        if row.published is None or column.statistic not in PUBLISHED_STATISTICS:
            return None
        # A row of the paper has a number for all pairs and one for the others: two settings, so two rows of the CSV.
        name = f"{row.published} pairs={PUBLISHED_PAIRS[column.pairs]}"
        found = published_row(self.published, name, self.context.where(self.spec))
        return found.values.get(("", PUBLISHED_STATISTICS[column.statistic]))

    def notes(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """All notes: judges, intervals, phi, published values, what is missing, and the study's own."""
        spec, study, scale = self.spec, self.context.study, self.context.scale
        notes = []
        if cells:
            phis = [row.phi for row in self.rows]
            found = [one for judge in scale.judges for one in self.agreements.of(judge.judge, phis)]
            notes += notes_on_judges(study, scale, self.agreements, phis)
            notes += self.notes_on_intervals(found)
            notes += notes_on_phi(found)
            notes += _note_on_pairs_without_phi(found)
            if any(cell.value is None for cell in cells):
                notes.append(
                    f"{UNDEFINED} marks a correlation that is not defined: one of the two is constant over these pairs."
                )
            if len({row.references for row in self.rows}) > 1:
                notes.append(
                    "The columns “other images” do not depend on whether the own caption is taken out of its "
                    "references: it is not among the references of another image."
                )
            notes.append(
                "Bold: the highest value of a column within a group, as shown; where intervals overlap, that may be "
                "chance."
            )
        if any(cell.published is not None for cell in cells):
            notes += self.notes_on_published()
        left_out = note_on_left_out((row.phi for row in spec.rows), scale)
        return (*notes, *note_without_judges(scale), *left_out, *spec.notes)

    def notes_on_intervals(self, found: Sequence[Agreement]) -> list[str]:
        """How the intervals of each judge and statistic were made; one sentence for those that were made alike."""
        study, shown = self.context.study, {column.statistic for column in self.spec.columns}
        several = len({one.judge for one in found}) > 1
        statistics: dict[str, dict[str, None]] = {}
        for one in found:
            if one.pairs == "all" and one.statistic in shown and one.value is not None:
                judge = f" with {study.label_of(one.judge)}" if several else ""
                statistics.setdefault(one.interval, {})[STATISTICS[one.statistic][0] + judge] = None
        return [
            f"No interval for {'; '.join(names)}: {interval.removeprefix('none: ')}."
            if interval.startswith("none: ")
            else f"In brackets, for {'; '.join(names)}: {interval}."
            for interval, names in statistics.items()
        ]

    def notes_on_published(self) -> list[str]:
        """Which published values stand beside ours, and whether they may be compared."""
        names = {row.published for row in self.rows} - {None}
        theirs = ", ".join(unique(found.gallery for key, found in self.published.items() if key.split()[0] in names))
        scale, study = self.context.scale, self.context.study
        others = [judge for judge in scale.judges if not self.spec.compares_with(judge)]
        notes = []
        if len(others) < len(scale.judges):
            notes.append(f"Published: {theirs}, as here; differences are ours minus published.")
        if others:
            named = "; ".join(study.label_of(judge.judge) for judge in others)
            notes.append(f"Published: {theirs}. Not comparable with {named}: other data, so no difference is shown.")
        return notes


def _column(spec: AgreementColumnSpec) -> Column:
    statistic, short = STATISTICS[spec.statistic]
    keys = {"statistic": spec.statistic, "pairs": spec.pairs}
    return Column((statistic, PAIRS[spec.pairs]), f"{short}, {PAIRS[spec.pairs]}", keys)


def _note_on_pairs_without_phi(found: Sequence[Agreement]) -> list[str]:
    most = max((one.left_out for one in found), default=0)
    pairs = f"up to {most:,} pairs whose caption is its image’s only one, so that no reference is left"
    return [f"Without {pairs}."] if most else []
