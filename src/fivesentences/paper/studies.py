"""Studies with every kind of table and figure: what the files of ``config/studies`` are read into.

A new kind is one file in ``paper/tables`` or ``paper/figures`` and one line here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fivesentences.config import (
    CATALOGUE,
    Catalogue,
    Scale,
    check,
    claims_files,
    config_file,
    extended,
    read,
    study_file,
)
from fivesentences.paper.figures.activation import ActivationFigure
from fivesentences.paper.figures.agreement import AgreementFigure
from fivesentences.paper.figures.best_captions import BestCaptionsFigure
from fivesentences.paper.figures.category_margins import CategoryMarginsFigure
from fivesentences.paper.figures.curves import CurvesFigure
from fivesentences.paper.figures.forest import ForestFigure
from fivesentences.paper.figures.found_positives import FoundPositivesFigure
from fivesentences.paper.figures.front import FrontFigure
from fivesentences.paper.figures.hubness import HubnessFigure
from fivesentences.paper.figures.margin_by_epoch import MarginByEpochFigure
from fivesentences.paper.figures.margins import MarginsFigure
from fivesentences.paper.figures.metric_agreement import MetricAgreementFigure
from fivesentences.paper.figures.phi_histogram import PhiHistogramFigure
from fivesentences.paper.figures.retrievals import RetrievalsFigure
from fivesentences.paper.figures.semantic_recall import SemanticRecallFigure
from fivesentences.paper.figures.start_and_share import StartAndShareFigure
from fivesentences.paper.figures.subspace import SubspaceFigure
from fivesentences.paper.tables.agreement import AgreementTable
from fivesentences.paper.tables.margins import MarginsTable
from fivesentences.paper.tables.paired import PairedTable
from fivesentences.paper.tables.runs import RunTable
from fivesentences.paper.tables.splits import SplitsTable
from fivesentences.paper.tables.subspace_contrasts import SubspaceContrastTable
from fivesentences.paper.tables.subspaces import SubspaceTable
from fivesentences.plan.claimed import PaperClaims
from fivesentences.plan.claims import Claims
from fivesentences.plan.inherited import inheriting
from fivesentences.plan.places import Places
from fivesentences.plan.plan import Plan
from fivesentences.plan.studies import Study

AnyTable = Annotated[
    RunTable  # rows x metrics of runs
    | AgreementTable  # correlations of each phi with judges
    | MarginsTable  # what adaptive margins are made of
    | PairedTable  # paired differences of runs
    | SplitsTable  # how many images and captions each split has
    | SubspaceTable  # methods x metrics of category retrieval
    | SubspaceContrastTable,  # paired differences of these
    Field(discriminator="kind"),
]
AnyFigure = Annotated[
    ActivationFigure  # how a schedule activates the adaptive margin
    | AgreementFigure  # a judge's score against phi
    | BestCaptionsFigure  # photographs with the best captions of other images
    | CategoryMarginsFigure  # margins of each category against the others over the epochs
    | CurvesFigure  # metrics over epochs or fractions, and differences paired by seed
    | ForestFigure  # paired differences of runs
    | FoundPositivesFigure  # how many of a judge's right pairs are among the first n
    | FrontFigure  # two metrics of runs against each other, and their Pareto front
    | HubnessFigure  # how often items are the nearest of a query
    | MarginByEpochFigure  # the mean margin over the epochs, beside the schedule
    | MarginsFigure  # how adaptive margins are distributed
    | MetricAgreementFigure  # whether metrics rank runs alike
    | PhiHistogramFigure  # phi of own captions and of captions of other images
    | RetrievalsFigure  # what two models retrieve for the same queries
    | SemanticRecallFigure  # semantic recall over the number of relevant items
    | StartAndShareFigure  # a metric over the start of the schedule, one curve per share of features
    | SubspaceFigure,  # margins between categories beside a projection of the final subspace
    Field(discriminator="kind"),
]


class PaperStudy(Study):
    """A study whose tables and figures can be made."""

    tables: list[AnyTable] = Field(default=[], description="in the order of the page")
    figures: list[AnyFigure] = Field(default=[], description="in the order of the page, after the tables")


def read_studies(names: Iterable[str], folder: Path) -> dict[str, PaperStudy]:
    """Studies by the names of their files in ``folder``, such as ``config/studies``.

    Raises:
        InputError: If a file is missing or wrong.
    """
    return {name: read_study(folder / f"{name}.yaml") for name in names}


def read_study(path: Path) -> PaperStudy:
    """The study of a file, which has the file's name.

    Raises:
        InputError: If the file is missing or wrong.
    """
    study = read(PaperStudy, path)
    study._name = path.stem
    return study


def read_claims(config: Path, known: Mapping[str, PaperStudy], scale: str) -> list[PaperClaims]:
    """What the papers state: every file of ``claims/``, each with the study whose names it uses, the longest first.

    Args:
        config: The folder of the scale's file; see ``config_file``.
        known: Studies that were read already.
        scale: The name of the scale, for an error.

    Raises:
        InputError: If a file is missing or wrong, or names a loss or method that its study lacks.
    """
    found = []
    for name, path in claims_files(config).items():
        claims = read(Claims, path)
        study = known.get(claims.study) or read_study(study_file(claims.study, config, scale))
        found.append(PaperClaims(name, claims, study))
    return sorted(found, key=lambda paper: -len(paper.claims.claims))


def scale_of(content: Any, path: Path) -> Scale:
    """A scale from the plain data of its file, merged into the scale that it extends.

    Inherited entries that name nothing in the studies of the scale are left out; see ``inheriting``.

    Args:
        content: Of the file, perhaps changed by the caller.
        path: Of the file.

    Raises:
        InputError: If the content, or a file that it extends, or a study is missing or wrong.
    """
    merged = extended(content, path)
    scale = check(Scale, merged, str(path))
    if merged is content:  # it extends nothing
        return scale
    return inheriting(merged, content, _studies_of(scale, path.parent), str(path))


def _studies_of(scale: Scale, config: Path) -> dict[str, PaperStudy]:
    return {name: read_study(study_file(name, config, scale.scale)) for name in scale.studies}


def plan_of(
    scale: Scale, config: Path = Path("config"), catalogue: Catalogue | None = None, places: Places | None = None
) -> Plan:
    """The plan of a scale, with the studies that it names.

    The workflow and ``fivesentences train`` both ask here, so that they find the same studies from any folder.

    Args:
        scale: What is made.
        config: The folder of the scale's file, whose ``studies/``, ``published/`` and ``datasets.yaml`` go before the
            project's, file by file; see ``config_file``.
        catalogue: Every file to download; default the ``datasets.yaml`` that is found so.
        places: Where files are kept.

    Raises:
        InputError: If a file is missing or wrong, or does not fit the scale.
    """
    known = read(Catalogue, config_file(CATALOGUE, config)) if catalogue is None else catalogue
    studies = _studies_of(scale, config)
    claims = read_claims(config, studies, scale.scale)
    return Plan(scale, studies, known, places=places, config=config, claims=claims)
