"""Table 1 at a scale: how well each phi agrees with the scale's judges, beside the correlations in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from fivesentences.config import JudgeSpec, Scale
from fivesentences.paper.agreements import Agreement, Agreements
from fivesentences.paper.published import PrintedRow, printed_row, read_published
from fivesentences.paper.tables.table import UNDEFINED, Cell, Column, Group, Table, TableRow, mark_best
from fivesentences.paper.text.names import metric_in_words, tokens_in_words, unique
from fivesentences.paper.text.notes import notes_on_left_out
from fivesentences.plan.studies import Study
from fivesentences.plan.tables import AgreementColumnSpec, AgreementRowSpec, AgreementTableSpec

STATISTICS = {
    "pearson": ("Pearson’s r", "r"),
    "spearman": ("Spearman’s ρ", "ρ"),
    "kendall_b": ("Kendall’s τ-b", "τ-b"),
    "kendall_c": ("Kendall’s τ-c", "τ-c"),
}
PAIRS = {"all": "all pairs", "other": "foreign pairs"}
REFERENCES = {"kept": "own captions among the references", "own_left_out": "own caption taken out of its references"}
# Where a column's numbers stand in print.
PRINTED_PAIRS = {"all": "All", "other": "Non-GT"}
PRINTED_STATISTICS = {"pearson": "pearson_r"}
# Columns of the CSV, and which attribute of a cell they hold; the others are said by group, row and column.
CSV = (
    *((key, "") for key in ("judge", "dataset", "references", "row", "phi", "printed_row", "statistic", "pairs")),
    ("value", "value"),
    ("low", "low"),
    ("high", "high"),
    ("n_pairs", "count"),
    ("print", "published"),
    ("difference", "difference"),
)
DECIMALS = 3


def build_agreement_table(
    study_name: str, name: str, study: Study, scale: Scale, frame: pd.DataFrame, published: Path | str
) -> Table:
    """Fill a study's table of agreement from what the scale's judges say: one group a judge and kind of references.

    Args:
        study_name: File name of the study without its suffix.
        name: Which of the study's tables of agreement.
        study: The study.
        scale: The scale; its judges are asked, and the phi it leaves out are not.
        frame: The tidy rows of all these judges; see ``Agreements``.
        published: Folder of the printed tables, ``config/published``.

    Raises:
        InputError: If a correlation is missing (named), or the study names a printed row that is not there.
    """
    spec = study.agreement_tables[name]
    agreements = Agreements(frame)
    printed = read_published(Path(published) / f"{spec.published}.csv") if spec.published else {}
    columns = tuple(_column(column) for column in spec.columns)
    kept = [row for row in spec.rows if row.phi not in scale.leave_out.phis]
    groups = []
    for judge in scale.judges if kept else ():
        for references in dict.fromkeys(row.references for row in kept):
            rows = [
                _row(row, judge, spec, study, agreements, printed, f"{study_name}: agreement_tables.{name}")
                for row in kept
                if row.references == references
            ]
            title = f"{study.labels.get(judge.judge, judge.judge)}: {REFERENCES[references]}"
            keys = {"judge": judge.judge, "dataset": judge.dataset, "references": references}
            groups.append(Group(title, keys, tuple(mark_best(rows, columns, DECIMALS))))
    notes = _notes(spec, study, scale, kept, agreements, printed, groups)
    texts = (study_name, name, scale.scale, study.paper, spec.title, spec.caption)
    return Table(*texts, ("Metric", "Tokens"), columns, tuple(groups), notes, DECIMALS, CSV)


def _column(spec: AgreementColumnSpec) -> Column:
    statistic, short = STATISTICS[spec.statistic]
    keys = {"statistic": spec.statistic, "pairs": spec.pairs}
    return Column((statistic, PAIRS[spec.pairs]), f"{short}, {PAIRS[spec.pairs]}", keys)


def _row(
    row: AgreementRowSpec,
    judge: JudgeSpec,
    spec: AgreementTableSpec,
    study: Study,
    agreements: Agreements,
    printed: Mapping[str, PrintedRow],
    where: str,
) -> TableRow:
    comparable = _is_prints(judge, spec)
    cells = []
    for column in spec.columns:
        ours = agreements.one(judge.judge, row.phi, row.references, column.pairs, column.statistic)
        beside = _in_print(row, column, printed, where)
        difference = ours.value - beside if comparable and ours.value is not None and beside is not None else None
        cells.append(Cell(ours.value, None, ours.low, ours.high, ours.n_pairs, beside, difference))
    metric = row.phi.split("-")[0]
    labels = (study.labels.get(metric, metric_in_words(metric)), tokens_in_words(row.phi))
    return TableRow("ours", labels, {"phi": row.phi}, row.published or "", comparable, tuple(cells))


def _in_print(
    row: AgreementRowSpec, column: AgreementColumnSpec, printed: Mapping[str, PrintedRow], where: str
) -> float | None:
    if row.published is None or column.statistic not in PRINTED_STATISTICS:
        return None
    # One printed row has a number for all pairs and one for foreign pairs: two settings, so two rows to read.
    beside = printed_row(printed, f"{row.published} pairs={PRINTED_PAIRS[column.pairs]}", where)
    return beside.values.get(("", PRINTED_STATISTICS[column.statistic]))


def _is_prints(judge: JudgeSpec, spec: AgreementTableSpec) -> bool:
    setting = spec.published_setting
    return setting is not None and (judge.dataset, judge.judge) == (setting.dataset, setting.judge)


def _notes(
    spec: AgreementTableSpec,
    study: Study,
    scale: Scale,
    kept: Sequence[AgreementRowSpec],
    agreements: Agreements,
    printed: Mapping[str, PrintedRow],
    groups: Sequence[Group],
) -> tuple[str, ...]:
    notes = []
    phis = [row.phi for row in kept]
    found = [one for judge in scale.judges for one in agreements.of(judge.judge, phis)] if groups else []
    for judge in scale.judges if groups else ():
        notes.append(note_on_judge(study, judge, agreements.of(judge.judge, phis)))
    if groups:
        notes += _on_intervals(found, spec, study)
        notes += notes_on_phi(found)
        notes += _on_pairs_without_phi(found)
        cells = [cell for group in groups for row in group.rows for cell in row.cells]
        if any(cell.value is None for cell in cells):
            notes.append(
                f"{UNDEFINED} marks a correlation that is not defined: one of the two is constant over these pairs."
            )
        if len({row.references for row in kept}) > 1:
            notes.append(
                "Foreign pairs are the same whether the own caption is taken out of its references or not: it is none "
                "of the references of another image."
            )
        notes.append(
            "Bold: the highest value of a column within a group, as shown; where intervals overlap, that may be chance."
        )
    if groups and any(cell.published is not None for group in groups for row in group.rows for cell in row.cells):
        notes += _on_print(spec, study, scale, kept, printed)
    left_out = notes_on_left_out((row.phi for row in spec.rows), scale)
    return (*notes, *note_without_judges(scale), *left_out, *spec.notes)


def _on_intervals(found: Sequence[Agreement], spec: AgreementTableSpec, study: Study) -> list[str]:
    """How the intervals of each judge and statistic were made; one sentence for those that were made alike."""
    shown = {column.statistic for column in spec.columns}
    several = len({one.judge for one in found}) > 1
    said: dict[str, dict[str, None]] = {}
    for one in found:
        if one.pairs == "all" and one.statistic in shown and one.value is not None:
            of = STATISTICS[one.statistic][0]
            of += f" with {study.labels.get(one.judge, one.judge)}" if several else ""
            said.setdefault(one.interval, {})[of] = None
    return [
        f"No interval for {'; '.join(of)}: {interval.removeprefix('none: ')}."
        if interval.startswith("none: ")
        else f"In brackets, for {'; '.join(of)}: {interval}."
        for interval, of in said.items()
    ]


def _on_pairs_without_phi(found: Sequence[Agreement]) -> list[str]:
    most = max((one.left_out for one in found), default=0)
    what = f"up to {most:,} pairs whose caption is its image’s only one, so that no reference is left"
    return [f"Without {what}."] if most else []


def note_on_judge(study: Study, judge: JudgeSpec, found: Sequence[Agreement]) -> str:
    """Who judged, what the score is, and how many pairs and images there are."""
    every = [one for one in found if one.pairs == "all"]
    foreign = [one for one in found if one.pairs == "other"]
    counted = (
        f"{max(one.n_pairs for one in every):,} pairs of captions with {max(one.n_images for one in every):,} images"
    )
    if foreign:
        counted += (
            f", {max(one.n_pairs for one in foreign):,} of them with an image that is not the caption's own (foreign)"
        )
    dataset = study.labels.get(judge.dataset, judge.dataset)
    who = study.labels.get(judge.judge, judge.judge)
    return f"{who}, on {dataset} ({every[0].split} split): {every[0].human}; {counted}."


def notes_on_phi(found: Sequence[Agreement]) -> list[str]:
    """Where idf was counted and where SPICE's tuples came from."""
    idf = unique(one.idf_corpus for one in found if one.idf_corpus)
    tuples = unique(one.tuples for one in found if one.tuples)
    return [f"Counts behind idf: {corpus}." for corpus in idf] + [f"SPICE’s tuples: {source}." for source in tuples]


def note_without_judges(scale: Scale) -> list[str]:
    """That nobody judges, where that is so."""
    return [] if scale.judges else [f"Nobody judges at the scale {scale.scale}."]


def _on_print(
    spec: AgreementTableSpec,
    study: Study,
    scale: Scale,
    kept: Sequence[AgreementRowSpec],
    printed: Mapping[str, PrintedRow],
) -> list[str]:
    rows = [row for row in kept if row.published is not None]
    theirs = ", ".join(
        unique(found.where for row in rows for key, found in printed.items() if key.split()[0] == row.published)
    )
    like = [judge for judge in scale.judges if _is_prints(judge, spec)]
    notes = [f"Print: {theirs}, as here; differences are ours minus print."] if like else []
    if len(like) < len(scale.judges):
        others = [study.labels.get(judge.judge, judge.judge) for judge in scale.judges if judge not in like]
        notes.append(
            f"Print: {theirs}. Not comparable with {'; '.join(others)}: other data, so no difference is shown."
        )
    return notes
