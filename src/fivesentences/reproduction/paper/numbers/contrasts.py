"""Looking up the paired differences of the contrasts of a table or figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from fivesentences.errors import InputError
from fivesentences.metrics.crossed import CrossedDifference
from fivesentences.reproduction.evaluation.seed_contrasts import FORMAT, FORMAT_OF_CATEGORIES, read_contrasts
from fivesentences.reproduction.study.expand import Contrast, SubspaceContrast, SubspaceRow

AnyContrast = TypeVar("AnyContrast", Contrast, SubspaceContrast)
KEYS = ("a", "b", "inference", "a_selection", "b_selection")  # what tells the contrasts of a file apart


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
class Measured(Generic[AnyContrast]):
    """A contrast that the scale makes, and what was measured.

    Attributes:
        contrast: The contrast.
        metrics: By metric; in category retrieval by (metric, direction).
        images: Test images, or test documents of all seeds together.
        per_seed: Test documents of each seed.
        same_queries: Whether all seeds have the same ones.
    """

    contrast: AnyContrast
    metrics: Mapping[Any, Difference]
    images: int
    per_seed: Sequence[int]
    same_queries: bool


@dataclass(frozen=True)
class Contrasts(Generic[AnyContrast]):
    """Measurements of the contrasts of a table or figure, in their order.

    Attributes:
        of: The contrasts that the scale makes.
        phi: The phi of Nsum; empty if none is made, or they are of category retrieval.
        resamples: Draws of the bootstrap.
    """

    of: Sequence[Measured[AnyContrast]] = ()
    phi: str = ""
    resamples: int = 0


def measured_contrasts(contrasts: Sequence[AnyContrast], numbers: Sequence[Path], where: str) -> Contrasts[AnyContrast]:
    """Read the contrasts that the scale makes from their file.

    Args:
        contrasts: All contrasts of the table or figure.
        numbers: The file that the rule of the contrasts wrote; none if the scale makes no contrast.
        where: The table or figure, for a message.

    Raises:
        InputError: If the file is not of this version, or lacks a contrast.
    """
    made = [contrast for contrast in contrasts if contrast.is_made]
    if not made:
        return Contrasts()
    in_categories = isinstance(made[0].a, SubspaceRow)
    found = read_contrasts(numbers[0], FORMAT_OF_CATEGORIES if in_categories else FORMAT)
    measured = []
    for contrast in made:
        a, b = contrast.runs
        asked = [a, b, contrast.read.get("inference")]
        asked += [getattr(contrast.a, "selection", None), getattr(contrast.b, "selection", None)]
        one = next((known for known in found["contrasts"] if [known.get(key) for key in KEYS] == asked), None)
        if one is None:
            what = f"the contrast of '{a[0]}' with '{b[0]}' of {where} is not in it"
            raise InputError(what, where=numbers[0], cure="make it again")
        metrics = one["metrics"]
        if in_categories:
            metrics = {(metric, side): of_side for metric, sides in metrics.items() for side, of_side in sides.items()}
        differences = {metric: Difference(**values) for metric, values in metrics.items()}
        measured.append(
            Measured(contrast, differences, one["images"], one.get("per_seed", ()), one.get("same_queries", True))
        )
    return Contrasts(measured, found.get("phi", ""), found["resamples"])
