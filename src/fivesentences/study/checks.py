"""What a scale names must be in its studies: a mistaken name would hold for nothing, and nobody would see it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fivesentences.config.scales import CellSpec, Scale
from fivesentences.config.types import as_list, fits
from fivesentences.errors import InputError, did_you_mean
from fivesentences.models import MODELS, widths_of
from fivesentences.study.phis import mistake_in
from fivesentences.study.study import Study


def check_widths(studies: Mapping[str, Study], scale: Scale) -> None:
    """Refuse a width that no model has, or in an exception none of its models: it would widen nothing.

    Raises:
        InputError: Which one, and what is known.
    """
    _check(scale, "training.widths", scale.training.widths, widths_of(), "no model")
    variants = {name: spec.name for study in studies.values() for name, spec in study.variants.items()}
    for number, exception in enumerate(scale.training.exceptions):
        names = as_list(exception.model or [])
        known = widths_of({variants.get(name, name) for name in names} if names else None)
        whose = "no model" if not names else "the model " + names[0] if len(names) == 1 else "none of its models"
        _check(scale, f"training.exceptions[{number}].widths", exception.widths, known, whose)


def _check(scale: Scale, where: str, widths: Collection[str], known: Collection[str], whose: str) -> None:
    for width in widths:
        if width not in known:
            hint = did_you_mean(width, known) or f"there are: {', '.join(sorted(known))}."
            has = "does not have" if whose.startswith("the") else "has"
            raise InputError(f"scale {scale.scale}: {where}.{width} is a width that {whose} {has}; {hint}")


@dataclass(frozen=True)
class NamedCell:
    """A cell of models x losses x training sets that a row of a study names.

    Attributes:
        models: The names of its model: the study's, and the registry's.
        loss: The study's name of the loss.
        fraction: Of the training captions.
        captions: How many first captions of each image; None: all.
        features: Of the scale's further features; None: the scale's own.
        role: The dataset's role.
    """

    models: frozenset[str]
    loss: str
    fraction: float
    captions: int | None
    features: str | None
    role: str

    @property
    def names(self) -> tuple[set[str], str, float, int | None]:
        """What ``Scale.keeps`` asks for."""
        return set(self.models), self.loss, self.fraction, self.captions


@dataclass(frozen=True)
class Names:
    """Everything in some studies that a scale may name.

    Attributes:
        cells: Every cell of their rows, of every role.
        exhibits: Tables and figures.
        models: Models, those of the registry among them.
        ensembles: Ensembles.
        losses: Losses.
        studies: The studies themselves.
        methods: Methods of category retrieval.
        category_roles: Roles of rows of category retrieval.
        divisions: Divisions that such rows name.
    """

    cells: tuple[NamedCell, ...]
    exhibits: frozenset[str]
    models: frozenset[str]
    ensembles: frozenset[str]
    losses: frozenset[str]
    studies: frozenset[str]
    methods: frozenset[str]
    category_roles: frozenset[str]
    divisions: frozenset[str]

    @property
    def roles(self) -> set[str]:
        """Roles of rows."""
        return {cell.role for cell in self.cells}

    @property
    def features(self) -> set[str]:
        """Features of rows, apart from the scale's own."""
        return {cell.features for cell in self.cells if cell.features is not None}

    @property
    def fractions(self) -> set[float]:
        """Fractions of rows."""
        return {cell.fraction for cell in self.cells}

    def known_methods(self, pattern: str) -> str | None:
        """The pattern, if a method fits it."""
        return pattern if any(fits(method, [pattern]) for method in self.methods) else None

    def known_losses(self, pattern: str) -> str | None:
        """The pattern, if a loss fits it."""
        return pattern if any(fits(loss, [pattern]) for loss in self.losses) else None


def names_of(studies: Mapping[str, Study]) -> Names:
    """Everything in some studies that a scale may name."""
    every = list(studies.values())
    rows = [row for study in every for exhibit in study.exhibits for row in exhibit.every_subspace_row()]
    return Names(
        cells=tuple(cell for study in every for cell in _cells(study)),
        exhibits=frozenset(exhibit.name for study in every for exhibit in study.declared),
        models=frozenset({*MODELS, *(name for study in every for name in study.models)}),
        ensembles=frozenset(name for study in every for name in study.ensembles),
        losses=frozenset(name for study in every for name in study.losses),
        studies=frozenset(studies),
        methods=frozenset(name for study in every for name in study.methods),
        category_roles=frozenset(row.role for row in rows),
        divisions=frozenset(division for row in rows for division in as_list(row.division)),
    )


def check_scale(studies: Mapping[str, Study], scale: Scale) -> None:
    """Check what a scale names against its studies.

    Raises:
        InputError: If it names a role, table, model, loss, fraction, phi, features or width that no study has, or keeps
            none of their rows.
    """
    names = names_of(studies)
    _check_phis(scale)
    for name in scale.only or ():
        _known(scale, "only", name, names.exhibits, "table or figure")
    for role in scale.roles:
        why = "no row of its studies has it, so nothing would be made of it"
        _known(scale, "roles", role, names.roles, "role", why)
    for features in scale.further_features:
        _known(
            scale, "further_features", features, names.features, "name of features", "no row of its studies names it"
        )
    for loss in scale.leave_out.losses:
        _known(scale, "leave_out.losses", loss, names.losses, "loss")
    for fraction in scale.leave_out.fractions:
        _known_number(scale, "leave_out.fractions", fraction, names.fractions)
    picked: list[tuple[str, Sequence[CellSpec], frozenset[str]]] = [
        ("training.exceptions", scale.training.exceptions, names.models),
        ("other_seeds", scale.other_seeds, names.models),
        ("keep", scale.keep or [], names.models | names.ensembles),
    ]
    for key, specs, of_model in picked:
        for number, spec in enumerate(specs):
            where = f"{key}[{number}]"
            for model in as_list(spec.model or []):
                _known(scale, f"{where}.model", model, of_model, "model")
            for loss in as_list(spec.loss or []):
                if names.known_losses(loss) is None:
                    _known(scale, f"{where}.loss", loss, names.losses, "loss")
            for fraction in as_list(spec.fraction or []):
                _known_number(scale, f"{where}.fraction", fraction, names.fractions)
    for number, exception in enumerate(scale.training.exceptions):
        for study in as_list(exception.study or []):
            _known(scale, f"training.exceptions[{number}].study", study, names.studies, "study", "see `studies`")
    _check_categories(names, scale)
    if scale.keep is not None and not any(scale.keeps(*cell.names) for cell in names.cells):
        raise InputError(
            f"scale {scale.scale}: keep picks none of the {len(names.cells)} rows of its studies, so nothing would be "
            "made; name rows that they have, or remove keep."
        )
    check_widths(studies, scale)


def _check_categories(names: Names, scale: Scale) -> None:
    """Check roles, methods and divisions of category retrieval, if a study has rows of it.

    Without such a study the block has no effect: a scale that extends another one may have studies of its own.

    Raises:
        InputError: If the scale names one that no study has.
    """
    categories = scale.categories
    if categories is None or not names.category_roles:
        return
    for role in categories.roles:
        _known(scale, "categories.roles", role, names.category_roles, "role", "no row of its studies has it")
    given = {"methods": categories.methods or []}
    for number, other in enumerate(categories.other_seeds):
        given[f"other_seeds[{number}].method"] = as_list(other.method or [])
        for division in as_list(other.division or []):
            _known(scale, f"categories.other_seeds[{number}].division", division, names.divisions, "division")
    for key, patterns in given.items():
        for pattern in patterns:
            if names.known_methods(pattern) is None:
                _known(scale, f"categories.{key}", pattern, names.methods, "method")
    for name in categories.roles.values():
        for division in categories.documents[name].divisions:
            _known(scale, f"categories.documents.{name}.divisions", division, names.divisions, "division")


def _cells(study: Study) -> Iterator[NamedCell]:
    """Every cell that a study names, of every role."""

    def named(model: str) -> frozenset[str]:
        return frozenset({model, study.variants[model].name} if model in study.variants else {model})

    for exhibit in study.declared:
        for row in exhibit.row_specs():
            parts = (row.features, row.model, row.fraction, row.captions_per_image, row.loss)
            for features, model, fraction, captions, loss in itertools.product(*map(as_list, parts)):
                yield NamedCell(named(model), loss or "", fraction, captions, features, row.role)


def _check_phis(scale: Scale) -> None:
    given = [
        ("evaluation_phi", [scale.evaluation_phi], True),
        ("evaluation_phis", scale.evaluation_phis, True),
        ("matrices", scale.matrices, True),
        ("leave_out.phis", scale.leave_out.phis, False),
    ]
    for key, phis, whole in given:
        for phi in phis:
            if (mistake := mistake_in(phi, whole=whole)) is not None:
                end = "" if mistake.endswith("?") else "."
                raise InputError(
                    f"scale {scale.scale}: {key} {'is' if key == 'evaluation_phi' else 'names'} '{phi}', {mistake}{end}"
                )


def _known(scale: Scale, where: str, name: str, known: Collection[str], what: str, why: str = "") -> None:
    if name in known:
        return
    hint = did_you_mean(name, sorted(known)) or f"they have: {', '.join(sorted(known)) or 'none'}."
    why = f" ({why})" if why else ""
    raise InputError(f"scale {scale.scale}: {where} names '{name}', which is no {what} of its studies{why}; {hint}")


def _known_number(scale: Scale, where: str, fraction: float, known: Collection[float]) -> None:
    if fraction not in known:
        have = ", ".join(f"{one:g}" for one in sorted(known)) or "none"
        raise InputError(
            f"scale {scale.scale}: {where} names {fraction:g}, which is no fraction of its studies; they have: {have}."
        )
