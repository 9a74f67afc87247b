"""What the evaluation found about each phi over a dataset's captions, for the figures that show it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivesentences.config.scales import Scale
from fivesentences.errors import InputError
from fivesentences.evaluation.phi_statistics import read_statistics

OTHERS = "other"  # how the evaluation names captions of other images


@dataclass(frozen=True)
class PhiStatistics:
    """Statistics of some phi.

    Attributes:
        phis: Those that are shown at a scale.
        datasets: What ``evaluation.phi_statistics`` found, one entry per dataset; empty if no phi is shown.
    """

    phis: Sequence[str]
    datasets: Sequence[dict[str, Any]]


def read_phi_statistics(phis: Sequence[str], scale: Scale, files: Sequence[Path]) -> PhiStatistics:
    """Read the statistics of the given phi, without those that the scale leaves out.

    Raises:
        InputError: If a phi is missing from a file.
    """
    shown = [phi for phi in phis if scale.shows(phi)]
    found = [read_statistics(path) for path in files] if shown else []
    for phi, one in itertools.product(shown, found):
        if phi not in one["phis"]:
            raise InputError(
                f"the statistics of phi of {one['dataset']}/{one['split']} lack '{phi}'; measure it again."
            )
    return PhiStatistics(shown, found)
