"""Claims of a paper, as data: ``config/claims/<paper>.yaml``, and which contrast of runs and metric tests it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import (
    Count,
    Direction,
    Fraction,
    Inference,
    Judge,
    MayRepeat,
    Name,
    Noise,
    PhiName,
    References,
    Strict,
    as_list,
    check_each_once,
)
from fivesentences.reproduction.study.exhibits import ColumnSpec

Expect = Literal["more", "less", "same", "not_less"]
# Of the captions of each training image; `all` are not a number that a study names.
Captions = Count | Literal["all"]


class Printed(Strict):
    """A size in print: the number of one cell of a published table, or a difference of cells.

    With ``a`` alone it is that cell, with ``b`` it is a - b, with ``c`` and ``d`` besides it is (a - b) - (c - d).
    """

    of: str
    """What it was measured on, in words."""
    size: float
    """As printed, or as it follows from what is printed."""
    table: Name | None = None
    """File name, without the suffix, in config/published; null: it stands in the text."""
    metric: str = ""
    """Column; Rsum is summed where the table prints recalls only."""
    direction: Literal["", "i2t", "t2i", "avg"] = ""
    a: str | None = None
    """Row, as `published` of a study names it."""
    b: str | None = None
    c: str | None = None
    d: str | None = None
    than_table: Name | None = None
    """Of c and d; null: the same."""
    b_table: Name | None = None
    """Of b; null: that of a."""
    b_metric: str | None = None
    """Of b; null: that of a."""
    b_direction: Literal["", "i2t", "t2i", "avg"] | None = None
    """Of b; null: that of a."""

    @model_validator(mode="after")
    def _cells_are_complete(self) -> Printed:
        if (self.table is None) != (self.a is None) or (self.table is not None and not self.metric):
            raise ValueError("a size of a table names table, metric and a; one that stands in the text names none")
        if (self.c is None) != (self.d is None) or (self.c is not None and self.b is None):
            raise ValueError("c and d stand together, beside a and b")
        return self


class Than(Strict):
    """Where an effect is stated to be smaller than where it is tested."""

    fraction: Fraction | None = None
    captions_per_image: Captions | None = None
    noise: Noise | None = None
    epochs: Count | None = None
    role: Name | None = None
    model: Name | None = None
    features: Name | None = None
    """Of the scale's further_features; null: its own."""

    @model_validator(mode="after")
    def _something_differs(self) -> Than:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"name one of {', '.join(type(self).model_fields)}")
        return self


class Test(Strict):
    """How a statement is tested."""

    expect: Expect = "more"
    """Of a - b, or of the value: more than zero; less; the same but for less than half a percent of the metric's range;
    not less by more than that."""


class OfRuns(Test):
    """Which runs are looked at, and by which metric."""

    role: Name | None = None
    """What the dataset plays; null: every dataset."""
    model: Name | list[Name] | None = None
    """null: every model that the scale trains."""
    fraction: Fraction | list[Fraction] | None = None
    """null: every one."""
    captions_per_image: Captions | list[Captions] | None = "all"
    noise: Noise | list[Noise] | None = 0.0
    """Share of wrong training pairs; null: every one."""
    epochs: Count | list[Count] | None = None
    measure: ColumnSpec
    inference: Inference = "naive"


class RunsTest(OfRuns):
    """Runs of two losses, paired by seed and test image; or one loss read in two ways, or by two metrics."""

    kind: Literal["runs"]
    a: Annotated[Name | list[Name], MayRepeat()]
    """Losses; each is a test of its own."""
    b: Annotated[Name | list[Name] | None, MayRepeat()] = None
    """As many losses as a, or one for all; null: the same, read otherwise."""
    features: Name | None = None
    """Of the scale's further_features; null: any."""
    against: ColumnSpec | None = None
    """The metric of b; null: that of a."""
    b_inference: Inference | None = None
    """null: that of a."""
    than: Than | None = None
    """The effect is larger than the same effect there."""

    def pairs(self) -> list[tuple[str, str]]:
        """Return the losses of both sides of each test."""
        first = as_list(self.a)
        second = first if self.b is None else as_list(self.b)
        return list(zip(first, second if len(second) > 1 else second * len(first), strict=True))

    def sides(self) -> list[tuple[ColumnSpec, Inference]]:
        """Return metric and inference method of both sides."""
        return [(self.measure, self.inference), (self.against or self.measure, self.b_inference or self.inference)]

    @model_validator(mode="after")
    def _sides_fit(self) -> RunsTest:
        count = len(as_list(self.a))
        if self.b is not None and len(as_list(self.b)) not in (1, count):
            raise ValueError(f"b has {len(as_list(self.b))} losses and a {count}; give one, or as many")
        if self.b is None and self.against is None and self.b_inference is None:
            raise ValueError("both sides are the same; name b, against or b_inference")
        check_each_once("a with b", self.pairs())
        return self


class LevelTest(OfRuns):
    """A metric of runs of some losses against a level."""

    kind: Literal["level"]
    loss: Name | list[Name]
    level: float
    """The value is expected to be more, or less, than that."""

    def pairs(self) -> list[tuple[str, str]]:
        """Return the loss of each test, twice, as ``RunsTest.pairs``."""
        return [(name, name) for name in as_list(self.loss)]

    def sides(self) -> list[tuple[ColumnSpec, Inference]]:
        """Return metric and inference method of the only side."""
        return [(self.measure, self.inference)]


class MethodsTest(Test):
    """Methods of category retrieval, paired by seed and test document, by mean average precision.

    One method on other documents (``b_role``) is not paired: the test documents differ.
    """

    kind: Literal["methods"]
    role: Name | list[Name] | None = None
    """What documents play; null: all of the scale's."""
    a: Name | list[Name]
    b: Name | list[Name] | None = None
    """null: the same method, read otherwise."""
    direction: Direction | Literal["mean"] = "mean"
    b_direction: Direction | Literal["mean"] | None = None
    """Of b; null: that of a."""
    b_role: Name | None = None
    """What the documents of b play; null: those of a."""
    selection: list[Literal["map", "last"]] = Field(default=["map"], min_length=1)
    """Which epoch's weights: of best validation mAP, of the last epoch, or both, each a test of its own. A method
    without epochs has one."""

    def pairs(self) -> list[tuple[str, str]]:
        """Return the methods of both sides of each test."""
        first = as_list(self.a)
        if self.b is None:
            return [(a, a) for a in first]
        return [(a, b) for a in first for b in as_list(self.b)]

    @model_validator(mode="after")
    def _sides_differ(self) -> MethodsTest:
        if self.b is None and self.b_direction in (None, self.direction) and self.b_role is None:
            raise ValueError("both sides are the same; name b, b_direction or b_role")
        return self


class RanksTest(Test):
    """Kendall's tau-b between two metrics over all settings that a scale trains, each a mean over seeds."""

    kind: Literal["ranks"]
    x: ColumnSpec
    y: ColumnSpec
    level: float = Field(ge=-1, le=1)
    """The correlation is expected to be more, or less, than that."""


class JudgesTest(Test):
    """How much more one phi agrees with people than another, by Pearson's r over the same pairs."""

    kind: Literal["judges"]
    a: PhiName
    b: PhiName | None = None
    """null: no other; the correlation itself is tested."""
    pairs: Literal["all", "other"]
    """Of captions with images: all, or those with other images."""


class OrdersTest(Test):
    """How much better some metrics order models by people's judgements than others do: Kendall's tau over pairs.

    Its models are those of ``benchmarks/people``, which no scale trains.
    """

    kind: Literal["orders"]
    a: str | list[str]
    """Metrics, as results/people names them; each is a test of its own."""
    b: Annotated[str | list[str] | None, MayRepeat()] = None
    """As many metrics as a, or one for all; null: the tau of a itself is tested."""
    models: str | list[str]
    """Which pairs of models, such as `close to people`; each is a test of its own."""

    def pairs(self) -> list[tuple[str, str | None]]:
        """Return the metrics of both sides of each test."""
        first, second = as_list(self.a), [None] if self.b is None else as_list(self.b)
        return list(zip(first, second if len(second) > 1 else second * len(first), strict=True))

    @model_validator(mode="after")
    def _sides_fit(self) -> OrdersTest:
        if self.b is not None and len(as_list(self.b)) not in (1, len(as_list(self.a))):
            raise ValueError(f"b has {len(as_list(self.b))} metrics and a {len(as_list(self.a))}; give one, or as many")
        return self


class FoundTest(Test):
    """How many more pairs b takes for right than a until it reaches a right pair: a power of ten, the mean of all."""

    kind: Literal["found"]
    a: PhiName | Literal["labels"]
    b: PhiName | Literal["labels"]


class SizeTest(Test):
    """A number that stands in the text of a paper, such as "about 15%", and ours: as close as print rounds it."""

    judge: Judge
    """Whose pairs are counted."""
    phi: PhiName
    level: float
    """The number in print."""
    within: float = Field(gt=0)
    """How far from it ours may lie to be called the same: half a unit of the last digit that print gives."""


class OwnBelowTest(SizeTest):
    """Percentage of captions that score below a bar with their own image."""

    kind: Literal["own_below"]
    references: References = "kept"
    """Whether the caption is among the references that it is compared with."""
    below: float


class AmongTest(SizeTest):
    """Number of a judge's right pairs among the first so many pairs of a caption with another image."""

    kind: Literal["among"]
    first: int = Field(ge=1)


AnyTest = Annotated[
    RunsTest | LevelTest | MethodsTest | RanksTest | JudgesTest | OrdersTest | FoundTest | OwnBelowTest | AmongTest,
    Field(discriminator="kind"),
]


class Claim(Strict):
    """One statement that can be checked."""

    name: Name
    claim: str
    """The statement in our words."""
    where: str
    """Section, table or figure in print."""
    note: str = ""
    """What a reader should know, such as a misprint."""
    needs: str = ""
    """What would decide it, of a claim that no kept results decide."""
    main: bool = False
    """One of the few that a reader sees first."""
    printed: list[Printed] = Field(default=[])
    """Sizes in print; none where the paper has no number."""
    test: AnyTest


class Claims(Strict):
    """The statements of one paper."""

    study: Name
    """Of config/studies; its names of losses and methods are used here."""
    claims: list[Claim] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Claims:
        names = [one.name for one in self.claims]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two claims are named '{name}'; rename one")
        return self

    def names(self, *kinds: type[RunsTest | LevelTest | MethodsTest]) -> set[str]:
        """Return names of all losses, or methods, in its tests of some kinds."""
        tests = (one.test for one in self.claims if isinstance(one.test, kinds))
        return {name for test in tests for pair in test.pairs() for name in pair}
