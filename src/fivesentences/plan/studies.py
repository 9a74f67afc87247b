"""A study: what a paper's tables and figures are made of."""

from __future__ import annotations

from pydantic import Field, model_validator

from fivesentences.config.types import EvaluationPhi, Name, Strict, as_list
from fivesentences.losses import LossSpec
from fivesentences.models import MODELS, ModelVariant
from fivesentences.plan.figures import AgreementFigureSpec, FigureSpec, MeaningFigureSpec, MetricAgreementFigureSpec
from fivesentences.plan.tables import AgreementTableSpec, ColumnSpec, RowSpec, TableSpec


class Study(Strict):
    """One paper: ``config/studies/<name>.yaml``."""

    paper: str
    losses: dict[Name, LossSpec] = Field(default={})
    models: dict[Name, ModelVariant] = Field(
        default={}, description="variants, such as scan_i2t; a row may also name a model of the registry as it is"
    )
    ensembles: dict[Name, list[Name]] = Field(
        default={}, description="models whose similarities are averaged; one that stands there twice has two seeds"
    )
    labels: dict[Name | EvaluationPhi, str] = Field(
        default={},
        description="what tables call a role, dataset, judge, phi or ensemble; of losses and models only those that "
        "shall not be called by their settings",
    )
    agreement_tables: dict[Name, AgreementTableSpec] = Field(default={})
    agreement_figures: dict[Name, AgreementFigureSpec] = Field(default={})
    meaning_figures: dict[Name, MeaningFigureSpec] = Field(default={})
    tables: dict[Name, TableSpec] = Field(default={})
    figures: dict[Name, FigureSpec] = Field(default={})

    def label_of(self, name: str, otherwise: str | None = None) -> str:
        """What tables call something: as ``labels`` says; a loss by its settings, a model by its title.

        Args:
            name: Of a loss, model, ensemble, role, dataset, judge, phi or inference method.
            otherwise: For what has no label; None: its name.
        """
        if name in self.labels:
            return self.labels[name]
        if name in self.losses:
            return self.losses[name].label(self.labels)
        model = self.models.get(name) or MODELS.get(name)
        return model.title if model is not None else otherwise or name

    @property
    def things(self) -> list[str]:
        """Names of all tables and figures, in the order of the page."""
        kinds = (self.agreement_tables, self.agreement_figures, self.meaning_figures, self.tables, self.figures)
        return [name for kind in kinds for name in kind]

    def rows_of(self, name: str) -> list[RowSpec]:
        """Rows of a table or figure of runs; none of a figure over all runs of a scale."""
        thing = self.tables.get(name) or self.figures[name]
        return [] if isinstance(thing, MetricAgreementFigureSpec) else thing.rows

    def columns_of(self, name: str) -> list[ColumnSpec]:
        """Columns of a table, or the metrics of a figure that names them."""
        if name in self.tables:
            return self.tables[name].columns
        thing = self.figures[name]
        return thing.metrics if isinstance(thing, MetricAgreementFigureSpec) else []

    @model_validator(mode="after")
    def _names_are_told_apart(self) -> Study:
        for name in self.things:
            if self.things.count(name) > 1:
                raise ValueError(f"the name '{name}' stands for two tables or figures; rename one")
        return self

    @model_validator(mode="after")
    def _ensembles_have_members(self) -> Study:
        for name, members in self.ensembles.items():
            if name in self.models:
                raise ValueError(f"the name '{name}' stands for a model and an ensemble; rename one")
            if len(members) < 2:
                raise ValueError(f"ensembles.{name} has {len(members)} members; an ensemble has at least two")
            for member in members:
                if member in self.ensembles:
                    raise ValueError(f"ensembles.{name} names the ensemble '{member}'; its members are models")
        return self

    @model_validator(mode="after")
    def _losses_are_declared(self) -> Study:
        for kind, things in (("tables", self.tables), ("figures", self.figures)):
            for name in things:
                for row in self.rows_of(name):
                    for loss in as_list(row.loss):
                        if loss not in self.losses:
                            known = ", ".join(self.losses)
                            raise ValueError(f"{kind}.{name} names the loss '{loss}', but losses has only: {known}")
        return self
