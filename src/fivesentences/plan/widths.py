"""Widths that a scale sets: each must be one that a model has."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fivesentences.config import Scale, as_list
from fivesentences.errors import InputError, did_you_mean
from fivesentences.models import widths_of
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
