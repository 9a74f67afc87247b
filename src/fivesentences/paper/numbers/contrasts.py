"""Looking up the paired differences of the contrasts of a table or figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError
from fivesentences.evaluation.contrasts import read_contrasts
from fivesentences.metrics.crossed import CrossedDifference
from fivesentences.study.exhibits import Summed
from fivesentences.study.expand import Contrast


@dataclass(frozen=True, kw_only=True)
class Difference(CrossedDifference):
    """A paired difference of one metric.

    Attributes:
        mean_a: Mean of the first side over seeds and images.
        mean_b: Mean of the second.
        differences: One per seed, each a mean over images.
    """

    mean_a: float
    mean_b: float
    differences: Sequence[float]


@dataclass(frozen=True)
class Measured:
    """A contrast that the scale makes, and what was measured."""

    contrast: Contrast
    metrics: Mapping[Summed, Difference]


@dataclass(frozen=True)
class Contrasts:
    """What was measured of the contrasts of a table or figure, in their order.

    Attributes:
        of: The contrasts that the scale makes.
        phi: The phi of Nsum; empty if none is made.
        resamples: Draws of the bootstrap.
    """

    of: Sequence[Measured] = ()
    phi: str = ""
    resamples: int = 0


def measured_contrasts(contrasts: Sequence[Contrast], numbers: Sequence[Path], where: str) -> Contrasts:
    """What a file of contrasts says of those that the scale makes.

    Args:
        contrasts: All contrasts of the table or figure.
        numbers: The file that the rule ``contrast_runs`` wrote; none if the scale makes no contrast.
        where: The table or figure, for a message.

    Raises:
        InputError: If the file is not of this version, or lacks a contrast.
    """
    made = [contrast for contrast in contrasts if contrast.is_made]
    if not made:
        return Contrasts()
    found = read_contrasts(numbers[0])
    known = {(tuple(one["a"]), tuple(one["b"])): one for one in found["contrasts"]}
    measured = []
    for contrast in made:
        one = one_of(known, contrast.runs, (), numbers[0], where)
        measured.append(Measured(contrast, {name: Difference(**values) for name, values in one["metrics"].items()}))
    return Contrasts(measured, found["phi"], found["resamples"])


def one_of(
    known: Mapping[tuple[Any, ...], Mapping[str, Any]],
    runs: tuple[Sequence[str], Sequence[str]],
    further: tuple[str, ...],
    file: Path,
    where: str,
) -> Mapping[str, Any]:
    """Look up a contrast by the runs of both sides and what else tells it from others.

    Raises:
        InputError: If it is not in the file; ``where`` names the table or figure.
    """
    a, b = runs
    found = known.get((tuple(a), tuple(b), *further))
    if found is None:
        raise InputError(f"{file}: the contrast of '{a[0]}' with '{b[0]}' of {where} is not in it; make it again.")
    return found
