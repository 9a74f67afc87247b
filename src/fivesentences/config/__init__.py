"""Typed configuration: scales and the catalogue of downloads, checked before any job starts.

A *scale* (``config/demo.yaml``) says which dataset plays which role, with which features, how long to train and how
many seeds. The *catalogue* (``config/datasets.yaml``) lists every file to download. What a paper's tables and figures
are made of, a *study*, and a *run*, one trained model, are in ``fivesentences.plan``.
"""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.config.datasets import (
        Catalogue,
        CatalogueData,
        CatalogueEntry,
        CatalogueFile,
        CatalogueLoader,
        Dataset,
        FolderData,
        PrecompData,
        ScenesData,
    )
    from fivesentences.config.features import FeatureSpec
    from fivesentences.config.files import CATALOGUE, claims_files, config_file, nearby, project_folder, study_file
    from fivesentences.config.hyperparameters import Hyperparameters
    from fivesentences.config.reading import check, extended, read
    from fivesentences.config.scales import (
        JUDGED_LOADER,
        CellSpec,
        JudgeSpec,
        LeaveOut,
        OtherSeeds,
        Scale,
        TrainingException,
        TrainingScale,
    )
    from fivesentences.config.types import (
        INFERENCES,
        CaptionsPerImage,
        Direction,
        EvaluationPhi,
        Fraction,
        Inference,
        Judge,
        Layout,
        Name,
        Negatives,
        PhiName,
        References,
        Split,
        Statistic,
        Strict,
        Variant,
        Width,
        as_list,
    )

__all__ = [
    "CATALOGUE",
    "INFERENCES",
    "JUDGED_LOADER",
    "CaptionsPerImage",
    "Catalogue",
    "CatalogueData",
    "CatalogueEntry",
    "CatalogueFile",
    "CatalogueLoader",
    "CellSpec",
    "Dataset",
    "Direction",
    "EvaluationPhi",
    "FeatureSpec",
    "FolderData",
    "Fraction",
    "Hyperparameters",
    "Inference",
    "Judge",
    "JudgeSpec",
    "Layout",
    "LeaveOut",
    "Name",
    "Negatives",
    "OtherSeeds",
    "PhiName",
    "PrecompData",
    "References",
    "Scale",
    "ScenesData",
    "Split",
    "Statistic",
    "Strict",
    "TrainingException",
    "TrainingScale",
    "Variant",
    "Width",
    "as_list",
    "check",
    "claims_files",
    "config_file",
    "extended",
    "nearby",
    "project_folder",
    "read",
    "study_file",
]

__getattr__ = lazily(
    __name__,
    {
        "datasets": "Catalogue CatalogueData CatalogueEntry CatalogueFile CatalogueLoader Dataset FolderData "
        "PrecompData ScenesData",
        "features": "FeatureSpec",
        "files": "CATALOGUE claims_files config_file nearby project_folder study_file",
        "hyperparameters": "Hyperparameters",
        "reading": "check extended read",
        "scales": "JUDGED_LOADER CellSpec JudgeSpec LeaveOut OtherSeeds Scale TrainingException TrainingScale",
        "types": "INFERENCES CaptionsPerImage Direction EvaluationPhi Fraction Inference Judge Layout Name "
        "Negatives PhiName References Split Statistic Strict Variant Width as_list",
    },
)
