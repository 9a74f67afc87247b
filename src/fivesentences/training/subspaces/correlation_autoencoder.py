"""Corr-AE (Feng, Wang and Li, 2014): an autoencoder of each modality, whose codes of a document agree."""

from __future__ import annotations

import torch
from torch import Tensor

from fivesentences.models.subspaces.specs import CorrelationAutoencoder
from fivesentences.training.subspaces.autograd_training import Batch, SubspaceModule, perceptron


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
    """Mean over rows of their squared distance."""
    return (left - right).square().sum(dim=1).mean()
