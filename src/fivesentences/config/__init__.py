"""Typed configuration: scales, studies, datasets and runs, checked before any job starts.

Three kinds of YAML file are read here. A *scale* (``config/demo.yaml``) says which dataset plays which role,
with which features, how long to train and how many seeds. A *study* (``config/studies/*.yaml``) says what a
paper's tables and figures are made of. The *catalogue* (``config/datasets.yaml``) lists every file to download.
A *run* is one trained model, resolved from a scale and a study's row.
"""

from fivesentences.config.blocks import (
    INFERENCES,
    CaptionsPerImage,
    Direction,
    EvaluationPhi,
    Fraction,
    Inference,
    Judge,
    Name,
    Negatives,
    PhiName,
    References,
    Split,
    Statistic,
    Strict,
    Variant,
    as_list,
)
from fivesentences.config.datasets import (
    LOADERS,
    Catalogue,
    CatalogueData,
    CatalogueEntry,
    CatalogueFile,
    Dataset,
    FolderData,
    PrecompData,
    ScenesData,
)
from fivesentences.config.ensembles import EnsembleRun, members_of, read_run_or_ensemble
from fivesentences.config.figures import (
    AgreementFigureSpec,
    FigureSpec,
    HubnessFigureSpec,
    MeaningFigureSpec,
    MetricAgreementFigureSpec,
    RetrievalsFigureSpec,
    SemanticRecallFigureSpec,
)
from fivesentences.config.jobs import evaluation_jobs, training_jobs
from fivesentences.config.losses import HalSpec, LossSpec, SamSpec, SoftRankSpec
from fivesentences.config.models import WIDTHS, ModelSettings, ModelSpec
from fivesentences.config.places import Places
from fivesentences.config.reading import check, read, read_yaml
from fivesentences.config.registry import registered_models
from fivesentences.config.runs import FeatureSpec, RunFile, RunSpec
from fivesentences.config.scales import (
    JUDGED_LOADER,
    CellSpec,
    JudgeSpec,
    LeaveOut,
    Scale,
    TrainingException,
    TrainingScale,
)
from fivesentences.config.studies import Study
from fivesentences.config.tables import (
    AgreementColumnSpec,
    AgreementRowSpec,
    AgreementSetting,
    AgreementTableSpec,
    ColumnSpec,
    PrintedAlone,
    PublishedSetting,
    RowSpec,
    TableSpec,
    is_semantic,
)

__all__ = [
    "INFERENCES",
    "JUDGED_LOADER",
    "LOADERS",
    "WIDTHS",
    "AgreementColumnSpec",
    "AgreementFigureSpec",
    "AgreementRowSpec",
    "AgreementSetting",
    "AgreementTableSpec",
    "CaptionsPerImage",
    "Catalogue",
    "CatalogueData",
    "CatalogueEntry",
    "CatalogueFile",
    "CellSpec",
    "ColumnSpec",
    "Dataset",
    "Direction",
    "EnsembleRun",
    "EvaluationPhi",
    "FeatureSpec",
    "FigureSpec",
    "FolderData",
    "Fraction",
    "HalSpec",
    "HubnessFigureSpec",
    "Inference",
    "Judge",
    "JudgeSpec",
    "LeaveOut",
    "LossSpec",
    "MeaningFigureSpec",
    "MetricAgreementFigureSpec",
    "ModelSettings",
    "ModelSpec",
    "Name",
    "Negatives",
    "PhiName",
    "Places",
    "PrecompData",
    "PrintedAlone",
    "PublishedSetting",
    "References",
    "RetrievalsFigureSpec",
    "RowSpec",
    "RunFile",
    "RunSpec",
    "SamSpec",
    "Scale",
    "ScenesData",
    "SemanticRecallFigureSpec",
    "SoftRankSpec",
    "Split",
    "Statistic",
    "Strict",
    "Study",
    "TableSpec",
    "TrainingException",
    "TrainingScale",
    "Variant",
    "as_list",
    "check",
    "evaluation_jobs",
    "is_semantic",
    "members_of",
    "read",
    "read_run_or_ensemble",
    "read_yaml",
    "registered_models",
    "training_jobs",
]
