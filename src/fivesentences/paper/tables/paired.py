"""Differences that are paired by seed, with intervals over seeds and test items: of runs, and of category retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fivesentences.paper.context import Context
from fivesentences.paper.numbers.contrasts import Difference, measured_contrasts
from fivesentences.paper.numbers.subspaces import MeasuredSubspaces, measured_subspace_contrasts
from fivesentences.paper.tables.subspaces import DECIMALS as SUBSPACE_DECIMALS
from fivesentences.paper.tables.subspaces import HEADINGS, SIDES
from fivesentences.paper.tables.table import Cell, Column, Group, Keys, Table, TableRow
from fivesentences.paper.text import subspace_notes
from fivesentences.paper.text.contrast_notes import (
    METRICS,
    groups_of,
    notes_on_contrasts,
    notes_on_contrasts_left_out,
    notes_on_statistics,
    sides_in_words,
)
from fivesentences.paper.text.numbers import MINUS
from fivesentences.paper.text.run_notes import notes_on_missing
from fivesentences.study.exhibits import SETTINGS, PairedTable, SubspaceContrastTable
from fivesentences.study.expand import Contrast, Row, SubspaceContrast, contrasts_of, subspace_contrasts

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
DECIMALS = 2
# Columns of the CSVs, and which attribute of a cell they hold; the others are keys of group, row and column.
VALUES = (("value", "value"), ("low", "low"), ("high", "high"), ("seeds", "count"))
CSV = (
    *((key, "") for key in ("role", "dataset", *SETTINGS)),
    *((key, "") for key in ("a", "b", "against", "question", "metric", "statistic")),
    *VALUES,
)
SUBSPACE_CSV = (
    *((key, "") for key in ("role", "documents", "division", "a", "a_selection", "b", "b_selection", "question")),
    *((key, "") for key in ("metric", "direction", "statistic")),
    *VALUES,
)


def paired_table(spec: PairedTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill a table with paired differences of runs."""
    study, scale = context.study, context.scale
    contrasts = contrasts_of(spec.contrasts, study, scale)
    found = measured_contrasts(contrasts, numbers, context.where(spec))
    stub, groups = _stub(contrasts), []
    for title, measured in groups_of(found.of, study).items():
        first, rows, asked = measured[0].contrast.a, [], ""
        for one in measured:
            ours, theirs = _settings(one.contrast.a), _settings(one.contrast.b)
            keys = ours | {"a": one.contrast.a.loss, "b": one.contrast.b.loss, "question": one.contrast.question}
            keys["against"] = ",".join(f"{key}={theirs[key]}" for key in SETTINGS if ours[key] != theirs[key])
            lines = [(METRICS[metric], {"metric": metric}, one.metrics[metric]) for metric in spec.measures]
            rows += _rows(one.contrast, sides_in_words(one.contrast, study), keys, lines, asked, stub)
            asked = one.contrast.question
        about = _settings(first) | {"role": first.role, "dataset": str(first.dataset)}
        groups.append(Group(title, about, tuple(rows)))
    notes = notes_on_contrasts(found, spec.measures, study)
    if any(len(one.contrast.seeds) > 1 for one in found.of):
        notes += notes_on_statistics(found.resamples, "test images")
    notes += notes_on_contrasts_left_out(contrasts, scale.scale, study)
    notes += [*notes_on_missing(study, scale, context.rows(spec)), *spec.notes]
    return Table(*context.texts(spec), stub, COLUMNS, tuple(groups), tuple(notes), DECIMALS, CSV)


def subspace_contrasts_table(spec: SubspaceContrastTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill a table with paired differences of methods of category retrieval."""
    study, scale = context.study, context.scale
    contrasts = subspace_contrasts(spec.contrasts, study, scale)
    found, resamples = measured_subspace_contrasts(contrasts, numbers, context.where(spec))
    stub, groups = _stub(contrasts), []
    of_setting: dict[str, list[MeasuredSubspaces]] = {}
    for one in found:
        of_setting.setdefault(subspace_notes.setting_in_words(one.contrast, study), []).append(one)
    for title, measured in of_setting.items():
        first, rows, asked = measured[0].contrast.a, [], ""
        for one in measured:
            a, b = one.contrast.a, one.contrast.b
            keys = {"a": a.method, "a_selection": a.selection, "b": b.method, "b_selection": b.selection}
            lines = [
                (f"{HEADINGS.get(of.metric, of.metric)}, {SIDES[of.direction]}", of.model_dump(), one.metrics[of.key])
                for of in spec.measures
            ]
            sides = subspace_notes.sides_in_words(one.contrast)
            rows += _rows(one.contrast, sides, keys | {"question": one.contrast.question}, lines, asked, stub)
            asked = one.contrast.question
        keys = {"role": first.role, "documents": str(first.documents), "division": first.division}
        groups.append(Group(title, keys, tuple(rows)))
    notes = subspace_notes.notes_on_pairs(found, study)
    if notes:
        notes += subspace_notes.notes_on_measures(spec.measures)
    if any(len(one.contrast.seeds) > 1 for one in found):
        notes += notes_on_statistics(resamples, "test documents")
    notes += subspace_notes.notes_on_pairs_left_out(contrasts, scale.scale, study)
    both = [row for contrast in contrasts for row in (contrast.a, contrast.b)]
    notes += [*subspace_notes.notes_on_left_out(both, scale.scale, study), *spec.notes]
    return Table(*context.texts(spec), stub, COLUMNS, tuple(groups), tuple(notes), SUBSPACE_DECIMALS, SUBSPACE_CSV)


def _stub(contrasts: Iterable[Contrast | SubspaceContrast]) -> tuple[str, ...]:
    """Headings of the columns that name a line: questions have one if there is any."""
    asked = any(contrast.question for contrast in contrasts)
    return ("Question", "A − B", "Metric") if asked else ("A − B", "Metric")


def _rows(
    contrast: Contrast | SubspaceContrast,
    sides: tuple[str, str],
    keys: Keys,
    lines: Sequence[tuple[str, Mapping[str, str], Difference]],
    asked: str,
    stub: Sequence[str],
) -> list[TableRow]:
    """The rows of one contrast, one per metric.

    Args:
        contrast: The contrast.
        sides: Names of A and B.
        keys: Columns of the CSV that all rows share.
        lines: Name of each metric, its columns of the CSV, and the difference.
        asked: The question of the contrast above, which is not shown again.
        stub: Headings of the columns that name a row.
    """
    first, second = sides
    # In two lines where there are two, which saves width.
    names = [first, f"{MINUS} {second}"] if len(lines) > 1 else [f"{first} {MINUS} {second}"]
    rows = []
    for place, (metric, of_metric, found) in enumerate(lines):
        labels: tuple[str, ...] = (names[place] if place < len(names) else "", metric)
        if len(stub) > 2:
            labels = ("" if place or contrast.question == asked else contrast.question, *labels)
        plain = (found.bootstrap_low, found.bootstrap_high, float(found.seeds), found.spread, found.equivalence)
        cells = (
            Cell(found.mean_a, count=found.seeds),
            Cell(found.mean_b, count=found.seeds),
            Cell(found.mean, low=found.low, high=found.high, count=found.seeds),
            *(Cell(value, count=found.seeds) for value in (*plain, found.detectable)),
        )
        rows.append(TableRow("ours", labels, {**keys, **of_metric}, "", False, cells))
    return rows


def _settings(row: Row) -> dict[str, str | int | float]:
    """The settings of a row as they stand in a CSV; empty for what the scale decides."""
    values = {key: getattr(row, key) for key in SETTINGS}
    return {key: "" if value is None else value for key, value in values.items()}
