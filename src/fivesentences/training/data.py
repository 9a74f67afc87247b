"""What a run trains on: the fraction of the training split, dev and test, as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fivesentences.config import RunSpec
from fivesentences.corpus import Corpus, take_fraction
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, Preparation
from fivesentences.models import model_class
from fivesentences.training.batches import EncodedCaptions
from fivesentences.training.vocabulary import Vocabulary


@dataclass(frozen=True)
class Split:
    """One split of a run.

    Attributes:
        corpus: Its images and captions.
        images: ``[images, dim]`` (a grid: ``[images, regions, dim]``) float32, prepared.
        captions: Its captions as numbers.
        image_of_caption: ``[captions]`` row of each caption's image.
    """

    corpus: Corpus
    images: Tensor
    captions: EncodedCaptions
    image_of_caption: Tensor


@dataclass(frozen=True)
class RunData:
    """All that a run reads; vocabulary and preparation come from its training images and captions alone."""

    vocabulary: Vocabulary
    preparation: Preparation
    train: Split
    dev: Split
    test: Split

    @classmethod
    def read(cls, spec: RunSpec, corpus: Path, features: Path) -> RunData:
        """Read the corpus, take the run's fraction of the training split, and prepare features and captions.

        Raises:
            InputError: If a split has no images, the features lack an image, hold NaN or have the wrong layout.
        """
        whole, table = Corpus.read(corpus), FeatureTable.open(features)
        layout = model_class(spec.model.name).layout
        if table.array.ndim != (2 if layout == "global" else 3):
            raise InputError(
                f"{features}: the features are {list(table.array.shape)}, but the model '{spec.model.name}' reads "
                f"{'one vector' if layout == 'global' else 'several vectors'} an image; "
                f"set features.layout to '{layout}'."
            )
        train = take_fraction(whole.split("train"), spec.fraction, draw=spec.draw, seed=spec.seed)
        vocabulary = Vocabulary.of_captions(train.captions, spec.min_word_count)
        rows = table.rows(train.images["image_id"].tolist())
        preparation = Preparation.fit(rows, spec.features.prepare)

        def split_of(part: Corpus, stored: np.ndarray) -> Split:
            return Split(
                part,
                torch.from_numpy(preparation.apply(stored)),
                EncodedCaptions.of(part.captions, vocabulary),
                torch.from_numpy(part.image_of_caption),
            )

        dev, test = whole.split("dev"), whole.split("test")
        return cls(
            vocabulary,
            preparation,
            split_of(train, rows),
            split_of(dev, table.rows(dev.images["image_id"].tolist())),
            split_of(test, table.rows(test.images["image_id"].tolist())),
        )
