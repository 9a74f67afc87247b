"""Training of two networks with triplets, whose margin is fixed or scheduled (sched_sam, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fivesentences.config.documents import SELECTIONS, Selection, SubspaceTraining
from fivesentences.errors import InputError
from fivesentences.features.document_inputs import Inputs
from fivesentences.losses.scheduled_margin import (
    ScheduledAdaptiveMargin,
    ScheduledMarginSpec,
    all_negatives,
    centroid_term,
    centroids,
    different_category,
    distances,
    hinges_of,
    unit,
)
from fivesentences.metrics.category import category_map
from fivesentences.models.subspaces.projection import Projector
from fivesentences.models.subspaces.specs import TripletNetwork
from fivesentences.training.subspaces.data import TrainingDocuments, as_tensor, terms_of, training_documents
from fivesentences.training.subspaces.fit import EpochKeeper, Fit, Progress, Row, silent
from fivesentences.training.subspaces.network import (
    Branch,
    NesterovSGD,
    NetworkProjector,
    Widths,
    initial_weights,
    outputs_of,
)

# What random numbers are for; each purpose has a stream of its own, so that methods of one seed begin with the same
# weights and see the same batches and the same dropout, whatever else their margins draw.
PURPOSES = ("weights", "order", "dropout", "margin", "validation")


def random_stream(seed: int, purpose: str) -> np.random.Generator:
    """The random numbers of a run for one of ``PURPOSES``."""
    return np.random.default_rng([seed, PURPOSES.index(purpose)])


def fit_triplets(
    spec: TripletNetwork,
    train: Inputs,
    validation: Inputs,
    seed: int,
    training: SubspaceTraining,
    category_names: Sequence[str],
    progress: Progress = silent,
) -> Fit:
    """Train the two networks; with several ``spec.margins`` once for each.

    Of several margins, each selection keeps the one whose epoch has the highest validation mAP; of equal ones the
    first. Call it within ``training.loop.reproducible`` for equal bits.

    Args:
        spec: The method.
        train: Training documents.
        validation: Validation documents.
        seed: Of the weights, the order of documents, dropout, and random negatives.
        training: Epochs, batches and rates; ``spec`` may override some.
        category_names: Names of the categories 0 to C - 1.
        progress: Called after every epoch.

    Returns:
        Projectors ``map``, ``loss`` and ``last``. History, one row per margin and epoch: epoch, learning_rate (of its
        last step), loss (mean over documents of the training loss), validation_loss and validation_map (None where
        not validated), alpha, mean_margin (over all training pairs of different category, with the centroids that the
        epoch began with), margin (m), and selected, the selections whose weights are of this row. Category margins
        where the margin is scheduled: epoch, anchor, negative, mean_margin, pairs, margin.

    Raises:
        InputError: If training diverges, or there are fewer than two training documents.
    """
    if len(train) < 2 or not len(validation):
        raise InputError(
            f"there are {len(train)} documents to train and {len(validation)} to validate; 2 and 1 are the least."
        )
    documents = training_documents(train, len(category_names))
    fits = []
    for margin in spec.margins or [spec.loss.margin]:
        loss = spec.loss.model_copy(update={"margin": margin})
        fits.append(_TripletTraining(spec, loss, documents, validation, seed, training).fit(category_names, progress))
    projectors: dict[Selection, Projector] = {}
    for selection in SELECTIONS:
        best = max(fits, key=lambda one: one.maps[selection])  # the first of equal ones
        projectors[selection] = best.projectors[selection]
        row = best.history[best.epochs[selection] - 1]
        row["selected"] = f"{row['selected']} {selection}".strip()
    return Fit(
        projectors,
        [row for one in fits for row in one.history],
        [row for one in fits for row in one.category_margins],
    )


@dataclass(frozen=True)
class _OneMargin:
    """What training with one margin gave: projectors, the epoch of each and its validation mAP, and rows."""

    projectors: dict[Selection, Projector]
    epochs: dict[Selection, int]
    maps: dict[Selection, float]
    history: list[Row]
    category_margins: list[Row]


class _TripletTraining:
    def __init__(
        self,
        spec: TripletNetwork,
        loss: ScheduledMarginSpec,
        documents: TrainingDocuments,
        validation: Inputs,
        seed: int,
        training: SubspaceTraining,
    ):
        self.documents, self.loss_spec, self.seed, self.training = documents, loss, seed, training
        self.rate = spec.learning_rate or training.learning_rate
        hidden, output = spec.hidden or training.hidden, spec.output or training.output
        self.widths = tuple(Widths(one.shape[1], hidden, output) for one in (documents.images, documents.texts))
        generator = random_stream(seed, "weights")
        self.weights = torch.cat([initial_weights(widths, generator) for widths in self.widths])
        gradients = torch.zeros_like(self.weights)
        sizes = [widths.size for widths in self.widths]
        self.image, self.text = (
            Branch(widths, weights, slopes)
            for widths, weights, slopes in zip(
                self.widths, torch.split(self.weights, sizes), torch.split(gradients, sizes), strict=True
            )
        )
        self.sgd = NesterovSGD(self.weights, gradients, training.momentum)
        of_margin = int(random_stream(seed, "margin").integers(2**31))
        self.margin = ScheduledAdaptiveMargin(training.epochs, of_margin, **loss.model_dump(exclude_unset=True))
        self.validation = _Validation(validation, documents, loss, seed)
        self.mean_terms = documents.mean_terms(loss) if loss.reads_features else None
        self.steps = 0

    def fit(self, category_names: Sequence[str], progress: Progress) -> _OneMargin:
        """Train all epochs."""
        order, dropout = random_stream(self.seed, "order"), random_stream(self.seed, "dropout")
        keeper = EpochKeeper(self.weights.clone)
        history: list[Row] = []
        category_margins: list[Row] = []
        clusters = self.clusters()
        for epoch in range(1, self.training.epochs + 1):
            means = self.mean_margins(epoch, clusters)
            loss = self.train_epoch(epoch, clusters, order, dropout)
            clusters = self.clusters()  # of the weights that are validated now and that the next epoch begins with
            row: Row = {
                "epoch": epoch,
                "learning_rate": self.rate_of(self.steps - 1),
                "loss": loss,
                "validation_loss": None,
                "validation_map": None,
                "alpha": self.loss_spec.alpha(epoch, self.training.epochs),
                "mean_margin": self.mean_of_pairs(means),
                "margin": self.loss_spec.margin,
                "selected": "",
            }
            history.append(row)
            last = epoch == self.training.epochs
            if last or epoch % self.training.validate_every == 0:
                outputs = [outputs_of(*branch, inputs) for branch, inputs in self.branches(self.validation.inputs)]
                found = self.validation.scores(self.margin, epoch, unit(outputs[0]), unit(outputs[1]), clusters)
                row["validation_loss"], row["validation_map"] = found
                keeper.offer(epoch, map=found[1], loss=found[0])
                if self.loss_spec.toward != "nothing":
                    category_margins += self.category_rows(epoch, means, category_names)
            progress(f"loss {loss:.4g}")
        maps = {selection: history[epoch - 1]["validation_map"] for selection, epoch in keeper.epochs.items()}
        return _OneMargin(keeper.projectors(self.projector), keeper.epochs, maps, history, category_margins)

    def train_epoch(
        self, epoch: int, clusters: Tensor | None, order: np.random.Generator, dropout: np.random.Generator
    ) -> float:
        """Every document once, in batches; returns the mean loss over documents."""
        size, total = self.training.batch_size, 0.0
        shuffled = torch.from_numpy(order.permutation(len(self.documents)))
        for start in range(0, len(shuffled), size):
            rows = shuffled[start : start + size]
            if start and clusters is not None and self.loss_spec.refresh == "step":
                clusters = self.clusters()
            total += len(rows) * self.train_batch(rows, epoch, clusters, dropout)
        mean = total / len(shuffled)
        if not math.isfinite(mean):
            raise InputError(f"training diverged: the loss of epoch {epoch} is {mean}; lower the learning rate.")
        return mean

    def train_batch(self, rows: Tensor, epoch: int, clusters: Tensor | None, dropout: np.random.Generator) -> float:
        """One step; returns the loss of the batch."""
        share = self.training.dropout
        images, texts = self.documents.images[rows], self.documents.texts[rows]
        v = self.image.forward(images, share, dropout)
        t = self.text.forward(texts, share, dropout)
        similarity = (v @ t.T).requires_grad_()
        features = self.documents.batch_term(rows, self.loss_spec) if self.loss_spec.reads_features else None
        loss = self.margin(similarity, self.documents.categories[rows], epoch, features, clusters)
        if loss.requires_grad:
            (slope,) = torch.autograd.grad(loss, similarity)
            to_images, to_texts = slope @ t, slope.T @ v
            self.image.backward(images, to_images, share)
            self.text.backward(texts, to_texts, share)
            self.sgd.step(self.rate_of(self.steps))
        self.steps += 1
        return float(loss.detach())

    def rate_of(self, step: int) -> float:
        """The learning rate of a step, counted from 0: Keras's decay per step."""
        return self.rate / (1 + self.training.decay * step)

    def branches(self, inputs: tuple[Tensor, Tensor]) -> list[tuple[tuple[Tensor, Widths], Tensor]]:
        return [
            ((branch.weights, branch.widths), one) for branch, one in zip((self.image, self.text), inputs, strict=True)
        ]

    def clusters(self) -> Tensor | None:
        """The centroid term ``[C, C]`` of the training documents under the current weights, if the margin reads it."""
        if not self.loss_spec.reads_centroids:
            return None
        d = self.documents
        means = [
            centroids(outputs_of(*branch, inputs), d.categories, d.n_categories, self.loss_spec.centroids)
            for branch, inputs in self.branches((d.images, d.texts))
        ]
        return centroid_term(means[0], means[1], self.loss_spec.centroid_similarity)

    def mean_margins(self, epoch: int, clusters: Tensor | None) -> Tensor:
        """``[C, C]`` float64 mean margin of a document of one category and one of another."""
        spec, size = self.loss_spec, self.documents.n_categories
        alpha = spec.alpha(epoch, self.training.epochs)
        toward = torch.full((size, size), spec.constant or 0.0, dtype=torch.float64)
        if spec.toward == "adaptive":
            toward = torch.zeros(size, size, dtype=torch.float64)
            if self.mean_terms is not None:
                toward += spec.feature_share * self.mean_terms
            if clusters is not None:
                toward += (1 - spec.feature_share) * clusters.double()
            if spec.shuffled:
                toward.fill_(self.mean_of_pairs(toward))
        return alpha * toward + (1 - alpha) * spec.margin

    def pairs(self) -> Tensor:
        """``[C, C]`` how many pairs of training documents two different categories have."""
        counts = self.documents.counts
        return (counts[:, None] * counts).fill_diagonal_(0)

    def mean_of_pairs(self, values: Tensor) -> float:
        pairs = self.pairs()
        return float((values * pairs).sum() / pairs.sum().clamp(min=1))

    def category_rows(self, epoch: int, means: Tensor, names: Sequence[str]) -> list[Row]:
        pairs = self.pairs()
        return [
            {
                "epoch": epoch,
                "anchor": names[a],
                "negative": names[n],
                "mean_margin": float(means[a, n]),
                "pairs": int(pairs[a, n]),
                "margin": self.loss_spec.margin,
            }
            for a, n in pairs.nonzero().tolist()
        ]

    def projector(self, weights: Tensor) -> Projector:
        first, second = torch.split(weights, [widths.size for widths in self.widths])
        return NetworkProjector(first, self.widths[0], second, self.widths[1])


class _Validation:
    """Validation documents: their mAP, and the loss with the margins of an epoch."""

    def __init__(self, inputs: Inputs, documents: TrainingDocuments, spec: ScheduledMarginSpec, seed: int):
        self.inputs = as_tensor(inputs.images), as_tensor(inputs.texts)
        self.labels: Any = inputs.categories
        self.categories = torch.from_numpy(np.ascontiguousarray(inputs.categories, dtype=np.int64))
        self.different = different_category(self.categories)
        self.seed = seed
        self.features = None
        if spec.reads_features:
            image, text = (distances(one) for one in self.inputs)
            limits = documents.corpus_limits(spec) if spec.feature_scope == "corpus" else None
            self.features = terms_of(image, text, spec, self.categories, limits)

    def scores(
        self, margin: ScheduledAdaptiveMargin, epoch: int, v: Tensor, t: Tensor, clusters: Tensor | None
    ) -> tuple[float, float]:
        """Mean hinge over all triplets of both directions, and mAP, the mean of both directions."""
        similarity = v @ t.T
        shuffle = torch.Generator()
        shuffle.manual_seed(int(random_stream(self.seed, "validation").integers(2**31)) + epoch)
        margins = margin.margins(self.categories, self.different, epoch, self.features, clusters, shuffle)
        found = [all_negatives(one, self.different).sum(dtype=torch.float64) for one in hinges_of(similarity, margins)]
        loss = float(found[0] + found[1]) / max(1, 2 * int(self.different.sum()))
        matrix = similarity.numpy()
        both = [category_map(matrix, self.labels, self.labels, direction) for direction in ("i2t", "t2i")]
        return loss, sum(both) / 2
