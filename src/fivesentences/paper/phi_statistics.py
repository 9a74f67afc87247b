"""What the evaluation found about each phi over a dataset's captions, for the figures that show it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fivesentences.config import Scale
from fivesentences.errors import InputError
from fivesentences.evaluation.meaning import read_meaning
from fivesentences.paper.text.notes import notes_on_left_out, notes_on_tuples


def statistics_of(asked: Sequence[str], scale: Scale, files: Sequence[Path]) -> tuple[list[str], list[dict[str, Any]]]:
    """The phi that a scale shows, and what was found about them, one entry per dataset; empty if it shows none.

    Raises:
        InputError: If a phi is missing from a file.
    """
    phis = [phi for phi in asked if phi not in scale.leave_out.phis]
    found = [read_meaning(path) for path in files]
    for phi, one in itertools.product(phis, found):
        if phi not in one["phis"]:
            raise InputError(f"what phi says of {one['dataset']}/{one['split']} lacks '{phi}'; measure meaning again.")
    return phis, found if phis else []


def notes_on_statistics(found: Sequence[dict[str, Any]], asked: Sequence[str], scale: Scale) -> list[str]:
    """Where SPICE's tuples came from, and which phi the scale leaves out."""
    shown = [phi for phi in asked if phi not in scale.leave_out.phis]
    return [*notes_on_tuples(found, shown), *notes_on_left_out(asked, scale)]
