"""Which runs are trained one after the other in one process: Python, torch and imports take seconds a start."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

from fivesentences.config.runs import RunSpec


def training_jobs(runs: Mapping[str, RunSpec], runs_per_job: int) -> dict[str, list[str]]:
    """Share runs out among jobs.

    Runs of a job have the model, dataset and features in common, so that a row added to a table moves few runs to
    another job. Jobs of a kind are as equally long as can be, and keep the order of the runs.

    Args:
        runs: Settings of each run, by its name.
        runs_per_job: The most runs of a job, at least 1.

    Returns:
        Names of the runs of each job, by a readable name of letters, digits and ``_``: ``train_scenes_vsepp_2``.
    """
    kinds: dict[tuple[str, str, str], list[str]] = {}
    for name, spec in runs.items():
        kinds.setdefault((spec.dataset, spec.features.stem, spec.model.name), []).append(name)
    jobs, count = {}, Counter[str]()
    for (dataset, _, model), names in kinds.items():
        parts = math.ceil(len(names) / runs_per_job)
        base = re.sub(r"\W", "_", f"train_{dataset}_{model}")
        for part in range(parts):
            count[base] += 1
            jobs[f"{base}_{count[base]}"] = names[len(names) * part // parts : len(names) * (part + 1) // parts]
    return jobs
