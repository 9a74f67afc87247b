"""The sentences below a table or figure that say which phi are missing and where SPICE's tuples came from."""

from __future__ import annotations

from collections.abc import Iterable

from fivesentences.config.scales import Scale
from fivesentences.paper.numbers.phi_statistics import PhiStatistics
from fivesentences.paper.text.names import note_naming, phi_in_words, unique


def note_on_left_out(phis: Iterable[str], scale: Scale) -> list[str]:
    """Name the phi of a table or figure that a scale leaves out."""
    return note_naming(
        f"Left out at the scale {scale.scale}", (phi_in_words(phi) for phi in phis if not scale.shows(phi))
    )


def notes_on_tuples(statistics: PhiStatistics) -> list[str]:
    """Say where SPICE's tuples of each dataset came from."""
    return unique(
        f"SPICE’s tuples of {found['dataset']}: {source}."
        for found in statistics.datasets
        for phi in statistics.phis
        if (source := found["phis"][phi]["tuples"])
    )
