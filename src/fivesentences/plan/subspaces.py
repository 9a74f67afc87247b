"""Rows and contrasts of category retrieval at a scale: which documents, method and runs stand behind a line."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fivesentences.config import Scale, as_list
from fivesentences.config.documents import CategoryScale, Selection
from fivesentences.errors import InputError
from fivesentences.models.subspaces.specs import AnyMethod
from fivesentences.plan.contrasts import Paired
from fivesentences.plan.subspace_runs import SubspaceRun
from fivesentences.study.exhibits import Exhibit, SubspaceContrastSpec, SubspaceRowSpec
from fivesentences.study.study import Study

SubspaceLeftOut = Literal["role", "division", "method"]


@dataclass(frozen=True)
class SubspaceRow:
    """One line of a table or figure of category retrieval, resolved at a scale.

    Attributes:
        role: As the study names it.
        documents: Which documents play it; None if nobody does.
        division: How they are divided.
        method: Its name in the study.
        spec: The method with its settings.
        label: What tables call it.
        selection: Which epoch's weights are read; ``last`` for a method without epochs.
        runs: One per seed, in the order of the scale's seeds; empty if the scale does not make the line.
        published: Value of the column ``row`` in the published table.
        left_out: Why it has no runs: nobody plays the role, its documents have no such division, or the scale makes
            other methods only.
    """

    role: str
    documents: str | None
    division: str
    method: str
    spec: AnyMethod
    label: str
    selection: Selection
    runs: tuple[SubspaceRun, ...]
    published: str | None = None
    left_out: SubspaceLeftOut | None = None


class SubspaceContrast(Paired[SubspaceRow]):
    """Two lines of category retrieval that are compared seed by seed."""


def subspace_rows(specs: Iterable[SubspaceRowSpec], study: Study, scale: Scale) -> list[SubspaceRow]:
    """Multiply out rows in the order that ``SubspaceRowSpec`` says; those that the scale does not make stay in.

    A method without epochs has one line, whatever selections are asked for.
    """
    rows: list[SubspaceRow] = []
    for spec in specs:
        made: list[SubspaceRow] = []
        for division, method, selection in itertools.product(
            as_list(spec.division), as_list(spec.method), as_list(spec.selection)
        ):
            row = _row(spec, division, method, selection, study, scale)
            if row not in made:
                made.append(row)
        rows += made
    return rows


def subspace_contrasts(specs: Iterable[SubspaceContrastSpec], study: Study, scale: Scale) -> list[SubspaceContrast]:
    """Multiply out contrasts; those of which the scale leaves out a side stay in, without runs."""
    found = []
    for spec in specs:
        for pair in spec.pairs():
            a, b = subspace_rows(pair, study, scale)
            found.append(SubspaceContrast(a, b, spec.question))
    return found


def rows_shown(exhibit: Exhibit, study: Study, scale: Scale) -> list[SubspaceRow]:
    """Every line of category retrieval of a table or figure: its rows, then both sides of its contrasts."""
    return subspace_rows(exhibit.every_subspace_row(), study, scale)


def subspace_runs_of(rows: Iterable[SubspaceRow]) -> dict[str, SubspaceRun]:
    """Runs of the given rows by name; a shared run appears once.

    Raises:
        InputError: If two different runs would have one name.
    """
    named: dict[str, SubspaceRun] = {}
    for run in (run for row in rows for run in row.runs):
        first = named.setdefault(run.name, run)
        if first != run:
            raise InputError(
                f"two different runs are both named '{run.name}'; give them settings that show in the name."
            )
    return named


def _row(
    spec: SubspaceRowSpec, division: str, method: str, selection: Selection, study: Study, scale: Scale
) -> SubspaceRow:
    categories, settings = scale.categories, study.methods[method]
    documents = None if categories is None else categories.roles.get(spec.role)
    left_out: SubspaceLeftOut | None = None
    runs: tuple[SubspaceRun, ...] = ()
    if categories is None or documents is None:
        left_out = "role"
    elif division not in categories.documents[documents].divisions:
        left_out = "division"
    elif not categories.makes(method):
        left_out = "method"
    else:
        runs = _runs(categories, documents, division, method, settings)
    return SubspaceRow(
        role=spec.role,
        documents=documents,
        division=division,
        method=method,
        spec=settings,
        label=study.label_of(method),
        selection=selection if settings.iterative else "last",
        runs=runs,
        published=spec.published,
        left_out=left_out,
    )


def _runs(
    categories: CategoryScale, documents: str, division: str, name: str, method: AnyMethod
) -> tuple[SubspaceRun, ...]:
    data = categories.documents[documents]
    return tuple(
        SubspaceRun(
            documents=documents,
            division=division,
            method=method,
            seed=seed,
            image=method.inputs or data.image,
            text=method.inputs or data.text,
            words=data.words,
            training=categories.training,
        )
        for seed in categories.seeds_of(name, division)
    )
