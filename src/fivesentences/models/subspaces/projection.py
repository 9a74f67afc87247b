"""What methods are given, and what they return: vectors of both modalities, row by row the same documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class Inputs:
    """Some documents as a model reads them.

    Attributes:
        images: ``[documents, image_dim]`` float32.
        texts: ``[documents, text_dim]`` float32.
        categories: ``[documents]`` int64, the same numbers in training, validation and test.
    """

    images: Vectors
    texts: Vectors
    categories: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.categories)


class Projector(Protocol):
    """A fitted method."""

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """Both modalities in the subspace, ``[documents, dimensions]`` each; compared by cosine."""
        ...
