"""Which runs are trained one after the other in one process: Python, torch and imports take seconds a start."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

from fivesentences.plan.ensembles import EnsembleRun
from fivesentences.plan.runs import RunSpec


def training_jobs(runs: Mapping[str, RunSpec], runs_per_job: int, prefix: str = "train") -> dict[str, list[str]]:
    """Share runs out among jobs.

    Runs of a job have the model, dataset and features in common, so that a row added to a table moves few runs to
    another job. Jobs of a kind are as equally long as can be, and keep the order of the runs.

    Args:
        runs: Settings of each run, by its name.
        runs_per_job: The most runs of a job, at least 1.
        prefix: What the names begin with.

    Returns:
        Names of the runs of each job, by a readable name of letters, digits and ``_``: ``train_scenes_vsepp_2``.
    """
    kinds: dict[tuple[str, str, str], list[str]] = {}
    for name, spec in runs.items():
        kinds.setdefault((spec.dataset, spec.features.stem, spec.model.name), []).append(name)
    jobs, count = {}, Counter[str]()
    for (dataset, _, model), names in kinds.items():
        parts = math.ceil(len(names) / runs_per_job)
        base = re.sub(r"\W", "_", f"{prefix}_{dataset}_{model}")
        for part in range(parts):
            count[base] += 1
            jobs[f"{base}_{count[base]}"] = names[len(names) * part // parts : len(names) * (part + 1) // parts]
    return jobs


def evaluation_jobs(
    jobs: Mapping[str, list[str]], ensembles: Mapping[str, EnsembleRun], prefix: str = "evaluate_ensembles"
) -> dict[str, list[str]]:
    """Which runs and ensembles are evaluated one after the other in one process.

    Args:
        jobs: As ``training_jobs`` gives them: what was trained in one job is evaluated in one.
        ensembles: By name; those of one dataset are evaluated together.
        prefix: What the names of their jobs begin with.

    Returns:
        Names of the runs and ensembles of each job: ``evaluate_train_scenes_vsepp_2``, ``evaluate_ensembles_scenes``.
    """
    found = {f"evaluate_{job}": list(names) for job, names in jobs.items()}
    for name, ensemble in ensembles.items():
        found.setdefault(re.sub(r"\W", "_", f"{prefix}_{ensemble.dataset}"), []).append(name)
    return found
