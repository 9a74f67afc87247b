"""How well each phi agrees with the judges of a scale, beside the published correlations (Table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fivesentences.reproduction.config.scales import JudgeSpec
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.numbers.agreements import agreement_with, of_judge, read_agreements
from fivesentences.reproduction.paper.tables.table import Cell, Column, Group, Table, TableRow, csv_of, mark_best
from fivesentences.reproduction.paper.text.metric_notes import notes_on_judges, notes_on_phi, notes_without_judges
from fivesentences.reproduction.paper.text.names import (
    REFERENCES,
    STATISTICS,
    UNDEFINED,
    grouped,
    tokens_in_words,
    unique,
)
from fivesentences.reproduction.study.exhibits import (
    OTHER_IMAGES,
    AgreementColumnSpec,
    AgreementRowSpec,
    AgreementTable,
)
from fivesentences.reproduction.study.study import Study
from fivesentences.semantics.registry import metric_in_words

# In our words, and where the paper has a column's numbers.
PAIRS = {"all": ("all pairs", "All"), OTHER_IMAGES: ("other images", "Non-GT")}
PUBLISHED_STATISTICS = {"pearson": "pearson_r"}
KEYS = ("judge", "dataset", "references", "row", "phi", "published_row", "statistic", "pairs")
VALUES = {"value": "value", "low": "low", "high": "high", "n_pairs": "count"}
DECIMALS = 3


def agreement_table(spec: AgreementTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill the table with the correlations of the scale's judges."""
    study, scale, published = context.study, context.scale, context.published_rows(spec)
    agreements = read_agreements(numbers)
    shown = [row for row in spec.rows if scale.shows(row.phi)]
    columns = tuple(
        Column(
            (STATISTICS[one.statistic][0], PAIRS[one.pairs][0]),
            f"{STATISTICS[one.statistic][1]}, {PAIRS[one.pairs][0]}",
            {"statistic": one.statistic, "pairs": one.pairs},
        )
        for one in spec.columns
    )

    def cell(row: AgreementRowSpec, judge: JudgeSpec, column: AgreementColumnSpec) -> Cell:
        ours = agreement_with(agreements, judge.judge, row.phi, row.references, column.pairs, column.statistic)
        theirs = None
        if row.published is not None and column.statistic in PUBLISHED_STATISTICS:
            # A row of the paper has a number for all pairs and one for the others: two rows of the CSV.
            found = published[f"{row.published} pairs={PAIRS[column.pairs][1]}"]
            theirs = found.values.get(("", PUBLISHED_STATISTICS[column.statistic]))
        compared = spec.compares_with(judge) and ours.value is not None and theirs is not None
        difference = ours.value - theirs if compared else None
        return Cell(ours.value, None, ours.low, ours.high, ours.n_pairs, theirs, difference)

    groups = []
    for judge in scale.judges:
        for references, some in grouped(shown, lambda row: row.references).items():
            rows = []
            for row in some:
                metric, same_data = row.phi.split("-")[0], spec.compares_with(judge)
                labels = (study.label_of(metric, metric_in_words(metric)), tokens_in_words(row.phi))
                cells = tuple(cell(row, judge, column) for column in spec.columns)
                rows.append(TableRow("ours", labels, {"phi": row.phi}, row.published or "", same_data, cells))
            keys = {"judge": judge.judge, "dataset": judge.dataset, "references": references}
            title = f"{study.label_of(judge.judge)}: {REFERENCES[references]}"
            groups.append(Group(title, keys, tuple(mark_best(rows, columns, DECIMALS))))
    every = [cell for group in groups for row in group.rows for cell in row.cells]
    notes = []
    if every:
        phis = [row.phi for row in shown]
        found = [one for judge in scale.judges for one in of_judge(agreements, judge.judge, phis)]
        notes += notes_on_judges(study, scale, agreements, phis)
        notes += _on_intervals(found, {column.statistic for column in spec.columns}, study) + notes_on_phi(found)
        if most := max((one.left_out for one in found), default=0):
            notes.append(
                f"Without up to {most:,} pairs whose caption is its image’s only one, so that no reference is left."
            )
        if any(cell.value is None for cell in every):
            notes.append(
                f"{UNDEFINED} marks a correlation that is not defined: one of the two is constant over these pairs."
            )
        if len({row.references for row in shown}) > 1:
            notes.append(
                "The columns “other images” do not depend on whether the own caption is taken out of its "
                "references: it is not among the references of another image."
            )
        notes.append(
            "Bold: the highest value of a column within a group, as shown; where intervals overlap, that may be chance."
        )
    if any(cell.published is not None for cell in every):
        names = {row.published for row in shown}
        theirs = ", ".join(unique(found.gallery for key, found in published.items() if key.split()[0] in names))
        others = [study.label_of(judge.judge) for judge in scale.judges if not spec.compares_with(judge)]
        if len(others) < len(scale.judges):
            notes.append(f"Published: {theirs}, as here; differences are ours minus published.")
        if others:
            not_comparable = f"Not comparable with {'; '.join(others)}: other data, so no difference is shown."
            notes.append(f"Published: {theirs}. {not_comparable}")
    notes += [*notes_without_judges(study, scale, (row.phi for row in spec.rows)), *spec.notes]
    csv = csv_of(KEYS, VALUES | {"published": "published", "difference": "difference"})
    return Table(*context.texts(spec), ("Metric", "Tokens"), columns, tuple(groups), tuple(notes), DECIMALS, csv)


def _on_intervals(found: Sequence[Any], statistics: set[str], study: Study) -> list[str]:
    """Word how the intervals of each judge and statistic were made, one sentence per method."""
    several = len({one.judge for one in found}) > 1
    known = [one for one in found if one.pairs == "all" and one.statistic in statistics and one.value is not None]
    notes = []
    for interval, some in grouped(known, lambda one: one.interval).items():
        judges = [f" with {study.label_of(one.judge)}" if several else "" for one in some]
        names = unique(STATISTICS[one.statistic][0] + judge for one, judge in zip(some, judges, strict=True))
        how = "No interval" if interval.startswith("none: ") else "In brackets,"
        notes.append(f"{how} for {'; '.join(names)}: {interval.removeprefix('none: ')}.")
    return notes
