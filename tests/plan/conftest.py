"""The jobs that Snakemake itself would run for a scale, found in this process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, Quietness, ResourceSettings

from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import read
from fivesentences.reproduction.plan.plan import Plan

ROOT = Path(__file__).parents[2]
# What only a person may fetch: files of the catalogue that no program fetches or makes. (An excerpt is of a mirror.)
FETCHED = tuple(
    Path("data") / file.path
    for entry in read(Catalogue, ROOT / "config/datasets.yaml").datasets.values()
    for file in entry.files.values()
    if not (file.url or file.excerpt_of or file.made_of or file.member_of)
)


@dataclass(frozen=True)
class Job:
    """A job of a dry run: its rule, wildcards, files by name (a list where there are several) and parameters.

    A file of ``by_time`` makes it run again when it is newer.
    """

    rule: str
    wildcards: dict[str, str]
    inputs: dict[str, Any]
    outputs: list[str]
    params: dict[str, Any]
    by_time: list[str]


def count(jobs: list[Job]) -> Counter[str]:
    """Jobs of each rule."""
    return Counter(job.rule for job in jobs)


@pytest.fixture(scope="session")
def jobs_of(tmp_path_factory) -> Callable[..., list[Job]]:
    """The jobs of a dry run in a folder with nothing but what a person fetches: ``jobs_of(config_file, *targets)``."""
    known: dict[tuple[Any, ...], list[Job]] = {}

    def jobs(config: Path, *targets: str) -> list[Job]:
        if (config, *targets) not in known:
            with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as thread:
                patch.delenv("FIVESENTENCES_MIRROR", raising=False)
                patch.chdir(tmp_path_factory.mktemp("dry"))
                for file in FETCHED:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.touch()
                # Snakemake refuses a thread that has an event loop, as tests in a browser leave one.
                known[config, *targets] = thread.submit(dry_run, config, targets).result()
        return known[config, *targets]

    return jobs


def dry_run(config: Path, targets: tuple[str, ...]) -> list[Job]:
    """The jobs of a dry run in this folder."""
    with SnakemakeApi(OutputSettings(dryrun=True, quiet={Quietness.ALL})) as api:
        workflow = api.workflow(
            ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[config]),
            snakefile=ROOT / "workflow/Snakefile",
            workdir=Path.cwd(),
        )
        workflow.dag(DAGSettings(targets=set(targets))).execute_workflow(executor="dryrun")
        return [
            Job(
                job.rule.name,
                dict(job.wildcards_dict),
                dict(job.input.items()),
                list(map(str, job.output)),
                dict(job.params.items()),
                [str(file) for file in job.input if not file.is_ancient],
            )
            for job in workflow._workflow.dag.jobs
        ]


def leave_job(plan: Plan, job: str, seconds: float, epochs: int) -> None:
    """Leave what a finished job leaves of its runs, and its seconds."""
    runs = plan.runs_of_job(job)
    for run in runs:
        folder = plan.places.run(run.name)
        folder.mkdir(parents=True, exist_ok=True)
        known = {"format": 2, "corpus": "c.parquet", "features": "f.npy", "run": run.model_dump(mode="json")}
        (folder / "run.yaml").write_text(yaml.safe_dump(known))
        (folder / "history.csv").write_text("epoch,loss\n" + "".join(f"{n},1.0\n" for n in range(1, epochs + 1)))
    for path, text in (
        (plan.places.record(job), json.dumps({"runs": {run.name: {} for run in runs}})),
        (Path(f"logs/benchmarks/training/{job}.tsv"), f"s\th:m:s\n{seconds}\t0:00:01\n"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
