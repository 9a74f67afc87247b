"""Which runs one process makes one after the other: Python and torch take seconds to start."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

COMPLETE = "complete/"  # in the names of jobs that only the target `complete` needs: scenes/complete/vsepp/2


@dataclass(frozen=True)
class Job:
    """Some runs or ensembles of one dataset, or runs of category retrieval of some documents.

    Attributes:
        name: Readable and unique; it begins with the dataset, such as ``scenes/vsepp/2``.
        dataset: The dataset or documents of all its runs.
        runs: Their names, in order.
    """

    name: str
    dataset: str
    runs: tuple[str, ...]


def shared_out(
    first: Mapping[str, Any],
    every: Mapping[str, Any],
    kind_of: Callable[[Any], tuple[Any, ...]],
    most: int | Callable[[Any], int] | None = None,
    by_seed: bool = False,
) -> dict[str, Job]:
    """Share runs out among jobs such as ``scenes/vsepp/2``; those of one kind differ by at most one run in length.

    Args:
        first: Runs of the default target, by name.
        every: These, and those that only the target ``complete`` needs, which have jobs of their own.
        kind_of: Common traits of a job's runs: dataset, a word for the job's name, and perhaps more. A row added
            to a table then moves few runs to another job.
        most: The most runs in each, perhaps by the first run of a kind; None: one job for each kind.
        by_seed: Whether runs are taken seed by seed. What is computed once for a seed then serves many runs.
    """
    kinds: dict[tuple[Any, ...], list[Any]] = {}
    further = [run for name, run in every.items() if name not in first]
    for prefix, runs in (("", first.values()), (COMPLETE, further)):
        for run in runs:
            dataset, word, *more = kind_of(run)
            kinds.setdefault((dataset, prefix + word, *more), []).append(run)
    jobs, count = [], Counter[str]()
    for (dataset, word, *_), runs in kinds.items():
        names = [run.name for run in (sorted(runs, key=lambda run: run.seed) if by_seed else runs)]
        limit = most(runs[0]) if callable(most) else most
        parts = 1 if limit is None else math.ceil(len(names) / limit)
        for part in range(parts):
            name = f"{dataset}/{word}"
            count[name] += 1
            if most is not None or count[name] > 1:
                name = f"{name}/{count[name]}"
            jobs.append(Job(name, dataset, tuple(names[len(names) * part // parts : len(names) * (part + 1) // parts])))
    return {job.name: job for job in jobs}
