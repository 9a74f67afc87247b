"""Training of other methods' networks by autograd and Adam: epochs, batches, validation, which weights are kept."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fivesentences.config.documents import SubspaceTraining
from fivesentences.errors import InputError
from fivesentences.features.document_inputs import Inputs, Vectors
from fivesentences.metrics.category import category_map
from fivesentences.models.subspaces.projection import Projector
from fivesentences.training.adam import Adam
from fivesentences.training.subspaces.data import as_tensor
from fivesentences.training.subspaces.fit import EpochKeeper, Fit, Progress, Row

ROWS = 2048  # documents that are projected at once


class Batch(NamedTuple):
    """Some documents.

    Attributes:
        images: ``[B, image_dim]``.
        texts: ``[B, text_dim]``.
        categories: ``[B]`` int64.
    """

    images: Tensor
    texts: Tensor
    categories: Tensor

    @classmethod
    def of(cls, inputs: Inputs) -> Batch:
        """All documents of some inputs."""
        categories = torch.from_numpy(np.ascontiguousarray(inputs.categories, dtype=np.int64))
        return cls(as_tensor(inputs.images), as_tensor(inputs.texts), categories)


class SubspaceModule(nn.Module):
    """Networks of both modalities and the loss that they are trained with."""

    def loss(self, batch: Batch, progress: float) -> Tensor:
        """What training minimises, a scalar.

        Args:
            batch: Documents.
            progress: The share of all training steps that are done, in 0..1.
        """
        raise NotImplementedError

    def validation_loss(self, batch: Batch) -> Tensor:
        """What validation documents are judged by: the loss, unless a method says otherwise."""
        return self.loss(batch, 1.0)

    def project(self, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """``[documents, dimensions]`` of each modality."""
        raise NotImplementedError

    def projector(self, train: Batch) -> Projector:
        """The networks as they are now, to be kept; later training does not change them."""
        return ModuleProjector(copy.deepcopy(self).eval())


@dataclass(frozen=True)
class ModuleProjector:
    """Trained networks as a fitted method."""

    module: SubspaceModule

    @torch.no_grad()
    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """``[documents, dimensions]`` float32 of each modality."""
        # No row depends on another one: blocks only bound the memory of hidden layers.
        pairs = [
            self.module.project(as_tensor(images[start : start + ROWS]), as_tensor(texts[start : start + ROWS]))
            for start in range(0, len(images), ROWS)
        ]
        return torch.cat([first for first, _ in pairs]).numpy(), torch.cat([second for _, second in pairs]).numpy()


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
        seed: Of the order of documents and of dropout.
        training: Epochs, size of batches, how often to validate.
        learning_rate: Of Adam.
        progress: Called after every epoch.

    Returns:
        Projectors ``map``, ``loss`` and ``last``; history, one row per epoch: epoch, learning_rate, loss (mean over
        documents), validation_loss and validation_map (mean of both directions; None where not validated).

    Raises:
        InputError: If training diverges, or there are fewer than two training or validation documents.
    """
    if min(len(train), len(validation)) < 2:
        raise InputError(
            f"there are {len(train)} documents to train and {len(validation)} to validate; each needs two at least."
        )
    documents, held_out = Batch.of(train), Batch.of(validation)
    order, adam = np.random.default_rng([seed, 1]), Adam(module.parameters())
    keeper = EpochKeeper[Projector](lambda: module.projector(documents))
    history: list[Row] = []
    steps = training.epochs * len(batches(len(train), training.batch_size, np.random.default_rng(0)))
    done = 0
    with seeded(seed, 1):
        for epoch in range(1, training.epochs + 1):
            module.train()
            total = 0.0
            for rows in batches(len(train), training.batch_size, order):
                chosen = torch.from_numpy(rows)
                adam.zero_grad()
                loss = module.loss(Batch(*(part[chosen] for part in documents)), done / steps)
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step(learning_rate)
                total += len(rows) * loss.item()
                done += 1
            mean = total / len(train)
            if not math.isfinite(mean):
                raise InputError(f"training diverged: the loss of epoch {epoch} is {mean}; lower the learning rate.")
            row: Row = {"epoch": epoch, "learning_rate": learning_rate, "loss": mean}
            row |= {"validation_loss": None, "validation_map": None}
            history.append(row)
            if epoch == training.epochs or epoch % training.validate_every == 0:
                module.eval()
                with torch.no_grad():
                    row["validation_loss"] = module.validation_loss(held_out).item()
                row["validation_map"] = mean_map(module.projector(documents), validation)
                keeper.offer(epoch, map=row["validation_map"], loss=row["validation_loss"])
            progress(f"loss {mean:.4g}")
    return Fit(keeper.projectors(lambda projector: projector), history)


def mean_map(projector: Projector, inputs: Inputs) -> float:
    """mAP by cosine, the mean of both directions."""
    images, texts = (
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in projector(inputs.images, inputs.texts)
    )
    similarity, labels = images @ texts.T, inputs.categories
    both = [category_map(similarity, labels, labels, direction) for direction in ("i2t", "t2i")]
    return float(sum(both)) / 2


@contextmanager
def seeded(seed: int, purpose: int) -> Iterator[None]:
    """A block in which torch's random numbers follow from a seed; its generator is restored afterwards.

    Args:
        seed: Of a run.
        purpose: Blocks of different purposes draw different numbers.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0]))
        yield
