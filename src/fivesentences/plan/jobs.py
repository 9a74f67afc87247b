"""Which runs are trained, or evaluated, one after the other in one process: Python and torch take seconds to start."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fivesentences.study.runs import EncodedRun, EnsembleRun, RunSpec

COMPLETE = "complete/"  # begins the names of jobs that only the target `complete` needs


@dataclass(frozen=True)
class Job:
    """Some runs, ensembles or encoders of one dataset.

    Attributes:
        name: Readable and unique, such as ``scenes/vsepp/2``.
        dataset: Of all of them.
        runs: Their names, in order.
    """

    name: str
    dataset: str
    runs: tuple[str, ...]


def training_jobs(runs: Mapping[str, RunSpec], runs_per_job: int, begin: str = "") -> dict[str, Job]:
    """Share runs out among jobs.

    Runs of a job have the model, dataset and features in common, so that a row added to a table moves few runs to
    another job. Jobs of a kind differ by at most one run in length, and keep the order of the runs.

    Args:
        runs: Settings of each run, by its name.
        runs_per_job: The most runs of a job, at least 1.
        begin: What the names of the jobs begin with.

    Returns:
        Jobs by name: ``scenes/vsepp/2`` is the second of the dataset and model.
    """
    kinds: dict[tuple[str, str, str], list[str]] = {}
    for name, spec in runs.items():
        kinds.setdefault((spec.dataset, spec.features.stem, spec.model.name), []).append(name)
    jobs, count = {}, Counter[str]()
    for (dataset, _, model), names in kinds.items():
        parts = math.ceil(len(names) / runs_per_job)
        kind = f"{begin}{dataset}/{model}"
        for part in range(parts):
            count[kind] += 1
            chosen = names[len(names) * part // parts : len(names) * (part + 1) // parts]
            job = Job(f"{kind}/{count[kind]}", dataset, tuple(chosen))
            jobs[job.name] = job
    return jobs


def ensemble_jobs(ensembles: Iterable[EnsembleRun], begin: str = "") -> dict[str, Job]:
    """Jobs that evaluate ensembles: those of one dataset together, such as ``scenes/ensembles``."""
    return _by_dataset(ensembles, "ensembles", begin)


def encoder_jobs(encoded: Iterable[EncodedRun], begin: str = "") -> dict[str, Job]:
    """Jobs that evaluate encoders: those of one dataset together, such as ``flickr8k/encoders``."""
    return _by_dataset(encoded, "encoders", begin)


def _by_dataset(runs: Iterable[EnsembleRun | EncodedRun], kind: str, begin: str) -> dict[str, Job]:
    names: dict[str, list[str]] = {}
    for run in runs:
        names.setdefault(run.dataset, []).append(run.name)
    jobs = (Job(f"{begin}{dataset}/{kind}", dataset, tuple(found)) for dataset, found in names.items())
    return {job.name: job for job in jobs}
