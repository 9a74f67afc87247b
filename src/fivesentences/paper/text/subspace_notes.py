"""What rows of category retrieval are called, and the sentences below tables and figures of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fivesentences.config.documents import Selection
from fivesentences.paper.numbers.published import PublishedRow
from fivesentences.paper.numbers.subspaces import SubspaceResults
from fivesentences.paper.text.names import PREPARED, grouped, listed, note_naming, unique
from fivesentences.paper.text.numbers import number
from fivesentences.paper.text.run_notes import FEW, notes_on_roles
from fivesentences.study.exhibits import PublishedSubspaces, SubspaceMeasure
from fivesentences.study.expand import SubspaceRow
from fivesentences.study.study import Study

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
    """Name documents and division of a row, such as ``Scenes in the role of Wikipedia, split as in the paper``."""
    documents, role = study.label_of(row.documents or row.role), study.label_of(row.role)
    played = "" if documents.startswith(role) else f" in the role of {role}"
    return f"{documents}{played}, {study.label_of(row.division)}"


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


def notes_on_subspace_seeds(rows: Sequence[SubspaceRow]) -> list[str]:
    """Say which seeds stand behind the means."""
    rows_with = grouped(rows, lambda row: tuple(run.seed for run in row.runs))
    most = max(rows_with, key=lambda seeds: len(rows_with[seeds]))
    notes = []
    for seeds, some in rows_with.items():
        names, named = unique(row.label for row in some), ", ".join(map(str, seeds))
        where = f": {', '.join(names)}" if len(names) <= FEW else f": {len(names)} methods"
        where = "" if len(rows_with) == 1 else ": all other rows" if seeds == most else where
        notes.append(
            f"Mean ± sample standard deviation over {len(seeds)} seeds ({named}){where}."
            if len(seeds) > 1
            else f"One seed ({named}), so no spread is known{where}."
        )
    return notes


def note_on_seeds(made: Sequence[SubspaceRow], shown: str, alone: str) -> str:
    """Say which seeds stand behind what is shown.

    Args:
        made: Rows with runs.
        shown: What is shown of several seeds, such as ``Lines: mean``.
        alone: What one run is called, such as ``One run of each method``.
    """
    seeds = unique(run.seed for row in made for run in row.runs)
    named = listed([str(seed) for seed in seeds])
    if len(seeds) == 1:
        return f"{alone} (seed {named}), so no spread is known."
    same = all(len(row.runs) == len(seeds) for row in made)
    return f"{shown} over {'' if same else 'up to '}{len(seeds)} seeds ({named})."


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
    ends = {True: ", as here; differences are ours minus published."}
    ends[False] = ". Not comparable: other data or features, so no difference is shown."
    notes = [f"Published: {listed(unique(names))}{ends[same]}" for same, names in theirs.items() if names]
    if alone:
        labels = ", ".join(unique(row.label for row in alone))
        notes.append(
            f"Rows marked “published” ({labels}) are the paper’s and have no row of ours here: for orientation, not "
            "for comparison."
        )
    return notes


def notes_on_left_out(rows: Sequence[SubspaceRow], scale: str, study: Study) -> list[str]:
    """Name the roles that no documents play, missing divisions, and methods that the scale leaves out."""
    absent = f"Left out at the scale {scale}, which does not have these divisions"
    saved = f"Left out at the scale {scale} to save time"
    return [
        *notes_on_roles(rows, "No documents play", scale, study),
        *note_naming(absent, (place_of(row, study) for row in rows if row.left_out == "division"), "; "),
        *note_naming(saved, (row.label for row in rows if row.left_out == "method"), "; "),
    ]
