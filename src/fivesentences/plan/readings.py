"""How a similarity is read: by which inference method, and in one gallery or in several folds."""

from __future__ import annotations

import re
from typing import cast

from fivesentences.config import INFERENCES, Inference
from fivesentences.errors import InputError

_IN_FOLDS = re.compile(r"([a-z_]+), ([0-9]{1,3}) folds")


def reading_of(inference: str, folds: int | None) -> str:
    """The name of a reading: ``csls``, or ``csls, 5 folds``."""
    return inference if folds is None else f"{inference}, {folds} folds"


def method_and_folds(reading: str) -> tuple[Inference, int]:
    """The inference method and the number of galleries of a reading; 1 is the whole split.

    Raises:
        InputError: If it names no reading.
    """
    found = _IN_FOLDS.fullmatch(reading)
    method, folds = (found[1], int(found[2])) if found else (reading, 1)
    if method not in INFERENCES or folds < 1:
        known = ", ".join(INFERENCES)
        raise InputError(f"'{reading}' is no way to read a similarity; it is one of {known}, perhaps with folds.")
    return cast(Inference, method), folds
