"""What methods of category retrieval read of documents: vectors of both modalities, prepared alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class Inputs:
    """Some documents as a method reads them.

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
