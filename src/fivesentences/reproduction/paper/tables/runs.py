"""A study's table at a scale: our numbers with their spread, each beside the published value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter, itemgetter

import pandas as pd

from fivesentences.evaluation.published import PublishedRow
from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.numbers.results import (
    Measure,
    Results,
    chance_of,
    differing_settings,
    evaluated_columns,
)
from fivesentences.reproduction.paper.tables.columns import columns_of, published_value
from fivesentences.reproduction.paper.tables.table import COMPARED, Cell, Group, Table, TableRow, csv_of, mark_best
from fivesentences.reproduction.paper.text.labels import Part, label_of, loss_in_words
from fivesentences.reproduction.paper.text.metric_notes import notes_on_inference, notes_on_metrics
from fivesentences.reproduction.paper.text.names import grouped, unique
from fivesentences.reproduction.paper.text.run_notes import (
    galleries_of,
    notes_on_beside,
    notes_on_data,
    notes_on_missing,
    notes_on_published_only,
    training_in_words,
)
from fivesentences.reproduction.study.exhibits import AlsoPublished, RunTable, inferences_of
from fivesentences.reproduction.study.expand import NO_TIME, Row
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import CHANCE, reading_of

# What the rows of a group have in common.
GROUPED = ("role", "features", "fraction", "captions_per_image", "noise", "epochs", "folds")
KEYS = ("role", "dataset", *GROUPED[1:-1], "row", "model", "loss", "inference", "published_row", *vars(Measure("")))
DECIMALS = 1
STUB: tuple[Part, ...] = ("model", "loss", "inference")  # what a row of ours is called by


def runs_table(spec: RunTable, context: Context, frame: pd.DataFrame) -> Table:
    """Fill a table from the tidy table of results, one row per value; see ``Results``."""
    study, scale, setting, results = context.study, context.scale, spec.published_setting, Results(frame)
    published = context.published_rows(spec, spec.published_rows)
    rows = context.rows(spec)
    made = [row for row in rows if row.left_out is None]
    no_time = [row for row in rows if row.left_out in NO_TIME and row.published]
    shown = [
        (column, Measure.of_column(column, scale.evaluation_phi)) for column in evaluated_columns(spec.columns, scale)
    ]
    columns = columns_of([measure for _, measure in shown], study)
    stub = ("Model", "Training", "Inference")[: 2 if inferences_of(spec.rows) == ["naive"] else 3]
    # Published rows that the study names, each with the roles whose rows it stands below.
    also: list[tuple[PublishedRow, list[str]]] = [
        (published[one.row], one.roles) if isinstance(one, AlsoPublished) else (published[one], [published[one].role])
        for one in spec.also_published
    ]

    def our_row(row: Row) -> TableRow:
        beside = published[row.published] if row.published else None
        cells = []
        for column, measure in shown:
            theirs = published_value(beside, column, measure) if beside else None
            if measure.metric == "PMRP" and not results.have_labels(row):
                cells.append(Cell(published=theirs))
                continue
            values = [results.value(run.name, measure, row.reading) for run in row.runs]
            cells.append(Cell.over_seeds(values, theirs, not differing_settings(row, setting, results, measure)))
        labels = tuple(label_of(study, part, getattr(row, part)) for part in STUB)
        keys = {"model": row.model, "loss": row.loss, "inference": row.reading}
        same_data = beside is not None and not differing_settings(row, setting, results)
        stubs, beside_row = labels[: len(stub)], row.published or ""
        return TableRow("ours", stubs, keys, beside_row, same_data, tuple(cells), chance_of(row, results))

    def without_ours(group: Sequence[Row]) -> list[TableRow]:
        """Select the published rows that stand below a group without a row of ours."""
        first = group[0]
        # Features do not count here: such a row has another model anyway.
        same_data = not {"dataset", "gallery size"} & set(differing_settings(first, setting, results))
        beside = {row.published for row in group}
        splits = {published[name].split for name in beside if name}  # such as 1K and 5K, each its own group
        found = [
            row
            for row, roles in also
            if first.role in roles
            and math.isclose(row.fraction, first.fraction)
            and row.captions_per_image == first.captions_per_image
            and (not splits or row.split in splits or row.role != first.role)
        ]
        missing = unique(str(row.published) for row in no_time if key_of(row) == key_of(first))
        found += [published[name] for name in missing if name not in beside]
        below = []
        for row in found:
            keys = {"model": row.method, "loss": "", "inference": row.setting.get("inference", "")}
            values = (published_value(row, *column) for column in shown)
            below.append(TableRow.of_paper(row, len(stub), keys, same_data and row.role == first.role, values))
        return below

    def by_chance(group: Sequence[Row]) -> list[TableRow]:
        """Return the row of a random ranking, which is the same for every run of a gallery."""
        run, reading = group[0].runs[0].name, reading_of(CHANCE, group[0].folds)
        known = [results.value(run, one, reading) if results.has(run, one, reading) else None for _, one in shown]
        if all(value is None for value in known):
            return []
        labels = ("random ranking", *[""] * (len(stub) - 1))
        keys = {"model": CHANCE, "loss": "", "inference": reading}
        return [TableRow("ours", labels, keys, "", False, tuple(Cell(value) for value in known))]

    key_of = attrgetter(*GROUPED)
    groups = []
    for key, of_group in grouped(made, key_of).items():
        keys = dict(zip(GROUPED, key, strict=True)) | {"dataset": str(of_group[0].dataset)}
        keys = {name: "" if value is None else value for name, value in keys.items()}
        ours = mark_best([our_row(row) for row in of_group], columns, DECIMALS)
        groups.append(Group(_title(of_group, study), keys, (*ours, *by_chance(of_group), *without_ours(of_group))))
    notes = notes_on_data(study, made, results)
    if notes:
        roles, beside = {row.role for row in made}, {row.published for row in made}
        missing = unique(str(row.published) for row in no_time if row.role in roles)
        alone = [row for row, below in also if roles & set(below)]
        alone += [published[name] for name in missing if name not in beside]
        notes += notes_on_metrics(spec.columns, setting, study, scale, made, results)
        notes += notes_on_inference(unique(row.inference for row in made))
        notes += notes_on_beside(made, setting, results, published)
        notes += notes_on_published_only(alone, galleries_of(alone, setting))
        if any(row.keys["model"] == CHANCE for group in groups for row in group.rows):
            notes.append("Random ranking: its mean over all orders; medians and hubs have no closed form.")
        notes.append("Bold: the best mean of our rows within a group, as shown.")
        scored = [row for row in made if results.dev_score(row.runs[0].name) is not None]
        for losses in spec.chosen_on_dev:
            tuned = [row for row in scored if row.loss in losses]
            notes += [_on_choice(of_group, study, results) for of_group in grouped(tuned, key_of).values()]
    notes += [*notes_on_missing(study, scale, rows), *spec.notes]
    unnamed = {"noise"} if all(row.noise is None for row in made) else set()
    csv = csv_of([key for key in KEYS if key not in unnamed], COMPARED)
    return Table(*context.texts(spec), stub, columns, tuple(groups), tuple(notes), DECIMALS, csv)


def _on_choice(rows: Sequence[Row], study: Study, results: Results) -> str:
    """Say which of some rows dev prefers: test values of the others are not a choice that anybody could have made."""
    scores = []
    for row in rows:
        known = [score for run in row.runs if (score := results.dev_score(run.name)) is not None]
        scores.append((sum(known) / len(known), loss_in_words(study, row.loss)))
    _, best = max(scores, key=itemgetter(0))
    listed = ", ".join(f"{label} {score:.1f}" for score, label in scores)
    return f"Chosen on dev, {_title(rows, study)}: {best} (mean dev Rsum: {listed})."


def _title(rows: Sequence[Row], study: Study) -> str:
    """Word the title of a group: dataset, features, training captions, epochs and folds."""
    first = rows[0]
    captions = "all training captions"
    if first.fraction < 1:
        captions = f"{100 * first.fraction:g}% of the training captions"
    if (count := first.captions_per_image) is not None:
        among = "" if first.fraction == 1 else f" among {captions}"
        captions = f"{count} caption{'s' if count > 1 else ''} of each training image{among}"
    features = "" if first.features is None else f", {study.label_of(first.features)}"
    training = training_in_words(first)
    read = first.folds if isinstance(first.folds, str) else f"mean of {first.folds}"
    galleries = [] if first.folds is None else [f"{read} folds of the test split"]
    return ", ".join([f"{study.label_of(str(first.dataset))}{features}", captions, *training, *galleries])
