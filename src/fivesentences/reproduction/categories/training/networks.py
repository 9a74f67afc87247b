"""Networks of other methods, trained by autograd and Adam: deep CCA and its autoencoders, Corr-AE, and one like ACMR.

cca-zoo has deep CCA and its autoencoders as Lightning modules; here they are trained as the other methods are, without
Lightning's seconds per run. A test compares the correlations of a batch with numpy and with cca-zoo's loss.

The method like ACMR (Wang et al., 2017) has classes, triplets, and a modality classifier that the networks deceive. It
is not theirs in all details: triplets have all negatives of a batch and the cosine, the networks are those of this
project's other methods, and the adversary is met in one step by gradient reversal instead of in turns.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.errors import InputError
from fivesentences.losses.scheduled_margin import different_category, hinges_of
from fivesentences.reproduction.categories.config import SELECTIONS, SubspaceTraining
from fivesentences.reproduction.categories.inputs import Inputs, Projector, Vectors
from fivesentences.reproduction.categories.models.specs import Adversarial, CorrelationAutoencoder, DeepCCA
from fivesentences.reproduction.categories.training.data import as_tensor
from fivesentences.reproduction.categories.training.fit import EpochKeeper, Fit, Progress, categories_of, mean_map
from fivesentences.training.adam import Adam

ROWS = 2048  # documents that are projected at once


class DocumentBatch(NamedTuple):
    """Some documents: images ``[B, image_dim]``, texts ``[B, text_dim]``, categories ``[B]`` int64."""

    images: Tensor
    texts: Tensor
    categories: Tensor

    @classmethod
    def of(cls, inputs: Inputs) -> DocumentBatch:
        """Return all documents of some inputs."""
        return cls(as_tensor(inputs.images), as_tensor(inputs.texts), categories_of(inputs))


class SubspaceModule(nn.Module):
    """Networks of both modalities and the loss that they are trained with."""

    image: nn.Module
    text: nn.Module

    def loss(self, batch: DocumentBatch, progress: float) -> Tensor:
        """The scalar that training minimises.

        Args:
            batch: Documents.
            progress: The share of all training steps that are done, in 0..1.
        """
        raise NotImplementedError

    def validation_loss(self, batch: DocumentBatch) -> Tensor:
        """Score of validation documents: the loss, unless a method says otherwise."""
        return self.loss(batch, 1.0)

    def project(self, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``[documents, dimensions]`` of each modality."""
        return self.image(images), self.text(texts)

    def projector(self, train: DocumentBatch) -> Projector:
        """Return the networks as they are now, as a fitted method; later training does not change it."""
        module = copy.deepcopy(self).eval()

        @torch.no_grad()
        def project(images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
            # No row depends on another one: blocks only bound the memory of hidden layers.
            parts = zip(torch.split(as_tensor(images), ROWS), torch.split(as_tensor(texts), ROWS), strict=True)
            of_images, of_texts = zip(*(module.project(*part) for part in parts), strict=True)
            return torch.cat(of_images).numpy(), torch.cat(of_texts).numpy()

        return project


def perceptron(*widths: int) -> nn.Sequential:
    """Linear layers of these widths with tanh between them, not after the last."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def batches(documents: int, batch_size: int, generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """All documents in a random order, in parts that differ by one at most and have about ``batch_size`` each."""
    return np.array_split(generator.permutation(documents), max(1, round(documents / batch_size)))


def train_module(
    module: SubspaceModule,
    train: Inputs,
    validation: Inputs,
    seed: int,
    training: SubspaceTraining,
    learning_rate: float,
    progress: Progress,
) -> Fit:
    """Train with Adam.

    A module must be made under the seed too (``seeded``). Call it within ``training.loop.reproducible`` for equal bits.

    Args:
        module: Trained in place.
        train: Training documents.
        validation: Validation documents.
        seed: Seed of the order of documents and of dropout.
        training: Epochs, size of batches, how often to validate.
        learning_rate: Rate of Adam.
        progress: Called after every epoch.

    Returns:
        Projectors ``map``, ``loss`` and ``last``; history, one row per epoch: epoch, learning_rate, loss (mean over
        documents), validation_loss and validation_map (mean of both directions; None where not validated).

    Raises:
        InputError: If training diverges, or there are fewer than two training or validation documents.
    """
    if min(len(train), len(validation)) < 2:
        raise InputError(f"{len(train)} documents are to train and {len(validation)} to validate; give 2 of each.")
    documents, held_out = DocumentBatch.of(train), DocumentBatch.of(validation)
    order, adam = np.random.default_rng([seed, 1]), Adam(module.parameters())
    keeper = EpochKeeper(training, lambda: module.projector(documents))
    steps = training.epochs * len(batches(len(train), training.batch_size, np.random.default_rng(0)))
    done = 0

    def validate() -> tuple[float, float]:
        module.eval()
        with torch.no_grad():
            loss = module.validation_loss(held_out).item()
        return loss, cosine_map(module.projector(documents), validation)

    with seeded(seed, 1):
        for epoch in range(1, training.epochs + 1):
            module.train()
            total = 0.0
            for rows in batches(len(train), training.batch_size, order):
                chosen = torch.from_numpy(rows)
                adam.zero_grad()
                loss = module.loss(DocumentBatch(*(part[chosen] for part in documents)), done / steps)
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step(learning_rate)
                total += len(rows) * loss.item()
                done += 1
            mean = total / len(train)
            keeper.end({"epoch": epoch, "learning_rate": learning_rate, "loss": mean}, validate)
            progress(f"loss {mean:.4g}")
    return Fit({selection: keeper.kept[selection].state for selection in SELECTIONS}, keeper.history, [])


def cosine_map(projector: Projector, inputs: Inputs) -> float:
    """mAP by cosine, the mean of both directions."""
    images, texts = (
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in projector(inputs.images, inputs.texts)
    )
    return mean_map(images @ texts.T, inputs.categories)


@contextmanager
def seeded(seed: int, purpose: int) -> Iterator[None]:
    """A block in which torch's random numbers follow from a seed; its generator is restored afterwards.

    Args:
        seed: Seed of a run.
        purpose: Blocks of different purposes draw different numbers.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0]))
        yield


# --- the methods ----------------------------------------------------------------------------------


def networks_of(
    spec: DeepCCA | CorrelationAutoencoder | Adversarial, train: Inputs, validation: Inputs, training: SubspaceTraining
) -> SubspaceModule:
    """Make the networks of a method before their training, with torch's random numbers as they are.

    Args:
        spec: The method.
        train: Training documents.
        validation: Validation documents.
        training: Widths and dropout.
    """
    widths, hidden = (train.images.shape[1], train.texts.shape[1]), training.hidden
    if isinstance(spec, DeepCCA):
        return DeepCCANetworks(spec, widths, hidden)
    if isinstance(spec, CorrelationAutoencoder):
        return CorrelationAutoencoders(spec, widths, hidden, training.output)
    n_categories = 1 + int(max([*train.categories, *validation.categories], default=0))
    return AdversarialNetworks(spec, widths, n_categories, training)


def canonical_correlations(images: Tensor, texts: Tensor, ridge: float) -> Tensor:
    """Compute the canonical correlations of a batch, largest first; differentiable.

    They are the singular values of ``S11^-1/2 S12 S22^-1/2`` (Andrew et al., 2013), in which Cholesky factors stand for
    the roots: the singular values are the same, and gradients stay finite where eigenvalues are equal.

    Args:
        images: ``[B, D]`` outputs of the images' network.
        texts: ``[B, D]`` outputs of the texts' network.
        ridge: Added to the variances.

    Returns:
        ``[D]`` in 0..1.
    """
    centred = [outputs - outputs.mean(dim=0) for outputs in (images, texts)]
    degrees = len(images) - 1
    identity = torch.eye(images.shape[1], dtype=images.dtype)
    roots = [torch.linalg.cholesky(one.T @ one / degrees + ridge * identity) for one in centred]
    cross = torch.linalg.solve_triangular(roots[0], centred[0].T @ centred[1] / degrees, upper=False)
    whitened = torch.linalg.solve_triangular(roots[1], cross.T, upper=False)
    correlations: Tensor = torch.linalg.svdvals(whitened)
    return correlations


class Autoencoders(SubspaceModule):
    """Two networks from vectors to codes, and decoders of the codes, each with a hidden layer.

    Args:
        spec: The method.
        widths: Width of image vectors, and of text vectors.
        hidden: Width of hidden layers.
        code: Width of the codes.
        decoders: Whether there are decoders.
    """

    def __init__(self, spec: Any, widths: tuple[int, int], hidden: int, code: int, decoders: bool = True):
        super().__init__()
        self.spec = spec
        self.image, self.text = (perceptron(dim, hidden, code) for dim in widths)
        if decoders:
            self.to_image, self.to_text = (perceptron(code, hidden, dim) for dim in widths)


class DeepCCANetworks(Autoencoders):
    """Networks whose outputs correlate, and decoders of their outputs where they reconstruct."""

    def __init__(self, spec: DeepCCA, widths: tuple[int, int], hidden: int):
        super().__init__(spec, widths, hidden, spec.dimensions, decoders=bool(spec.reconstruct))

    def loss(self, batch: DocumentBatch, progress: float) -> Tensor:
        """Compute minus the sum of correlations, and the weighted mean squared errors of reconstruction."""
        images, texts = self.project(batch.images, batch.texts)
        # Correlations of float32 outputs are exact to three digits only where variances are small.
        loss = -canonical_correlations(images.double(), texts.double(), self.spec.ridge).sum()
        if self.spec.reconstruct:
            errors = (self.to_image(images) - batch.images).square().mean()
            loss = loss + self.spec.reconstruct * (errors + (self.to_text(texts) - batch.texts).square().mean())
        return loss

    def projector(self, train: DocumentBatch) -> Projector:
        """Combine the networks and linear CCA of their outputs for the training documents."""
        from fivesentences.reproduction.categories.models.correlations import canonical  # needs the extra subspaces

        networks = super().projector(train)
        directions = canonical(*networks(train.images.numpy(), train.texts.numpy()))
        return lambda images, texts: directions(*networks(images, texts))


class CorrelationAutoencoders(Autoencoders):
    """Autoencoders whose codes, which are the subspace, agree."""

    def loss(self, batch: DocumentBatch, progress: float) -> Tensor:
        """``(1 - share) (|x - x'|² + |y - y'|²) + share |p - q|²``, the mean over documents (their eqs. 3 to 5)."""
        images, texts = self.project(batch.images, batch.texts)
        reconstruction = squared(self.to_image(images), batch.images) + squared(self.to_text(texts), batch.texts)
        loss: Tensor = (1 - self.spec.share) * reconstruction + self.spec.share * squared(images, texts)
        return loss

    def project(self, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``[documents, code]`` codes in -1..1."""
        return torch.tanh(self.image(images)), torch.tanh(self.text(texts))


def squared(left: Tensor, right: Tensor) -> Tensor:
    """Compute the mean over rows of their squared distance."""
    return (left - right).square().sum(dim=1).mean()


def reversed_gradient(inputs: Tensor, weight: float) -> Tensor:
    """Return the inputs, whose gradient is multiplied by ``-weight`` on its way back (Ganin and Lempitsky, 2015)."""
    same = inputs.view_as(inputs)
    if same.requires_grad:
        same.register_hook(lambda gradient: -weight * gradient)  # type: ignore[no-untyped-call]
    return same


def adversary_weight(progress: float, most: float) -> float:
    """Compute the weight of the adversary at a share of training, 0 to nearly ``most`` (Ganin and Lempitsky, 2015)."""
    return most * (2 / (1 + math.exp(-10 * progress)) - 1)


def mean_triplet(images: Tensor, texts: Tensor, categories: Tensor, margin: float) -> Tensor:
    """Compute the mean hinge of all triplets of a batch, each modality as anchors; 0 if all have one category.

    Args:
        images: ``[B, D]`` of length 1.
        texts: ``[B, D]`` likewise.
        categories: ``[B]``.
        margin: Margin between the cosine of a document's own pair and that of one of another category.
    """
    different = different_category(categories)
    similarity = images @ texts.T
    margins = torch.full_like(similarity, margin)
    both = [(hinge * different).sum() for hinge in hinges_of(similarity, (margins, margins))]
    return (both[0] + both[1]) / (2 * different.sum()).clamp(min=1)


class AdversarialNetworks(SubspaceModule):
    """Networks of both modalities, a classifier of categories for both, and a classifier of the modality.

    Args:
        spec: The method.
        widths: Width of image vectors, and of text vectors.
        n_categories: Categories are from 0 to one less.
        training: Widths and dropout.
    """

    def __init__(self, spec: Adversarial, widths: tuple[int, int], n_categories: int, training: SubspaceTraining):
        super().__init__()
        self.spec = spec
        self.image, self.text = (
            nn.Sequential(
                nn.Linear(dim, training.hidden),
                nn.Tanh(),
                nn.Dropout(training.dropout),
                nn.Linear(training.hidden, training.output),
                nn.Tanh(),
            )
            for dim in widths
        )
        self.category = nn.Linear(training.output, n_categories)
        self.modality = perceptron(training.output, max(2, training.output // 2), 2)

    def loss(self, batch: DocumentBatch, progress: float) -> Tensor:
        """Add the losses of categories and triplets and that of the modality classifier, its gradient reversed."""
        outputs = self.project(batch.images, batch.texts)
        weight = adversary_weight(progress, self.spec.adversary)
        return self.of_categories(outputs, batch.categories) + self.of_modality(outputs, weight)

    def validation_loss(self, batch: DocumentBatch) -> Tensor:
        """Compute the loss without the adversary, which is lower the worse the modality classifier is deceived."""
        return self.of_categories(self.project(batch.images, batch.texts), batch.categories)

    def of_categories(self, outputs: tuple[Tensor, Tensor], categories: Tensor) -> Tensor:
        """Compute the cross-entropy, the mean of both modalities, and weighted triplets."""
        labels = [functional.cross_entropy(self.category(one), categories) for one in outputs]
        images, texts = (functional.normalize(one, dim=1) for one in outputs)
        triplets = mean_triplet(images, texts, categories, self.spec.margin)
        return (labels[0] + labels[1]) / 2 + self.spec.triplets * triplets

    def of_modality(self, outputs: tuple[Tensor, Tensor], weight: float) -> Tensor:
        """Compute the cross-entropy of the modality classifier; the networks' gradient is reversed and weighted."""
        guesses = self.modality(reversed_gradient(torch.cat(outputs), weight))
        return functional.cross_entropy(guesses, torch.arange(2).repeat_interleave(len(outputs[0])))
