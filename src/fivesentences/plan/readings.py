"""How a similarity is read: by which inference method, and in one gallery or in several folds."""

from __future__ import annotations

import re
from typing import cast

from fivesentences.config import INFERENCES, Inference
from fivesentences.errors import InputError

_IN_FOLDS = re.compile(r"([a-z_]+), (first of )?([0-9]{1,3}) folds")


def reading_of(inference: str, folds: int | str | None) -> str:
    """The name of a reading: ``csls``, ``csls, 5 folds`` or ``csls, first of 5 folds``."""
    return inference if folds is None else f"{inference}, {folds} folds"


def method_and_folds(reading: str) -> tuple[Inference, int, int]:
    """The inference method of a reading, into how many galleries the split is cut, and how many of these are read.

    One gallery is the whole split.

    Raises:
        InputError: If it names no reading.
    """
    found = _IN_FOLDS.fullmatch(reading)
    method, folds = (found[1], int(found[3])) if found else (reading, 1)
    if method not in INFERENCES or folds < 1:
        known = ", ".join(INFERENCES)
        raise InputError(f"'{reading}' is no way to read a similarity; it is one of {known}, perhaps with folds.")
    return cast(Inference, method), folds, 1 if found and found[2] else folds


def galleries_of(folds: int | str | None) -> int:
    """Into how many galleries the split is cut."""
    return method_and_folds(reading_of(INFERENCES[0], folds))[1]
