"""Checks of arguments that many functions take: directions, choices, counts and cut-offs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.choices import Direction as Direction
from fivesentences.choices import each_once, repeat_in
from fivesentences.errors import Argument, InputError, did_you_mean

LARGEST = 1_000_000_000
DIRECTIONS: tuple[Direction, Direction] = ("i2t", "t2i")


def checked_direction(direction: str) -> Direction:
    """Return ``direction``, if it is one.

    Raises:
        InputError: If it is not.
    """
    checked_choice("direction", direction, DIRECTIONS)
    return cast(Direction, direction)


def checked_choice(name: str, value: str | None, choices: Sequence[str | None]) -> None:
    """Refuse a value of the argument ``name`` that is not among ``choices``.

    Raises:
        InputError: If it is not.
    """
    if value not in choices:
        expected = f"is {value!r}; expected {' or '.join(map(repr, choices))}"
        guess = did_you_mean(str(value), [choice for choice in choices if choice is not None])
        raise InputError(expected if guess else f"{expected}.", where=Argument(name), cure=guess)


def checked_choices(name: str, values: Sequence[str | None], choices: Sequence[str | None]) -> tuple[str | None, ...]:
    """Return some of ``choices``, each once, the argument ``name``.

    Raises:
        InputError: If one is not among them, or they are not a list.
    """
    if isinstance(values, str):
        raise InputError(f"is {values!r}; give a list such as {choices!r}.", where=Argument(name))
    for value in values:
        checked_choice(name, value, choices)
    return each_once(values)


def checked_count(name: str, value: object, least: int = 1) -> int:
    """Return a whole number of at least ``least``, the argument ``name``.

    Raises:
        InputError: If it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"is {value!r}; it must be a whole number of at least {least}.", where=Argument(name))
    return int(value)


def checked_share(name: str, value: float) -> float:
    """Return a number between 0 and 1, neither included, the argument ``name``.

    Raises:
        InputError: If it is something else.
    """
    if not 0 < value < 1:
        raise InputError(f"is {value}; it must lie between 0 and 1, such as 0.95.", where=Argument(name))
    return float(value)


def checked_cutoffs(ks: Sequence[int], name: str = "ks") -> tuple[int, ...]:
    """Return cut-offs as a tuple of ints, each once, the argument ``name``.

    Raises:
        InputError: If there is none, or one is not a whole number from 1 to ``LARGEST``.
    """
    if isinstance(ks, str | bytes) or not isinstance(ks, Sequence | np.ndarray) or not len(ks):
        raise InputError(f"is {ks!r}; give a list of cut-offs such as (1, 5, 10).", where=Argument(name))
    for k in ks:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= LARGEST:
            what = f"holds {repr(k)[:40]}; a cut-off is a whole number of at least 1 and at most {LARGEST:,}."
            raise InputError(what, where=Argument(name))
    return each_once(int(k) for k in ks)


def checked_labels(clusters: ArrayLike, n: int, what: str) -> NDArray[np.int64]:
    """Number the clusters of ``n`` queries or pairs, from 0 in sorted order.

    Raises:
        InputError: If there is not one label for each, or one is not finite.
    """
    given = np.asarray(clusters)
    if given.shape != (n,):
        raise InputError(f"clusters is {list(given.shape)} but there are {n} {what}; label each of them.")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError("clusters holds a value that is not finite; every one needs a cluster.")
    return np.unique(given, return_inverse=True)[1].astype(np.int64).reshape(-1)


def setting_of(text: str) -> tuple[str, Any]:
    """Split ``NAME=VALUE``; a value that is not JSON is text, and without an equals sign the name is empty."""
    name, equals, value = text.partition("=")
    with contextlib.suppress(ValueError, RecursionError):  # not JSON, or beyond what its reader takes
        return name, json.loads(value)
    return name if equals else "", value


def settings_of(texts: Sequence[str], where: str) -> dict[str, Any]:
    """Return the settings ``NAME=VALUE`` by name, see ``setting_of``.

    Raises:
        InputError: If a setting is given twice.
    """
    pairs = [setting_of(text) for text in texts]
    if twice := repeat_in([name for name, _ in pairs]):
        first, second = (texts[place] for place in twice)
        raise InputError(f"'{pairs[twice[0]][0]}' is given twice ({first}, {second})", where=where, cure="keep one")
    return dict(pairs)
