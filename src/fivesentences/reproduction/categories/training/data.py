"""Training documents as triplets read them: tensors, and distances between documents that all runs share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fivesentences.losses.scheduled_margin import (
    Both,
    Limits,
    different_category,
    distances,
    extremes,
    feature_limits,
    feature_term,
    limits_of,
)
from fivesentences.losses.scheduled_margin_spec import FeatureNorm, ScheduledMarginSpec
from fivesentences.reproduction.categories.inputs import Inputs, Vectors
from fivesentences.reproduction.categories.training.fit import categories_of

# Distances of up to so many documents are kept, 400 MB each modality; those of more are computed batch by batch.
KEPT = 10_000
ROWS = 1024  # of a block of distances
LimitsOfBoth = tuple[tuple[Limits, ...], tuple[Limits, ...]]


def as_tensor(vectors: Vectors) -> Tensor:
    """Return ``[documents, dim]`` float32."""
    return torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))


class TrainingDocuments:
    """Documents of a training set with the distances between them, computed when they are first asked for.

    Args:
        inputs: The documents.
        n_categories: C; categories of ``inputs`` are from 0 to C - 1.

    Attributes:
        images: ``[N, image_dim]``.
        texts: ``[N, text_dim]``.
        categories: ``[N]`` int64.
        n_categories: C.
        counts: ``[C]`` documents of each category.
    """

    def __init__(self, inputs: Inputs, n_categories: int, kept: int = KEPT):
        self.images, self.texts = as_tensor(inputs.images), as_tensor(inputs.texts)
        self.categories = categories_of(inputs)
        self.n_categories = n_categories
        self.counts = torch.bincount(self.categories, minlength=n_categories).double()
        self._kept = len(inputs) <= kept
        self._terms: tuple[tuple[FeatureNorm, str], Both] | None = None  # of the last settings that were asked for

    def __len__(self) -> int:
        return len(self.categories)

    @cached_property
    def _distances(self) -> Both:
        return distances(self.images), distances(self.texts)

    def _blocks(self) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Distances of some rows to all documents, ``[rows, N]`` of each modality; exactly 0 to a row itself."""
        for start in range(0, len(self), ROWS):
            rows = slice(start, min(start + ROWS, len(self)))
            if self._kept:
                image, text = (whole[rows] for whole in self._distances)
            else:
                image, text = distances(self.images[rows], self.images), distances(self.texts[rows], self.texts)
                for one in (image, text):
                    one[:, rows].fill_diagonal_(0)
            yield rows, image, text

    @cached_property
    def _extremes(self) -> dict[str, tuple[float, float, float]]:
        """Lowest distance, highest, and highest of different category: of images, of texts, of their means."""
        found: dict[str, list[tuple[float, float, float]]] = {"image": [], "text": [], "mean": []}
        for rows, image, text in self._blocks():
            different = different_category(self.categories[rows], self.categories)
            for name, one in (("image", image), ("text", text), ("mean", (image + text) / 2)):
                found[name].append(extremes(one, different, rows.start))
        ends = {name: list(zip(*values, strict=True)) for name, values in found.items()}
        return {name: (min(low), max(high), max(cross)) for name, (low, high, cross) in ends.items()}

    def corpus_limits(self, spec: ScheduledMarginSpec) -> LimitsOfBoth:
        """Limits over all training documents for each direction, as ``feature_limits`` of all distances."""
        by_modality = spec.feature_norm.startswith("modality")
        if spec.anchor == "both":
            sides = [["image", "text"] if by_modality else ["mean"]] * 2
        else:
            sides = [["image"] * (1 + by_modality), ["text"] * (1 + by_modality)]
        first, second = (tuple(limits_of(spec.feature_norm, *self._extremes[name]) for name in side) for side in sides)
        return first, second

    def batch_term(self, rows: Tensor, spec: ScheduledMarginSpec) -> Both:
        """Return the feature term ``[a, n]`` of the documents of a batch, for images and for texts as anchors.

        Args:
            rows: ``[B]`` documents.
            spec: Which reading of eq. 8.
        """
        whole = spec.feature_scope == "corpus"
        if whole and self._kept:
            first, second = self._whole_terms(spec)
            term = _among(first, rows)
            return term, term if second is first else _among(second, rows)
        if self._kept:
            image, text = (_among(one, rows) for one in self._distances)
        else:
            image, text = distances(self.images[rows]), distances(self.texts[rows])
        return terms_of(image, text, spec, self.categories[rows], self.corpus_limits(spec) if whole else None)

    def _whole_terms(self, spec: ScheduledMarginSpec) -> Both:
        key = spec.feature_norm, spec.anchor
        if self._terms is None or self._terms[0] != key:
            self._terms = key, terms_of(*self._distances, spec, self.categories, self.corpus_limits(spec))
        return self._terms[1]

    def mean_terms(self, spec: ScheduledMarginSpec) -> Tensor:
        """``[C, C]`` float64 mean feature term of a document of one category and one of another, both directions.

        Limits are those of the corpus, for ``feature_scope="batch"`` too.
        """
        member = torch.nn.functional.one_hot(self.categories, self.n_categories).float()  # [N, C]
        total = torch.zeros(self.n_categories, self.n_categories, dtype=torch.float64)
        limits = self.corpus_limits(spec)
        for rows, image, text in self._blocks():
            first, second = terms_of(image, text, spec, self.categories, limits)
            total += (member[rows].T @ ((first + second) / 2) @ member).double()
        return total / (self.counts[:, None] * self.counts).clamp(min=1)


def _among(matrix: Tensor, rows: Tensor) -> Tensor:
    """Return some rows of a matrix, and the same columns."""
    return matrix.index_select(0, rows).index_select(1, rows)


def terms_of(
    image: Tensor, text: Tensor, spec: ScheduledMarginSpec, categories: Tensor, limits: LimitsOfBoth | None
) -> Both:
    """Feature terms of some distances, for images and for texts as anchors; one tensor twice where they are equal.

    Args:
        image: ``[a, n]`` distances of images.
        text: ``[a, n]`` distances of texts.
        spec: Which reading of eq. 8.
        categories: ``[a]`` categories of the documents, if limits are not given.
        limits: Limits of each direction; None: those of these distances.
    """
    sides = [(image, text)] if spec.anchor == "both" else [(image, image), (text, text)]
    if limits is None:
        different = different_category(categories)
        found = [feature_term(*side, feature_limits(*side, spec.feature_norm, different)) for side in sides]
    else:
        found = [feature_term(*side, of_side) for side, of_side in zip(sides, limits, strict=False)]
    return found[0], found[-1]


_last: tuple[Inputs, TrainingDocuments] | None = None


def training_documents(inputs: Inputs, n_categories: int) -> TrainingDocuments:
    """The same object for the same inputs, as long as no others were asked for: runs of a process share distances."""
    global _last
    if _last is None or _last[0] is not inputs or _last[1].n_categories != n_categories:
        _last = inputs, TrainingDocuments(inputs, n_categories)
    return _last[1]
