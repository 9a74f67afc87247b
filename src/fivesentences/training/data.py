"""The data of a run: its fraction of the training split, dev and test, the concepts that some models read, batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fivesentences.config.types import Layout
from fivesentences.corpus import Corpus, training_part
from fivesentences.errors import InputError
from fivesentences.features import FeatureTable, Preparation, StoredRows
from fivesentences.features.precomp import PrecompRows
from fivesentences.models import ModelSpec
from fivesentences.models.concepts import ConceptGraph, concept_labels
from fivesentences.training.batches import EncodedCaptions
from fivesentences.training.spec import RunSpec
from fivesentences.training.vocabulary import SPECIAL, Vocabulary

Stage = Literal["training", "test"]
AHEAD = 2  # batches that are read ahead
# Prepared features of a split are kept in memory up to this many bytes; larger ones are read batch by batch.
HELD_IN_MEMORY = 1 << 30
COMPARED = 256  # images at a time, where all are compared with the first
ALIKE = 1e-6  # of the largest feature: differences of rounding
SPACELESS = "for a language written without spaces, set training.words to characters"


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
        return self.take(rows)

    def take(self, rows: slice | Tensor, out: Tensor | None = None) -> Tensor:
        """Read the images of some rows, into ``out`` if they are stored as float32."""
        where = self._stored.where[rows if isinstance(rows, slice) else rows.cpu().numpy()]
        stored = self._stored.table.take(where, None if out is None else out.numpy())
        return torch.from_numpy(self._preparation.apply(stored, in_place=True))


Images = Tensor | ReadImages  # prepared features of a split's images


@dataclass(frozen=True)
class Split:
    """One split of a run.

    Attributes:
        corpus: Its images and captions.
        images: ``[images, dim]`` (a grid: ``[images, regions, dim]``) float32, prepared.
        captions: Its captions as word numbers.
        image_of_caption: ``[captions]``, the row of each caption's image.
        extras: Further inputs of the model per caption, by keyword argument.
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
        words: Vocabulary,
        extras: dict[str, Tensor] | None = None,
    ) -> Split:
        """Make the split of a corpus, its features prepared and its captions as word numbers.

        Raises:
            InputError: If an image has no features, or they contain NaN (in large splits: when it is read).
        """
        stored = StoredRows(table, table.where(corpus.images["image_id"].tolist()))
        images: Images = ReadImages(stored, preparation)
        if stored.size * np.dtype(np.float32).itemsize <= HELD_IN_MEMORY:
            images = torch.from_numpy(preparation.apply(stored[:], in_place=True))
        return cls(
            corpus,
            images,
            EncodedCaptions.of(corpus.captions, words),
            torch.from_numpy(corpus.image_of_caption),
            extras or {},
        )

    @property
    def images_alike(self) -> bool:
        """Whether there are several images, all with the same features."""
        one = self.images[:1]
        starts = range(0, len(self.images), COMPARED)
        return len(self.images) > 1 and all(
            bool((self.images[start : start + COMPARED] - one).abs().max() <= ALIKE * one.abs().max())
            for start in starts
        )

    def first(self, images: int | None) -> Split:
        """Return the first images with their captions; all of them for None."""
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
            InputError: If a split has no images, the features lack an image, contain NaN or have the wrong layout,
                the file named as vocabulary is not a released one, or nothing can be learned: no word is frequent
                enough, no word of dev or test is known, or all images or captions of a split are alike.
        """
        whole, table = Corpus.read(corpus), FeatureTable.open(features)
        layout, name = spec.model.layout, spec.model.name
        where = f"training.exceptions: [{{model: {name}, features: {layout}}}]"
        check_layout(layout, table, f"the model '{name}'", f"set features.layout to '{layout}', for a scale by {where}")
        whole_train = whole.split("train")
        train = training_part(whole_train, spec.fraction, spec.captions_per_image, spec.training.noise, spec.seed)
        if (words := spec.training.vocabulary) is None:
            least, characters = spec.training.min_word_count, spec.training.words == "characters"
            vocabulary = Vocabulary.of_captions(train.captions, least, characters)
            if len(vocabulary) == len(SPECIAL):
                often = f" {least} times" if least > 1 else ""
                what = f"no word occurs{often} in its {len(train.captions):,} training captions"
                raise InputError(what, where=corpus, cure=f"lower training.min_word_count, or {SPACELESS}")
        else:
            vocabulary = Vocabulary.read_released(words)
        concepts, options = None, spec.model.concept_options
        if "concepts" in spec.model.needs:
            named = whole_train if options.captions == "all" else train
            concepts = ConceptGraph.of_captions(named.captions, size=options.most, glove=options.glove)
        stored = StoredRows(table, table.where(train.images["image_id"].tolist()))
        preparation = Preparation.fit(stored, spec.features.prepare)

        def split_of(part: Corpus, stage: Stage = "test") -> Split:
            extras = extras_of(spec.model, concepts, part.captions, part.image_of_caption, stage)
            return Split.of(part, table, preparation, vocabulary, extras)

        dev, test = with_features(whole.split("dev"), table), whole.split("test")
        splits = split_of(train, "training"), split_of(dev), split_of(test)
        for split, part in zip(("train", "dev", "test"), splits, strict=True):
            check_known(part, vocabulary, corpus, f"of the {split} captions")
            if part.captions.alike:
                shown = part.corpus.captions[0][:60]
                what = f"all {len(part.captions):,} {split} captions have the same words ('{shown}')"
                raise InputError(what, where=corpus, cure="give the captions of the images")
            if part.images_alike:
                what = f"all {len(part.images):,} {split} images have the same features, so nothing can be learned"
                raise InputError(what, where=features, cure="extract them again")
        return cls(vocabulary, preparation, concepts, whole_train, *splits)

    def words(self) -> str:
        """Say in a sentence how many words are known, and which share of those of dev is not."""
        unknown = self.dev.captions.unknown(self.vocabulary)
        said = f"{len(self.vocabulary) - len(SPECIAL):,} words are known; {unknown:.1%} of dev's words are not"
        return f"{said}." if unknown < 0.5 else f"{said}: lower training.min_word_count, or {SPACELESS}."


def check_known(split: Split, vocabulary: Vocabulary, where: Path | str, which: str) -> None:
    """Check that a model knows a word of some captions.

    Raises:
        InputError: If it knows none; ``where`` is the file, and ``which`` names its captions.
    """
    if split.captions.unknown(vocabulary) == 1:
        shown, known = split.corpus.captions[0][:60], ", ".join(vocabulary.words[len(SPECIAL) :][:3])
        what = (
            f"no word {which} (the first is '{shown}') is among the {len(vocabulary) - len(SPECIAL):,} that the model"
        )
        raise InputError(
            f"{what} knows ({known}, ...)",
            where=where,
            cure=f"give captions in the language of training, or {SPACELESS}",
        )


def extras_of(
    spec: ModelSpec, concepts: ConceptGraph | None, captions: Sequence[str], image_of_caption: np.ndarray, stage: Stage
) -> dict[str, Tensor]:
    """Compute the keyword arguments of the model's ``encode_captions``, one row per caption.

    Args:
        spec: The model.
        concepts: The concepts of its training captions.
        captions: All captions of the images.
        image_of_caption: ``[captions]`` image index of each.
        stage: ``"test"`` for everything that is scored, dev included.
    """
    if concepts is None or "concept_labels" not in spec.needs:
        return {}
    labels = concept_labels(concepts, captions, image_of_caption, stage, spec.concept_options.labels)
    return {"concept_labels": torch.from_numpy(labels)}


def with_features(dev: Corpus, table: FeatureTable) -> Corpus:
    """Return the dev images that a released folder has features of: that of COCO has 1,000 of Karpathy's 5,000.

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
        layout: Layout that the model reads.
        table: The features.
        reader: Name of the reader, for the message.
        cure: Remedy, for the message.

    Raises:
        InputError: If the model reads one vector per image and there are several, or the reverse.
    """
    if table.array.ndim != (2 if layout == "global" else 3):
        wanted = "one vector" if layout == "global" else "several vectors"
        raise InputError(f"{table.path} is {list(table.array.shape)}, but {reader} reads {wanted} per image; {cure}.")


# --- batches ---------------------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Matching pairs of images and captions.

    Attributes:
        rows: ``[B]``, the captions' rows in the split.
        images: ``[B, ...]``, the image of each caption.
        tokens: ``[B, longest]`` word numbers.
        lengths: ``[B]``, on the CPU.
        extras: Further inputs of the model per caption.
    """

    rows: np.ndarray
    images: Tensor
    tokens: Tensor
    lengths: Tensor
    extras: dict[str, Tensor]


class Loader:
    """Batches of a split on a device.

    Images that are kept in memory move to the device once. Everything else of a batch is gathered by numpy, without a
    loop over its items; where that takes time, or for a CUDA device, a thread gathers ahead, into pinned memory.

    Args:
        split: The training split.
        device: Where batches go.
    """

    def __init__(self, split: Split, device: torch.device):
        self.split, self.device = split, device
        self._held = split.images.to(device) if isinstance(split.images, Tensor) else None
        # Images that are read have a place for each batch that is ahead, the next, and the one that is trained on.
        self._places: deque[Tensor] = deque(maxlen=AHEAD + 2)

    def batches(self, rows: Iterable[np.ndarray]) -> Iterator[Batch]:
        """Yield one batch for each array of caption rows, in their order.

        Images that are read lie in memory that a later batch takes: copy those of a batch to keep them beyond the next.
        """
        if self.device.type == "cpu" and self._held is not None:
            yield from (self._on_device(self._gathered(some)) for some in rows)
            return
        waiting: deque[Future[Batch]] = deque()
        with ThreadPoolExecutor(1) as pool:
            for some in rows:
                waiting.append(pool.submit(self._gathered, some))
                if len(waiting) > AHEAD:
                    yield self._on_device(waiting.popleft().result())
            while waiting:
                yield self._on_device(waiting.popleft().result())

    def _gathered(self, rows: np.ndarray) -> Batch:
        split, chosen = self.split, torch.from_numpy(rows)
        tokens, lengths = split.captions.batch(rows)
        images = split.image_of_caption[chosen]  # rows of images, until they are taken on the device
        if isinstance(split.images, ReadImages):
            images = split.images.take(images, self._place(len(rows)))
        extras = {name: values[chosen] for name, values in split.extras.items()}
        if self.device.type == "cuda":
            images = images if images.is_pinned() else images.pin_memory()
            tokens = tokens.pin_memory()
            extras = {name: values.pin_memory() for name, values in extras.items()}
        return Batch(rows, images, tokens, lengths, extras)

    def _place(self, size: int) -> Tensor:
        """Memory for the images of a batch: the one that was used longest ago, whose batch is done."""
        place = self._places[0] if len(self._places) == self._places.maxlen else None
        if place is None or len(place) < size:
            place = torch.empty(size, *self.split.images.shape[1:], pin_memory=self.device.type == "cuda")
        self._places.append(place)
        return place[:size]

    def _on_device(self, batch: Batch) -> Batch:
        def moved(values: Tensor) -> Tensor:
            return values.to(self.device, non_blocking=True)

        images = moved(batch.images) if self._held is None else self._held[moved(batch.images)]
        extras = {name: moved(values) for name, values in batch.extras.items()}
        return batch._replace(images=images, tokens=moved(batch.tokens), extras=extras)
