"""The function that makes each kind of table and figure.

A new kind is a specification in ``study/exhibits.py``, a function in ``paper/tables`` or ``paper/figures``, and one
line here. A function takes the specification, its context, and the files of numbers that ``reads`` of the specification
names, in the order of the plan; one that shows metrics of runs alone takes their tidy table instead of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fivesentences.evaluation.tidy import collect
from fivesentences.paper.context import Context
from fivesentences.paper.figures.categories import category_margins_figure, subspace_figure
from fivesentences.paper.figures.curves import curves_figure, semantic_recall_figure
from fivesentences.paper.figures.drawing import Drawing, write_drawing
from fivesentences.paper.figures.forest import forest_figure
from fivesentences.paper.figures.front import front_figure
from fivesentences.paper.figures.hubness import hubness_figure
from fivesentences.paper.figures.judges import agreement_figure, found_positives_figure
from fivesentences.paper.figures.margins import margins_figure
from fivesentences.paper.figures.metric_agreement import metric_agreement_figure
from fivesentences.paper.figures.phi import best_captions_figure, phi_histogram_figure
from fivesentences.paper.figures.retrievals import retrievals_figure
from fivesentences.paper.figures.schedules import activation_figure, margin_by_epoch_figure, start_and_share_figure
from fivesentences.paper.tables.agreement import agreement_table
from fivesentences.paper.tables.margins import margins_table
from fivesentences.paper.tables.paired import paired_table, subspace_contrasts_table
from fivesentences.paper.tables.runs import runs_table
from fivesentences.paper.tables.splits import splits_table
from fivesentences.paper.tables.subspaces import subspaces_table
from fivesentences.paper.tables.table import Table
from fivesentences.paper.tables.writing import write_table
from fivesentences.study.exhibits import Exhibit, FigureSpec, TableSpec


def of_results(spec: Any, context: Context, numbers: Sequence[Path]) -> Any:
    """Make a table, or collect a figure, of one of the kinds ``OF_RESULTS``."""
    return OF_RESULTS[spec.kind](spec, context, collect(numbers, context.scale.scale))


# Kinds that are made from the tidy table of results of their runs.
OF_RESULTS: dict[str, Callable[[Any, Context, pd.DataFrame], Any]] = {
    "runs": runs_table,
    "curves": curves_figure,
    "front": front_figure,
    "semantic_recall_over_m": semantic_recall_figure,
}
TABLES: dict[str, Callable[[Any, Context, Sequence[Path]], Table]] = {
    "agreement": agreement_table,
    "margins": margins_table,
    "paired": paired_table,
    "runs": of_results,
    "splits": splits_table,
    "subspace_contrasts": subspace_contrasts_table,
    "subspaces": subspaces_table,
}
FIGURES: dict[str, Callable[[Any, Context, Sequence[Path]], Drawing]] = {
    "activation": activation_figure,
    "agreement": agreement_figure,
    "best_captions": best_captions_figure,
    "category_margins": category_margins_figure,
    "curves": of_results,
    "forest": forest_figure,
    "found_positives": found_positives_figure,
    "front": of_results,
    "hubness": hubness_figure,
    "margin_by_epoch": margin_by_epoch_figure,
    "margins": margins_figure,
    "metric_agreement": metric_agreement_figure,
    "phi_histogram": phi_histogram_figure,
    "retrievals": retrievals_figure,
    "semantic_recall_over_m": of_results,
    "start_and_share": start_and_share_figure,
    "subspace": subspace_figure,
}


def table_of(spec: TableSpec, context: Context, numbers: Sequence[Path]) -> Table:
    """Fill a table of any kind.

    Raises:
        InputError: If a number or a published row is missing.
    """
    return TABLES[spec.kind](spec, context, numbers)


def drawing_of(spec: FigureSpec, context: Context, numbers: Sequence[Path]) -> Drawing:
    """Collect what a figure of any kind draws, and how.

    Raises:
        InputError: If a number or a photograph is missing.
    """
    return FIGURES[spec.kind](spec, context, numbers)


def write_exhibit(spec: Exhibit, context: Context, numbers: Sequence[Path], stem: Path) -> None:
    """Make a table or figure and write its files.

    Args:
        spec: The table or figure.
        context: Where it stands.
        numbers: The files that ``spec.reads`` names.
        stem: Path without suffix: .csv, .md, .tex, .html and .json of a table, .png, .pdf, .csv and .json of a figure.

    Raises:
        InputError: If a number, a published row or a photograph is missing.
    """
    if isinstance(spec, TableSpec):
        write_table(table_of(spec, context, numbers), stem)
    elif isinstance(spec, FigureSpec):
        write_drawing(stem, spec.title, spec.caption, drawing_of(spec, context, numbers))
