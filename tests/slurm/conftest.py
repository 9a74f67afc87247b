"""A cluster of one node for the session, and Snakemake with the project's profile on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import one_node
from at_work import SMALL, Snakemake, workflow


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """SLURM, started and stopped; a test that needs it is skipped where it cannot be started."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("needs a cluster for itself: run these cases without -n, uv run pytest -m slurm")
    if reason := one_node.obstacle():
        pytest.skip(f"needs SLURM: {reason}")
    folder = tmp_path_factory.mktemp("cluster")
    one_node.start(folder)
    try:
        yield
    finally:
        one_node.stop(folder)


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snakemake]:
    """The small scale at work on this machine alone, begun and not waited for."""
    working = Snakemake(tmp_path_factory.mktemp("local"), *workflow(SMALL), cluster=None)
    yield working
    working.kill()


@pytest.fixture
def snakemake() -> Iterator[Callable[..., Snakemake]]:
    """Starts Snakemake; what still runs after the test is killed."""
    started: list[Snakemake] = []

    def start(folder: Path, *arguments: str, **options: Any) -> Snakemake:
        started.append(Snakemake(folder, *arguments, **options))
        return started[-1]

    yield start
    for one in started:
        one.kill()
