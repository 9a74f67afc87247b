"""Figures of the runs of category retrieval in their rows, and the notes on these runs."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from fivesentences.config.documents import Selection
from fivesentences.paper.kinds import Context, FigureKind
from fivesentences.paper.text.names import listed, unique
from fivesentences.plan.subspace_specs import SubspaceRowSpec
from fivesentences.plan.subspaces import SubspaceRow, subspace_rows

SELECTIONS: dict[Selection, str] = {
    "map": "the epoch with the best validation mAP",
    "loss": "the epoch with the lowest validation loss",
    "last": "the last epoch",
}


class SubspaceRowsFigure(FigureKind):
    """A kind of figure of runs of category retrieval."""

    rows: list[SubspaceRowSpec] = Field(min_length=1)

    def subspace_rows(self) -> list[SubspaceRowSpec]:
        """Its rows."""
        return self.rows

    def resolved(self, context: Context) -> tuple[list[SubspaceRow], list[SubspaceRow]]:
        """Its rows that the scale makes, and all of them."""
        rows = subspace_rows(self.rows, context.study, context.scale)
        return [row for row in rows if row.runs], rows


def where_in_words(row: SubspaceRow, context: Context) -> str:
    """Documents and division of a row, such as ``Wikipedia, printed``."""
    return f"{context.study.label_of(row.documents or row.role)}, {row.division}"


def notes_on_rows(context: Context, made: Sequence[SubspaceRow], rows: Sequence[SubspaceRow]) -> list[str]:
    """Which documents play which role, and which rows the scale leaves out and why."""
    study, notes = context.study, []
    for role, documents in dict.fromkeys((row.role, row.documents or "") for row in made):
        if documents != role:
            notes.append(f"{study.label_of(documents)} plays the role of {study.label_of(role)}.")
    at = f"at the scale {context.scale.scale}"
    for role in unique(row.role for row in rows if row.left_out == "role"):
        notes.append(f"No documents play the role of {study.label_of(role)} {at}: its rows are left out.")
    divisions = unique(f"{where_in_words(row, context)}" for row in rows if row.left_out == "division")
    if divisions:
        notes.append(f"Left out {at}, which does not have these divisions: {'; '.join(divisions)}.")
    methods = unique(row.label for row in rows if row.left_out == "method")
    if methods:
        notes.append(f"Left out {at} to save time: {'; '.join(methods)}.")
    return notes


def note_on_seeds(made: Sequence[SubspaceRow], shown: str) -> str:
    """What is shown of several seeds, such as ``Lines: means; bands: from the lowest to the highest value``."""
    seeds = unique(run.seed for row in made for run in row.runs)
    named = listed([str(seed) for seed in seeds])
    if len(seeds) == 1:
        return f"One run of each method (seed {named}), so no spread is known."
    where = "" if all(len(row.runs) == len(seeds) for row in made) else " at most"
    return f"{shown} over{where} {len(seeds)} seeds ({named})."
