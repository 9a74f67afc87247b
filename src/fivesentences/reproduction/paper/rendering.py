"""The function that makes each kind of table and figure.

A new kind is a specification in ``study/exhibits.py``, a function in ``tables`` or ``figures``, and one line
here. A module is imported when one of its kinds is made: matplotlib and scipy take seconds in every job. A function
takes the specification, its context, and the files of numbers that ``reads`` of the specification names, in
the order of the plan; one that shows metrics of runs alone takes their tidy table instead of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from fivesentences.reproduction.paper.context import Context
from fivesentences.reproduction.paper.tables.writing import TABLE_FORMATS, write_table
from fivesentences.reproduction.study.exhibits import Exhibit, FigureSpec, TableSpec
from fivesentences.storage import together

TABLES = {
    "agreement": "paper.tables.agreement:agreement_table",
    "lengths": "paper.tables.splits:lengths_table",
    "margins": "paper.tables.margins:margins_table",
    "paired": "paper.tables.paired:paired_table",
    "runs": "paper.tables.runs:runs_table",
    "splits": "paper.tables.splits:splits_table",
    "subspace_contrasts": "paper.tables.paired:subspace_contrasts_table",
    "subspaces": "categories.paper.table:subspaces_table",
}
FIGURES = {
    "activation": "categories.paper.schedules:activation_figure",
    "agreement": "paper.figures.judges:agreement_figure",
    "best_captions": "paper.figures.phi:best_captions_figure",
    "category_margins": "categories.paper.figures:category_margins_figure",
    "correlations": "paper.figures.correlations:correlations_figure",
    "curves": "paper.figures.curves:curves_figure",
    "forest": "paper.figures.forest:forest_figure",
    "found_positives": "paper.figures.judges:found_positives_figure",
    "front": "paper.figures.front:front_figure",
    "hubness": "paper.figures.hubness:hubness_figure",
    "margin_by_epoch": "categories.paper.schedules:margin_by_epoch_figure",
    "margins": "paper.figures.margins:margins_figure",
    "means": "paper.figures.means:means_figure",
    "metric_agreement": "paper.figures.metric_agreement:metric_agreement_figure",
    "phi_histogram": "paper.figures.phi:phi_histogram_figure",
    "retrievals": "paper.figures.retrievals:retrievals_figure",
    "semantic_recall_over_m": "paper.figures.curves:semantic_recall_figure",
    "start_and_share": "categories.paper.schedules:start_and_share_figure",
    "subspace": "categories.paper.figures:subspace_figure",
    "subspace_forest": "paper.figures.forest:subspace_forest_figure",
}
# Kinds that are made from the tidy table of results of their runs.
OF_RESULTS = ("runs", "curves", "front", "means", "semantic_recall_over_m")


def maker_of(spec: TableSpec | FigureSpec) -> Callable[..., Any]:
    """Return the function that makes a table or figure."""
    module, _, function = (TABLES if isinstance(spec, TableSpec) else FIGURES)[spec.kind].partition(":")
    maker: Callable[..., Any] = getattr(import_module(f"fivesentences.reproduction.{module}"), function)
    return maker


def make(spec: TableSpec | FigureSpec, context: Context, numbers: Sequence[Path]) -> Any:
    """Fill a table of any kind, or collect what a figure draws, and how: a ``Table`` or a ``Drawing``.

    Raises:
        InputError: If a number, a published row or a photograph is missing.
    """
    if spec.kind not in OF_RESULTS:
        return maker_of(spec)(spec, context, numbers)
    from fivesentences.reproduction.evaluation.tidy import collect  # needs scipy

    return maker_of(spec)(spec, context, collect(numbers, context.scale.scale))


def write_exhibit(
    spec: Exhibit,
    context: Context,
    numbers: Sequence[Path],
    stem: Path,
    formats: Sequence[str] | None = None,
    **look: Any,
) -> None:
    """Make a table or figure and write its files.

    Args:
        spec: The table or figure.
        context: Where it stands.
        numbers: The files that ``spec.reads`` names.
        stem: Path without suffix.
        formats: Which files to write; None: all of a table, and .svg, .narrow.svg, .pdf, .csv and .json of a figure.
        look: ``width`` and ``style`` of a figure, see ``write_drawing``.

    Raises:
        InputError: If a number, a published row or a photograph is missing.
    """
    with together():
        if isinstance(spec, TableSpec):
            write_table(make(spec, context, numbers), stem, formats or TABLE_FORMATS)
        elif isinstance(spec, FigureSpec):
            from fivesentences.reproduction.paper.figures.drawing import (  # needs matplotlib
                FIGURE_FORMATS,
                write_drawing,
            )
            from fivesentences.reproduction.paper.figures.style import WIDTH

            if spec.shows_photographs:  # captions beside photographs have no room on a phone
                look = {"narrow": WIDTH} | look
            drawing = make(spec, context, numbers)
            write_drawing(stem, spec.title, spec.caption, drawing, formats or FIGURE_FORMATS, **look)
