"""Made-up numbers for claims: what the loss of a run is worth, and how much training varies."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast
from zlib import crc32

import numpy as np
import pandas as pd

from fivesentences.reproduction.evaluation.tidy import SUMMED
from fivesentences.reproduction.paper.claims.judging import Numbers
from fivesentences.reproduction.paper.numbers.results import Measure, Results
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.training.spec import RunSpec

IMAGES = [f"i{image}" for image in range(60)]
Gain = Callable[[RunSpec], float]


def noise(text: str, size: int) -> np.ndarray:
    return np.random.default_rng(crc32(text.encode())).normal(size=size)


def per_image(run: RunSpec, gain: Gain, wild: float) -> pd.DataFrame:
    """What each image contributes: some are hard for all runs, and runs of a seed are alike."""
    common = 200 + 30 * noise("hard", 60) + 10 * noise(f"seed {run.seed}", 1)
    of_run = gain(run) + wild * noise(run.name, 1) + wild * noise(f"{run.name} images", 60)
    return pd.DataFrame(dict.fromkeys(SUMMED, common + of_run), index=pd.Index(IMAGES, name="image_id"))


def numbers_of(plan: Plan, gain: Gain, wild: float = 0.1, **of_judges: dict[str, pd.DataFrame]) -> Numbers:
    """Made-up numbers of all runs: the gain that a run's loss is worth, and how much training varies."""

    def value(run: str, measure: Measure, inference: str = "naive") -> float:
        better = {"naive": 0.0, "inverted_softmax": 2.0, "csls": 3.0, "assignment": 1.0}[inference]
        spec = plan.all_runs[run]
        return 20 + gain(spec) / 6 + better + measure.m + 0.01 * float(noise(f"{run} {measure}", 1)[0])

    return Numbers(
        {name: per_image(run, gain, wild) for name, run in plan.all_runs.items()},
        {"": cast(Results, SimpleNamespace(value=value, over_directions=value))},
        {},
        of_judges.get("judged", {}),
        of_judges.get("found", {}),
    )


def is_sam(run: RunSpec) -> bool:
    return run.loss.sam is not None and run.loss.sam.margins == "adaptive"
