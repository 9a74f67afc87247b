"""Tables and figures in a study's file, and what a plan must know about each kind.

A table or figure is plain data here, told apart by ``kind``; ``paper/rendering.py`` lists the function
that makes each kind.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from fivesentences.choices import Split
from fivesentences.config.features import of_kind
from fivesentences.config.metrics import METRICS, metric_of, pattern_of
from fivesentences.config.types import (
    CaptionsPerImage,
    Count,
    Direction,
    EvaluationPhi,
    Folds,
    Fraction,
    Inference,
    Judge,
    Name,
    Noise,
    PhiName,
    Positive,
    ReadFolds,
    References,
    Share,
    Statistic,
    Strict,
    Variant,
    as_list,
    check_each_once,
)
from fivesentences.reproduction.categories.config import Selection
from fivesentences.reproduction.config.scales import JudgeSpec

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


class PublishedRow(Strict):
    """A row that may stand for a row of a published table; it is then one row."""

    published: str | None = None
    """Value of the column `row` in the published CSV."""

    @model_validator(mode="after")
    def _is_one_row(self) -> Self:
        many = [key for key in type(self).model_fields if isinstance(getattr(self, key), list)]
        if self.published is not None and many:
            raise ValueError(f"published names one published row, but {many[0]} is a list; write the rows one by one")
        return self

    def lines(self, axes: tuple[str, ...]) -> list[dict[str, Any]]:
        """Return its rows, one per combination of what the keys ``axes`` list, the last key fastest."""
        single = {key: getattr(self, key) for key in type(self).model_fields if key not in axes}
        combined = itertools.product(*(as_list(getattr(self, axis)) for axis in axes))
        return [single | dict(zip(axes, values, strict=True)) for values in combined]


class SettingSpec(Strict):
    """Settings of training, apart from the loss: one setting, or several, where a key is a list."""

    role: Name
    features: Name | list[Name | None] | None = None
    """One of the scale's further_features; null: the scale's own."""
    model: Name | list[Name] = "vsepp"
    """A model or ensemble of the study, or a known model."""
    fraction: Fraction | list[Fraction] = 1.0
    captions_per_image: CaptionsPerImage | list[CaptionsPerImage | None] | None = None
    """Only the first so many captions of each training image; null: all."""
    noise: Noise | list[Noise | None] | None = None
    """Share of the training captions that are permuted among the images; null: as the scale says."""
    epochs: Count | list[Count] | None = None
    """Of training; null: as the scale says."""


SETTINGS = tuple(key for key in SettingSpec.model_fields if key != "role")  # in the order in which lists are multiplied
AXES = (*SETTINGS, "loss", "inference", "folds")
SUBSPACE_AXES = ("division", "method", "selection")


class RowSpec(SettingSpec, PublishedRow):
    """One row of a table or figure of runs, or several: lists are multiplied out, the last key fastest.

    The order of the keys is features, model, fraction, captions_per_image, noise, epochs, loss, inference, folds.
    """

    loss: Name | list[Name]
    inference: Inference | list[Inference] = "naive"
    """How a run's similarity is read."""
    folds: ReadFolds | list[ReadFolds | None] | None = None
    """Into how many equal galleries the test split is cut in file order; numbers are means over them. MS-COCO 1K has 5,
    or is the first of 5; null: the whole split is one gallery."""


class OtherSide(Strict):
    """Settings in which the second side of a contrast differs; null: as the first side."""

    features: Name | None = None
    model: Name | None = None
    fraction: Fraction | None = None
    captions_per_image: CaptionsPerImage | None = None
    noise: Noise | None = None
    epochs: Count | None = None
    inference: Inference | None = None


class ContrastSpec(SettingSpec):
    """Runs of two kinds, paired by seed, or several such pairs: lists are multiplied out, the last key fastest.

    The order of the keys is features, model, fraction, captions_per_image, noise, epochs, a, inference. What they say
    holds for both sides, except where ``against`` says otherwise of the second.
    """

    a: Name | list[Name]
    """The loss of the first side; the difference is a - b."""
    b: Name | None = None
    """The loss of the second side; null: that of the first."""
    inference: Inference | list[Inference] = "naive"
    """How the similarity of both sides is read."""
    against: OtherSide = OtherSide()
    """What the second side has besides another loss."""
    question: str = ""
    """Short words on what the difference tells."""

    def pairs(self) -> list[tuple[RowSpec, RowSpec]]:
        """Return both sides of each contrast, each a single row."""
        other = self.against.model_dump(exclude_none=True)
        found = []
        keys = (*SETTINGS, "a", "inference")
        for *setting, loss, inference in itertools.product(*(as_list(getattr(self, key)) for key in keys)):
            first = {"role": self.role, **dict(zip(SETTINGS, setting, strict=True)), "loss": loss}
            first["inference"] = inference
            second = first | other | {"loss": self.b or loss}
            found.append((RowSpec(**first), RowSpec(**second)))
        return found

    @model_validator(mode="after")
    def _sides_differ(self) -> Self:
        for first, second in self.pairs():
            if first == second:
                raise ValueError(f"the loss '{first.loss}' is contrasted with itself; give another b, or against")
        return self


def _as_reported(metric: Any) -> Any:
    """Return ``N@5``, as results are named, of ``NCS@5``, as people say."""
    return f"N{metric[3:]}" if isinstance(metric, str) and metric.startswith("NCS@") else metric


class ColumnSpec(Strict):
    """One column: a metric as the evaluation names it."""

    metric: Annotated[str, BeforeValidator(_as_reported), Field(pattern=REPORTED)]
    direction: Direction | None = None
    formula: Variant = "released"
    ground_truth: Literal["kept", "removed"] = "kept"
    m: int = Field(default=0, ge=0)
    """SR@k: how many items are relevant; 0 for every other metric."""
    style: Literal["", "recall", "vse_recall"] = ""
    """SR@k: share found, or any found."""
    phi: EvaluationPhi | None = None
    """Of semantic metrics; null: the scale's evaluation_phi."""
    ties: Literal["index", "average"] = "index"
    """ASP: ranks of equal phi or similarity."""
    published: str | Literal[False] | None = None
    """Name of the column in the published CSV, if not the metric's; false: the paper has no such column."""

    @model_validator(mode="after")
    def _semantic_recall_is_complete(self) -> Self:
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


class SubspaceRowSpec(PublishedRow):
    """One row of a table or figure of category retrieval, or several: lists are multiplied out, the last key fastest.

    The order of the keys is division, method, selection.
    """

    role: Name
    division: Name | list[Name] = "printed"
    """Of the documents, as a scale names them."""
    method: Name | list[Name]
    """A method of the study."""
    selection: Selection | list[Selection] = "map"
    """Which epoch's weights; a method without epochs has only the last."""


class SubspaceContrastSpec(Strict):
    """Runs of two methods, paired by seed, or several such pairs: lists are multiplied out, the last key fastest.

    The order of the keys is division, a, selection.
    """

    role: Name
    division: Name | list[Name] = "printed"
    a: Name | list[Name]
    """The method of the first side; the difference is a - b."""
    b: Name
    """The method of the second side."""
    selection: Selection | list[Selection] = "map"
    against: Selection | None = None
    """The selection of the second side; null: the same."""
    question: str = ""
    """Short words on what the difference tells."""

    def pairs(self) -> list[tuple[SubspaceRowSpec, SubspaceRowSpec]]:
        """Return both sides of each contrast, each a single row."""
        found = []
        for division, method, selection in itertools.product(*map(as_list, (self.division, self.a, self.selection))):
            first = SubspaceRowSpec(role=self.role, division=division, method=method, selection=selection)
            other = {"method": self.b, "selection": self.against or selection}
            found.append((first, first.model_copy(update=other)))
        return found

    @model_validator(mode="after")
    def _sides_differ(self) -> Self:
        for first, second in self.pairs():
            if first == second:
                raise ValueError(f"the method '{first.method}' is contrasted with itself; give another b, or against")
        return self


# --- what is measured, and how the papers measured it -------------------------------------------------------------

Side = Literal["i2t", "t2i", "mean"]
SubspaceMetric = Literal["mAP", "mAP@100", "mAP@100 possible", "mAP@R"]
Pairs = Literal["all", "other"]
OTHER_IMAGES: Pairs = "other"  # how the evaluation names pairs of a caption with another image


class SubspaceMeasure(Strict):
    """A metric of category retrieval and its direction."""

    metric: SubspaceMetric = "mAP"
    """Over the whole ranking; over the first 100, divided by the relevant ones among them, or by (possible) those that
    could be there; over the first R, of R relevant ones."""
    direction: Side = "mean"

    @property
    def key(self) -> tuple[str, str]:
        """Metric and direction, as the evaluation names them."""
        return self.metric, self.direction


class PublishedSubspaces(Strict):
    """How published numbers were measured; a difference is shown only where documents and division are the same."""

    documents: dict[Name, Name]
    """For each role, the name that a scale gives to documents with the paper's own data and features."""
    features: str | dict[Name, str]
    """In words; or for each role."""
    division: Name = "printed"

    def is_that_of(self, role: str, documents: str | None, division: str) -> bool:
        """Tell whether a row was measured in the same way."""
        return (documents, division) == (self.documents.get(role), self.division)

    def features_of(self, role: str) -> str:
        """Return the features that the paper's models read, in words; empty where the study does not say."""
        return self.features if isinstance(self.features, str) else self.features.get(role, "")


class PublishedSetting(Strict):
    """How the published numbers were measured; a difference is shown only where a run was measured in the same way."""

    dataset: Name | dict[Name, Name]
    """Or one dataset for each role."""
    features: str | list[str] | dict[Name, str | list[str]]
    """Files of features without their suffix, by name or pattern; or those of each role, or of what rows name."""
    phi: EvaluationPhi | list[EvaluationPhi] | None = None
    """Null if no published metric is semantic; a list if its columns have several."""
    images: int | dict[Name, int] | None = None
    """Images of the test gallery, or one number for each role; of its folds as `coco_folds`."""

    def of_role(self, key: Literal["dataset", "images"], role: str) -> Any:
        """Return the dataset or the number of images of a role; None if the paper has none."""
        value = getattr(self, key)
        return value.get(role) if isinstance(value, dict) else value

    def images_of(self, role: str, folds: int | str | None) -> int | None:
        """Return the images of a gallery of a role, or of one of its folds: ``{coco: 5000, coco_folds: 1000}``."""
        of_folds = self.of_role("images", f"{role}_folds") if folds is not None else None
        found: int | None = of_folds or self.of_role("images", role)
        return found

    def features_of(self, role: str, features: str | None = None) -> str | None:
        """Return the features that the paper's models read; None where the study does not say.

        Args:
            role: The role of a row.
            features: Features that the row names.
        """
        return " or ".join(self._kinds(role, features)) or None

    def accepts(self, stem: str, role: str, features: str | None = None) -> bool:
        """Tell whether features, by the name of their file, are of a kind that the paper's models read.

        Args:
            stem: File name of the features without its suffix.
            role: The role of a row.
            features: Features that the row names.
        """
        return of_kind(stem, self._kinds(role, features))

    def _kinds(self, role: str, features: str | None) -> list[str]:
        if not isinstance(self.features, dict):
            return as_list(self.features)
        return as_list(self.features.get(features or role) or self.features.get(role) or [])


class AlsoPublished(Strict):
    """A published row without a row of ours, shown below the rows of roles other than its own dataset's."""

    row: str
    roles: list[Name] = Field(min_length=1)


# --- kinds ----------------------------------------------------------------------------------------------------------

AnyKind = TypeVar("AnyKind", bound=Strict)


class Exhibit(Strict):
    """A table or figure of a study: its texts, and what a plan must know about it.

    Subclasses add ``kind``, a Literal by which a study's file chooses among them, and settings of their own. A plan
    finds rows, contrasts and metrics in the fields ``rows``, ``contrasts`` and ``columns``.

    Attributes:
        reads: The numbers that it is made from.
        shows_photographs: Whether it shows photographs of a dataset.
    """

    reads: ClassVar[Source]
    shows_photographs: ClassVar[bool] = False

    name: Name
    """File name of the table or figure, and its target on the command line."""
    title: str
    caption: str
    notes: list[str] = Field(default=[])
    """Sentences below it, such as errata of the paper."""

    def row_specs(self) -> list[RowSpec]:
        """The rows of runs that it shows, and both sides of its contrasts; none if it shows every run of a scale."""
        sides = dict.fromkeys(row for contrast in self.contrast_specs() for pair in contrast.pairs() for row in pair)
        return [*self._found("rows", RowSpec), *sides]

    def contrast_specs(self) -> list[ContrastSpec]:
        """Return the contrasts of runs whose paired differences it shows."""
        return self._found("contrasts", ContrastSpec)

    def subspace_rows(self) -> list[SubspaceRowSpec]:
        """Return its rows of category retrieval, apart from those that it contrasts."""
        return self._found("rows", SubspaceRowSpec)

    def subspace_contrasts(self) -> list[SubspaceContrastSpec]:
        """Return the contrasts of methods of category retrieval whose paired differences it shows."""
        return self._found("contrasts", SubspaceContrastSpec)

    def every_subspace_row(self) -> list[SubspaceRowSpec]:
        """Return its rows of category retrieval, then both sides of each of its contrasts."""
        sides = [row for contrast in self.subspace_contrasts() for pair in contrast.pairs() for row in pair]
        return [*self.subspace_rows(), *sides]

    def metrics(self) -> list[ColumnSpec]:
        """Return the metrics of runs that it names."""
        return self._found("columns", ColumnSpec)

    def published_table(self) -> Name | None:
        """Return the file name, without the suffix, of the published table that it is compared with."""
        return getattr(self, "published", None)

    def judged(self) -> list[tuple[PhiName, References]]:
        """Return each (phi, references) whose agreement with judges it shows."""
        return []

    def matrices(self) -> list[PhiName]:
        """Return each phi for which it needs the whole matrix of a test split."""
        return []

    def adaptive_margins(self) -> list[tuple[Fraction, Name]]:
        """Return each fraction of the training captions, and loss of its study, whose adaptive margins it shows."""
        return []

    def roles(self) -> list[Name]:
        """Return the roles whose datasets it counts, if it reads corpora; none if it counts all of the scale."""
        return []

    @model_validator(mode="after")
    def _lines_once(self) -> Self:
        """Refuse a line that two rows or contrasts share once their lists are multiplied out."""
        check_each_once("rows", [line for row in self._found("rows", RowSpec) for line in row.lines(AXES)])
        of_subspaces = self.subspace_rows()
        check_each_once("rows", [line for row in of_subspaces for line in row.lines(SUBSPACE_AXES)])
        contrasts: list[Any] = [*self.contrast_specs(), *self.subspace_contrasts()]
        check_each_once("contrasts", [pair for contrast in contrasts for pair in contrast.pairs()])
        return self

    def _found(self, field: str, kind: type[AnyKind]) -> list[AnyKind]:
        return [one for one in getattr(self, field, []) if isinstance(one, kind)]


class TableSpec(Exhibit):
    """A table; subclasses narrow its kind to one word."""

    kind: str


class FigureSpec(Exhibit):
    """A figure; subclasses narrow its kind to one word."""

    kind: str


class RunTable(TableSpec):
    """Rows x metrics of runs, and the published values that they are compared with."""

    reads: ClassVar[Source] = "runs"

    kind: Literal["runs"]
    rows: list[RowSpec] = Field(min_length=1)
    columns: list[ColumnSpec] = Field(min_length=1)
    published: Name | None = None
    """File in config/published, without .csv."""
    published_rows: Literal["rows", "columns"] = "rows"
    """columns: the published rows are our columns, and the published methods our rows."""
    published_setting: PublishedSetting | None = None
    also_published: list[str | AlsoPublished] = Field(default=[])
    """Published rows shown without a row of ours."""
    chosen_on_dev: list[list[Name]] = Field(default=[])
    """Losses that differ in a setting to be tuned, a list per rule: notes say which has the best mean dev Rsum."""


class PairedTable(TableSpec):
    """Contrasts x statistics: how far the two sides of each contrast differ, and how sure that is."""

    reads: ClassVar[Source] = "contrasts"

    kind: Literal["paired"]
    contrasts: list[ContrastSpec] = Field(min_length=1)
    measures: list[Summed] = Field(default=["Rsum", "Nsum", "Nsum_own_removed"], min_length=1)
    """One line each, below one another."""
    phi: EvaluationPhi | None = None
    """Of Nsum and ASP; null: the scale's evaluation_phi."""


class AgreementRowSpec(PublishedRow):
    """One row: a phi, with or without a caption among its own references."""

    phi: PhiName
    references: References = "kept"


class AgreementColumnSpec(Strict):
    """One column: a correlation with the judge over all pairs, or over those of a caption with another image."""

    statistic: Statistic
    pairs: Pairs


class AgreementSetting(Strict):
    """Dataset and judge of the published correlations; a difference is shown only there."""

    dataset: Name
    judge: Judge


class AgreementTable(TableSpec):
    """How well each phi agrees with the judges of a scale: one group per judge and kind of references."""

    reads: ClassVar[Source] = "correlations"

    kind: Literal["agreement"]
    rows: list[AgreementRowSpec] = Field(min_length=1)
    columns: list[AgreementColumnSpec] = Field(min_length=1)
    published: Name | None = None
    """File in config/published, without .csv."""
    published_setting: AgreementSetting | None = None

    def judged(self) -> list[tuple[PhiName, References]]:
        """Return its rows."""
        return [(row.phi, row.references) for row in self.rows]

    def compares_with(self, judge: JudgeSpec) -> bool:
        """Tell whether the published correlations are with this judge, on the same dataset."""
        setting = self.published_setting
        return setting is not None and (judge.dataset, judge.judge) == (setting.dataset, setting.judge)


class MarginsTable(TableSpec):
    """Components of adaptive margins: one group per dataset and fraction, one row per loss."""

    reads: ClassVar[Source] = "margins"

    kind: Literal["margins"]
    fractions: list[Fraction] = Field(min_length=1)
    """Of the training captions of every dataset."""
    losses: list[Name] = Field(min_length=1)
    """Of the study, with adaptive margins."""
    rows: list[RowSpec] = Field(default=[])
    """Runs with these losses, of one model, whose hinges are counted; margins whose negatives are not random are those
    of the longest of them."""

    def adaptive_margins(self) -> list[tuple[Fraction, Name]]:
        """Return every fraction with every loss."""
        return list(itertools.product(self.fractions, self.losses))

    @model_validator(mode="after")
    def _rows_are_of_the_table(self) -> Self:
        for row in self.rows:
            for loss in as_list(row.loss):
                if loss not in self.losses:
                    raise ValueError(f"rows name the loss '{loss}', but losses has only: {', '.join(self.losses)}")
            for fraction in as_list(row.fraction):
                if fraction not in self.fractions:
                    known = ", ".join(f"{one:g}" for one in self.fractions)
                    raise ValueError(f"rows name the fraction {fraction:g}, but fractions has only: {known}")
        models = list(dict.fromkeys(model for row in self.rows for model in as_list(row.model)))
        if len(models) > 1:
            raise ValueError(f"rows name the models {', '.join(models)}; a table of margins has runs of one model")
        return self


class SplitsRowSpec(PublishedRow):
    """One row: the dataset that plays a role."""

    role: Name
    folds: Folds | None = None
    """Into how many equal galleries the test split is cut; the numbers are those of one."""


class SplitsTable(TableSpec):
    """Sizes of the splits, counted in the corpora of the scale: one row per role, or two where galleries are folds.

    Published sizes are of the dataset that is called like the role; a difference is shown only there.
    """

    reads: ClassVar[Source] = "corpora"

    kind: Literal["splits"]
    rows: list[SplitsRowSpec] = Field(min_length=1)
    published: Name | None = None
    """File in config/published, without .csv."""

    def roles(self) -> list[Name]:
        """Return the roles of its rows."""
        return [row.role for row in self.rows]


class LengthsTable(TableSpec):
    """Words per caption of a split, one row per dataset of the scale that has it."""

    reads: ClassVar[Source] = "corpora"

    kind: Literal["lengths"]
    split: Split = "test"


class SubspaceTable(TableSpec):
    """Methods x metrics of category retrieval, and the published values that they are compared with."""

    reads: ClassVar[Source] = "subspaces"

    kind: Literal["subspaces"]
    rows: list[SubspaceRowSpec] = Field(min_length=1)
    columns: list[SubspaceMeasure] = Field(min_length=1)
    published: Name | None = None
    """File in config/published, without .csv."""
    published_setting: PublishedSubspaces | None = None
    also_published: list[str] = Field(default=[])
    """Numbers of published rows shown without a row of ours, below rows with published values."""


class SubspaceContrastTable(TableSpec):
    """Contrasts x statistics: how far two methods of category retrieval differ, and how sure that is."""

    reads: ClassVar[Source] = "subspace_contrasts"

    kind: Literal["subspace_contrasts"]
    contrasts: list[SubspaceContrastSpec] = Field(min_length=1)
    measures: list[SubspaceMeasure] = Field(default=[SubspaceMeasure()], min_length=1)
    """One line each, below one another."""


MOST_LINES = 7  # that a figure can tell apart by their colours


class ActivationCurve(Strict):
    """One schedule."""

    start: Share
    """fₐ: the share of the epochs at which the schedule is half active."""
    steepness: Positive
    """K, per epoch."""


class ActivationFigure(FigureSpec):
    """The schedule alpha(t) over the epochs, one curve per start and steepness; made from no measured numbers."""

    reads: ClassVar[Source] = "nothing"

    kind: Literal["activation"]
    epochs: Count = 50
    """n_e: of the whole training."""
    curves: list[ActivationCurve] = Field(min_length=1, max_length=MOST_LINES)


class AgreementFigure(FigureSpec):
    """The judge's score against phi, one panel per phi and judge."""

    reads: ClassVar[Source] = "judged_pairs"

    kind: Literal["agreement"]
    phis: list[PhiName] = Field(min_length=1)
    references: References = "own_left_out"

    def judged(self) -> list[tuple[PhiName, References]]:
        """Return its phi."""
        return [(phi, self.references) for phi in self.phis]


class CorrelationsFigure(FigureSpec):
    """How well each phi agrees with the judges of a scale by one correlation: one panel per judge."""

    reads: ClassVar[Source] = "correlations"

    kind: Literal["correlations"]
    judges: list[Judge] = Field(min_length=1)
    phis: list[PhiName] = Field(min_length=1)
    references: References | list[References] = "kept"
    """A list: a line for each phi with each of them."""
    pairs: Pairs = OTHER_IMAGES
    statistic: Statistic = "pearson"

    def judged(self) -> list[tuple[PhiName, References]]:
        """Return its phi."""
        return [(phi, references) for phi in self.phis for references in as_list(self.references)]


class PhiFigure(FigureSpec):
    """A kind of figure about some phi."""

    reads: ClassVar[Source] = "phi_statistics"

    phis: list[PhiName] = Field(min_length=1)

    def matrices(self) -> list[PhiName]:
        """Return its phi."""
        return self.phis


class PhiHistogramFigure(PhiFigure):
    """Histograms of phi between captions and their own, and other, images."""

    kind: Literal["phi_histogram"]


class BestCaptionsFigure(PhiFigure):
    """The best captions of other images by each phi, with photographs of the scale's first dataset."""

    shows_photographs: ClassVar[bool] = True

    kind: Literal["best_captions"]


class FoundPositivesFigure(PhiFigure):
    """A judge's right pairs among the first n by phi, and by labels where a dataset has them; a panel per judge."""

    reads: ClassVar[Source] = "found_positives"

    kind: Literal["found_positives"]
    published: Name | None = None
    """Table with the columns found and searched, by judge."""


class RunsFigure(FigureSpec):
    """A kind of figure of metrics of runs."""

    reads: ClassVar[Source] = "runs"

    rows: list[RowSpec] = Field(min_length=1)


Over = Literal["epochs", "fraction", "noise"]
# What makes a line; over fractions, epochs go along with the fraction.
OF_LINE: dict[Over, tuple[str, ...]] = {
    "epochs": tuple(axis for axis in AXES if axis != "epochs"),
    "fraction": tuple(axis for axis in AXES if axis not in ("epochs", "fraction")),
    "noise": tuple(axis for axis in AXES if axis != "noise"),
}


class CurvesFigure(RunsFigure):
    """Metrics over epochs, fractions or noise, one line per loss: means over seeds with their 95% t intervals.

    Each model has its panels. With ``relative_to``, a second panel shows the difference to that loss, paired by seed:
    lines that cross zero cross that loss.
    """

    kind: Literal["curves"]
    over: Over
    """Which setting of the rows the lines go over."""
    columns: list[ColumnSpec] = Field(min_length=1)
    """The metrics: one panel, or pair of panels, each."""
    relative_to: Name | None = None
    """A loss of its rows: differences to it, paired by seed, stand in a second panel."""

    @model_validator(mode="after")
    def _each_point_once(self) -> Self:
        """Refuse rows that have no place on the axis, or the same one: this would be found after hours of training."""
        seen = set()
        for row in self.rows:
            if self.over == "epochs" and row.epochs is None:
                raise ValueError("over is epochs, but a row leaves its epochs to the scale; name them in the row")
            if self.over == "noise" and None in as_list(row.noise):
                raise ValueError("over is noise, but a row leaves it to the scale; name it in the row, 0 for none")
            for values in itertools.product(*(as_list(getattr(row, axis)) for axis in AXES)):
                setting = dict(zip(AXES, values, strict=True))
                place = (row.role, *(setting[axis] for axis in (*OF_LINE[self.over], self.over)))
                if place in seen:
                    where = f"{self.over} {setting[self.over]:g}"
                    raise ValueError(
                        f"two rows have the loss {setting['loss']} at {where}, one place of one line; remove one"
                    )
                seen.add(place)
        losses = dict.fromkeys(loss for row in self.rows for loss in as_list(row.loss))
        if self.relative_to is not None and self.relative_to not in losses:
            raise ValueError(f"relative_to is {self.relative_to}, but its rows have only: {', '.join(losses)}")
        return self


class FrontFigure(RunsFigure):
    """Two metrics of runs against each other, one mark per loss: the mean over seeds, with their range.

    Losses that share a term with a weight (such as ``soft_rank``) are a family: the term's settings give colour and
    form, its weight a number and a size. Each model has its panels, one for each y.
    """

    kind: Literal["front"]
    rows: list[RowSpec] = Field(min_length=1)
    """They differ in loss (and model, which has its own panels)."""
    x: ColumnSpec
    y: list[ColumnSpec] = Field(min_length=1)
    """One panel each."""

    def metrics(self) -> list[ColumnSpec]:
        """Return its metrics."""
        return [self.x, *self.y]

    @model_validator(mode="after")
    def _rows_differ_in_loss(self) -> Self:
        """Refuse what one panel cannot show, and metrics that have no better end."""
        for axis in AXES:
            values = {str(value) for row in self.rows for value in as_list(getattr(row, axis))}
            if axis not in ("model", "loss") and len(values) > 1:
                raise ValueError(f"rows of a front differ in loss and model only, but these differ in {axis}; name one")
        for column in self.metrics():
            if metric_of(column.metric).better == "neither":
                raise ValueError(f"no value of {column.metric} is better than another, so it has no front")
        return self


class HubnessFigure(RunsFigure):
    """How often items are the nearest of a query: one panel per loss and one line per inference method."""

    kind: Literal["hubness"]


class SemanticRecallFigure(RunsFigure):
    """Recall and semantic recall without the query's own items, over the number of relevant items; one line per row."""

    kind: Literal["semantic_recall_over_m"]
    k: int = Field(default=5, ge=1)


class RetrievalsFigure(RunsFigure):
    """Queries that two rows answer equally well by recall and differently by phi, with what they retrieve.

    Of its rows the first two that a scale trains on one dataset are compared.
    """

    reads: ClassVar[Source] = "retrievals"
    shows_photographs: ClassVar[bool] = True

    kind: Literal["retrievals"]
    k: int = Field(default=5, ge=1, le=10)
    queries: int = Field(default=1, ge=1, le=5)
    """Of each direction and outcome (found by both, by neither)."""

    @model_validator(mode="after")
    def _retrievals_are_naive(self) -> Self:
        if inferences_of(self.rows) != ["naive"]:
            raise ValueError("retrievals are read from the naive similarity; leave inference out of the rows")
        return self


class MetricAgreementFigure(FigureSpec):
    """Whether metrics rank the runs of a scale alike; a metric without direction is the mean of both."""

    reads: ClassVar[Source] = "every_run"

    kind: Literal["metric_agreement"]
    columns: list[ColumnSpec] = Field(min_length=2)
    epochs: Count | None = None
    """Only runs of rows that name so many; null: of rows that name none."""


class ForestFigure(FigureSpec):
    """One line per contrast and a panel per metric: the mean difference, its interval, and that of each seed."""

    reads: ClassVar[Source] = "contrasts"

    kind: Literal["forest"]
    contrasts: list[ContrastSpec] = Field(min_length=1)
    measures: list[Summed] = Field(default=["Rsum", "Nsum"], min_length=1, max_length=3)
    """A panel each."""
    phi: EvaluationPhi | None = None
    """Of Nsum and ASP; null: the scale's evaluation_phi."""


class SubspaceForestFigure(FigureSpec):
    """A forest of methods of category retrieval."""

    reads: ClassVar[Source] = "subspace_contrasts"

    kind: Literal["subspace_forest"]
    contrasts: list[SubspaceContrastSpec] = Field(min_length=1)
    measures: list[SubspaceMeasure] = Field(default=[SubspaceMeasure()], min_length=1, max_length=3)
    """A panel each."""


class MeansFigure(RunsFigure):
    """One metric of runs: a dot per row for the mean, and a small one for each seed."""

    kind: Literal["means"]
    columns: list[ColumnSpec] = Field(min_length=1, max_length=1)


class MarginsFigure(FigureSpec):
    """Histograms of adaptive margins, and what their variance is made of, by dataset and fraction."""

    reads: ClassVar[Source] = "margins"

    kind: Literal["margins"]
    fractions: list[Fraction] = Field(min_length=1)
    """Of the training captions of every dataset."""
    losses: list[Name] = Field(min_length=1, max_length=MOST_LINES)
    """Of the study, with adaptive margins and random negatives: their margins."""
    shares: list[Name] = Field(default=[])
    """likewise: what the variance is made of; none: of `losses`."""

    def adaptive_margins(self) -> list[tuple[Fraction, Name]]:
        """Return every fraction with every loss."""
        return list(itertools.product(self.fractions, [*self.losses, *self.shares]))


class SubspaceRowsFigure(FigureSpec):
    """A kind of figure of runs of category retrieval."""

    reads: ClassVar[Source] = "subspace_histories"

    rows: list[SubspaceRowSpec] = Field(min_length=1)


class CategoryMarginsFigure(SubspaceRowsFigure):
    """The mean margin between categories over the epochs: a small panel per category, a line per other category."""

    kind: Literal["category_margins"]


class MarginByEpochFigure(SubspaceRowsFigure):
    """The mean margin of all triplets of each epoch, one line per method, and the schedule that it follows."""

    kind: Literal["margin_by_epoch"]


class StartAndShareFigure(SubspaceRowsFigure):
    """A metric over fₐ, one curve per λ, with its spread over seeds; fixed margins are horizontal lines.

    A second panel shows the differences to the first fixed margin, paired by seed.
    """

    reads: ClassVar[Source] = "subspaces"

    kind: Literal["start_and_share"]
    metric: SubspaceMetric = "mAP"
    direction: Side = "mean"


class SubspaceFigure(SubspaceRowsFigure):
    """The mean margin between each two categories at some epochs, and t-SNE of the subspace that came of it.

    Of the first row that the scale makes, its first seed.
    """

    reads: ClassVar[Source] = "subspace_projection"

    kind: Literal["subspace"]
    published: Name | None = None
    """File in config/published, without .csv, of margins at the last epoch; its rows are named anchor-negative."""
    at: list[Share] = Field(default=[0.0, 0.4, 1.0], min_length=1, max_length=4)
    """Shares of the training: the recorded epochs next to them are shown."""


class GallerySpec(Exhibit):
    """The page that shows queries with what several models retrieve for them, of one seed each.

    A scale has one gallery: that of the first of its studies that has one.
    """

    reads: ClassVar[Source] = "disagreements"
    shows_photographs: ClassVar[bool] = True

    name: Name = "gallery"
    """By which `only` of a scale keeps it."""
    title: str = "Gallery"
    caption: str = ""
    rows: list[RowSpec] = Field(min_length=1)
    """The models, in the order of the page; of those that the scale trains, the ones on the dataset of the first that
    has photographs."""
    contrasts: list[ContrastSpec] = Field(default=[])
    """Two of them each, such as a loss and its control, whose largest differences are shown."""
    queries: int = Field(default=6, ge=1)
    """How many queries each criterion chooses in a direction."""

    @model_validator(mode="after")
    def _retrievals_are_naive(self) -> Self:
        if inferences_of(self.rows) != ["naive"] or any(row.folds is not None for row in self.rows):
            raise ValueError(
                "retrievals are read from the naive similarity of the whole split; leave inference and folds out of "
                "the rows of the gallery"
            )
        return self


AnyTable = Annotated[
    RunTable
    | AgreementTable
    | LengthsTable
    | MarginsTable
    | PairedTable
    | SplitsTable
    | SubspaceTable
    | SubspaceContrastTable,
    Field(discriminator="kind"),
]
AnyFigure = Annotated[
    ActivationFigure
    | AgreementFigure
    | BestCaptionsFigure
    | CategoryMarginsFigure
    | CorrelationsFigure
    | CurvesFigure
    | ForestFigure
    | FoundPositivesFigure
    | FrontFigure
    | HubnessFigure
    | MarginByEpochFigure
    | MarginsFigure
    | MeansFigure
    | MetricAgreementFigure
    | PhiHistogramFigure
    | RetrievalsFigure
    | SemanticRecallFigure
    | StartAndShareFigure
    | SubspaceFigure
    | SubspaceForestFigure,
    Field(discriminator="kind"),
]


def inferences_of(rows: list[RowSpec]) -> list[Inference]:
    """Return every inference method of some rows, each once, in their order."""
    return list(dict.fromkeys(method for row in rows for method in as_list(row.inference)))
