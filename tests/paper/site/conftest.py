"""Made-up epochs of the runs of a scale, and its pages of runs and provenance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fivesentences.evaluation.tidy import write_tidy
from fivesentences.evaluation.training_histories import COLUMNS, write_histories
from fivesentences.paper.site.shell import Site
from fivesentences.plan.pages import PageRules


def epochs_of(plan, scale) -> pd.DataFrame:
    """Losses that fall and scores that rise; dev is scored after every second epoch and the last, which is kept."""
    frames = []
    for name in plan.trained_at(scale):
        spec = plan.all_runs[name]
        epoch = np.arange(1, spec.training.epochs + 1)
        scored = (epoch % 2 == 0) | (epoch == epoch[-1])
        frame = pd.DataFrame({"epoch": epoch, "learning_rate": 0.01, "loss": 3.0 / epoch + spec.seed})
        frame["dev_Rsum"] = np.where(scored, 100 + 10.0 * epoch, np.nan)
        frame["best"] = (epoch == epoch[-1]).astype(int)
        frames.append(frame.assign(run=name, device="cpu x86_64", torch="2.15.0"))
    return pd.concat(frames, ignore_index=True)[list(COLUMNS)]


@pytest.fixture(scope="session")
def recorded_files(everything, results_of_runs) -> dict[str, Any]:
    """The files that the page of runs is made from, and a manifest's times of the first training job."""
    plan, scale = everything.plan, everything.plan.scale.scale
    for name, exhibit in plan.exhibits.items():
        if exhibit.reads.startswith("subspace"):
            everything.numbers(name)
    files = PageRules(plan).show_runs(scale).inputs
    (tidy,), (histories,) = files["tidy"], files["histories"]
    runs = {**plan.runs, **plan.ensembles}
    write_tidy(results_of_runs(runs.values()), tidy)
    write_histories(epochs_of(plan, scale), histories)
    first = next(iter(plan.jobs.values()))
    manifest = {"trained": {"train": {first.name: {"seconds": 30.0 * len(first.runs), "memory_mb": 700.0}}}}
    named = {name: files[name] for name in ("tidy", "histories", "subspaces", "subspace_histories")}
    return {**named, "manifest": manifest}


@pytest.fixture(scope="session")
def site(everything) -> Site:
    """The site of the tiny scale."""
    return Site.of(PageRules(everything.plan).site(everything.plan.scale.scale))


@pytest.fixture(scope="session")
def config() -> Path:
    """The folder of the repository's configuration."""
    return Path(__file__).parents[3] / "config"
