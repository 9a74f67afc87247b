"""The workflow on a real SLURM cluster, of one node: what succeeds, what fails, and what is stopped half-way.

SLURM and two nested Snakemakes take a while before a job does anything, so there are few of them.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from at_work import HERE, SMALL, Snakemake, states, workflow

from fivesentences.training import read_run, train_run

# Of jobs that wait or fail rather than compute: begun together, they cost the time of the longest.
MISHAPS = {
    "mixed": ("what=slow,fine,greedy,failing", "--retries", "1"),
    "cancelled": ("what=endless", "--retries", "0"),
    "interrupted": ("what=endless", "--retries", "0"),
}

pytestmark = [pytest.mark.slurm, pytest.mark.usefixtures("cluster")]


def tables(folder: Path, scale: Path) -> dict[str, bytes]:
    """Every table and the data of every figure, by file."""
    paper = folder / "results" / "paper" / yaml.safe_load(scale.read_text())["scale"]
    found = [path for path in sorted(paper.rglob("*")) if path.suffix in {".csv", ".md", ".tex", ".json"}]
    # A manifest says how long everything took.
    return {str(path.relative_to(paper)): path.read_bytes() for path in found if path.name != "manifest.json"}


@pytest.fixture(scope="module")
def mishaps(cluster, tmp_path_factory) -> Iterator[dict[str, Snakemake]]:
    """Workflows at work, by what happens to each."""
    folder, file = tmp_path_factory.mktemp("mishaps"), str(HERE / "mishaps.smk")
    begun = {name: Snakemake(folder / name, "-s", file, "--config", *options) for name, options in MISHAPS.items()}
    yield begun
    for one in begun.values():
        one.kill()


# First, as the executor looks at a job that goes on 10 seconds later each time, until 3 minutes pass between two looks;
# the small scale computes meanwhile.
def test_a_job_cancelled_from_outside_is_noticed(mishaps, here) -> None:
    working = mishaps["cancelled"]
    job = begun(working)
    subprocess.run(["scancel", job], check=True)
    ended = working.end()
    assert ended.code == 1 and "CANCELLED" in ended.text, ended.text[-4000:]
    assert states(job) == {job: "CANCELLED"}


def test_ctrl_c_cancels_the_jobs(mishaps) -> None:
    working = mishaps["interrupted"]
    job = begun(working)
    working.interrupt()
    assert working.end().code != 0
    until = time.monotonic() + 60
    while states(job) != {job: "CANCELLED"}:
        assert time.monotonic() < until, states(job)
        time.sleep(0.5)


def begun(working: Snakemake) -> str:
    """The number of the only job, once it does its work."""
    working.wait_for(lambda: (working.folder / "logs" / "endless.log").is_file())
    (job,) = set(working.submitted())
    return job


def test_heavy_rules_are_submitted_and_tables_equal_those_of_this_machine(here, mishaps, snakemake, tmp_path) -> None:
    there = snakemake(tmp_path, *workflow(SMALL))
    for one in (there, here):
        ended = one.end()
        assert ended.code == 0, ended.text[-6000:]
    ours = tables(tmp_path, SMALL)
    assert ours and ours == tables(here.folder, SMALL)

    jobs = states(*there.submitted())
    assert jobs and set(jobs.values()) == {"COMPLETED"}, jobs
    assert (tmp_path / "prologue.ran").is_file() and not (here.folder / "prologue.ran").exists()
    text = re.sub(r"\s+", " ", there.text)  # a long line may have been broken
    chosen = re.findall(r"Auto-selected partition '(\w+)' for job (\w+)", text)
    partitions = {rule: partition for partition, rule in chosen}
    assert partitions["train"] == partitions["extract_part"] == "gpu" and partitions["score_captions"] == "cpu"
    assert not {"make_table", "collect_metrics", "make_page", "download"} & set(partitions)  # they stay here


def test_a_failing_job_removes_its_own_output_alone_its_log_is_shown_and_memory_is_raised(mishaps) -> None:
    working = mishaps["mixed"]
    ended = working.end()
    assert ended.code == 1, ended.text[-4000:]
    made = {path.stem: path.read_text() for path in (working.folder / "out").iterdir()}
    assert made == {what: f"{what} at attempt {n}\n" for what, n in (("slow", 1), ("fine", 1), ("greedy", 2))}
    assert "the disk of the moon is full" in ended.text
    assert len(working.submitted()) == 6  # two of them twice
    named = re.findall(r"\S+/slurm_logs/\S+/failing/\S+\.log", ended.text)
    assert named and all((working.folder / name).is_file() for name in named), named
    assert (working.folder / "logs" / "failing.log").read_text().count(
        "attempt"
    ) == 1  # Snakemake does not retry in a job


def test_a_training_beyond_its_time_limit_goes_on_from_its_state(here, snakemake, tmp_path) -> None:
    # SLURM asks to stop 12 seconds before the limit, or later: it looks at limits twice a minute. Two nested Snakemakes
    # and torch need a part of the time; where they start within 5 seconds each, the limit is the shortest that SLURM
    # has, a minute. The training alone takes a quarter longer on this machine, and more beside another.
    ended = here.end()
    assert ended.code == 0, ended.text[-4000:]
    content = {**yaml.safe_load(SMALL.read_text()), "only": ["table1"]}
    del content["categories"], content["judges"]  # no other job is trained or submitted meanwhile
    minutes = math.ceil((45 + 3 * seconds_to_start(snakemake, tmp_path / "start")) / 60)
    epochs = math.ceil(75 * minutes / seconds_per_epoch(here.folder))
    content["training"] |= {"minutes": minutes, "gpu": False, "epochs": epochs}
    content["keep"] = [{"model": "vsepp", "loss": "hardest"}]
    scale = tmp_path / "long.yaml"
    scale.write_text(yaml.safe_dump(content))
    (tmp_path / "studies").symlink_to(HERE / "studies")
    folders = {name: tmp_path / name for name in ("slurm", "local")}
    for folder in folders.values():
        for part in ("corpus", "features", "semantics"):
            shutil.copytree(here.folder / "results" / part, folder / "results" / part)
    both = [
        snakemake(folders["slurm"], *workflow(scale), "--retries", "20"),
        snakemake(folders["local"], *workflow(scale), cluster=None),
    ]
    # As if its node had failed: SLURM itself stops the job, and starts it again under the same number.
    run = Path("results/training/scenes/vsepp/triplet=hardest,margin=0.2/fraction=1/seed=0")
    both[0].wait_for(lambda: any((folders["slurm"] / "logs" / "training").rglob("*.log")))
    requeued = both[0].submitted()[-1]
    subprocess.run(["scontrol", "requeue", requeued], check=True)
    said = both[0].lines_of(folders["slurm"] / "logs" / "training")
    for one in both:
        ended = one.end()
        assert ended.code == 0, ended.text[-6000:]
    attempts = (folders["slurm"] / ".snakemake/slurm_logs/rule_train").rglob("*.log")
    stopped = [path.read_text() for path in sorted(attempts, key=lambda path: int(path.stem))]
    assert any("stopped by SIGTERM: the state of scenes/vsepp" in text for text in stopped), stopped
    epochs = [int(epoch) for text in stopped for epoch in re.findall(r"\(epoch (\d+) of", text)]
    assert epochs == sorted(epochs), epochs
    assert any(line.startswith("Continuing from") for line in said), stopped
    assert tables(folders["slurm"], scale) == tables(folders["local"], scale)
    shown = subprocess.run(["scontrol", "show", "job", requeued], capture_output=True, text=True, check=True).stdout
    assert "Restarts=1" in shown, shown
    for file in ("similarity_test.npy", "history.csv", "weights.safetensors"):
        assert (folders["slurm"] / run / file).read_bytes() == (folders["local"] / run / file).read_bytes()


def seconds_to_start(snakemake, folder: Path) -> float:
    """How long Snakemake takes now before it could start a job."""
    before = time.monotonic()
    ended = snakemake(folder, "-n", *workflow(SMALL), cluster=None).end()
    assert ended.code == 0, ended.text[-4000:]
    return time.monotonic() - before


def seconds_per_epoch(folder: Path) -> float:
    """How long an epoch of a finished run takes now, of so many that the start hardly counts."""
    epochs = 300
    spec, corpus, features = read_run(next((folder / "results" / "training").rglob("run.yaml")))
    spec = spec.model_copy(update={"training": spec.training.model_copy(update={"epochs": epochs})})
    before = time.monotonic()
    train_run(spec, folder / corpus, folder / features, folder / "timed")
    return (time.monotonic() - before) / epochs
