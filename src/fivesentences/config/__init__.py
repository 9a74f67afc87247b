"""Typed configuration: scales, studies, datasets and runs, checked before any job starts.

Three kinds of YAML file are read here. A *scale* (``config/demo.yaml``) says which dataset plays which role,
with which features, how long to train and how many seeds. A *study* (``config/studies/*.yaml``) says what a
paper's tables and figures are made of. The *catalogue* (``config/datasets.yaml``) lists every file to download.
A *run* is one trained model, resolved from a scale and a study's row.
"""

from fivesentences.config.blocks import (
    INFERENCES,
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
from fivesentences.config.figures import (
    AgreementFigureSpec,
    FigureSpec,
    HubnessFigureSpec,
    MeaningFigureSpec,
    MetricAgreementFigureSpec,
    RetrievalsFigureSpec,
    SemanticRecallFigureSpec,
)
from fivesentences.config.jobs import training_jobs
from fivesentences.config.losses import HalSpec, LossSpec, SamSpec, SoftRankSpec
from fivesentences.config.models import WIDTHS, ModelSettings, ModelSpec, registered_models
from fivesentences.config.places import Places
from fivesentences.config.reading import check, read, read_yaml
from fivesentences.config.runs import FeatureSpec, RunFile, RunSpec
from fivesentences.config.scales import JUDGED_LOADER, JudgeSpec, LeaveOut, Scale, TrainingException, TrainingScale
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
    "Catalogue",
    "CatalogueData",
    "CatalogueEntry",
    "CatalogueFile",
    "ColumnSpec",
    "Dataset",
    "Direction",
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
    "is_semantic",
    "read",
    "read_yaml",
    "registered_models",
    "training_jobs",
]
