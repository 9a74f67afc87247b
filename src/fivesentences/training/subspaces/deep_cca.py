"""Deep CCA and its autoencoders.

cca-zoo has both as Lightning modules; here they are trained as the other methods are, without Lightning's seconds per
run. A test compares the correlations of a batch with numpy and with cca-zoo's loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fivesentences.features.document_inputs import Vectors
from fivesentences.models.subspaces.correlations import LinearProjector, canonical
from fivesentences.models.subspaces.projection import Projector
from fivesentences.models.subspaces.specs import DeepCCA
from fivesentences.training.subspaces.autograd_training import Batch, SubspaceModule, perceptron


def canonical_correlations(images: Tensor, texts: Tensor, ridge: float) -> Tensor:
    """Canonical correlations of a batch, largest first; differentiable.

    They are the singular values of ``S11^-1/2 S12 S22^-1/2`` (Andrew et al., 2013), in which Cholesky factors stand for
    the roots: the singular values are the same, and gradients stay finite where eigenvalues are equal.

    Args:
        images: ``[B, D]`` outputs of the images' network.
        texts: ``[B, D]`` of the texts' network.
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
        """Minus the sum of correlations, and the weighted mean squared errors of reconstruction."""
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
        """The networks, and linear CCA of their outputs for the training documents."""
        networks = super().projector(train)
        images, texts = networks(train.images.numpy(), train.texts.numpy())
        return DeepCCAProjector(networks, canonical(images, texts))


@dataclass(frozen=True)
class DeepCCAProjector:
    """Networks, and canonical directions of their outputs."""

    networks: Projector
    directions: LinearProjector

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, dimensions]`` of each modality."""
        return self.directions(*self.networks(images, texts))
