"""Kill the workflow again and again while it makes one scale, and compare its results with an undisturbed run's.

Not part of `uv run pytest`, since it takes many minutes. It writes kills.csv and kills.md, from which
`docs/values` makes the page where FOLDER is results/reliability:

    uv run python tests/workflow/kill_campaign.py --out results/reliability
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml
from workflows import PROJECT, STAGES, Failure, Workflow, kill, seen

KILLS = {"corpus": 1, "features": 2, "semantics": 2, "training": 7, "evaluation": 5, "paper": 3}
# Seconds after the first job of the stage was seen: short enough that all kills hit a workflow with work to do.
LONGEST = {"corpus": 2, "features": 3, "semantics": 4, "training": 20, "evaluation": 6, "paper": 6}
EVERY = 4  # one kill in four hits Snakemake alone, and its jobs live on


class Kill(NamedTuple):
    """One kill: what ran then, and how long this start had run."""

    wanted: str
    running: str
    alone: bool
    seconds: float


def kill_one(workflow: Workflow, stage: str, seconds: float, alone: bool) -> Kill | None:
    """Start the workflow and kill it some seconds after a job of a stage began; None if it ended before."""
    workflow.unlock()
    started = time.monotonic()
    process = workflow.start()
    if seen(process, lambda: stage in workflow.stages()):
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    if process.poll() is not None:
        if process.returncode:
            raise Failure(f"the workflow failed:\n{workflow.said()[-3000:]}")
        return None
    running = workflow.stages()
    kill(process, alone)
    return Kill(stage, " and ".join(running) or "none", alone, time.monotonic() - started)


def smaller(scale: Path, images: int, folder: Path) -> Path:
    """A copy of a scale of drawn scenes with fewer training images, beside the original's studies."""
    content = yaml.safe_load(scale.read_text(encoding="utf-8"))
    for dataset in content["datasets"].values():
        dataset["train"] = images
    studies = scale.parent / "studies"
    (folder / "studies").symlink_to(studies)
    (folder / "published").symlink_to(scale.parent / "published")
    path = folder / scale.name
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def table_of(kills: list[Kill]) -> str:
    """One row per stage of which a job ran when the kill came, and one of all."""
    rows: list[tuple[str, int, int]] = []
    for stage in (*STAGES, "none"):
        of_stage = [one for one in kills if stage in one.running.split(" and ")]
        rows.append((stage, len(of_stage), sum(one.alone for one in of_stage)))
    rows.append(("all kills", len(kills), sum(one.alone for one in kills)))
    head = ["| a job of this stage was running | kills | of Snakemake alone |", "| --- | ---: | ---: |"]
    return "\n".join([*head, *(f"| {stage} | {count} | {alone} |" for stage, count, alone in rows)]) + "\n"


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=Path, default=PROJECT / "config" / "demo.yaml")
    parser.add_argument("--images", type=int, help="training images, fewer than the scale has; default all")
    parser.add_argument("--seed", type=int, help="of the moments; default new ones each time")
    parser.add_argument("--share", type=float, default=1.0, help="of the kills; default all 20")
    parser.add_argument("--out", type=Path, default=Path("results/reliability"))
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    wanted = [stage for stage, count in KILLS.items() for _ in range(max(1, round(count * arguments.share)))]
    with tempfile.TemporaryDirectory() as temporary:
        scale = arguments.scale.resolve()
        if arguments.images:
            scale = smaller(scale, arguments.images, Path(temporary))
        calm, killed = (Workflow(Path(temporary, name), scale) for name in ("calm", "killed"))
        seconds = calm.finish()
        print(f"undisturbed: {seconds:.0f} s, {len(calm.results())} files", flush=True)
        kills: list[Kill] = []
        total, again = 0.0, 0
        while len(kills) < len(wanted):
            stage = wanted[len(kills)]
            started = time.monotonic()
            one = kill_one(killed, stage, moments.uniform(0, LONGEST[stage]), len(kills) % EVERY == EVERY - 1)
            total += time.monotonic() - started
            if one is None:  # everything was made before this stage's turn
                killed.check(calm)
                again += 1
                for later in STAGES[STAGES.index(stage) :]:
                    shutil.rmtree(killed.folder / "results" / later)
                continue
            kills.append(one)
            print(f"kill {len(kills)}: {one}", flush=True)
        total += killed.finish()
        killed.check(calm)
        nothing = killed.run() == 0 and "Nothing to be done" in killed.said()
        summary = {
            "kills": len(kills),
            "alone": sum(one.alone for one in kills),
            "training_or_evaluation": sum("training" in k.running or "evaluation" in k.running for k in kills),
            "undisturbed": seconds,
            "all_starts": total,
            "lost_per_kill": (total - seconds) / len(kills),
            "files": len(killed.results()),
            "made_again": again,
            "nothing_left": int(nothing),
            "images": arguments.images or "",
        }
        arguments.out.mkdir(parents=True, exist_ok=True)
        pd.DataFrame([summary]).to_csv(arguments.out / "kills.csv", index=False)
        (arguments.out / "kills.md").write_text(table_of(kills), encoding="utf-8")
        for orphan, _ in killed.scripts():  # of jobs that outlived their workflow
            with suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)


if __name__ == "__main__":
    main()
