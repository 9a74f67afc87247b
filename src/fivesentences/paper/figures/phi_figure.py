"""Figures that show what was found about each phi over the captions of a scale's datasets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from fivesentences.paper.context import Context
from fivesentences.paper.figures.drawing import Drawing
from fivesentences.paper.numbers.phi_statistics import PhiStatistics, read_phi_statistics
from fivesentences.paper.text.phi_notes import note_on_left_out, notes_on_tuples
from fivesentences.study.exhibits import PhiFigure


def phi_drawing(
    spec: PhiFigure,
    context: Context,
    numbers: Sequence[Path],
    how_to_read: Callable[[PhiStatistics], list[str]],
    tidy: Callable[[PhiStatistics], pd.DataFrame],
    draw: Callable[..., None],
) -> Drawing:
    """Collect what was found about the phi of a figure over each dataset.

    Args:
        spec: The figure.
        context: Its study and scale.
        numbers: The statistics of each dataset.
        how_to_read: Notes on what is shown; called only if there are datasets and phi to show.
        tidy: Everything that is drawn; without lines if there is nothing.
        draw: Takes ``canvas``, ``context`` and ``found``, the statistics.
    """
    found = read_phi_statistics(spec.phis, context.scale, numbers)
    notes = [
        *(how_to_read(found) if found.datasets else []),
        *notes_on_tuples(found),
        *note_on_left_out(spec.phis, context.scale),
        *spec.notes,
    ]
    drawn = functools.partial(draw, context=context, found=found)
    return Drawing(tidy(found), notes, drawn if found.datasets else None)
