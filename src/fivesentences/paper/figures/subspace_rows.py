"""Figures of the runs of category retrieval in their rows."""

from __future__ import annotations

from collections.abc import Sequence

from fivesentences.paper.context import Context
from fivesentences.paper.text.names import listed
from fivesentences.plan.subspaces import SubspaceRow, subspace_rows
from fivesentences.study.exhibits import SubspaceRowsFigure


def resolved(spec: SubspaceRowsFigure, context: Context) -> tuple[list[SubspaceRow], list[SubspaceRow]]:
    """Resolve the rows of a figure; return those that the scale makes, and all of them."""
    rows = subspace_rows(spec.rows, context.study, context.scale)
    return [row for row in rows if row.runs], rows


def note_on_seeds(made: Sequence[SubspaceRow], shown: str, alone: str) -> str:
    """Which seeds stand behind what is shown.

    Args:
        made: Rows with runs.
        shown: What is shown of several seeds, such as ``Lines: mean``.
        alone: What one run is called, such as ``One run of each method``.
    """
    seeds = list(dict.fromkeys(run.seed for row in made for run in row.runs))
    named = listed([str(seed) for seed in seeds])
    if len(seeds) == 1:
        return f"{alone} (seed {named}), so no spread is known."
    same = all(len(row.runs) == len(seeds) for row in made)
    return f"{shown} over {'' if same else 'up to '}{len(seeds)} seeds ({named})."
