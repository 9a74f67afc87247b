"""A method like ACMR (Wang et al., 2017): classes, triplets, and a modality classifier that the networks deceive.

It is not theirs in all details: triplets have all negatives of a batch and the cosine, the networks are those of this
project's other methods, and the adversary is met in one step by gradient reversal instead of in turns.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesentences.config.documents import SubspaceTraining
from fivesentences.losses.scheduled_margin import all_negatives, different_category, hinges_of
from fivesentences.models.subspaces.specs import Adversarial
from fivesentences.training.subspaces.autograd_training import Batch, SubspaceModule, perceptron


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, inputs: Tensor, weight: float) -> Tensor:
        context.weight = weight
        return inputs.view_as(inputs)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return -context.weight * gradients[0], None


def reversed_gradient(inputs: Tensor, weight: float) -> Tensor:
    """The inputs, whose gradient is multiplied by ``-weight`` on its way back (Ganin and Lempitsky, 2015)."""
    reversal: Tensor = _Reversal.apply(inputs, weight)  # type: ignore[no-untyped-call]
    return reversal


def adversary_weight(progress: float, most: float) -> float:
    """The weight of the adversary at a share of training, from 0 to nearly ``most`` (Ganin and Lempitsky, 2015)."""
    return most * (2 / (1 + math.exp(-10 * progress)) - 1)


def mean_triplet(images: Tensor, texts: Tensor, categories: Tensor, margin: float) -> Tensor:
    """Mean hinge of all triplets of a batch, each modality as anchors; 0 where all documents are of one category.

    Args:
        images: ``[B, D]`` of length 1.
        texts: ``[B, D]`` likewise.
        categories: ``[B]``.
        margin: Between the cosine of a document's own pair and that of one of another category.
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
        """Cross-entropy of categories, triplets, and the modality classifier's cross-entropy with reversed gradient."""
        outputs = self.project(batch.images, batch.texts)
        weight = adversary_weight(progress, self.spec.adversary)
        return self.of_categories(outputs, batch.categories) + self.of_modality(outputs, weight)

    def validation_loss(self, batch: Batch) -> Tensor:
        """The loss without the adversary, which is as much lower the worse the modality classifier is deceived."""
        return self.of_categories(self.project(batch.images, batch.texts), batch.categories)

    def of_categories(self, outputs: tuple[Tensor, Tensor], categories: Tensor) -> Tensor:
        """Cross-entropy, the mean of both modalities, and weighted triplets."""
        labels = [functional.cross_entropy(self.category(one), categories) for one in outputs]
        images, texts = (functional.normalize(one, dim=1) for one in outputs)
        triplets = mean_triplet(images, texts, categories, self.spec.margin)
        return (labels[0] + labels[1]) / 2 + self.spec.triplets * triplets

    def of_modality(self, outputs: tuple[Tensor, Tensor], weight: float) -> Tensor:
        """Cross-entropy of the modality classifier; the networks' gradient is reversed and weighted."""
        guesses = self.modality(reversed_gradient(torch.cat(outputs), weight))
        return functional.cross_entropy(guesses, torch.arange(2).repeat_interleave(len(outputs[0])))

    def project(self, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """``[documents, output]`` in -1..1."""
        return self.image(images), self.text(texts)
