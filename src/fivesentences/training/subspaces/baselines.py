"""Networks of other methods: deep CCA and its autoencoders, Corr-AE, and a method like ACMR.

cca-zoo has deep CCA and its autoencoders as Lightning modules; here they are trained as the other methods are, without
Lightning's seconds per run. A test compares the correlations of a batch with numpy and with cca-zoo's loss.

The method like ACMR (Wang et al., 2017) has classes, triplets, and a modality classifier that the networks deceive. It
is not theirs in all details: triplets have all negatives of a batch and the cosine, the networks are those of this
project's other methods, and the adversary is met in one step by gradient reversal instead of in turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.config.documents import SubspaceTraining
from fivesentences.features.document_inputs import Inputs, Vectors
from fivesentences.losses.scheduled_margin import all_negatives, different_category, hinges_of
from fivesentences.models.subspaces.projection import Projector
from fivesentences.models.subspaces.specs import Adversarial, CorrelationAutoencoder, DeepCCA
from fivesentences.training.subspaces.autograd_training import Batch, SubspaceModule, perceptron


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
    widths = train.images.shape[1], train.texts.shape[1]
    if isinstance(spec, DeepCCA):
        return DeepCCANetworks(spec, *widths, training.hidden)
    if isinstance(spec, CorrelationAutoencoder):
        return CorrelationAutoencoders(spec, *widths, training.hidden, training.output)
    n_categories = 1 + int(max([*train.categories, *validation.categories], default=0))
    return AdversarialNetworks(spec, *widths, n_categories, training)


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


class DeepCCANetworks(SubspaceModule):
    """Networks whose outputs correlate, and decoders of their outputs where they reconstruct.

    Args:
        spec: The method.
        image_dim: Width of image vectors.
        text_dim: Width of text vectors.
        hidden: Width of hidden layers.
    """

    def __init__(self, spec: DeepCCA, image_dim: int, text_dim: int, hidden: int):
        super().__init__()
        self.spec = spec
        self.image, self.text = (perceptron(dim, hidden, spec.dimensions) for dim in (image_dim, text_dim))
        if spec.reconstruct:
            self.to_image, self.to_text = (perceptron(spec.dimensions, hidden, dim) for dim in (image_dim, text_dim))

    def loss(self, batch: Batch, progress: float) -> Tensor:
        """Compute minus the sum of correlations, and the weighted mean squared errors of reconstruction."""
        images, texts = self.project(batch.images, batch.texts)
        # Correlations of float32 outputs are exact to three digits only where variances are small.
        loss = -canonical_correlations(images.double(), texts.double(), self.spec.ridge).sum()
        if self.spec.reconstruct:
            errors = (self.to_image(images) - batch.images).square().mean()
            loss = loss + self.spec.reconstruct * (errors + (self.to_text(texts) - batch.texts).square().mean())
        return loss

    def project(self, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """``[documents, dimensions]`` outputs, which are defined up to a linear map."""
        return self.image(images), self.text(texts)

    def projector(self, train: Batch) -> Projector:
        """Combine the networks and linear CCA of their outputs for the training documents."""
        from fivesentences.models.subspaces.correlations import canonical  # needs the extra subspaces

        networks = super().projector(train)
        images, texts = networks(train.images.numpy(), train.texts.numpy())
        return DeepCCAProjector(networks, canonical(images, texts))


@dataclass(frozen=True)
class DeepCCAProjector:
    """Networks, and canonical directions of their outputs."""

    networks: Projector
    directions: Projector

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, dimensions]`` of each modality."""
        return self.directions(*self.networks(images, texts))


class CorrelationAutoencoders(SubspaceModule):
    """Two autoencoders, each with a hidden layer on either side of the code.

    Args:
        spec: The method.
        image_dim: Width of image vectors.
        text_dim: Width of text vectors.
        hidden: Width of hidden layers.
        code: Width of the codes, which are the subspace.
    """

    def __init__(self, spec: CorrelationAutoencoder, image_dim: int, text_dim: int, hidden: int, code: int):
        super().__init__()
        self.share = spec.share
        self.image, self.text = (perceptron(dim, hidden, code) for dim in (image_dim, text_dim))
        self.to_image, self.to_text = (perceptron(code, hidden, dim) for dim in (image_dim, text_dim))

    def loss(self, batch: Batch, progress: float) -> Tensor:
        """``(1 - share) (|x - x'|² + |y - y'|²) + share |p - q|²``, the mean over documents (their eqs. 3 to 5)."""
        images, texts = self.project(batch.images, batch.texts)
        reconstruction = squared(self.to_image(images), batch.images) + squared(self.to_text(texts), batch.texts)
        return (1 - self.share) * reconstruction + self.share * squared(images, texts)

    def project(self, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """``[documents, code]`` codes in -1..1."""
        return torch.tanh(self.image(images)), torch.tanh(self.text(texts))


def squared(left: Tensor, right: Tensor) -> Tensor:
    """Compute the mean over rows of their squared distance."""
    return (left - right).square().sum(dim=1).mean()


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, inputs: Tensor, weight: float) -> Tensor:
        context.weight = weight
        return inputs.view_as(inputs)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return -context.weight * gradients[0], None


def reversed_gradient(inputs: Tensor, weight: float) -> Tensor:
    """Return the inputs, whose gradient is multiplied by ``-weight`` on its way back (Ganin and Lempitsky, 2015)."""
    reversal: Tensor = _Reversal.apply(inputs, weight)  # type: ignore[no-untyped-call]
    return reversal


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
    both = [all_negatives(hinge, different).sum() for hinge in hinges_of(similarity, (margins, margins))]
    return (both[0] + both[1]) / (2 * different.sum()).clamp(min=1)


class AdversarialNetworks(SubspaceModule):
    """Networks of both modalities, a classifier of categories for both, and a classifier of the modality.

    Args:
        spec: The method.
        image_dim: Width of image vectors.
        text_dim: Width of text vectors.
        n_categories: Categories are from 0 to one less.
        training: Widths and dropout.
    """

    def __init__(self, spec: Adversarial, image_dim: int, text_dim: int, n_categories: int, training: SubspaceTraining):
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
            for dim in (image_dim, text_dim)
        )
        self.category = nn.Linear(training.output, n_categories)
        self.modality = perceptron(training.output, max(2, training.output // 2), 2)

    def loss(self, batch: Batch, progress: float) -> Tensor:
        """Add the losses of categories and triplets and that of the modality classifier, its gradient reversed."""
        outputs = self.project(batch.images, batch.texts)
        weight = adversary_weight(progress, self.spec.adversary)
        return self.of_categories(outputs, batch.categories) + self.of_modality(outputs, weight)

    def validation_loss(self, batch: Batch) -> Tensor:
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

    def project(self, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """``[documents, output]`` in -1..1."""
        return self.image(images), self.text(texts)
