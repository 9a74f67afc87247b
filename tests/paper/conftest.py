"""A small study, scales that play its roles or do not, and a made-up tidy table of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fivesentences.config import RunSpec, Scale, Study, read
from fivesentences.paper.rows import runs_of_scale

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def studies() -> dict[str, Study]:
    """The studies of the repository."""
    names = ("five_sentences", "knn_margin")
    return {name: read(Study, ROOT / "config" / "studies" / f"{name}.yaml") for name in names}


def tiny_scale(**changes: Any) -> Scale:
    content: dict[str, Any] = {
        "scale": "tiny",
        "title": "Tiny",
        "roles": {"flickr30k": "scenes"},
        "datasets": {
            "scenes": {"loader": "scenes"},
            "flickr30k": {"loader": "karpathy"},
            "coco": {"loader": "karpathy"},
        },
        "features": {"extractor": "grid_descriptors"},
        "seeds": [0, 1, 2],
        "training": {"epochs": {0.1: 5, 0.25: 4, 1.0: 3}},
        "studies": ["five_sentences", "knn_margin"],
    }
    return Scale.model_validate(content | changes)


@pytest.fixture
def make_scale() -> Callable[..., Scale]:
    """A tiny scale with some keys changed."""
    return tiny_scale


@pytest.fixture
def scale() -> Scale:
    return tiny_scale()


@pytest.fixture
def paper_scale() -> Scale:
    """The paper's own setting of knn_margin: a difference may be taken there."""
    return tiny_scale(
        scale="paper",
        roles={"flickr30k": "flickr30k", "coco": "coco"},
        features={"extractor": "vgg19"},
        training={"epochs": 30},
    )


def results_of(runs: Iterable[RunSpec], *, phi: str = "cider", images: int = 1000) -> pd.DataFrame:
    """Every value that the evaluation gives, with plausible sizes, different in every run."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        draw = np.random.default_rng(abs(hash_of(run.name)))
        level = 6 + 16 * run.fraction + 4 * draw.random() + (3 if run.loss.sam is not None else 0)
        base = {"run": run.name, "scale": "tiny", "dataset": run.dataset, "model": run.model.name}
        base |= {"loss": run.loss.folder, "fraction": run.fraction, "seed": run.seed, "features": run.features.stem}
        base |= {
            "phi": phi,
            "split": "test",
            "images": images,
            "captions": 5 * images,
            "tie_rule": "equal scores are ordered by index, lower first",
        }

        def add(metric: str, direction: str, value: float, base: dict[str, Any] = base, **more: Any) -> None:
            empty = {"formula": "", "ground_truth": "", "m": 0, "style": ""}
            rows.append(base | empty | more | {"metric": metric, "direction": direction, "value": value})

        def noisy(value: float, draw: np.random.Generator = draw) -> float:
            return value + 0.6 * float(draw.standard_normal())

        recalls = []
        for direction, shift in (("i2t", 3.0), ("t2i", 0.0)):
            for k, factor in ((1, 1.0), (5, 2.2), (10, 2.9)):
                recalls.append(min(noisy(factor * (level + shift)), 99.0))
                add(f"R@{k}", direction, recalls[-1])
            add("Med r", direction, float(round(noisy(12.0))))
            add("Mean r", direction, noisy(55.0))
        add("Rsum", "", sum(recalls))
        for ground_truth, factor in (("kept", 1.0), ("removed", 0.6)):
            for formula in ("released", "paper"):
                scores = []
                for direction in ("i2t", "t2i"):
                    for k, more in ((1, 1.0), (5, 1.25), (10, 1.35)):
                        scores.append(noisy(factor * more * (level + 8)))
                        add(f"N@{k}", direction, scores[-1], formula=formula, ground_truth=ground_truth)
                add("Nsum", "", sum(scores), formula=formula, ground_truth=ground_truth)
        for direction in ("i2t", "t2i"):
            for m in (1, 2, 3, 4, 5):
                for style in ("recall", "vse_recall"):
                    value = noisy(level * (1.15 - 0.09 * m) if style == "recall" else level * (0.8 + 0.32 * m**0.7))
                    more = {"formula": "released", "ground_truth": "removed", "m": m, "style": style}
                    add("SR@5", direction, value, **more)
    return pd.DataFrame(rows)


def hash_of(text: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(text.encode()[-8:], "little") ^ sum(text.encode()) * 7919


@pytest.fixture
def made_up() -> Callable[..., pd.DataFrame]:
    """A made-up tidy table of the given runs."""
    return results_of


@pytest.fixture
def frame(studies: dict[str, Study], scale: Scale) -> pd.DataFrame:
    return results_of(runs_of_scale(studies, scale).values())


@pytest.fixture
def published(root: Path) -> Path:
    return root / "config" / "published"
