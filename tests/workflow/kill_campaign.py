"""Kill the workflow again and again while it makes one scale, and commands at their steps, and compare the results.

Not part of `uv run pytest`, since it takes many minutes. It writes kills.csv and kills.md, commands.csv and
commands.md, from which `docs/tools/values` makes the page where FOLDER is results/reliability:

    uv run python tests/workflow/kill_campaign.py --out results/reliability
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
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


def kill_commands(out: Path, most: int, only: str) -> None:
    """Kill each command at some of its steps in the file system; the programs of one process start all."""
    sys.path.insert(0, str(PROJECT / "tests"))
    import killed_commands
    from host import running_host

    rows, faults = [], []
    with tempfile.TemporaryDirectory() as temporary, running_host() as host:
        small, large = Path(temporary, "small"), Path(temporary, "large")
        killed_commands.write_small(small)
        killed_commands.write_large(large, host)
        killer = killed_commands.Killer(Path(temporary, "work"), f"killed_commands.prepare_large({host.url!r})")
        for base, commands in ((small, killed_commands.SMALL), (large, killed_commands.LARGE)):
            for command in commands:
                if only not in str(command):
                    continue
                tried = list(killer.try_all(command, base, most=most))
                wrong = [fault for _, found in tried for fault in found]
                faults += wrong
                rows.append((str(command), killer.steps_of_last, len(tried), len({fault.step for fault in wrong})))
                print(rows[-1], *wrong, sep="\n    ", flush=True)
        killer.close()
    table = pd.DataFrame(rows, columns=["command", "steps", "kills", "faults"])
    total = table[["steps", "kills", "faults"]].sum().to_frame().T.assign(commands=len(table))
    out.mkdir(parents=True, exist_ok=True)
    total.to_csv(out / "commands.csv", index=False)
    lines = [f"| `{row.command}` | {row.steps} | {row.kills} | {row.faults} |" for row in table.itertuples()]
    head = ["| command | steps | kills | faults |", "| --- | ---: | ---: | ---: |"]
    (out / "commands.md").write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    print(pd.Series([fault.kind for fault in faults]).value_counts())


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=Path, default=PROJECT / "config" / "demo.yaml")
    parser.add_argument("--images", type=int, help="training images, fewer than the scale has; default all")
    parser.add_argument("--seed", type=int, help="of the moments; default new ones each time")
    parser.add_argument("--share", type=float, default=1.0, help="of the kills; default all 20")
    parser.add_argument("--out", type=Path, default=Path("results/reliability"))
    parser.add_argument("--part", choices=["workflow", "commands"], help="default both")
    parser.add_argument("--most", type=int, default=30, help="kills of each command; 0: before and after every step")
    parser.add_argument("--only", default="", help="commands that hold this text")
    arguments = parser.parse_args()
    if arguments.part != "workflow":
        kill_commands(arguments.out, arguments.most, arguments.only)
    if arguments.part != "commands":
        kill_workflow(arguments)


def kill_workflow(arguments: argparse.Namespace) -> None:
    """Kill the workflow, and write what came of it."""
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
