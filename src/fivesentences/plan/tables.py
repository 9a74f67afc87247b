"""Tables of a study: rows by columns, and the printed values they are held against."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import (
    CaptionsPerImage,
    Direction,
    EvaluationPhi,
    Fraction,
    Inference,
    Judge,
    Name,
    PhiName,
    References,
    Statistic,
    Strict,
    Variant,
    as_list,
)
from fivesentences.metrics.registry import METRICS, metric_of, pattern_of

REPORTED = pattern_of(metric for metric in METRICS.values() if metric.of_runs)


class RowSpec(Strict):
    """One row of a table, or several: lists are multiplied out, the last key fastest.

    Their order is features, model, fraction, captions_per_image, loss, inference.
    """

    role: Name
    features: Name | list[Name | None] | None = Field(
        default=None, description="of the scale's further_features; null: the scale's own"
    )
    model: Name | list[Name] = Field(default="vsepp", description="of the study's models or ensembles, or registered")
    loss: Name | list[Name]
    fraction: Fraction | list[Fraction] = 1.0
    captions_per_image: CaptionsPerImage | list[CaptionsPerImage | None] | None = Field(
        default=None, description="only so many first captions of each training image; null: all"
    )
    inference: Inference | list[Inference] = Field(default="naive", description="how a run's similarity is read")
    published: str | None = Field(default=None, description="value of the column `row` in the published CSV")

    @model_validator(mode="after")
    def _one_published_row(self) -> RowSpec:
        keys = ("features", "model", "loss", "fraction", "captions_per_image", "inference")
        many = [key for key in keys if isinstance(getattr(self, key), list)]
        if self.published is not None and many:
            raise ValueError(f"published names one printed row, but {many[0]} is a list; write the rows one by one")
        return self


class ColumnSpec(Strict):
    """One column: a metric as the evaluation names it."""

    metric: str = Field(pattern=REPORTED)
    direction: Direction | None = None
    formula: Variant = "released"
    ground_truth: Literal["kept", "removed"] = "kept"
    m: int = Field(default=0, ge=0, description="SR@k: how many foreign items are relevant; 0 for every other metric")
    style: Literal["", "recall", "vse_recall"] = Field(default="", description="SR@k: share found, or any found")
    phi: EvaluationPhi | None = Field(default=None, description="of semantic metrics; null: the scale's evaluation_phi")
    ties: Literal["index", "average"] = Field(default="index", description="ASP: ranks of equal phi or similarity")
    published: str | None = Field(default=None, description="what print calls the column, where not the metric's name")

    @model_validator(mode="after")
    def _semantic_recall_is_complete(self) -> ColumnSpec:
        semantic_recall = self.metric.startswith("SR@")
        if semantic_recall != (self.m > 0) or semantic_recall != (self.style != ""):
            raise ValueError(f"metric is {self.metric}; m and style belong to SR@k, which needs both")
        return self

    @property
    def is_semantic(self) -> bool:
        """Whether the metric depends on phi."""
        return metric_of(self.metric).needs_phi


class PublishedSetting(Strict):
    """What print was made with; a difference is shown only where a run used the same."""

    dataset: Name | dict[Name, Name] = Field(description="or one dataset for each role")
    features: str | dict[Name, str] = Field(description="or one for each role, or for what rows name as features")
    phi: EvaluationPhi | list[EvaluationPhi] | None = Field(
        default=None, description="null where print has no semantic metric; a list where its columns have several"
    )
    images: int | dict[Name, int] | None = Field(
        default=None, description="images of the test gallery, or one number for each role"
    )

    def of_role(self, key: Literal["dataset", "features", "images"], role: str) -> Any:
        """The setting of a role; None where print has none."""
        value = getattr(self, key)
        return value.get(role) if isinstance(value, dict) else value


class PrintedAlone(Strict):
    """A printed row without one of ours, shown with the rows of a role other than its own dataset's."""

    row: str
    roles: list[Name] = Field(min_length=1)


class TableSpec(Strict):
    """A table: rows x columns, and the printed values it is held against."""

    title: str
    caption: str
    rows: list[RowSpec] = Field(min_length=1)
    columns: list[ColumnSpec] = Field(min_length=1)
    published: Name | None = Field(default=None, description="file in config/published without .csv")
    published_rows: Literal["rows", "columns"] = Field(
        default="rows", description="columns: print's rows are our columns, and its methods our rows"
    )
    published_setting: PublishedSetting | None = None
    also_print: list[str | PrintedAlone] = Field(default=[], description="printed rows shown without a row of ours")
    notes: list[str] = Field(default=[], description="sentences below the table, such as errata of print")

    @property
    def inferences(self) -> list[Inference]:
        """Every inference method of its rows, each once."""
        return inferences_of(self.rows)


def inferences_of(rows: list[RowSpec]) -> list[Inference]:
    """Every inference method of some rows, each once, in their order."""
    return list(dict.fromkeys(method for row in rows for method in as_list(row.inference)))


class AgreementRowSpec(Strict):
    """One row of a table of agreement: a phi, with or without a caption among its own references."""

    phi: PhiName
    references: References = "kept"
    published: str | None = Field(default=None, description="value of the column `row` in the published CSV")


class AgreementColumnSpec(Strict):
    """One column: a correlation with the judge over all pairs, or over those of a caption with a foreign image."""

    statistic: Statistic
    pairs: Literal["all", "other"]


class AgreementSetting(Strict):
    """What print was measured on; a difference is shown only there."""

    dataset: Name
    judge: Judge


class AgreementTableSpec(Strict):
    """How well each phi agrees with the judges that a scale has: one group of rows a judge."""

    title: str
    caption: str
    rows: list[AgreementRowSpec] = Field(min_length=1)
    columns: list[AgreementColumnSpec] = Field(min_length=1)
    published: Name | None = None
    published_setting: AgreementSetting | None = None
    notes: list[str] = Field(default=[])
