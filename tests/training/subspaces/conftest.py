"""Small documents of three categories whose two modalities tell something of the category."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fivesentences.reproduction.categories.config import SubspaceTraining
from fivesentences.reproduction.categories.inputs import Inputs

MakeInputs = Callable[..., Inputs]


@pytest.fixture(scope="session")
def make_inputs() -> MakeInputs:
    """Documents of three categories: ``make_inputs(60, seed=1)``."""

    def made(size: int, seed: int = 0, noise: float = 1.0, image_dim: int = 8, text_dim: int = 5) -> Inputs:
        centres = np.random.default_rng(99)
        images, texts = centres.normal(size=(3, image_dim)), centres.normal(size=(3, text_dim))
        rng = np.random.default_rng(seed)
        categories = rng.permutation(np.arange(size) % 3)
        return Inputs(
            (images[categories] + noise * rng.normal(size=(size, image_dim))).astype(np.float32),
            (texts[categories] + noise * rng.normal(size=(size, text_dim))).astype(np.float32),
            categories.astype(np.int64),
        )

    return made


@pytest.fixture
def tiny() -> SubspaceTraining:
    """A few epochs of a small network."""
    return SubspaceTraining(epochs=5, batch_size=20, hidden=16, output=6, learning_rate=0.05, validate_every=2)
