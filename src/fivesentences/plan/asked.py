"""What the studies ask of a scale: which tables and figures, which phi matrices, which judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fivesentences.config import References, Scale
from fivesentences.plan.figures import AgreementFigureSpec, FigureSpec, MeaningFigureSpec
from fivesentences.plan.studies import Study
from fivesentences.plan.tables import AgreementTableSpec, TableSpec

TableKind = TableSpec | AgreementTableSpec
FigureKind = FigureSpec | AgreementFigureSpec | MeaningFigureSpec


def tables_of(studies: Mapping[str, Study], scale: Scale) -> dict[str, TableKind]:
    """Every table that a scale makes, by ``study/name``, in the order of the page."""
    return _made({key: study.agreement_tables | study.tables for key, study in studies.items()}, scale)


def figures_of(studies: Mapping[str, Study], scale: Scale) -> dict[str, FigureKind]:
    """Every figure that a scale makes, by ``study/name``, in the order of the page."""
    figures = {key: study.agreement_figures | study.meaning_figures | study.figures for key, study in studies.items()}
    return _made(figures, scale)


def judged_phis(studies: Mapping[str, Study], scale: Scale) -> list[tuple[str, References]]:
    """Every (phi, references) that a table or figure of agreement shows at a scale, each once."""
    asked: dict[tuple[str, References], None] = {}
    for thing in (*tables_of(studies, scale).values(), *figures_of(studies, scale).values()):
        if isinstance(thing, AgreementTableSpec):
            asked |= dict.fromkeys((row.phi, row.references) for row in thing.rows)
        elif isinstance(thing, AgreementFigureSpec):
            asked |= dict.fromkeys((phi, thing.references) for phi in thing.phis)
    return [(phi, references) for phi, references in asked if phi not in scale.leave_out.phis]


def drawn_phis(studies: Mapping[str, Study], scale: Scale) -> list[str]:
    """Every phi whose whole matrix a figure of meaning shows at a scale, each once."""
    figures = [thing for thing in figures_of(studies, scale).values() if isinstance(thing, MeaningFigureSpec)]
    phis = dict.fromkeys(phi for figure in figures for phi in figure.phis)
    return [phi for phi in phis if phi not in scale.leave_out.phis]


def matrices_of(studies: Mapping[str, Study], scale: Scale) -> list[str]:
    """Every phi whose matrix a scale makes of each dataset's test split, each once."""
    evaluation = single_phis(scale) if scale.roles else []
    return list(dict.fromkeys([*evaluation, *drawn_phis(studies, scale), *scale.matrices]))


def single_phis(scale: Scale) -> list[str]:
    """Every matrix that runs are evaluated with, by itself or as a part of a mean, each once."""
    return list(dict.fromkeys(one for phi in scale.phis for one in phi.split("+")))


def labels_are_asked(studies: Mapping[str, Study], scale: Scale) -> bool:
    """Whether a table or figure that a scale makes has PMRP, for which images need labels."""
    things = [(study, name) for study in studies.values() for name in (*study.tables, *study.figures)]
    return any(
        column.metric == "PMRP" for study, name in things if scale.makes(name) for column in study.columns_of(name)
    )


def short_names(things: Iterable[str]) -> dict[str, str]:
    """What may be asked for on the command line: ``study_name`` for each thing, and ``name`` where that is unique."""
    things = list(things)
    count = Counter(thing.split("/")[1] for thing in things)
    long = {thing.replace("/", "_"): thing for thing in things}
    return long | {name: thing for thing in things if count[name := thing.split("/")[1]] == 1}


def _made(things: Mapping[str, Mapping], scale: Scale) -> dict:
    return {
        f"{study}/{name}": spec for study, found in things.items() for name, spec in found.items() if scale.makes(name)
    }
