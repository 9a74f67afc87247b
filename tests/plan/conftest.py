"""The jobs that Snakemake itself would run for a scale, found in this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, Quietness, ResourceSettings

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Job:
    """A job of a dry run: its rule, wildcards, files by name (a list where there are several) and parameters."""

    rule: str
    wildcards: dict[str, str]
    inputs: dict[str, Any]
    outputs: list[str]
    params: dict[str, Any]


def count(jobs: list[Job]) -> Counter[str]:
    """Jobs of each rule."""
    return Counter(job.rule for job in jobs)


@pytest.fixture(scope="session")
def jobs_of(tmp_path_factory) -> Callable[..., list[Job]]:
    """The jobs of a dry run in an empty folder: ``jobs_of(config_file, *targets)``."""
    known: dict[tuple[Any, ...], list[Job]] = {}

    def jobs(config: Path, *targets: str) -> list[Job]:
        if (config, *targets) not in known:
            monkeypatch = pytest.MonkeyPatch()
            monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
            monkeypatch.chdir(tmp_path_factory.mktemp("dry"))
            with monkeypatch.context(), SnakemakeApi(OutputSettings(dryrun=True, quiet={Quietness.ALL})) as api:
                settings = ConfigSettings(configfiles=[config])
                workflow = api.workflow(
                    ResourceSettings(cores=1),
                    config_settings=settings,
                    snakefile=ROOT / "Snakefile",
                    workdir=Path.cwd(),
                )
                workflow.dag(DAGSettings(targets=set(targets))).execute_workflow(executor="dryrun")
                known[config, *targets] = [
                    Job(
                        job.rule.name,
                        dict(job.wildcards_dict),
                        dict(job.input.items()),
                        list(map(str, job.output)),
                        dict(job.params.items()),
                    )
                    for job in workflow._workflow.dag.jobs
                ]
            monkeypatch.undo()
        return known[config, *targets]

    return jobs
