"""Made-up margins and subspaces of any number of categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

PASCAL = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("dining table", "dog", "horse", "motorbike", "person", "potted plant", "sheep", "sofa", "train", "tv monitor"),
)


def category_margins(runs: Sequence[str], categories: Sequence[str], epochs: int = 100) -> pd.DataFrame:
    """Margins that shrink from 1 at the first epochs to one of its own for each pair of categories, every 2 epochs."""
    draw = np.random.default_rng(3)
    lines = []
    for run in runs:
        near = draw.normal(0.58, 0.08, (len(categories), len(categories)))
        for epoch in range(2, epochs + 1, 2):
            alpha = 1 / (1 + np.exp(-0.1 * (epoch - 0.4 * epochs)))
            for (anchor, negative), end in np.ndenumerate(near):
                if anchor != negative:
                    margin = alpha * end + 1 - alpha
                    lines.append((run, epoch, categories[anchor], categories[negative], margin, 400))
    return pd.DataFrame(lines, columns=["run", "epoch", "anchor", "negative", "mean_margin", "pairs"])


def projection(categories: Sequence[str], documents: int = 200) -> pd.DataFrame:
    """Clouds of points, looser for images than for texts."""
    draw = np.random.default_rng(5)
    centres = 12 * draw.standard_normal((len(categories), 2))
    of = np.arange(documents) % len(categories)
    frames = []
    for modality, spread in (("image", 7.0), ("text", 2.5)):
        places = centres[of] + spread * draw.standard_normal((documents, 2))
        about = {"document": [f"d{number}" for number in range(documents)], "category": np.array(categories)[of]}
        frames.append(pd.DataFrame(about | {"modality": modality, "x": places[:, 0], "y": places[:, 1]}))
    return pd.concat(frames, ignore_index=True)
