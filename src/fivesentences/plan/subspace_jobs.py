"""Runs of category retrieval that a scale makes, and which of them one process makes one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fivesentences.config.scales import Scale
from fivesentences.plan.jobs import COMPLETE
from fivesentences.plan.places import Places
from fivesentences.study.expand import rows_shown, subspace_runs_of
from fivesentences.study.runs import PlacedRun, SubspaceRun
from fivesentences.study.study import Study


@dataclass(frozen=True)
class SubspaceJob:
    """Some runs on one division of some documents.

    Attributes:
        name: Readable and unique, such as ``wikipedia/printed/2``.
        documents: Of all of them.
        division: Its name; each seed draws it anew.
        runs: Their names; those of one seed stand together.
    """

    name: str
    documents: str
    division: str
    runs: tuple[str, ...]


class ResolvedSubspaces:
    """Category retrieval at a scale and at its complete form.

    Attributes:
        runs: Settings of each run of the scale, by name.
        all_runs: These, and those that only ``complete`` makes.
        jobs: Every run of ``all_runs`` is in one.

    Raises:
        InputError: If two different runs would have one name.
    """

    def __init__(self, scale: Scale, studies: Mapping[str, Study], places: Places):
        self.scale, self.places = scale, places
        self.runs = subspace_runs_of_scale(studies, scale)
        self.all_runs = self.runs | subspace_runs_of_scale(studies, scale.complete)
        further = {name: run for name, run in self.all_runs.items() if name not in self.runs}
        per_job = 1 if scale.categories is None else scale.categories.runs_per_job
        self.jobs = subspace_jobs(self.runs, per_job) | subspace_jobs(further, per_job, COMPLETE)
        self._job_of = {run: job.name for job in self.jobs.values() for run in job.runs}

    @property
    def documents(self) -> list[str]:
        """Documents of all runs, each once."""
        return list(dict.fromkeys(run.documents for run in self.all_runs.values()))

    def jobs_of(self, runs: Iterable[str]) -> list[str]:
        """Names of the jobs that make these runs, each once."""
        return list(dict.fromkeys(self._job_of[run] for run in runs))

    def placed(self, run: str) -> PlacedRun:
        """A run and where its files are."""
        spec = self.all_runs[run]
        division = self.places.division(spec.documents, spec.division, spec.seed)
        return PlacedRun(spec, self.places.subspace_run(run), division)


def subspace_runs_of_scale(studies: Mapping[str, Study], scale: Scale) -> dict[str, SubspaceRun]:
    """Runs of category retrieval of all tables and figures that a scale makes, by name.

    Raises:
        InputError: If two different runs would have one name.
    """
    return subspace_runs_of(
        row
        for study in studies.values()
        for exhibit in study.made_at(scale)
        for row in rows_shown(exhibit, study, scale)
    )


def subspace_jobs(runs: Mapping[str, SubspaceRun], runs_per_job: int, begin: str = "") -> dict[str, SubspaceJob]:
    """Share runs out among jobs.

    Runs of a job have documents and division in common. They are taken seed by seed: what is computed once for the
    documents of a division then serves many runs, and jobs take about equal time, as every seed has the same methods.

    Args:
        runs: Settings of each run, by its name.
        runs_per_job: The most runs of a job, at least 1.
        begin: What the names of the jobs begin with.
    """
    kinds: dict[tuple[str, str], list[SubspaceRun]] = {}
    for run in runs.values():
        kinds.setdefault((run.documents, run.division), []).append(run)
    jobs = {}
    for (documents, division), found in kinds.items():
        names = [run.name for run in sorted(found, key=lambda run: run.seed)]
        parts = math.ceil(len(names) / runs_per_job)
        for part in range(parts):
            chosen = names[len(names) * part // parts : len(names) * (part + 1) // parts]
            job = SubspaceJob(f"{begin}{documents}/{division}/{part + 1}", documents, division, tuple(chosen))
            jobs[job.name] = job
    return jobs
