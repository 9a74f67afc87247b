"""A scale: which dataset plays which role, how runs are trained, and which tables and figures are made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field, SerializerFunctionWrapHandler, create_model, model_serializer, model_validator

from fivesentences.config.datasets import Dataset
from fivesentences.config.features import FeatureSpec
from fivesentences.config.hyperparameters import Epochs, HyperparametersOfScale
from fivesentences.config.reading import check, merged
from fivesentences.config.types import (
    CaptionsPerImage,
    Count,
    EnvironmentName,
    EvaluationPhi,
    ExhibitName,
    Fraction,
    Inference,
    Judge,
    Name,
    NamePattern,
    PhiModel,
    PhiName,
    ReadFolds,
    Seeds,
    Sha256,
    Split,
    Strict,
    Width,
    as_list,
    asked,
    fits,
)
from fivesentences.reproduction.categories.config import CategoryScale
from fivesentences.reproduction.config.findings import Finding

Widths = dict[Name, Width]
Cell = tuple[set[str], str, float, int | None]  # names of its model, loss, fraction, captions per image
TRAINED_ON: tuple[Split, ...] = get_args(Split)  # the splits that a run reads


class CellSpec(Strict):
    """Some cells of models x losses x training sets; a key that is null matches every cell."""

    model: Name | list[Name] | None = None
    """Name of a model in a study or the registry."""
    loss: NamePattern | list[NamePattern] | None = None
    """Name of a loss in a study, or a pattern such as sam_*."""
    fraction: Fraction | list[Fraction] | None = None
    """Share of the training captions."""
    captions_per_image: CaptionsPerImage | Literal["all"] | list[CaptionsPerImage | Literal["all"]] | None = None
    """How many first captions of each training image, or all."""

    def matches(self, models: set[str], loss: str, fraction: float, captions_per_image: int | None = None) -> bool:
        """Tell whether a cell is one of them; its model may have several names."""
        captions = captions_per_image or "all"
        return (
            (self.model is None or bool(models & set(as_list(self.model))))
            and fits(loss, self.loss)
            and asked(fraction, self.fraction)
            and asked(captions, self.captions_per_image)
        )

    @property
    def is_every_cell(self) -> bool:
        """Whether it names nothing at all."""
        return all(getattr(self, key) is None for key in CELL)


CELL = tuple(CellSpec.model_fields)
FEW = 2  # files that a sentence names; more are counted


def _each_optional(block: type[Strict], apart: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a block, each made optional."""
    return {
        name: (
            Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation,
            Field(default=None, description=field.description),
        )
        for name, field in block.model_fields.items()
        if name not in apart
    }


if TYPE_CHECKING:
    _CellWithHyperparameters = CellSpec
else:
    # A job of several runs has one number of threads.
    _CellWithHyperparameters = create_model(
        "_CellWithHyperparameters", __base__=CellSpec, **_each_optional(HyperparametersOfScale, apart=("threads",))
    )


class TrainingException(_CellWithHyperparameters):
    """Other settings for some runs; of several exceptions that set the same thing, the last counts."""

    dataset: Name | list[Name] | None = None
    """A key of `datasets`; null: all."""
    study: Name | list[Name] | None = None
    """A name of `studies`: its rows alone, if runs of others differ by name; null: all."""
    widths: Widths = Field(default={})
    """Widths of the models that have them."""
    options: dict[Name, Any] = Field(default={})
    """Settings of the model besides its widths, such as `label_ratio`; folders are named by them."""

    def holds(self, cell: Cell, dataset: str, study: str) -> bool:
        """Tell whether a study's runs of a cell on a dataset have these settings."""
        return self.matches(*cell) and asked(dataset, self.dataset) and asked(study, self.study)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that it sets; null is a setting too, where a hyperparameter may be null."""
        keys = [key for key in type(self).model_fields if key not in (*CELL, "dataset", "study")]
        return {key: getattr(self, key) for key in keys if key in self.model_fields_set}

    @model_serializer(mode="wrap")
    def _set(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return only what it sets: a null would be a setting."""
        return {key: value for key, value in serialise(self).items() if key in self.model_fields_set}

    @model_validator(mode="after")
    def _sets_something(self) -> TrainingException:
        if self.is_every_cell and self.dataset is None and self.study is None:
            raise ValueError("an exception names a model, a loss or a fraction; settings of all runs belong above it")
        if not self.settings:
            raise ValueError("an exception without a setting changes nothing; remove it")
        return self


class OtherSeeds(CellSpec):
    """Other seeds for some runs; of several that apply to a run, the last counts."""

    epochs: Epochs | list[Epochs] | None = None
    """Epochs of rows that name them."""
    seeds: Seeds

    def applies(self, cell: Cell, epochs: int | None) -> bool:
        """Tell whether a cell, of a row that names so many epochs, has these seeds."""
        return asked(epochs, self.epochs) and self.matches(*cell)

    @model_validator(mode="after")
    def _of_something(self) -> OtherSeeds:
        if self.is_every_cell and self.epochs is None:
            raise ValueError("other_seeds name a model, loss, fraction or epochs; seeds of all runs belong in seeds")
        return self


class TrainingScale(HyperparametersOfScale):
    """How runs are trained at a scale, and how they are given to a scheduler."""

    widths: Widths = Field(default={})
    """Widths of the models that have them, such as embedding and word."""
    minutes: Count = 30
    """Time that a scheduler should grant one run."""
    gpu: bool = False
    """Runs are trained on a GPU."""
    scratch: EnvironmentName | None = None
    """A variable of the environment, such as TMPDIR, that names a folder on the node's own disk: a job copies features
    there before it trains; null: they are read where they are."""
    runs_per_job: Count = 1
    """The most runs that one process trains one after the other."""
    runs_at_once: Count = 1
    """How many runs of a job train side by side, each in a process of its own."""
    tensorboard: bool = False
    """A run's history as TensorBoard events too."""
    exceptions: list[TrainingException] = Field(default=[])
    """Other settings for some models or losses."""

    @model_validator(mode="after")
    def _a_job_has_so_many_runs(self) -> TrainingScale:
        if self.runs_at_once > self.runs_per_job:
            raise ValueError(
                f"runs_at_once is {self.runs_at_once}, but a job has no more runs than runs_per_job, "
                f"which is {self.runs_per_job}; raise that one"
            )
        return self


# Dataset and name in the catalogue of the file with a judge's scores; the truth of drawn scenes is drawn with them.
JUDGEMENTS: dict[Judge, tuple[str, str]] = {
    "cxc": ("cxc", "image_text_test"),
    "flickr8k_expert": ("flickr8k", "text"),
    "flickr8k_expert_each": ("flickr8k", "text"),
    "flickr8k_crowdflower": ("flickr8k", "text"),
}
# The lowest score of a right pair, by judge: of CxC as Parekh et al. set it, of a drawn scene that all is true. The
# other judges have no such score.
RIGHT: dict[str, float] = {"cxc": 3.0, "scenes_truth": 1.0}
LABELS = "labels"  # the order of pairs by shared labels, beside the names of phi
# The loader of a judge's captions and images.
JUDGED_LOADER: dict[str, str] = {
    "cxc": "karpathy",
    "flickr8k_expert": "flickr8k",
    "flickr8k_expert_each": "flickr8k",
    "flickr8k_crowdflower": "flickr8k",
    "scenes_truth": "scenes",
}


class SentenceEncoder(Strict):
    """A model of captions for phi, by which ``embedding:<name>`` compares them."""

    model: str
    """A folder, or a repository of the Hugging Face Hub, that sentence-transformers reads."""
    revision: str | None = None
    """Branch, tag or commit of a repository."""
    sha256: Sha256 | None = None
    """Of the weights; others are refused."""


class LeaveOut(Strict):
    """Parts that a scale leaves out to save time or data; tables note it."""

    losses: list[Name] = Field(default=[])
    fractions: list[Fraction] = Field(default=[])
    phis: list[PhiName] = Field(default=[])
    """Left out of tables of agreement and of figures."""
    inferences: list[Inference] = Field(default=[])


class AbsentData(Strict):
    """Data that planning did not find, with ``absent: leave_out`` or ``labels: here``, and what brings them."""

    part: Literal["dataset", "documents", "judge", "features", "photographs", "labels"]
    name: Name
    """Of the dataset, documents or judge."""
    features: str | None = None
    """Of `features`: the name of their file."""
    roles: list[Name] = Field(default=[])
    """Roles that nobody plays for it."""
    how: list[str]
    """A sentence for each file."""

    def sentence(self, name: str | None = None, rows: int | None = None) -> str:
        """Say what is left out for which files, and how they come here.

        Args:
            name: What the dataset, documents or judge are called; default: ``name``.
            rows: Number of the rows of a table.
        """
        name, counted = name or self.name, "Rows" if rows is None else f"{rows:,} row{'s' if rows != 1 else ''}"
        what = {
            "dataset": f"All of {name} is left out",
            "documents": f"The documents {name} are left out",
            "judge": f"The judgements of {name} are left out",
            "features": f"{counted} with features {self.features} of {name} {'is' if rows == 1 else 'are'} left out",
            "photographs": f"Pages show no photographs, for want of those of {name}",
            "labels": f"What needs the labels of {name} (PMRP, pairs by shared labels) is left out",
        }
        more = [f"{len(self.how) - FEW} more files are missing."] if len(self.how) > FEW + 1 else []
        return f"{what[self.part]}: {' '.join([*self.how[:FEW], *more] if more else self.how)}"


class JudgeSpec(Strict):
    """Who judges how well captions of a dataset fit its images."""

    judge: Judge
    dataset: Name


class ReleasedSample(Strict):
    """A few photographs and the released features of their regions."""

    photographs: Path
    """A folder or an archive; a folder of downloads is fetched."""
    regions: Path
    """Features with boxes, as `fivesentences features compare` reads them."""


class RowOfMatrix(Strict):
    """A row that a matrix of others has in a table of runs, or its line in a figure of semantic recall."""

    exhibit: ExhibitName
    """The table or figure, alone or as `study/name`."""
    published: str | None = None
    """Value of the column `row` in the published CSV, of the row to compare it with."""
    inference: Inference = "naive"
    folds: ReadFolds | None = None
    """Into how many equal galleries the test split is cut, in file order; null: one."""
    fraction: Fraction = 1.0
    """Share of the training captions, by which it stands in a table."""
    captions_per_image: CaptionsPerImage | None = None
    """Only so many first captions of each training image; null: all."""


class OtherMatrix(Strict):
    """A similarity matrix that was made elsewhere, beside the rows of a study."""

    name: Name
    """Names the folder of its run."""
    title: str | None = Field(default=None, min_length=1)
    """The model, as tables call it; null: the name."""
    role: Name
    """Whose test split it scores."""
    similarity: Path
    """Images x captions of the test split, in the order of the corpus, as `fivesentences evaluate` reads it."""
    transposed: bool = False
    """Its rows are captions."""
    captions: Path | None = None
    """The captions in its order, which are compared with the corpus; null: only that own pairs are the more similar."""
    features: str | None = Field(default=None, min_length=1)
    """The features that its model read, such as bottom_up-grid; null: not known, and not compared."""
    rows: list[RowOfMatrix] = Field(min_length=1)

    @property
    def label(self) -> str:
        """Its model in tables and figures."""
        return f"{self.title or self.name} (matrix of others)"


if TYPE_CHECKING:
    TrainingOfStudy = TrainingScale
else:
    TrainingOfStudy = create_model("TrainingOfStudy", __base__=Strict, **_each_optional(TrainingScale, apart=()))


class Setup(Strict):
    """What a study has instead of its scale: a question with seeds, epochs or phi of its own.

    Mappings are merged key by key, anything else is replaced, and null takes what the scale says away.
    """

    seeds: Seeds | dict[Fraction, Seeds] | None = None
    """All of its seeds: those of the scale's `other_seeds` are not read then."""
    other_seeds: list[OtherSeeds] | None = None
    features: FeatureSpec | None = None
    """Of models that read one vector per image."""
    evaluation_phis: list[EvaluationPhi] | None = None
    training: TrainingOfStudy | None = None
    keep: list[CellSpec] | None = None
    leave_out: LeaveOut | None = None
    group: Name | None = None
    """A word in the names of its runs, where another study of the scale has runs of that name with other settings."""


class Scale(Strict):
    """One scale: ``config/<name>.yaml``."""

    scale: Name
    title: str
    roles: dict[Name, Name] = Field(default={})
    """Which dataset plays flickr30k, coco ..."""
    datasets: dict[Name, Dataset] = Field(default={})
    features: FeatureSpec | None = None
    """null: captions only, nothing is trained."""
    grid_features: FeatureSpec | None = None
    """For models that read regions; null: as features."""
    released_regions: Literal["fetch", "here", "never"] = "fetch"
    """Whether released regions are read: always, where their folder is there, or never; own_grid_features otherwise."""
    own_grid_features: FeatureSpec | None = None
    """In place of released regions, made of the photographs of a dataset that has none."""
    released_sample: ReleasedSample | None = None
    """Compared with bottom-up regions of our own before the first of them are made; null: nothing is."""
    further_features: dict[Name, FeatureSpec] = Field(default={})
    """For rows that name features, such as resnet152; rows of missing ones are left out."""
    weights: dict[Name, Path] = Field(default={})
    """Which weights a network has where its features name none, by extractor."""
    evaluation_phi: PhiName = "cider"
    evaluation_phis: list[EvaluationPhi] = Field(default=[])
    """Further phi with which runs are evaluated."""
    matrices: list[PhiName] = Field(default=[])
    """Further phi matrices of every dataset's test split."""
    sentence_encoders: dict[PhiModel, SentenceEncoder] = Field(default={})
    """Models of phi besides those that packages hold: `embedding:<name>`."""
    judged_phis: dict[PhiModel, dict[Name, Path]] = Field(default={})
    """phi from files of scores, `judged:<name>`: the file of each dataset."""
    matrices_of_others: list[OtherMatrix] = Field(default=[])
    """Similarities that were made elsewhere, as rows of tables and figures."""
    judges: list[JudgeSpec] = Field(default=[])
    seeds: Seeds | dict[Fraction, Seeds] = Field(default=[0])
    """One training run each, or by fraction."""
    group: Name | None = None
    """A word in the names of its runs."""
    other_seeds: list[OtherSeeds] = Field(default=[])
    """Other seeds of some models or losses."""
    training: TrainingScale = TrainingScale()
    categories: CategoryScale | None = None
    """Category retrieval; null: there is none."""
    studies: list[Name] = Field(min_length=1)
    only: list[ExhibitName] | None = Field(default=None, min_length=1)
    """Tables and figures to make, of any study or as `study/name`; null: all of the studies."""
    finding: Finding | None = None
    """What it found, with which its pages open; not inherited. null: nothing is stated."""
    photographs: bool = True
    """Pages show photographs with their captions; false where these may not be passed on."""
    keep: list[CellSpec] | None = None
    """The only rows that are made, except by the target `complete`; null: all; none beside matrices of others."""
    leave_out: LeaveOut = LeaveOut()
    labels: Literal["fetch", "here"] = "fetch"
    """Whether labels of a dataset's images (instances of MS-COCO) are always read, or only where their file is here."""
    absent: Literal["name", "leave_out"] = "name"
    """What happens where data are not here that no program brings: planning names them, or leaves out their rows."""
    absent_data: list[AbsentData] = Field(default=[])
    """What planning left out with `absent: leave_out` or `labels: here`; not for files."""
    over_studies: dict[str, Any] = Field(default={})
    """What a file that extends the scale, or --config, states instead of the `setup` of studies; not for files."""

    @property
    def complete(self) -> Scale:
        """The same scale without ``keep``: its tables have every row, and go into their own folder."""
        named = {"scale": f"{self.scale}-complete", "title": f"{self.title}, every row"}
        complete = self.model_copy(update=named | {"keep": None})
        if self.categories is None:
            return complete
        return complete.model_copy(update={"categories": self.categories.model_copy(update={"methods": None})})

    def under(self, setup: Setup | None) -> Scale:
        """Return the scale as a study with a ``setup`` has it; the scale itself for a study that has none.

        Raises:
            InputError: If both together make no scale.
        """
        if setup is None:
            return self
        changes = setup.model_dump(exclude_unset=True)
        if "seeds" in changes:  # all of its seeds, unless it has others too
            changes.setdefault("other_seeds", None)
        own = merged(self.model_dump(exclude_unset=True), changes)
        return check(Scale, merged(own, self.over_studies), f"scale {self.scale}, with the setup of a study")

    def grid_features_of(self, dataset: str) -> FeatureSpec | None:
        """Return what models that read regions read of a dataset: released regions, own ones, or a grid's cells."""
        data = self.datasets[dataset]
        own = self.own_grid_features is not None and data.loader == "karpathy" and data.regions is None
        return self.own_grid_features if own else self.grid_features

    def keeps(self, models: set[str], loss: str, fraction: float, captions_per_image: int | None) -> bool:
        """Tell whether the scale makes this row."""
        return self.keep is None or any(
            cells.matches(models, loss, fraction, captions_per_image) for cells in self.keep
        )

    @property
    def phis(self) -> list[str]:
        """Every phi with which runs are evaluated, ``evaluation_phi`` first, each once."""
        return list(dict.fromkeys([self.evaluation_phi, *self.evaluation_phis]))

    def lacks(self, part: str, name: str, features: str | None = None) -> AbsentData | None:
        """Return why a dataset, documents, a judge, or features or labels of a dataset are left out; None if not."""
        asked = (part, name, features)
        return next((one for one in self.absent_data if (one.part, one.name, one.features) == asked), None)

    def makes(self, study: str, name: str, shows_photographs: bool = False) -> bool:
        """Tell whether the scale makes a table or figure of a study."""
        asked = self.only is None or name in self.only or f"{study}/{name}" in self.only
        return asked and (self.photographs or not shows_photographs)

    def shows(self, phi: str) -> bool:
        """Tell whether tables of agreement and figures at the scale show a phi."""
        return phi not in self.leave_out.phis

    @model_validator(mode="before")
    @classmethod
    def _weights_of_networks(cls, given: Any) -> Any:
        """Give features the weights of their network, so that one line changes those of all blocks."""
        chosen = given.get("weights") if isinstance(given, dict) else None
        if not isinstance(chosen, dict):
            return given  # nothing is chosen, or what the fields complain of

        def weighted(features: Any) -> Any:
            known = isinstance(features, dict) and features.get("weights") is None
            named = features.get("extractor") if known else None
            return features | {"weights": chosen[named]} if isinstance(named, str) and named in chosen else features

        keys = ("features", "grid_features", "own_grid_features")
        blocks = {key: weighted(given[key]) for key in keys if key in given}
        further = given.get("further_features")
        if isinstance(further, dict):
            blocks["further_features"] = {name: weighted(features) for name, features in further.items()}
        return given | blocks

    @model_validator(mode="after")
    def _features_fit(self) -> Scale:
        blocks = (self.features, self.grid_features, self.own_grid_features, *self.further_features.values())
        read = {spec.extractor for spec in blocks if spec}
        for extractor in self.weights:
            if extractor not in read:
                raise ValueError(
                    f"weights.{extractor} is given, but the features are of {', '.join(sorted(read)) or 'nothing'}"
                )
        if self.roles and self.features is None:
            raise ValueError(
                "features is missing; models are trained on features (only a scale without roles needs none)"
            )
        if self.grid_features is not None and self.grid_features.layout == "global":
            raise ValueError(
                "grid_features.layout is 'global'; write layout: grid or regions there, or leave the block out"
            )
        self._own_regions_fit()
        given = {name for name, data in self.datasets.items() if getattr(data, "regions", None) is not None}
        for name in given:
            if self.datasets[name].loader != "karpathy":
                raise ValueError(f"datasets.{name}.regions is given, but only the loader karpathy has them; remove it")
            if self.grid_features is None:
                raise ValueError(
                    f"datasets.{name}.regions is given, but no grid_features, which are read there; add them"
                )
        lacking = sorted(set(self.roles.values()) - given)
        if (
            given
            and lacking
            and self.own_grid_features is None
            and self._dataset(lacking[0], "roles name").loader != "precomp"
        ):
            raise ValueError(
                f"datasets.{lacking[0]} has no regions, but {', '.join(sorted(given))} has; grid_features are released "
                "for all datasets that play roles, or are made of photographs for all"
            )
        return self

    def _own_regions_fit(self) -> None:
        own = self.own_grid_features
        if own is None:
            if self.released_regions != "fetch":
                raise ValueError(
                    f"released_regions is '{self.released_regions}', but there is no own_grid_features, which are read "
                    "in their place; add the block, or write released_regions: fetch"
                )
            return
        if own.layout == "global":
            raise ValueError("own_grid_features.layout is 'global'; write layout: regions or grid")
        if self.grid_features is None or own.stem == self.grid_features.stem:
            named = (
                "there are no grid_features" if self.grid_features is None else f"grid_features are '{own.stem}' too"
            )
            raise ValueError(
                f"own_grid_features is given, but {named}; grid_features are the released ones, such as "
                "{extractor: bottom_up, layout: grid}"
            )

    @model_validator(mode="after")
    def _datasets_are_there(self) -> Scale:
        for role, dataset in self.roles.items():
            why = f"it plays the role {role}, for which models are trained"
            self._has_splits(dataset, f"roles.{role} is", why, TRAINED_ON)
        for spec in self.judges:
            self._has_splits(spec.dataset, f"judges: {spec.judge} judges", f"{spec.judge} judges it", ("test",))
            loader = JUDGED_LOADER[spec.judge]
            if self.datasets[spec.dataset].loader != loader:
                raise ValueError(
                    f"judges: {spec.judge} judges a dataset with the loader {loader}, not '{spec.dataset}'"
                )
        for dataset in self.datasets if self.matrices else ():
            self._has_splits(dataset, "", "matrices are of every dataset's test split", ("test",))
        for number, exception in enumerate(self.training.exceptions):
            for dataset in as_list(exception.dataset or []):
                self._dataset(dataset, f"training.exceptions[{number}].dataset is")
        for name, documents in self.categories.documents.items() if self.categories else ():
            if documents.loader == "corpus":
                self._dataset(documents.corpus, f"categories.documents.{name}.corpus is")
                if self.features is None or self.features.layout != "global":
                    raise ValueError(
                        f"categories.documents.{name} are images of a corpus, which are read as one vector each; "
                        "give features with layout: global"
                    )
        return self

    def _dataset(self, name: str, said: str) -> Dataset:
        if name not in self.datasets:
            raise ValueError(f"{said} '{name}', but datasets has only: {', '.join(self.datasets) or 'none'}")
        return self.datasets[name]

    def _has_splits(self, dataset: str, said: str, why: str, needed: tuple[str, ...]) -> None:
        """Refuse a missing split here; otherwise it would be missed only after features have been extracted."""
        splits = getattr(self._dataset(dataset, said), "splits", None)
        lacking = [split for split in needed if splits is not None and split not in splits]
        if lacking:
            raise ValueError(
                f"datasets.{dataset}.splits has no {' and no '.join(lacking)}, but {why}; add it, or leave splits out"
            )

    @model_validator(mode="after")
    def _nothing_is_named_twice(self) -> Scale:
        names = [matrix.name for matrix in self.matrices_of_others]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"matrices_of_others has two named '{name}'; rename one")
        if self.keep == [] and not names:
            raise ValueError("keep is [], so nothing would be made; name rows, or remove it")
        if len({spec.judge for spec in self.judges}) < len(self.judges):
            raise ValueError("judges: every judge may occur only once")
        return self
