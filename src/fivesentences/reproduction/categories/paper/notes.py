"""Names of rows of category retrieval, and the sentences below tables and figures of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fivesentences.evaluation.published import PublishedRow
from fivesentences.reproduction.categories.config import Selection
from fivesentences.reproduction.categories.paper.numbers import SubspaceResults
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.text.names import PREPARED, grouped, listed, note_naming, number, unique
from fivesentences.reproduction.paper.text.run_notes import note_on_published, notes_on_published_only, notes_on_roles
from fivesentences.reproduction.study.exhibits import PublishedSubspaces, SubspaceMeasure
from fivesentences.reproduction.study.expand import SubspaceRow
from fivesentences.reproduction.study.study import Study

EPOCHS: dict[Selection, str] = {"map": "best validation mAP", "loss": "lowest validation loss", "last": "last epoch"}
DIVISORS = {
    "mAP": "mAP: over the whole ranking; each precision at a relevant item counts, divided by how many there are.",
    "mAP@100": "mAP@100: over the first 100 items, divided by how many relevant ones are among them.",
    "mAP@100 possible": "mAP@100 of possible: over the first 100 items, divided by how many relevant ones could be "
    "among them, min(R, 100).",
    "mAP@R": "mAP@R: over the first R items, divided by R, which is how many items are relevant.",
}


def epoch_of(row: SubspaceRow) -> str:
    """Name the epoch whose weights a row reads; empty for a method without epochs."""
    return EPOCHS[row.selection] if row.spec.iterative else ""


def place_of(row: SubspaceRow, study: Study) -> str:
    """Name documents and division of a row, such as ``Wikipedia, split as in the paper``."""
    return f"{study.label_of(row.documents or row.role)}, {study.label_of(row.division)}"


def same_epoch(rows: Iterable[SubspaceRow]) -> str | None:
    """Name the epoch that all rows with epochs read; empty if none has epochs, None if they differ."""
    found = unique(epoch for row in rows if (epoch := epoch_of(row)))
    return None if len(found) > 1 else "".join(found)


def notes_on_divisions(rows: Sequence[SubspaceRow], results: SubspaceResults, study: Study) -> list[str]:
    """Give the sizes of the parts of each division, and what a random ranking would reach there."""
    notes = []
    for where, some in grouped(rows, lambda row: place_of(row, study)).items():
        sizes = unique(results.sizes(run.name) for row in some for run in row.runs)
        parts = " or ".join(
            f"{train:,} training, {validation:,} validation and {test:,} test documents of {categories} categories"
            for train, validation, test, categories in sizes
        )
        chance = number(results.by_chance(some), 3)
        notes.append(f"{where}: {parts}; a random ranking is expected to reach an mAP of {chance}.")
    return notes


def notes_on_inputs(rows: Sequence[SubspaceRow], study: Study) -> list[str]:
    """Say how vectors of images and texts become inputs, unless the method says it."""
    runs = [row.runs[0] for row in rows if row.spec.inputs is None]
    said = {study.label_of(run.documents): f"images {PREPARED[run.image]}, texts {PREPARED[run.text]}" for run in runs}
    inputs = "; ".join(f"{documents}: {how}" for documents, how in said.items())
    return [f"Inputs: {inputs}. Means and deviations are those of training documents."] if said else []


def notes_on_measures(measures: Sequence[SubspaceMeasure]) -> list[str]:
    """Explain how mAP is defined and divided."""
    return [
        "Average precision as a fraction, by cosine similarity; every item of the query’s category is relevant, and "
        "equal similarities are ordered by index, lower first.",
        *(DIVISORS[metric] for metric in unique(measure.metric for measure in measures)),
    ]


def notes_on_published(
    beside: Sequence[tuple[SubspaceRow, PublishedRow]],
    alone: Sequence[PublishedRow],
    setting: PublishedSubspaces | None,
    study: Study,
) -> list[str]:
    """Say which published values are shown, and whether they may be compared.

    Args:
        beside: Rows of ours with the published rows beside them.
        alone: Published rows without a row of ours.
        setting: How the published numbers were measured.
        study: The study.
    """
    theirs: dict[bool, list[str]] = {True: [], False: []}
    for row, published in beside:
        same = setting is not None and setting.is_that_of(row.role, row.documents, row.division)
        features = setting.features_of(row.role) if setting is not None else ""
        theirs[same].append(published.dataset + (f" with {features}" if features else ""))
    notes = [
        note_on_published(listed(unique(names)), "" if same else "data or features")
        for same, names in theirs.items()
        if names
    ]
    return notes + notes_on_published_only(alone)


def notes_on_left_out(rows: Sequence[SubspaceRow], scale: Scale, study: Study) -> list[str]:
    """Name the roles that no documents play, missing divisions, and methods that the scale leaves out."""
    absent = f"Left out at the scale {scale.scale}, which does not have these divisions"
    saved = f"Left out at the scale {scale.scale} to save time"
    return [
        *notes_on_roles(rows, scale, study),
        *note_naming(absent, (place_of(row, study) for row in rows if row.left_out == "division"), "; "),
        *note_naming(saved, (row.label for row in rows if row.left_out == "method"), "; "),
    ]
