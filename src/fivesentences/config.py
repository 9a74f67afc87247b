"""Typed configuration: scales, studies, datasets and runs, checked before any job starts.

Three kinds of YAML file are read here. A *scale* (``config/demo.yaml``) says which dataset plays which role,
with which features, how long to train and how many seeds. A *study* (``config/studies/*.yaml``) says what a
paper's tables and figures are made of. The *catalogue* (``config/datasets.yaml``) lists every file to download.
A *run* is one trained model, resolved from a scale and a study's row.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fivesentences.errors import InputError

Direction = Literal["i2t", "t2i"]
Negatives = Literal["random", "closest", "furthest"]
Variant = Literal["paper", "released"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
LOADERS = ("scenes", "flickr8k", "karpathy", "precomp", "folder")
Fraction = Annotated[float, Field(gt=0, le=1)]
PhiName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(-(whitespace|reattached|ptb))?$")]
Split = Literal["train", "dev", "test"]
Judge = Literal["cxc", "flickr8k_expert", "flickr8k_expert_each", "flickr8k_crowdflower", "scenes_truth"]
References = Literal["kept", "own_left_out"]
Statistic = Literal["pearson", "spearman", "kendall_b", "kendall_c"]


class Strict(BaseModel):
    """A configuration block: unknown keys are errors, values are not converted silently, nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- runs ---------------------------------------------------------------------------------------------------


class FeatureSpec(Strict):
    """Which image features a model reads, and how they are prepared from training statistics."""

    extractor: Name
    layout: Literal["global", "grid"] = "global"
    prepare: Literal["as_stored", "standardise", "normalise"] = "standardise"

    @property
    def stem(self) -> str:
        """File name of the features without its suffix, such as ``mobilenetv2_100-global``."""
        return f"{self.extractor}-{self.layout}"


class ModelSpec(Strict):
    """A model of ``fivesentences.models`` and its widths."""

    name: Literal["vsepp"]
    embedding: int = Field(default=1024, ge=1, le=65536)
    word: int = Field(default=300, ge=1, le=65536)


class SamSpec(Strict):
    """Semantic Adaptive Margin beside (or instead of) the triplet loss; see ``losses``."""

    temperature: float = Field(default=10.0, gt=0)
    negatives: Negatives = "random"
    variant: Variant = "paper"
    weight: float = Field(default=1.0, gt=0)
    max_margin: float | None = None


class LossSpec(Strict):
    """What a run minimises: a triplet loss, a Semantic Adaptive Margin, or their sum."""

    triplet: Literal["all", "hardest"] | Annotated[int, Field(ge=1)] | None = "hardest"
    margin: float = Field(default=0.2, ge=0)
    sam: SamSpec | None = None

    @model_validator(mode="after")
    def _something_to_minimise(self) -> LossSpec:
        if self.triplet is None and self.sam is None:
            raise ValueError("triplet and sam are both null, so there is nothing to minimise; give one of them")
        return self

    @property
    def folder(self) -> str:
        """Readable settings for a folder name, such as ``triplet=hardest,margin=0.2``."""
        parts = [] if self.triplet is None else [f"triplet={self.triplet}", f"margin={self.margin:g}"]
        if self.sam is not None:
            sam = self.sam
            parts += [f"tau={sam.temperature:g}", f"negatives={sam.negatives}"]
            parts += [f"variant={sam.variant}", f"weight={sam.weight:g}"]
            if sam.max_margin is not None:
                parts.append(f"max_margin={sam.max_margin:g}")
        return ",".join(parts)


class RunSpec(Strict):
    """One training run, complete: what ``fivesentences train`` and the rule ``train_model`` are given."""

    dataset: Name
    features: FeatureSpec
    model: ModelSpec
    loss: LossSpec = LossSpec()
    fraction: Fraction = 1.0
    draw: Literal["first", "seeded"] = "first"
    seed: int = Field(default=0, ge=0)
    epochs: int = Field(default=30, ge=1)
    batch_size: int = Field(default=128, ge=2)
    learning_rate: float = Field(default=2e-4, gt=0)
    drop_after: float = Field(default=0.5, gt=0, le=1, description="share of the epochs before the rate falls tenfold")
    gradient_clip: float = Field(default=2.0, gt=0)
    min_word_count: int = Field(default=4, ge=1, description="words seen less often in training captions are <unk>")
    selection: Literal["rsum", "ncs"] = "rsum"
    threads: int = Field(default=1, ge=1, description="CPU threads; part of the result, since sums depend on it")

    @property
    def name(self) -> str:
        """Folder of the run below ``results/training``; equal names mean equal runs within a scale."""
        model = self.model.name + ("+sam" if self.loss.sam is not None else "")
        return f"{self.dataset}/{model}/{self.loss.folder}/fraction={self.fraction:g}/seed={self.seed}"


# --- datasets -----------------------------------------------------------------------------------------------


class ScenesData(Strict):
    """The embedded corpus of drawn scenes."""

    loader: Literal["scenes"]
    seed: int = Field(default=2022, ge=0)
    train: int = Field(default=800, ge=1)
    dev: int = Field(default=100, ge=1)
    test: int = Field(default=200, ge=1)


class CatalogueData(Strict):
    """A public dataset whose files ``config/datasets.yaml`` lists; the entry has the dataset's own name."""

    loader: Literal["flickr8k", "karpathy"]
    member: str | None = Field(default=None, description="karpathy: the JSON inside the zip, if it holds several")
    splits: list[Split] | None = Field(
        default=None, min_length=1, description="null: all; what else there is stays unread"
    )


class PrecompData(Strict):
    """The ``<prefix>_precomp`` folder that the released code of SCAN, VSRN, CVSE and SGRAF reads."""

    loader: Literal["precomp"]
    folder: Path
    prefix: str | None = Field(default=None, description="null: the folder's name before '_precomp'")


class FolderData(Strict):
    """A user's own data: a folder of images and a CSV of (filename, caption, split)."""

    loader: Literal["folder"]
    photographs: Path
    captions: Path


Dataset = Annotated[ScenesData | CatalogueData | PrecompData | FolderData, Field(discriminator="loader")]


class CatalogueFile(Strict):
    """One file to download."""

    path: str = Field(description="below the data folder and below a mirror")
    excerpt_of: Name | None = Field(default=None, description="which file of the entry it can stand in for")
    splits: list[Split] = Field(default=[], description="what an excerpt holds")
    version: str
    url: str | None = Field(description="null where a licence must be accepted by a person")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None
    size: int | None = Field(description="bytes; null where unknown")
    licence: str
    fetch_by_hand: str | None = Field(default=None, description="what a person must do, where url is null")


class CatalogueEntry(Strict):
    """A dataset of the catalogue."""

    title: str
    files: dict[Name, CatalogueFile]


class Catalogue(Strict):
    """``config/datasets.yaml``."""

    datasets: dict[Name, CatalogueEntry]


# --- studies ------------------------------------------------------------------------------------------------


class RowSpec(Strict):
    """One row of a table, or several: lists are multiplied out in the order model, fraction, loss."""

    role: Name
    model: Name | list[Name] = "vsepp"
    loss: Name | list[Name]
    fraction: Fraction | list[Fraction] = 1.0
    published: str | None = Field(default=None, description="value of the column `row` in the published CSV")

    @model_validator(mode="after")
    def _one_published_row(self) -> RowSpec:
        many = [key for key in ("model", "loss", "fraction") if isinstance(getattr(self, key), list)]
        if self.published is not None and many:
            raise ValueError(f"published names one printed row, but {many[0]} is a list; write the rows one by one")
        return self


class ColumnSpec(Strict):
    """One column: a metric as the evaluation names it."""

    metric: str = Field(pattern=r"^(R|N|SR|true R)@\d+$|^Rsum$|^Nsum$|^Med r$|^Mean r$")
    direction: Direction | None = None
    formula: Variant = "released"
    ground_truth: Literal["kept", "removed"] = "kept"
    m: int = Field(default=0, ge=0, description="SR@k: how many foreign items are relevant; 0 for every other metric")
    style: Literal["", "recall", "vse_recall"] = Field(default="", description="SR@k: share found, or any found")

    @model_validator(mode="after")
    def _semantic_recall_is_complete(self) -> ColumnSpec:
        semantic_recall = self.metric.startswith("SR@")
        if semantic_recall != (self.m > 0) or semantic_recall != (self.style != ""):
            raise ValueError(f"metric is {self.metric}; m and style belong to SR@k, which needs both")
        return self


class PublishedSetting(Strict):
    """What print was made with; a difference is shown only where a run used the same."""

    dataset: Name | dict[Name, Name] = Field(description="or one dataset for each role")
    features: str
    phi: str | None = Field(default=None, description="null where print has no semantic metric")
    images: int | None = Field(default=None, ge=1, description="images of the test gallery")


class TableSpec(Strict):
    """A table: rows x columns, and the printed values it is held against."""

    title: str
    caption: str
    rows: list[RowSpec] = Field(min_length=1)
    columns: list[ColumnSpec] = Field(min_length=1)
    published: Name | None = Field(default=None, description="file in config/published without .csv")
    published_setting: PublishedSetting | None = None
    also_print: list[str] = Field(default=[], description="printed rows shown without a row of ours")
    notes: list[str] = Field(default=[], description="sentences below the table, such as errata of print")


class FigureSpec(Strict):
    """A figure: a drawing of ``paper.figures`` over rows."""

    title: str
    caption: str
    drawing: Literal["semantic_recall_over_m"]
    rows: list[RowSpec] = Field(min_length=1)
    k: int = Field(default=5, ge=1)
    formula: Variant = "released"
    notes: list[str] = []


class AgreementRowSpec(Strict):
    """One row of a table of agreement: a phi, with or without a caption among its own references."""

    phi: PhiName
    references: References = "kept"
    published: str | None = Field(default=None, description="value of the column `row` in the published CSV")


class AgreementColumnSpec(Strict):
    """One column: a correlation with the judge over all pairs, or over those of a caption with a foreign image."""

    statistic: Statistic
    pairs: Literal["all", "foreign"]


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
    notes: list[str] = []


class AgreementFigureSpec(Strict):
    """The judge's score against phi, one panel a phi and judge."""

    title: str
    caption: str
    phis: list[PhiName] = Field(min_length=1)
    references: References = "own_left_out"
    notes: list[str] = []


class MeaningFigureSpec(Strict):
    """What phi says of a dataset: the best captions of other images, or histograms of own and foreign captions."""

    title: str
    caption: str
    drawing: Literal["foreign_captions", "histogram"]
    phis: list[PhiName] = Field(min_length=1)
    notes: list[str] = []


class Study(Strict):
    """One paper: ``config/studies/<name>.yaml``."""

    paper: str
    losses: dict[Name, LossSpec]
    labels: dict[Name, str] = Field(
        default={}, description="what tables call a loss, model, role, dataset, judge or phi"
    )
    agreement_tables: dict[Name, AgreementTableSpec] = {}
    agreement_figures: dict[Name, AgreementFigureSpec] = {}
    meaning_figures: dict[Name, MeaningFigureSpec] = {}
    tables: dict[Name, TableSpec] = {}
    figures: dict[Name, FigureSpec] = {}

    @property
    def things(self) -> list[str]:
        """Names of all tables and figures, in the order of the page."""
        kinds = (self.agreement_tables, self.agreement_figures, self.meaning_figures, self.tables, self.figures)
        return [name for kind in kinds for name in kind]

    @model_validator(mode="after")
    def _names_are_told_apart(self) -> Study:
        for name in self.things:
            if self.things.count(name) > 1:
                raise ValueError(f"the name '{name}' stands for two tables or figures; rename one")
        return self

    @model_validator(mode="after")
    def _losses_are_declared(self) -> Study:
        for kind, things in (("tables", self.tables), ("figures", self.figures)):
            for name, thing in things.items():
                for row in thing.rows:
                    for loss in as_list(row.loss):
                        if loss not in self.losses:
                            known = ", ".join(self.losses)
                            raise ValueError(f"{kind}.{name} names the loss '{loss}', but losses has only: {known}")
        return self


# --- scales -------------------------------------------------------------------------------------------------


class TrainingScale(Strict):
    """How long and how wide to train at a scale; what a run does not get from its study's row."""

    embedding: int = Field(default=1024, ge=1)
    word: int = Field(default=300, ge=1)
    epochs: int | dict[Fraction, Annotated[int, Field(ge=1)]] = Field(default=30)
    batch_size: int = Field(default=128, ge=2)
    learning_rate: float = Field(default=2e-4, gt=0)
    drop_after: float = Field(default=0.5, gt=0, le=1)
    gradient_clip: float = Field(default=2.0, gt=0)
    min_word_count: int = Field(default=4, ge=1)
    selection: Literal["rsum", "ncs"] = "rsum"
    draw: Literal["first", "seeded"] = "first"
    threads: int = Field(default=1, ge=1)
    minutes: int = Field(default=30, ge=1, description="time a scheduler should grant one run")
    gpu: bool = False


# Which loader a judge's captions and images come from.
JUDGED_LOADER: dict[str, str] = {
    "cxc": "karpathy",
    "flickr8k_expert": "flickr8k",
    "flickr8k_expert_each": "flickr8k",
    "flickr8k_crowdflower": "flickr8k",
    "scenes_truth": "scenes",
}
Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]


class LeaveOut(Strict):
    """What of the studies a scale has no time or no means for; tables say so."""

    losses: list[Name] = []
    fractions: list[Fraction] = []
    phis: list[PhiName] = Field(default=[], description="not asked for agreement, and not drawn")


class JudgeSpec(Strict):
    """Who says how well captions of a dataset fit its images."""

    judge: Judge
    dataset: Name


class Scale(Strict):
    """One scale: ``config/<name>.yaml``."""

    scale: Name
    title: str
    mirror: Path | None = None
    roles: dict[Name, Name]
    datasets: dict[Name, Dataset]
    features: FeatureSpec | None = Field(default=None, description="null: captions only, nothing is trained")
    evaluation_phi: PhiName = "cider"
    matrices: list[PhiName] = Field(default=[], description="further phi matrices of every dataset's test split")
    judges: list[JudgeSpec] = []
    seeds: Seeds | dict[Fraction, Seeds] = [0]
    training: TrainingScale = TrainingScale()
    studies: list[Name] = Field(min_length=1)
    only: list[Name] | None = Field(default=None, description="tables and figures to make; null: all of the studies")
    leave_out: LeaveOut = LeaveOut()

    def makes(self, name: str) -> bool:
        """Whether the scale makes a table or figure of that name."""
        return self.only is None or name in self.only

    @model_validator(mode="after")
    def _runs_have_features(self) -> Scale:
        if self.roles and self.features is None:
            raise ValueError("features is missing; models are trained on them (only a scale without roles needs none)")
        return self

    @model_validator(mode="after")
    def _judges_know_their_dataset(self) -> Scale:
        for spec in self.judges:
            if spec.dataset not in self.datasets:
                known = ", ".join(self.datasets)
                raise ValueError(f"judges: {spec.judge} judges '{spec.dataset}', but datasets has only: {known}")
            loader = JUDGED_LOADER[spec.judge]
            if self.datasets[spec.dataset].loader != loader:
                raise ValueError(f"judges: {spec.judge} judges a dataset of the loader {loader}, not '{spec.dataset}'")
        if len({spec.judge for spec in self.judges}) < len(self.judges):
            raise ValueError("judges: every judge may stand there once")
        return self

    @model_validator(mode="after")
    def _roles_are_played(self) -> Scale:
        for role, dataset in self.roles.items():
            if dataset not in self.datasets:
                known = ", ".join(self.datasets)
                raise ValueError(f"roles.{role} is '{dataset}', but datasets has only: {known}")
        for seeds in self.seeds.values() if isinstance(self.seeds, dict) else [self.seeds]:
            if len(set(seeds)) != len(seeds):
                raise ValueError(f"seeds is {seeds}; every seed may stand there once")
        return self


# --- reading ------------------------------------------------------------------------------------------------

Block = TypeVar("Block", bound=BaseModel)


def as_list(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one."""
    return list(value) if isinstance(value, list) else [value]


def check(kind: type[Block], content: Any, where: str) -> Block:
    """Turn plain data into a typed block.

    Raises:
        InputError: One sentence a mistake, naming ``where``, the key, the value and what was expected.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(_sentence(kind, where, mistake) for mistake in _told_once(error.errors()))) from None


def read_yaml(path: Path | str) -> Any:
    """Read a YAML file as plain data.

    Raises:
        InputError: If it is missing, not UTF-8 or not YAML.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark is not None else "the file"
        raise InputError(f"{path}: {place} is not YAML ({getattr(error, 'problem', error)}).") from None


def read(kind: type[Block], path: Path | str) -> Block:
    """Read a YAML file into a typed block; see ``check``."""
    return check(kind, read_yaml(path), str(path))


def _told_once(mistakes: list[Any]) -> list[Any]:
    """Where a value may be of several kinds, pydantic complains once for each; the deepest complaint stays."""
    kept: dict[tuple[str, ...], Any] = {}
    for mistake in sorted(mistakes, key=lambda mistake: -len(_keys_as_written(mistake["loc"]))):
        keys = tuple(_keys_as_written(mistake["loc"]))
        if not any(longer[: len(keys)] == keys for longer in kept):
            kept[keys] = mistake
    return [mistake for mistake in mistakes if any(mistake is one for one in kept.values())]


def _sentence(kind: type[BaseModel], where: str, mistake: Any) -> str:
    keys = _keys_as_written(mistake["loc"])
    key, value, context = ".".join(keys) or "the file", mistake["input"], mistake.get("ctx", {})
    if mistake["type"] == "extra_forbidden":
        close = difflib.get_close_matches(keys[-1], sorted(_known_keys(kind)), n=1)
        hint = f" Did you mean '{close[0]}'?" if close else " Remove it; config/README.md lists the known keys."
        return f"{where}: {key} is not a known key.{hint}"
    if mistake["type"] == "missing":
        return f"{where}: {key} is missing."
    if mistake["type"] == "union_tag_invalid":
        return f"{where}: {key}.loader is '{context['tag']}'; expected one of {context['expected_tags']}."
    message = mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "value_error":
        return f"{where}: {key}: {message}." if keys else f"{where}: {message}."
    if keys and "fraction" in key and isinstance(value, int | float) and 1 < value <= 100:
        return f"{where}: {key} is {value!r}; a fraction lies in (0, 1]. Did you mean {value / 100:g}?"
    shown = repr(value) if len(repr(value)) < 60 else type(value).__name__
    return f"{where}: {key} is {shown}; {message[0].lower()}{message[1:]}."


def _keys_as_written(location: tuple[int | str, ...]) -> list[str]:
    """The keys a person wrote: pydantic puts the names of union branches between them."""
    parts = [str(part) for part in location]
    if parts[:1] == ["datasets"] and parts[2:3] and parts[2] in LOADERS:
        del parts[2]
    return [part for part in parts if "[" not in part and part not in {"int", "float", "str", "constrained-int"}]


def _known_keys(annotation: Any) -> set[str]:
    """Names of all fields in the blocks that an annotation leads to."""
    names: set[str] = set()
    for model in _models_in(annotation):
        for name, field in model.model_fields.items():
            names |= {name} | _known_keys(field.annotation)
    return names


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]
