"""A few scenes as files, and as many as tables of results are made of without their pictures."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from fivesentences.corpus import Corpus
from fivesentences.reproduction.scenes import DescribedScene, compose, generate, truth_of

IMAGES = 400


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Corpus]:
    """The folder and corpus of seed 5: 12 images for training, 3 for selection, 5 for evaluation."""
    folder = tmp_path_factory.mktemp("scenes")
    return folder, generate(folder, seed=5, train=12, dev=3, test=5)


@pytest.fixture(scope="session")
def facts(small: tuple[Path, Corpus]) -> list[dict]:
    """One line of ``facts.jsonl.gz`` per image of ``small``."""
    return lines_of(small[0] / "facts.jsonl.gz")


@pytest.fixture(scope="session")
def many() -> list[DescribedScene]:
    return compose(2022, IMAGES)


@pytest.fixture(scope="session")
def truth(many: list[DescribedScene]) -> np.ndarray:
    """``[captions, images]`` of ``many``."""
    return truth_of(many)


@pytest.fixture(scope="session")
def own() -> np.ndarray:
    """``[captions, images]`` whether a caption of ``many`` was written for the image."""
    return np.repeat(np.eye(IMAGES, dtype=bool), 5, axis=0)


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
