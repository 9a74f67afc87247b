"""Differences that are paired by seed, with intervals over seeds and test items: of runs, and of category retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fivesentences.reproduction.categories.paper.notes import notes_on_left_out, notes_on_measures
from fivesentences.reproduction.categories.paper.table import DECIMALS as SUBSPACE_DECIMALS
from fivesentences.reproduction.categories.paper.table import HEADINGS, SIDES
from fivesentences.reproduction.evaluation.tidy import read_as
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.numbers.contrasts import AnyContrast, Contrasts, Difference, measured_contrasts
from fivesentences.reproduction.paper.tables.table import Cell, Column, Group, Keys, Table, TableRow, csv_of
from fivesentences.reproduction.paper.text.contrast_notes import (
    METRICS,
    adjusted_p,
    groups_of,
    note_on_many,
    notes_on_contrasts,
    notes_on_contrasts_left_out,
    notes_on_pairs,
    notes_on_statistics,
    sides_in_words,
)
from fivesentences.reproduction.paper.text.metric_notes import notes_on_inference
from fivesentences.reproduction.paper.text.names import MINUS, unique
from fivesentences.reproduction.paper.text.run_notes import notes_on_missing
from fivesentences.reproduction.study.exhibits import SETTINGS, PairedTable, SubspaceContrastTable
from fivesentences.reproduction.study.expand import Contrast, Row, SubspaceContrast, contrasts_of, subspace_contrasts

COLUMNS = (
    Column(("A − B", "95% interval"), "A − B, 95% interval", {"statistic": "difference"}),
    Column(("p", "Holm"), "p, Holm", {"statistic": "p_holm"}, "lower", decimals=3),
    Column(("means", "A"), "A", {"statistic": "mean_a"}),
    Column(("means", "B"), "B", {"statistic": "mean_b"}),
    Column(("bootstrap", "from"), "bootstrap from", {"statistic": "bootstrap_low"}),
    Column(("bootstrap", "to"), "bootstrap to", {"statistic": "bootstrap_high"}),
    Column(("seeds", "number"), "seeds", {"statistic": "seeds"}, decimals=0),
    Column(("seeds", "sd"), "sd over seeds", {"statistic": "spread"}),
    Column(("bounds", "within ±"), "within ±", {"statistic": "equivalence"}),
    Column(("bounds", "detectable"), "detectable", {"statistic": "detectable"}),
)
DECIMALS = 2
KEYS = ("role", "dataset", *SETTINGS, "a", "b", "against", "question", "metric", "statistic")
SUBSPACE_KEYS = (
    *("role", "documents", "division", "a", "a_selection", "b", "b_selection", "question"),
    *("metric", "direction", "statistic"),
)
VALUES = {"value": "value", "low": "low", "high": "high", "seeds": "count"}


def paired_table(spec: PairedTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill a table with paired differences of runs."""
    study, scale = context.study, context.scale
    contrasts = contrasts_of(spec.contrasts, study, scale)
    found = measured_contrasts(contrasts, numbers, context.where(spec))

    def keys_of(one: Contrast) -> tuple[Keys, Keys]:
        ours, theirs = _settings(one.a), _settings(one.b)
        against = ",".join(f"{key}={theirs[key]}" for key in SETTINGS if ours[key] != theirs[key])
        of_group = ours | {"role": one.a.role, "dataset": str(one.a.dataset)}
        sides = dict(zip(("a", "b"), (read_as(row.loss, row.inference) for row in (one.a, one.b)), strict=True))
        return of_group, ours | {**sides, "question": one.question, "against": against}

    measures = [(METRICS[metric], metric, {"metric": metric}) for metric in spec.measures]
    groups, stub = _groups(contrasts, found, keys_of, measures, context)
    notes = notes_on_contrasts(found, spec.measures, study) + notes_on_statistics(found, "test images")
    notes += note_on_many([one.metrics[key] for one in found.of for _, key, _ in measures], "table")
    notes += notes_on_inference(unique(row.inference for one in found.of for row in (one.contrast.a, one.contrast.b)))
    notes += notes_on_contrasts_left_out(contrasts, scale.scale, study)
    notes += [*notes_on_missing(study, scale, context.rows(spec)), *spec.notes]
    return Table(*context.texts(spec), stub, COLUMNS, groups, tuple(notes), DECIMALS, csv_of(KEYS, VALUES))


def subspace_contrasts_table(spec: SubspaceContrastTable, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill a table with paired differences of methods of category retrieval."""
    study, scale = context.study, context.scale
    contrasts = subspace_contrasts(spec.contrasts, study, scale)
    found = measured_contrasts(contrasts, numbers, context.where(spec))

    def keys_of(one: SubspaceContrast) -> tuple[Keys, Keys]:
        keys = {"a": one.a.method, "a_selection": one.a.selection, "b": one.b.method, "b_selection": one.b.selection}
        of_group = {"role": one.a.role, "documents": str(one.a.documents), "division": one.a.division}
        return of_group, keys | {"question": one.question}

    measures = [
        (f"{HEADINGS.get(one.metric, one.metric)}, {SIDES[one.direction]}", one.key, one.model_dump())
        for one in spec.measures
    ]
    groups, stub = _groups(contrasts, found, keys_of, measures, context)
    notes = notes_on_pairs(found, study)
    notes += notes_on_measures(spec.measures) if found.of else []
    notes += notes_on_statistics(found, "test documents")
    notes += note_on_many([one.metrics[key] for one in found.of for _, key, _ in measures], "table")
    notes += notes_on_contrasts_left_out(contrasts, scale.scale, study)
    both = [row for contrast in contrasts for row in (contrast.a, contrast.b)]
    notes += [*notes_on_left_out(both, scale, study), *spec.notes]
    csv = csv_of(SUBSPACE_KEYS, VALUES)
    return Table(*context.texts(spec), stub, COLUMNS, groups, tuple(notes), SUBSPACE_DECIMALS, csv)


def _groups(
    contrasts: Sequence[AnyContrast],
    found: Contrasts[AnyContrast],
    keys_of: Callable[[AnyContrast], tuple[Keys, Keys]],
    measures: Sequence[tuple[str, str | tuple[str, str], Keys]],
    context: Context,
) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """Make the groups of a table of contrasts, one row per contrast and measure, and the headings of its stub.

    Args:
        contrasts: All contrasts of the table.
        found: Measured contrasts.
        keys_of: Columns of the CSV that all contrasts of a group share, and those of a contrast alone.
        measures: For each measure its name, its key in ``Measured.metrics`` and its columns of the CSV.
        context: Where the table stands.
    """
    of_rows = [one.metrics[key] for one in found.of for _, key, _ in measures]
    adjusted = dict(zip(map(id, of_rows), adjusted_p(of_rows), strict=True))
    asks = any(contrast.question for contrast in contrasts)
    groups = []
    for title, measured in groups_of(found.of, context.study).items():
        rows, asked = [], ""
        for one in measured:
            first, second = sides_in_words(one.contrast, context.study)
            # In two lines where there are two, which saves width.
            names = [first, f"{MINUS} {second}"] if len(measures) > 1 else [f"{first} {MINUS} {second}"]
            names += [""] * len(measures)
            question = "" if one.contrast.question == asked else one.contrast.question
            for place, (metric, key, keys) in enumerate(measures):
                labels = ("" if place else question, names[place], metric)
                about = {**keys_of(one.contrast)[1], **keys}
                rows.append(
                    TableRow("ours", labels[0 if asks else 1 :], about, "", False, _cells(one.metrics[key], adjusted))
                )
            asked = one.contrast.question
        groups.append(Group(title, keys_of(measured[0].contrast)[0], tuple(rows)))
    return tuple(groups), ("Question", "A − B", "Metric") if asks else ("A − B", "Metric")


def _cells(found: Difference, adjusted: Mapping[int, float | None]) -> tuple[Cell, ...]:
    """Make the cells of a difference in the order of ``COLUMNS``."""
    values = vars(found) | {"seeds": float(found.seeds), "p_holm": adjusted[id(found)]}
    names = [str(column.keys["statistic"]) for column in COLUMNS]
    difference = Cell(found.mean, low=found.low, high=found.high, count=found.seeds)
    return tuple(difference if name == "difference" else Cell(values[name], count=found.seeds) for name in names)


def _settings(row: Row) -> dict[str, str | int | float]:
    """Return the settings of a row for a CSV; empty where the scale decides."""
    values = {key: getattr(row, key) for key in SETTINGS}
    return {key: "" if value is None else value for key, value in values.items()}
