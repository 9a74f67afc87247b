"""The data of a run: its fraction of the training split, dev and test."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from fivesentences.config import Layout
from fivesentences.corpus import Corpus, training_part
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, Preparation, StoredRows
from fivesentences.features.precomp import PrecompRows
from fivesentences.models.concepts import ConceptGraph
from fivesentences.study.runs import RunSpec
from fivesentences.training.batches import EncodedCaptions, Encoder
from fivesentences.training.extras import Stage, concepts_of, extras_of
from fivesentences.training.released_vocabulary import ReleasedVocabulary
from fivesentences.training.vocabulary import Vocabulary

# Prepared features of a split are kept in memory up to this many bytes; larger ones are read batch by batch.
HELD_IN_MEMORY = 1 << 30


class Images(Protocol):
    """Prepared features of a split's images: a tensor, or something that is indexed like one."""

    @property
    def shape(self) -> torch.Size:
        """``[images, dim]``, or ``[images, regions, dim]`` for a grid."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice | Tensor, /) -> Tensor: ...


class ReadImages:
    """Images whose stored features are read and prepared on demand, with the same bits as in a tensor.

    Args:
        stored: The stored features.
        preparation: How they are prepared.
    """

    def __init__(self, stored: StoredRows, preparation: Preparation):
        self._stored, self._preparation = stored, preparation

    @property
    def shape(self) -> torch.Size:
        """The shape that a tensor of all of them would have."""
        return torch.Size(self._stored.shape)

    def __len__(self) -> int:
        return len(self._stored)

    def __getitem__(self, rows: slice | Tensor, /) -> Tensor:
        where = self._stored.where[rows if isinstance(rows, slice) else rows.cpu().numpy()]
        return torch.from_numpy(self._preparation.apply(self._stored.table.take(where)))


def images_of(table: FeatureTable, image_ids: list[str], preparation: Preparation) -> Images:
    """The images of a split, in memory if they are few.

    Raises:
        InputError: If an image has no features, or they contain NaN (in large splits: when it is read).
    """
    stored = StoredRows(table, table.where(image_ids))
    if stored.size * np.dtype(np.float32).itemsize > HELD_IN_MEMORY:
        return ReadImages(stored, preparation)
    return torch.from_numpy(preparation.apply(stored[:]))


@dataclass(frozen=True)
class Split:
    """One split of a run.

    Attributes:
        corpus: Its images and captions.
        images: ``[images, dim]`` (a grid: ``[images, regions, dim]``) float32, prepared.
        captions: Its captions as word numbers.
        image_of_caption: ``[captions]``, the row of each caption's image.
        extras: What else the model reads of each caption, by keyword argument.
    """

    corpus: Corpus
    images: Images
    captions: EncodedCaptions
    image_of_caption: Tensor
    extras: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        table: FeatureTable,
        preparation: Preparation,
        words: Encoder,
        extras: dict[str, Tensor] | None = None,
    ) -> Split:
        """The split of a corpus, its features prepared and its captions as word numbers.

        Raises:
            InputError: If an image has no features, or they contain NaN.
        """
        return cls(
            corpus,
            images_of(table, corpus.images["image_id"].tolist(), preparation),
            EncodedCaptions.of(corpus.captions, words),
            torch.from_numpy(corpus.image_of_caption),
            extras or {},
        )

    def first(self, images: int | None) -> Split:
        """The first images with their captions; all of them for None."""
        if images is None or images >= len(self.images):
            return self
        captions = int((self.image_of_caption < images).sum())  # captions are in the order of their images
        return Split(
            Corpus(self.corpus.name, self.corpus.table.iloc[:captions]),
            self.images[:images],
            self.captions[:captions],
            self.image_of_caption[:captions],
            {name: values[:captions] for name, values in self.extras.items()},
        )


@dataclass(frozen=True)
class RunData:
    """Everything that a run reads; vocabulary and preparation come from its own training data alone.

    So do concepts, unless the model asks for those of the whole training split. A vocabulary that the settings name is
    that of a release.
    """

    vocabulary: Vocabulary
    preparation: Preparation
    concepts: ConceptGraph | None
    whole_train: Corpus
    train: Split
    dev: Split
    test: Split

    @classmethod
    def read(cls, spec: RunSpec, corpus: Path, features: Path) -> RunData:
        """Read the corpus, take the run's fraction of the training split, and prepare features and captions.

        Raises:
            InputError: If a split has no images, the features lack an image, contain NaN or have the wrong layout, or
                the file named as vocabulary is not a released one.
        """
        whole, table = Corpus.read(corpus), FeatureTable.open(features)
        layout, name = spec.model.layout, spec.model.name
        check_layout(
            *(layout, table, f"the model '{name}'"),
            f"set features.layout to '{layout}', for a scale by training.exceptions: "
            f"[{{model: {name}, features: {layout}}}]",
        )
        whole_train = whole.split("train")
        train = training_part(whole_train, spec.fraction, spec.captions_per_image, spec.training.draw, spec.seed)
        if (words := spec.training.vocabulary) is None:
            vocabulary = Vocabulary.of_captions(train.captions, spec.training.min_word_count)
        else:
            vocabulary = ReleasedVocabulary.read(words).for_training()
        concepts = concepts_of(spec.model, whole_train if spec.model.concept_options.captions == "all" else train)
        stored = StoredRows(table, table.where(train.images["image_id"].tolist()))
        preparation = Preparation.fit(stored, spec.features.prepare)

        def split_of(part: Corpus, stage: Stage = "test") -> Split:
            extras = extras_of(spec.model, concepts, part.captions, part.image_of_caption, stage)
            return Split.of(part, table, preparation, vocabulary, extras)

        dev, test = with_features(whole.split("dev"), table), whole.split("test")
        return cls(
            vocabulary, preparation, concepts, whole_train, split_of(train, "training"), split_of(dev), split_of(test)
        )


def with_features(dev: Corpus, table: FeatureTable) -> Corpus:
    """The dev images that a released folder has features of: that of COCO has 1,000 of Karpathy's 5,000.

    Features that were made here have all images, and one that lacks some is refused when its rows are looked up.

    Args:
        dev: The images of the corpus.
        table: The features.
    """
    known = set(table.image_ids)
    kept = dev.table["image_id"].astype(str).isin(known)
    if not isinstance(table.array, PrecompRows) or kept.all() or not kept.any():
        return dev
    return Corpus(dev.name, dev.table[kept].reset_index(drop=True))


def check_layout(layout: Layout, table: FeatureTable, reader: str, cure: str) -> None:
    """Make sure that a model can read the features.

    Args:
        layout: The model's.
        table: The features.
        reader: What reads them, for the message.
        cure: What to do, for the message.

    Raises:
        InputError: If the model reads one vector per image and there are several, or the reverse.
    """
    if table.array.ndim != (2 if layout == "global" else 3):
        wanted = "one vector" if layout == "global" else "several vectors"
        raise InputError(f"{table.path} is {list(table.array.shape)}, but {reader} reads {wanted} per image; {cure}.")
