"""Made-up numbers of category retrieval, in the files that a plan names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from fivesentences.evaluation.categories import SUBSPACE_METRICS, TABLES
from fivesentences.models.subspaces.specs import TripletNetwork
from fivesentences.plan.subspace_runs import SubspaceRun

DIRECTIONS = ("i2t", "t2i", "mean")
SIZES = (100, 10, 20, 6)  # documents for training, validation and test, and categories
CATEGORIES = ("beach", "city", "farm", "forest", "harbour", "kitchen")


def random_of(text: str) -> np.random.Generator:
    """The same numbers for a text in every process."""
    return np.random.default_rng(crc32(text.encode()))


def scale_of_categories(seeds: Sequence[int] = (0, 1, 2), **changes: Any) -> dict[str, Any]:
    """What a scale says of category retrieval on the drawn scenes, which play Wikipedia."""
    divisions = {"printed": {"validation": 10, "test": 20}}
    return {
        "roles": {"wikipedia": "drawn"},
        "documents": {"drawn": {"loader": "corpus", "corpus": "scenes", "divisions": divisions}},
        "seeds": list(seeds),
    } | changes


def numbers_of(runs: Iterable[SubspaceRun]) -> pd.DataFrame:
    """Tidy numbers: harder at some seeds than at others, better at a start of 0.4."""
    lines = []
    for run in runs:
        draw, hard = random_of(run.name), 0.012 * random_of(f"seed {run.seed}").standard_normal()
        loss = run.method.loss if isinstance(run.method, TripletNetwork) else None
        gain = 0.02 * np.exp(-((loss.start - 0.4) ** 2) / 0.05) if loss and loss.toward != "nothing" else 0.0
        for selection in ("map", "loss", "last") if run.method.iterative else ("last",):
            for number, metric in enumerate(SUBSPACE_METRICS):
                start = 0.26 - 0.04 * number + hard + gain + 0.004 * draw.standard_normal()
                for direction, shift in zip(DIRECTIONS, (0.02, -0.02, 0.0), strict=True):
                    lines.append((*about(run), selection, metric, direction, start + shift, *SIZES))
    return pd.DataFrame(lines, columns=list(TABLES["metrics"]))


def about(run: SubspaceRun) -> tuple[str, str, str, str, int]:
    """What every table says of a run."""
    return run.name, run.documents, run.division, run.method.folder, run.seed


def histories_of(runs: Iterable[SubspaceRun]) -> pd.DataFrame:
    """The mean margin of every epoch of runs with triplets: it follows the schedule."""
    lines = []
    for run in runs:
        if not isinstance(run.method, TripletNetwork):
            continue
        loss, epochs, end = run.method.loss, run.training.epochs, _end(run)
        for epoch in range(1, epochs + 1):
            alpha = loss.alpha(epoch, epochs)
            margin = alpha * end + (1 - alpha) * loss.margin
            lines.append((run.name, epoch, 0.005, 5 / epoch, 6 / epoch, 0.2, alpha, margin))
    return pd.DataFrame(lines, columns=list(TABLES["histories"]))


def category_margins_of(runs: Iterable[SubspaceRun], categories: Sequence[str] = CATEGORIES) -> pd.DataFrame:
    """Margins between categories: each pair has its own adaptive margin."""
    lines = []
    near = random_of("categories").normal(0, 0.06, (len(categories), len(categories)))
    for run in runs:
        if not isinstance(run.method, TripletNetwork) or run.method.loss.toward == "nothing":
            continue
        loss, epochs, end = run.method.loss, run.training.epochs, _end(run)
        recorded = [epoch for epoch in range(1, epochs + 1) if epoch % run.training.validate_every == 0]
        for epoch in sorted({*recorded, epochs}):
            alpha = loss.alpha(epoch, epochs)
            for (anchor, negative), shift in np.ndenumerate(near + near.T):
                margin = alpha * (end + shift) + (1 - alpha) * loss.margin
                if anchor != negative:
                    lines.append((run.name, epoch, categories[anchor], categories[negative], margin, 400))
    return pd.DataFrame(lines, columns=list(TABLES["category_margins"]))


def _end(run: SubspaceRun) -> float:
    return 0.58 + 0.02 * float(random_of(run.name).standard_normal())


def projection_of(run: SubspaceRun, categories: Sequence[str] = CATEGORIES, documents: int = 120) -> pd.DataFrame:
    """Clouds of points, looser for images than for texts."""
    draw = random_of(f"projection {run.name}")
    centres = 12 * draw.standard_normal((len(categories), 2))
    of = draw.integers(len(categories), size=documents)
    frames = []
    for modality, spread in (("image", 7.0), ("text", 2.5)):
        places = centres[of] + spread * draw.standard_normal((documents, 2))
        about = {"document": [f"d{number}" for number in range(documents)], "category": np.array(categories)[of]}
        frames.append(pd.DataFrame(about | {"modality": modality, "x": places[:, 0], "y": places[:, 1]}))
    return pd.concat(frames, ignore_index=True)


def write_numbers(folder: Path, runs: Sequence[SubspaceRun], categories: Sequence[str] = CATEGORIES) -> dict[str, Path]:
    """Every file of one job, and the projection of its first run."""
    frames = {
        "job.parquet": numbers_of(runs),
        "job.histories.parquet": histories_of(runs),
        "job.category_margins.parquet": category_margins_of(runs, categories),
        "projection.parquet": projection_of(runs[0], categories),
    }
    for name, frame in frames.items():
        frame.to_parquet(folder / name, index=False)
    return {name: folder / name for name in frames}
