"""Which phi matrices and which judgements the studies ask of a scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from fivesentences.config import References, Scale, Study

Spec = TypeVar("Spec")


def judged_phis(studies: Iterable[Study], scale: Scale) -> list[tuple[str, References]]:
    """Every (phi, references) that a table or figure of agreement shows at a scale, each once, in the order of print."""
    asked: dict[tuple[str, References], None] = {}
    for study in studies:
        for table in _made(study.agreement_tables, scale):
            asked |= dict.fromkeys((row.phi, row.references) for row in table.rows)
        for figure in _made(study.agreement_figures, scale):
            asked |= dict.fromkeys((phi, figure.references) for phi in figure.phis)
    return [(phi, references) for phi, references in asked if _kept(phi, scale)]


def drawn_phis(studies: Iterable[Study], scale: Scale) -> list[str]:
    """Every phi whose whole matrix a figure of meaning shows at a scale, each once."""
    figures = (figure for study in studies for figure in _made(study.meaning_figures, scale))
    return [phi for phi in dict.fromkeys(phi for figure in figures for phi in figure.phis) if _kept(phi, scale)]


def matrices_of(studies: Iterable[Study], scale: Scale) -> list[str]:
    """Every phi whose matrix a scale makes of each dataset's test split, each once."""
    needed = [*([scale.evaluation_phi] if scale.roles else []), *drawn_phis(studies, scale), *scale.matrices]
    return list(dict.fromkeys(needed))


def _kept(phi: str, scale: Scale) -> bool:
    return phi not in scale.leave_out.phis


def _made(named: Mapping[str, Spec], scale: Scale) -> Iterator[Spec]:
    return (spec for name, spec in named.items() if scale.makes(name))
