"""Documents of category retrieval: where they come from, how they are divided, and what models read of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Count, Name, NamePattern, Positive, Seed, Seeds, Share, Strict, fits

# How vectors become a model's input; statistics are those of the training documents.
Prepare = Literal["as_stored", "standardise", "sqrt_standardise"]
# Which epoch's weights are used: best validation mAP, lowest validation loss, or the last. A method without epochs
# has only the last.
Selection = Literal["map", "loss", "last"]
SELECTIONS: tuple[Selection, ...] = ("map", "loss", "last")


class DivisionSpec(Strict):
    """How documents are divided into training, validation and test, drawn by the seed of a run."""

    validation: Count
    """Documents for validation."""
    test: Count | Literal["published"] = "published"
    """Documents for test; `published`: the whole published test part."""
    validation_from: Literal["train", "test", "all"] = "all"
    """The published part that validation is drawn from; `all`: there are no parts."""
    balanced: bool = False
    """Equally many documents of each category, give or take one."""
    whole_articles: bool = False
    """Documents of one article are all in training or all in validation."""


class _Documents(Strict):
    """Settings that all loaders of documents share."""

    divisions: dict[Name, DivisionSpec] = Field(min_length=1)
    """By name, such as printed."""
    image: Prepare = "sqrt_standardise"
    """How image vectors become a model's input."""
    text: Prepare = "sqrt_standardise"
    """How text vectors become a model's input."""
    words: Count = 1000
    """Size of the bag of words, where texts are words."""


class WikipediaDocuments(_Documents):
    """SVCL's Wikipedia: sections of articles as 128 SIFT words and 10 topics, ten categories."""

    loader: Literal["wikipedia"]


class NusWideDocuments(_Documents):
    """NUS-WIDE in its original layout: low-level image features, tags as words, one of the most frequent concepts."""

    loader: Literal["nus_wide"]
    folder: Path
    """Where Low_Level_Features, Groundtruth and NUS_WID_Tags lie."""
    features: list[str] = Field(default=["CH", "CM55", "CORR", "EDH", "WT"], min_length=1)
    """Low-level features, one after the other."""
    categories: Count = 10
    """The most frequent concepts among pictures of just one of all 81."""
    per_category: Count | None = None
    """Pictures drawn of each category; null: all (NUS-WIDE-10k: 1000)."""
    seed: Seed = 0
    """Seed of that draw."""


class OwnDocuments(_Documents):
    """A user's own: two files of vectors, or one of vectors and texts, and a table of categories."""

    loader: Literal["descriptors"]
    table: Path
    """CSV with the columns document and category, and perhaps text and part."""
    images: Path
    """.npy, one row for each line of the table."""
    texts: Path | None = None
    """.npy likewise; null: the table's column text as words."""


class CorpusDocuments(_Documents):
    """Images and captions of one of the scale's datasets whose images have categories; features of any extractor."""

    loader: Literal["corpus"]
    corpus: Name
    """A key of `datasets`."""
    article_ends_at: str | None = Field(default=None, min_length=1)
    """An image's id names its article before the first of these characters; null: each image is one of its own."""


AnyDocuments = Annotated[
    WikipediaDocuments | NusWideDocuments | OwnDocuments | CorpusDocuments, Field(discriminator="loader")
]


class SubspaceTraining(Strict):
    """How subspace networks are trained; methods without epochs read nothing of it."""

    epochs: Count = 100
    """Passes over the training documents."""
    batch_size: int = Field(default=200, strict=True, ge=2, le=1_000_000)
    """Documents of a batch."""
    learning_rate: Positive = 0.005
    """Learning rate of SGD."""
    momentum: Share = 0.9
    """Momentum of SGD, Nesterov's."""
    decay: float = Field(default=1e-6, ge=0)
    """The rate after step s is learning_rate / (1 + decay s)."""
    hidden: Count = 1024
    """Width of the hidden layer."""
    output: Count = 200
    """Width of the subspace."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of hidden units left out in training."""
    validate_every: Count = 2
    """Validation after every so many epochs, and the last."""


class OtherCategorySeeds(Strict):
    """Other seeds for some methods; of several that apply to a run, the last counts."""

    method: NamePattern | list[NamePattern]
    """Names as a study has them, or patterns such as small_*."""
    seeds: Seeds
    """Instead of the scale's."""


class CategoryScale(Strict):
    """Settings of category retrieval at a scale."""

    roles: dict[Name, Name]
    """Which documents play each role of the study: wikipedia, wikipedia_sift, nus_wide_10k, nus_wide, pascal."""
    documents: dict[Name, AnyDocuments]
    seeds: Seeds = Field(default=[0, 1, 2, 3, 4])
    """One division of the documents, and one run, for each."""
    other_seeds: list[OtherCategorySeeds] = Field(default=[])
    """Other seeds of some methods."""
    training: SubspaceTraining = SubspaceTraining()
    methods: list[NamePattern] | None = Field(default=None, min_length=1)
    """The only ones made, except by the target `complete`: names or patterns such as small_*; null: all."""
    runs_per_job: Count = 10
    """The most runs that one process makes one after the other."""
    minutes: Count = 30
    """Time that a scheduler should grant a job."""

    def makes(self, method: str) -> bool:
        """Tell whether the scale makes runs of a method."""
        return fits(method, self.methods)

    def seeds_of(self, method: str) -> list[int]:
        """Return the seeds of a method's runs."""
        applying = [other.seeds for other in self.other_seeds if fits(method, other.method)]
        return applying[-1] if applying else self.seeds

    @model_validator(mode="after")
    def _roles_are_played(self) -> CategoryScale:
        for role, name in self.roles.items():
            if name not in self.documents:
                known = ", ".join(self.documents)
                raise ValueError(f"roles.{role} is '{name}', but documents has only: {known}")
        return self
