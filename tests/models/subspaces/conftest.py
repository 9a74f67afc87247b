from __future__ import annotations

import numpy as np
import pytest

from fivesentences.reproduction.categories.inputs import Inputs


def planted(seed: int, documents: int, noise: float = 1.0, categories: int = 4, image_dim: int = 12) -> Inputs:
    """Both modalities are linear in what a document is about, its category's place and something of its own."""
    worlds = np.random.default_rng(7)
    centres = 2.0 * worlds.standard_normal((categories, 3))
    to_image, to_text = worlds.standard_normal((3, image_dim)), worlds.standard_normal((3, 8))
    draw = np.random.default_rng(seed)
    of = draw.integers(categories, size=documents)
    topic = centres[of] + 0.5 * draw.standard_normal((documents, 3))
    images = topic @ to_image + noise * draw.standard_normal((documents, image_dim))
    texts = topic @ to_text + noise * draw.standard_normal((documents, 8))
    return Inputs(images.astype(np.float32), texts.astype(np.float32), of)


@pytest.fixture(scope="session")
def train() -> Inputs:
    return planted(0, 240)


@pytest.fixture(scope="session")
def test() -> Inputs:
    return planted(1, 120)
