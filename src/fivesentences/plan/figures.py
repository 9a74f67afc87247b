"""Figures of a study, one block a drawing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Direction, Drawing, PhiName, References, Variant
from fivesentences.plan.tables import ColumnSpec, RowSpec, inferences_of


class SemanticRecallFigureSpec(Drawing):
    """Recall and semantic recall of foreign items over the number of relevant ones, a line a row."""

    drawing: Literal["semantic_recall_over_m"]
    rows: list[RowSpec] = Field(min_length=1)
    k: int = Field(default=5, ge=1)
    formula: Variant = "released"


class HubnessFigureSpec(Drawing):
    """How often items are the nearest of a query, a panel a loss and a line an inference method."""

    drawing: Literal["hubness"]
    rows: list[RowSpec] = Field(min_length=1)


class RetrievalsFigureSpec(Drawing):
    """Queries that two rows answer equally well by recall and unequally by phi, with what they retrieved."""

    drawing: Literal["retrievals"]
    rows: list[RowSpec] = Field(min_length=1)
    k: int = Field(default=5, ge=1, le=10)
    directions: list[Direction] = Field(default=["i2t", "t2i"], min_length=1)
    queries: int = Field(default=1, ge=1, le=5, description="of each direction and outcome (found by both, by neither)")

    @model_validator(mode="after")
    def _retrievals_are_naive(self) -> RetrievalsFigureSpec:
        if inferences_of(self.rows) != ["naive"]:
            raise ValueError("rows of retrievals are read from the similarity as it is; leave inference out")
        return self


class MetricAgreementFigureSpec(Drawing):
    """Whether metrics rank the runs of a scale alike; a metric without direction is the mean of both."""

    drawing: Literal["metric_agreement"]
    metrics: list[ColumnSpec] = Field(min_length=2)


FigureSpec = Annotated[
    SemanticRecallFigureSpec | HubnessFigureSpec | RetrievalsFigureSpec | MetricAgreementFigureSpec,
    Field(discriminator="drawing"),
]
DRAWINGS = ("semantic_recall_over_m", "hubness", "retrievals", "metric_agreement")


class AgreementFigureSpec(Drawing):
    """The judge's score against phi, one panel a phi and judge."""

    phis: list[PhiName] = Field(min_length=1)
    references: References = "own_left_out"


class MeaningFigureSpec(Drawing):
    """What phi says of a dataset: the best captions of other images, or histograms of own and foreign captions."""

    drawing: Literal["foreign_captions", "histogram"]
    phis: list[PhiName] = Field(min_length=1)
