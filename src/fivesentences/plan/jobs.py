"""Which runs one process makes one after the other: Python and torch take seconds to start."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fivesentences.study.runs import EncodedRun, EnsembleRun, RunSpec, SubspaceRun

COMPLETE = "complete/"  # in the names of jobs that only the target `complete` needs: scenes/complete/vsepp/2


@dataclass(frozen=True)
class Job:
    """Some runs, ensembles or encoders of one dataset, or runs of category retrieval of some documents.

    Attributes:
        name: Readable and unique; it begins with the dataset, such as ``scenes/vsepp/2``.
        dataset: The dataset or documents of all its runs.
        runs: Their names, in order.
    """

    name: str
    dataset: str
    runs: tuple[str, ...]


def training_jobs(runs: Mapping[str, RunSpec], most: int, prefix: str = "") -> dict[str, Job]:
    """Share runs out among jobs such as ``scenes/vsepp/2``, at most so many in each.

    Runs of a job share model, dataset and features, so that a row added to a table moves few runs to another job.
    """
    return _jobs(runs.values(), lambda run: (run.dataset, prefix + run.model.name, run.features.stem), most)


def subspace_jobs(runs: Mapping[str, SubspaceRun], most: int, prefix: str = "") -> dict[str, Job]:
    """Share runs of category retrieval out among jobs such as ``wikipedia/printed/2``.

    They are taken seed by seed: what is computed once for a division then serves many runs, and jobs take about the
    same time, since every seed has the same methods.
    """
    by_seed = sorted(runs.values(), key=lambda run: run.seed)
    kinds = dict.fromkeys((run.documents, run.division) for run in runs.values())
    in_order = [run for kind in kinds for run in by_seed if (run.documents, run.division) == kind]
    return _jobs(in_order, lambda run: (run.documents, prefix + run.division), most)


def evaluation_jobs(runs: Iterable[EnsembleRun | EncodedRun], prefix: str = "") -> dict[str, Job]:
    """Jobs that evaluate the ensembles, and the encoders, of one dataset together, such as ``scenes/ensembles``."""

    def kind_of(run: EnsembleRun | EncodedRun) -> tuple[str, str]:
        return run.dataset, prefix + ("ensembles" if isinstance(run, EnsembleRun) else "encoders")

    return _jobs(runs, kind_of)


def _jobs(runs: Iterable[Any], kind_of: Callable[[Any], tuple[str, ...]], most: int | None = None) -> dict[str, Job]:
    """Jobs of runs of one kind each: dataset, word for the name, and perhaps more; without ``most`` one for each kind.

    Jobs of a kind differ by at most one run in length, and keep the order of the runs.
    """
    kinds: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        kinds.setdefault(kind_of(run), []).append(run.name)
    jobs, count = [], Counter[str]()
    for (dataset, word, *_), names in kinds.items():
        parts = 1 if most is None else math.ceil(len(names) / most)
        for part in range(parts):
            name = f"{dataset}/{word}"
            if most is not None:
                count[name] += 1
                name = f"{name}/{count[name]}"
            chosen = names[len(names) * part // parts : len(names) * (part + 1) // parts]
            jobs.append(Job(name, dataset, tuple(chosen)))
    return {job.name: job for job in jobs}
