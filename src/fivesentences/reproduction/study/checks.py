"""Checks that a scale names only what its studies have: otherwise a typo would be ignored silently.

A scale that extends another one inherits names of that scale's studies. Those that its own studies do not know are left
out; what its own file states stays, and is checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fivesentences.config.reading import check
from fivesentences.config.types import as_list, fits
from fivesentences.errors import InputError, did_you_mean
from fivesentences.models import MODELS, widths_of
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.study.exhibits import (
    FigureSpec,
    ForestFigure,
    PairedTable,
    RunTable,
    SemanticRecallFigure,
)
from fivesentences.reproduction.study.study import Study
from fivesentences.semantics.names import mistake_in

Settings = Mapping[str, Any]
_CELL = {"model": "model", "loss": "loss", "fraction": "fraction"}
# What a scale names, by its keys: entries of a list, keys of a mapping, or of each block of a list the given keys.
ENTRIES: dict[str, str | dict[str, str]] = {
    "only": "table or figure",
    "roles": "role",
    "further_features": "name of features",
    "leave_out.losses": "loss",
    "leave_out.fractions": "fraction",
    "training.exceptions": _CELL | {"study": "study"},
    "other_seeds": _CELL,
    "matrices_of_others": {"role": "role"},
    "keep": _CELL | {"model": "model or ensemble"},
    "categories.roles": "role of documents",
    "categories.methods": "method",
    "categories.other_seeds": {"method": "method"},
    "categories.documents.*.divisions": "division",
}


@dataclass(frozen=True)
class Names:
    """Everything in some studies that a scale may name.

    Attributes:
        known: Names by what they are of, as in ``ENTRIES``.
        cells: Names of its model, loss, fraction and captions per image, for every cell of a row.
    """

    known: dict[str, set[Any]]
    cells: list[tuple[set[str], str, float, int | None]]

    @property
    def entries(self) -> dict[str, str | dict[str, str]]:
        """The ``ENTRIES`` that have an effect: of category retrieval only if a study has a row of it."""
        categories = bool(self.known["role of documents"])
        return {path: kinds for path, kinds in ENTRIES.items() if categories or not path.startswith("categories.")}

    def knows(self, kind: str, name: Any) -> bool:
        """Tell whether the studies have a name, or one that fits a pattern such as ``small_*``."""
        known = self.known[kind]
        return name in known or (isinstance(name, str) and any(fits(one, name) for one in known))

    def are_kept(self, scale: Scale) -> bool:
        """Tell whether ``keep`` of a scale picks a row."""
        return not scale.keep or any(scale.keeps(*cell) for cell in self.cells)


def names_of(studies: Mapping[str, Study]) -> Names:
    """Return everything in some studies that a scale may name."""
    every = list(studies.values())
    declared = [(name, exhibit) for name, study in studies.items() for exhibit in study.declared]
    rows = [(studies[name], row) for name, exhibit in declared for row in exhibit.row_specs()]
    of_categories = [row for study in every for exhibit in study.exhibits for row in exhibit.every_subspace_row()]
    cells = []
    for study, row in rows:
        parts = (row.model, row.loss, row.fraction, row.captions_per_image)
        for model, loss, fraction, captions in itertools.product(*map(as_list, parts)):
            variant = {study.models[model].name} if model in study.models else set()
            cells.append(({model, *variant}, loss, fraction, captions))
    models = {*MODELS, *(name for study in every for name in study.models)}
    known: dict[str, set[Any]] = {
        "table or figure": {one for name, exhibit in declared for one in (exhibit.name, f"{name}/{exhibit.name}")},
        "role": {row.role for _, row in rows},
        "name of features": {name for _, row in rows for name in as_list(row.features)} - {None},
        "loss": {name for study in every for name in study.losses},
        "fraction": {cell[2] for cell in cells},
        "model": models,
        "model or ensemble": models | {name for study in every for name in study.ensembles},
        "study": set(studies),
        "role of documents": {row.role for row in of_categories},
        "method": {name for study in every for name in study.methods},
        "division": {division for row in of_categories for division in as_list(row.division)},
    }
    return Names(known, cells)


def check_scale(studies: Mapping[str, Study], scale: Scale) -> None:
    """Check what a scale names against its studies.

    Raises:
        InputError: If it names a role, table, model, loss, fraction, phi, features or width that no study has, or keeps
            none of their rows.
    """
    names = names_of(studies)
    _check_phis(scale)
    top = {path.partition(".")[0] for path in ENTRIES}
    for path, kinds in names.entries.items():
        for where, given in _at(scale.model_dump(include=top), path.split(".")):
            for key, kind, name in _named(given, kinds):
                _check_name(names, f"scale {scale.scale}: {where}{key}", kind, name)
    if not names.are_kept(scale):
        raise InputError(
            f"scale {scale.scale}: keep picks none of the {len(names.cells)} rows of its studies, so nothing would be "
            "made; name rows that they have, or remove keep."
        )
    _check_setups(studies, scale)
    check_widths(studies, scale)
    _check_matrices(studies, scale)
    _check_findings(studies, scale, names)
    for name, study in studies.items():
        for exhibit in study.exhibits:
            if isinstance(exhibit, PairedTable | ForestFigure) and exhibit.phi not in (
                None,
                *scale.under(study.setup).phis,
            ):
                what = f"evaluates no run by '{exhibit.phi}', the phi of {name}/{exhibit.name}"
                raise InputError(f"scale {scale.scale} {what}", cure="add it to evaluation_phis")


def _check_setups(studies: Mapping[str, Study], scale: Scale) -> None:
    """Refuse a setup that names what its study does not have, or keeps none of its rows."""
    for name, study in studies.items():
        if study.setup is None:
            continue
        names, where = names_of({name: study}), f"studies/{name}.yaml: setup"
        setup = study.setup.model_dump(exclude_unset=True)
        for path, kinds in names.entries.items():
            for key, given in _at(setup, path.split(".")):
                for inner, kind, one in _named(given, kinds):
                    _check_name(names, f"{where}.{key}{inner}", kind, one)
        own = scale.model_copy(update={"over_studies": {}}).under(study.setup)
        if study.setup.keep and not names.are_kept(own):
            raise InputError(f"{where}.keep picks none of the {len(names.cells)} rows of the study; name rows it has.")
        _check_phis(own)
        check_widths({name: study}, own)


def _check_findings(studies: Mapping[str, Study], scale: Scale, names: Names) -> None:
    """Refuse a finding that reads a table, shows a figure or is about a study that is not of its scale or study."""
    found = [(f"scale {scale.scale}", "its studies", scale.finding, studies)]
    found += [(f"studies/{name}.yaml", "the study", one.finding, {name: one}) for name, one in studies.items()]
    for where, whose, finding, of in found:
        if finding is None:
            continue
        declared = {f"{name}/{one.name}": one for name, study in of.items() for one in study.declared}
        figures = [name for name, one in declared.items() if isinstance(one, FigureSpec)]
        named = [("values", "table or figure", table, [*declared]) for table in finding.values]
        named += [("figure", "figure", figure, figures) for figure in [finding.figure] if figure]
        for key, kind, exhibit, known in named:
            if exhibit not in known:
                hint = did_you_mean(exhibit, known) or f"they have: {', '.join(known)}."
                raise InputError(f"{where}: finding.{key} names '{exhibit}', which is no {kind} of {whose}; {hint}")
        for name in finding.studies:
            _check_name(names, f"{where}: finding.studies", "study", name)


def _check_matrices(studies: Mapping[str, Study], scale: Scale) -> None:
    """Refuse a row of a matrix of others in a table or figure that does not exist, or cannot show it."""
    known = {f"{name}/{exhibit.name}": exhibit for name, study in studies.items() for exhibit in study.exhibits}
    for matrix in scale.matrices_of_others:
        for row in matrix.rows:
            where = f"scale {scale.scale}: matrices_of_others, {matrix.name}: exhibit"
            found = [one for name, one in known.items() if row.exhibit in (name, name.partition("/")[2])]
            if not found:
                hint = did_you_mean(row.exhibit, known) or f"they have: {', '.join(known)}."
                raise InputError(f"{where} names '{row.exhibit}', which is no table or figure of its studies; {hint}")
            if not all(isinstance(one, RunTable | SemanticRecallFigure) for one in found):
                fit = ", ".join(name for name, one in known.items() if isinstance(one, RunTable | SemanticRecallFigure))
                raise InputError(
                    f"{where} names '{row.exhibit}', which has no row for a single matrix; those with one: {fit}."
                )


def _at(settings: Settings, path: list[str], where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what stands at a path of keys, with the keys; ``*`` is every set of documents that plays a role."""
    key, *rest = path
    for name in [key] if key != "*" else settings:
        given = settings.get(name)
        if given and rest:
            inner = {one: given[one] for one in settings["roles"].values()} if key == "documents" else given
            yield from _at(inner, rest, f"{where}{name}.")
        elif given:
            yield f"{where}{name}", given


def _named(given: Any, kinds: str | dict[str, str]) -> Iterator[tuple[str, str, Any]]:
    """Yield every name: behind which key, of what, and the name."""
    if isinstance(kinds, str):
        yield from (("", kinds, name) for name in given)
        return
    for number, block in enumerate(given):
        for key, kind in kinds.items():
            yield from ((f"[{number}].{key}", kind, name) for name in as_list(block.get(key) or []))


def _check_name(names: Names, where: str, kind: str, name: Any) -> None:
    if names.knows(kind, name):
        return
    known = sorted(names.known[kind])
    if isinstance(name, float):
        have = ", ".join(f"{one:g}" for one in known) or "none"
        raise InputError(f"{where} names {name:g}, which is no {kind} of its studies; they have: {have}.")
    hint = did_you_mean(name, known) or f"they have: {', '.join(known) or 'none'}."
    raise InputError(f"{where} names '{name}', which is no {kind} of its studies; {hint}")


def _check_phis(scale: Scale) -> None:
    for key, phis, whole in (
        ("evaluation_phi", [scale.evaluation_phi], True),
        ("evaluation_phis", scale.evaluation_phis, True),
        ("matrices", scale.matrices, True),
        ("leave_out.phis", scale.leave_out.phis, False),
    ):
        for phi in phis:
            if (mistake := mistake_in(phi, whole=whole)) is not None:
                verb, end = "is" if key == "evaluation_phi" else "names", "" if mistake.endswith("?") else "."
                raise InputError(f"scale {scale.scale}: {key} {verb} '{phi}', {mistake}{end}")


def check_widths(studies: Mapping[str, Study], scale: Scale) -> None:
    """Refuse a width that no model has, or in an exception none of its models: it would widen nothing.

    Raises:
        InputError: Which one, and what is known.
    """
    variants = {name: spec.name for study in studies.values() for name, spec in study.models.items()}
    given: list[tuple[str, Collection[str], list[str]]] = [("training.widths", scale.training.widths, [])]
    for number, exception in enumerate(scale.training.exceptions):
        given.append((f"training.exceptions[{number}].widths", exception.widths, as_list(exception.model or [])))
    for where, widths, models in given:
        known = widths_of({variants.get(name, name) for name in models} if models else None)
        for width in sorted(set(widths) - set(known)):
            hint = did_you_mean(width, known) or f"there are: {', '.join(sorted(known))}."
            whose = f"none of the models {', '.join(models)} has" if models else "no model has"
            raise InputError(f"scale {scale.scale}: {where}.{width} is a width that {whose}; {hint}")


# --- what a scale inherits ------------------------------------------------------------------------------------------


def inheriting(merged: Settings, own: Settings, studies: Mapping[str, Study], where: str) -> Scale:
    """Drop inherited entries of a scale that name nothing in its studies.

    Args:
        merged: Its settings, valid, with all that it inherits.
        own: Content of its own file.
        studies: Studies that it names.
        where: The name of its file, for an error.
    """
    names, found = names_of(studies), dict(merged)
    for path, kinds in names.entries.items():
        found = _fitting(found, own, path.split("."), partial(_known_part, names=names, kinds=kinds))
    for name, documents in ((found.get("categories") or {}).get("documents") or {}).items():
        if not documents["divisions"]:  # no row divides them as the other scale does
            stated = (own.get("categories") or {}).get("roles") or {}
            given, before = found["categories"], merged["categories"]["documents"]
            roles = {role: of for role, of in given["roles"].items() if of != name or role in stated}
            found["categories"] = given | {"roles": roles, "documents": given["documents"] | {name: before[name]}}
    scale = check(Scale, without_replaced_networks(found, own), where)
    if {"keep", "keep+"} & set(own) or names.are_kept(scale):
        return scale
    return scale.model_copy(update={"keep": None})


def without_replaced_networks(merged: Settings, own: Settings) -> dict[str, Any]:
    """Leave out inherited weights of networks that no features of a scale have."""
    weights, stated = merged.get("weights"), own.get("weights")
    if not isinstance(weights, dict):
        return dict(merged)
    further = merged.get("further_features")
    blocks = [
        merged.get("features"),
        merged.get("grid_features"),
        merged.get("own_grid_features"),
        *(further.values() if isinstance(further, dict) else ()),
    ]
    read = [block.get("extractor") for block in blocks if isinstance(block, dict)]
    kept = {name: file for name, file in weights.items() if name in read or name in (stated or {})}
    return dict(merged) | {"weights": kept}


def _known_part(entry: Any, names: Names, kinds: str | dict[str, str]) -> Any:
    """Return a name that the studies know, or a block with those of its names; None if nothing is left of it."""
    if isinstance(kinds, str):
        return entry if names.knows(kinds, entry) else None
    changed = {
        key: [name for name in as_list(entry[key]) if names.knows(kind, name)]
        for key, kind in kinds.items()
        if entry.get(key) is not None
    }
    return {**entry, **changed} if all(changed.values()) else None


def _fitting(settings: Settings, own: Settings, path: list[str], known: Callable[[Any], Any]) -> dict[str, Any]:
    """Keep the inherited entries at a path that are known; an empty list is left out."""
    key, *rest = path
    if key == "*":
        return {name: _fitting(value, own.get(name) or {}, rest, known) for name, value in settings.items()}
    given, stated = settings.get(key), own.get(key) or {}
    if not given:
        return dict(settings)
    if rest:
        return {**settings, key: _fitting(given, stated, rest, known)}
    if isinstance(given, dict):
        kept = {name: one for name, one in given.items() if name in stated or known(name) is not None}
        return {**settings, key: kept}
    # `key+` adds its entries at the end of those that are inherited.
    count = 0 if key in own else len(given) - len(own.get(f"{key}+") or ())
    left = [part for entry in given[:count] if (part := known(entry)) is not None] + given[count:]
    return {**settings, key: left} if left else {name: one for name, one in settings.items() if name != key}
