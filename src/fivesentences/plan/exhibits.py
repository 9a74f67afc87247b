"""What a plan knows about a table or figure: its texts, what it shows, and what it is made from.

Each kind of table or figure is a subclass in ``fivesentences.paper``.
"""

from __future__ import annotations

import itertools
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from fivesentences.config import (
    CaptionsPerImage,
    Direction,
    EvaluationPhi,
    Fraction,
    Inference,
    Name,
    PhiName,
    References,
    Strict,
    Variant,
    as_list,
)
from fivesentences.config.types import Count
from fivesentences.metrics.registry import METRICS, metric_of, pattern_of
from fivesentences.plan.subspace_specs import SubspaceContrastSpec, SubspaceRowSpec

Folds = Annotated[int, Field(strict=True, ge=2, le=100)]
ReadFolds = Folds | Literal["first of 5"]
REPORTED = pattern_of(metric for metric in METRICS.values() if metric.of_runs)

# What a table or figure is made from: the numbers of the runs in its rows, or of every run of the scale; what two of
# its rows retrieve; queries on which its rows disagree; paired differences of its rows; correlations of each phi with
# the judges, or the pairs that they judged; how many of the right ones are among the first pairs by phi; statistics of
# each phi; the margins of its losses on training captions, and in its rows; the corpora of its roles. Of category
# retrieval: the numbers of its rows; paired differences; what happened in their training, epoch by epoch; the subspace
# of its first row, on a plane, and its training; nothing at all.
Source = Literal[
    "runs",
    "every_run",
    "retrievals",
    "disagreements",
    "contrasts",
    "correlations",
    "judged_pairs",
    "found_positives",
    "phi_statistics",
    "margins",
    "corpora",
    "subspaces",
    "subspace_contrasts",
    "subspace_histories",
    "subspace_projection",
    "nothing",
]
# What is contrasted: sums of recall, and of NCS with a query's own items kept or removed; ASP by the scale's phi.
Summed = Literal["Rsum", "Nsum", "Nsum_own_removed", "ASP_i2t", "ASP_t2i"]


class SettingSpec(Strict):
    """What is trained, apart from its loss, and how: one setting, or several, where a key is a list."""

    role: Name
    features: Name | list[Name | None] | None = Field(
        default=None, description="one of the scale's further_features; null: the scale's own"
    )
    model: Name | list[Name] = Field(default="vsepp", description="a model or ensemble of the study, or a known model")
    fraction: Fraction | list[Fraction] = 1.0
    captions_per_image: CaptionsPerImage | list[CaptionsPerImage | None] | None = Field(
        default=None, description="only the first so many captions of each training image; null: all"
    )
    epochs: Count | list[Count] | None = Field(default=None, description="of training; null: as the scale says")
    one_caption_per_image: bool | list[bool] | None = Field(
        default=None, description="whether no batch holds two captions of an image; null: as the scale says"
    )


SETTINGS = tuple(key for key in SettingSpec.model_fields if key != "role")  # in the order in which lists are multiplied
AXES = (*SETTINGS, "loss", "inference", "folds")


class RowSpec(SettingSpec):
    """One row of a table or figure of runs, or several: lists are multiplied out, the last key fastest.

    The order of the keys is features, model, fraction, captions_per_image, epochs, one_caption_per_image, loss,
    inference, folds.
    """

    loss: Name | list[Name] | None = Field(default=None, description="null only for encoders, which are not trained")
    inference: Inference | list[Inference] = Field(default="naive", description="how a run's similarity is read")
    folds: ReadFolds | list[ReadFolds | None] | None = Field(
        default=None,
        description="into how many equal galleries the test split is cut in file order; numbers are means over them. "
        "MS-COCO 1K has 5, or is the first of 5; null: the whole split is one gallery",
    )
    published: str | None = Field(default=None, description="value of the column `row` in the published CSV")

    @model_validator(mode="after")
    def _one_published_row(self) -> RowSpec:
        many = [key for key in type(self).model_fields if isinstance(getattr(self, key), list)]
        if self.published is not None and many:
            raise ValueError(f"published names one published row, but {many[0]} is a list; write the rows one by one")
        return self


class OtherSide(Strict):
    """What the second side of a contrast has otherwise; null: as the first side."""

    features: Name | None = None
    model: Name | None = None
    fraction: Fraction | None = None
    captions_per_image: CaptionsPerImage | None = None
    epochs: Count | None = None
    one_caption_per_image: bool | None = None


class ContrastSpec(SettingSpec):
    """Runs of two kinds, paired by seed, or several such pairs: lists are multiplied out, the last key fastest.

    The order of the keys is features, model, fraction, captions_per_image, epochs, one_caption_per_image, a. What they
    say holds for both sides, except where ``against`` says otherwise of the second.
    """

    a: Name | list[Name] = Field(description="the loss of the first side; the difference is a - b")
    b: Name | None = Field(default=None, description="the loss of the second side; null: that of the first")
    against: OtherSide = Field(default=OtherSide(), description="what the second side has besides another loss")
    question: str = Field(default="", description="short words on what the difference tells")

    def pairs(self) -> list[tuple[RowSpec, RowSpec]]:
        """Both sides of each contrast, each a single row."""
        other = self.against.model_dump(exclude_none=True)
        found = []
        for *setting, loss in itertools.product(*(as_list(getattr(self, key)) for key in (*SETTINGS, "a"))):
            first = {"role": self.role, **dict(zip(SETTINGS, setting, strict=True)), "loss": loss}
            second = first | other | {"loss": self.b or loss}
            found.append((RowSpec(**first), RowSpec(**second)))
        return found

    @model_validator(mode="after")
    def _sides_differ(self) -> ContrastSpec:
        for first, second in self.pairs():
            if first == second:
                raise ValueError(f"the loss '{first.loss}' is contrasted with itself; give another b, or against")
        return self


class ColumnSpec(Strict):
    """One column: a metric as the evaluation names it."""

    metric: str = Field(pattern=REPORTED)
    direction: Direction | None = None
    formula: Variant = "released"
    ground_truth: Literal["kept", "removed"] = "kept"
    m: int = Field(default=0, ge=0, description="SR@k: how many items are relevant; 0 for every other metric")
    style: Literal["", "recall", "vse_recall"] = Field(default="", description="SR@k: share found, or any found")
    phi: EvaluationPhi | None = Field(default=None, description="of semantic metrics; null: the scale's evaluation_phi")
    ties: Literal["index", "average"] = Field(default="index", description="ASP: ranks of equal phi or similarity")
    published: str | Literal[False] | None = Field(
        default=None,
        description="name of the column in the published CSV, if not the metric's; false: the paper has no such column",
    )

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

    @property
    def has_formulas(self) -> bool:
        """Whether ``formula`` and ``ground_truth`` tell its values apart."""
        return metric_of(self.metric).formulas


class Exhibit(Strict):
    """A table or figure of a study: its texts, and what a plan must know about it.

    Subclasses add ``kind``, a Literal by which a study's file chooses among them, and settings of their own.

    Attributes:
        reads: What it is made from.
        takes_encoders: Whether its rows may be of encoders, which are not trained here.
    """

    reads: ClassVar[Source]
    takes_encoders: ClassVar[bool] = False

    name: Name = Field(description="file name of the table or figure, and its target on the command line")
    title: str
    caption: str
    notes: list[str] = Field(default=[], description="sentences below it, such as errata of the paper")

    def row_specs(self) -> list[RowSpec]:
        """The rows of runs that it shows; none if it shows no runs, or every run of a scale."""
        return []

    def contrast_specs(self) -> list[ContrastSpec]:
        """Which of its rows are contrasted, if it reads paired differences."""
        return []

    def subspace_rows(self) -> list[SubspaceRowSpec]:
        """Its rows of category retrieval, apart from those that it contrasts."""
        return []

    def subspace_contrasts(self) -> list[SubspaceContrastSpec]:
        """Which methods of category retrieval are contrasted, if it reads their paired differences."""
        return []

    def every_subspace_row(self) -> list[SubspaceRowSpec]:
        """Its rows of category retrieval, then both sides of each of its contrasts."""
        sides = [row for contrast in self.subspace_contrasts() for pair in contrast.pairs() for row in pair]
        return [*self.subspace_rows(), *sides]

    def metrics(self) -> list[ColumnSpec]:
        """The metrics that it names."""
        return []

    def judged(self) -> list[tuple[PhiName, References]]:
        """Each (phi, references) whose agreement with judges it shows."""
        return []

    def matrices(self) -> list[PhiName]:
        """Each phi for which it needs the whole matrix of a test split."""
        return []

    def adaptive_margins(self) -> list[tuple[Fraction, Name]]:
        """Each fraction of the training captions, and loss of its study, whose adaptive margins it shows."""
        return []

    def roles(self) -> list[Name]:
        """The roles whose datasets it counts, if it reads corpora."""
        return []

    def published_table(self) -> Name | None:
        """File name, without the suffix, of the published table that it is compared with."""
        return None

    def shows_photographs(self) -> bool:
        """Whether it shows photographs of a dataset."""
        return False


class GallerySpec(Exhibit):
    """The page that shows queries with what several models retrieve for them, of one seed each.

    A scale has one gallery: that of the first of its studies that has one.
    """

    reads: ClassVar[Source] = "disagreements"
    takes_encoders: ClassVar[bool] = True

    name: Name = Field(default="gallery", description="by which `only` of a scale keeps it")
    title: str = "Gallery"
    caption: str = ""
    rows: list[RowSpec] = Field(
        min_length=1,
        description="the models, in the order of the page; of those that the scale trains, the ones on the dataset of "
        "the first that has photographs",
    )
    contrasts: list[ContrastSpec] = Field(
        default=[], description="two of them each, such as a loss and its control, whose largest differences are shown"
    )
    k: int = Field(default=5, ge=1, le=10, description="how many items are shown, and the k of recall and NCS")
    queries: int = Field(default=6, ge=0, le=50, description="of each direction by each criterion")
    at_random: int = Field(default=12, ge=0, le=200, description="queries of each direction that are drawn at random")
    seed: int = Field(default=0, ge=0, description="of that draw")

    @model_validator(mode="after")
    def _retrievals_are_naive(self) -> GallerySpec:
        if inferences_of(self.rows) != ["naive"] or any(row.folds is not None for row in self.rows):
            raise ValueError(
                "retrievals are read from the naive similarity of the whole split; leave inference and folds out of "
                "the rows of the gallery"
            )
        return self

    def row_specs(self) -> list[RowSpec]:
        """Its rows, then the sides of its contrasts, which may be the same."""
        return [*self.rows, *rows_of_contrasts(self.contrasts)]

    def contrast_specs(self) -> list[ContrastSpec]:
        """Its contrasts."""
        return self.contrasts

    def shows_photographs(self) -> bool:
        """Of the dataset that its rows were trained on."""
        return True


def rows_of_contrasts(contrasts: list[ContrastSpec]) -> list[RowSpec]:
    """Every row that some contrasts need, each once."""
    rows = [row for contrast in contrasts for pair in contrast.pairs() for row in pair]
    return [row for place, row in enumerate(rows) if row not in rows[:place]]


def inferences_of(rows: list[RowSpec]) -> list[Inference]:
    """Every inference method of some rows, each once, in their order."""
    return list(dict.fromkeys(method for row in rows for method in as_list(row.inference)))
