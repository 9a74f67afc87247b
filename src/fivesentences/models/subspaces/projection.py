"""What a fitted method is: it turns vectors of both modalities into vectors of one subspace."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]


class Projector(Protocol):
    """A fitted method."""

    def __call__(self, images: Vectors, texts: Vectors) -> tuple[Vectors, Vectors]:
        """Both modalities in the subspace, ``[documents, dimensions]`` each; compared by cosine."""
        ...
