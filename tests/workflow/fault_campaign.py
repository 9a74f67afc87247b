"""Damage what the workflow stands on, and check that it says in one sentence what to do, and that doing so is enough.

Not part of `uv run pytest`, since it takes many minutes. Each fault is done to a copy of a finished folder, of which
some results are removed. It writes faults.md, from which `docs/tools/values`
makes the page. Disks that are full are mounted, for which it must be root:

    uv run python tests/workflow/fault_campaign.py --out results/reliability
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from workflows import PROJECT, Failure, Workflow, seen

WEIGHTS, SIMILARITY = (
    f"training/scenes/vsepp/*/fraction=1/seed=0/{name}" for name in ("weights.safetensors", "similarity_test.npy")
)
WORKER = b"multiprocessing.spawn"  # in the command line of a worker process
TRAINING = ("results/training", "results/evaluation", "results/paper")
PAPER = ("results/paper",)


def without(workflow: Workflow, name: str, removed: tuple[str, ...]) -> Workflow:
    """A copy of a finished folder in which some results are to be made again."""
    copy = workflow.copied(name)
    for folder in removed:
        shutil.rmtree(copy.folder / folder)
    return copy


def sentence(workflow: Workflow, status: int, *parts: str) -> str:
    """The one line of what was said that holds every part; there must be no traceback of Python's.

    Raises:
        Failure: If the workflow succeeded, or there is no such line.
    """
    said = workflow.said()
    if status == 0:
        raise Failure(f"the workflow succeeded:\n{said[-2000:]}")
    if "Traceback (most recent call last)" in said:
        raise Failure(f"there is a traceback:\n{said[-4000:]}")
    lines = [line.strip() for line in said.splitlines() if all(part in line for part in parts)]
    if not lines:
        raise Failure(f"no line holds {parts}:\n{said[-4000:]}")
    return lines[0].removeprefix("Error: ").replace(f"{workflow.folder}/", "")


def finished(workflow: Workflow, calm: Workflow, *arguments: str) -> None:
    """Run to the end, and compare with the undisturbed folder."""
    workflow.finish(*arguments)
    workflow.check(calm)


def cut(workflow: Workflow, pattern: str) -> Path:
    """Cut the first result that a pattern finds to half of its length."""
    path = min((workflow.folder / "results").glob(pattern))
    os.truncate(path, path.stat().st_size // 2)
    return path


def size_of(folder: Path) -> int:
    """Kilobytes on the disk."""
    return int(subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True).stdout.split()[0])


@contextmanager
def mounted(target: Path, *arguments: str) -> Iterator[None]:
    """Mount something over a folder for a while."""
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *arguments, str(target)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(target)], check=True)


# --- the faults: each returns what the workflow said ---------------------------------------------------------


def disk_full(removed: tuple[str, ...], room: int, calm: Workflow) -> str:
    """The disk of the results has few kilobytes left, and later enough."""
    copy = without(calm, "full", removed)
    whole = copy.folder / "results"
    kept = whole.rename(copy.folder / "kept")
    with mounted(whole, "-t", "tmpfs", "-o", f"size={size_of(kept) + room}k", "tmpfs"):
        shutil.copytree(kept, whole, dirs_exist_ok=True)
        said = sentence(copy, copy.run(), "No space left on device", "cannot be written", removed[0])
        subprocess.run(["mount", "-o", "remount,size=1g", str(whole)], check=True)
        finished(copy, calm)
    return said


def two_at_once(calm: Workflow) -> str:
    """A second workflow begins in the folder of a first."""
    copy = without(calm, "two", PAPER)
    first = copy.start()
    seen(first, lambda: copy.locked)
    second = Workflow(copy.folder, copy.scale, "second")
    said = sentence(second, second.run(), "Directory cannot be locked")
    if first.wait() != 0:
        raise Failure(copy.said()[-3000:])
    finished(copy, calm)
    return said


def killed_job(calm: Workflow) -> str:
    """The process of a training job is killed."""
    copy = without(calm, "job", TRAINING)
    process = copy.start()
    victim = seen(process, lambda: next((pid for pid, name in copy.scripts() if name == "train"), None))
    assert victim is not None, copy.said()[-2000:]
    time.sleep(1)  # PyTorch alone takes longer to start
    os.kill(victim, signal.SIGKILL)
    said = sentence(copy, process.wait(), "SIGKILL")
    finished(copy, calm)
    return "Snakemake: " + said.replace(sys.executable, "python")


def killed_worker(calm: Workflow) -> str:
    """A worker process that extracts features is killed."""
    copy = without(calm, "worker", ("results/features", *TRAINING))
    process = copy.start()
    victim = seen(process, lambda: next((worker for pid, _ in copy.scripts() for worker in workers(pid)), None))
    if victim is None:
        raise Failure("no worker was seen")
    os.kill(victim, signal.SIGKILL)
    said = sentence(copy, process.wait(), "a worker process ended before it answered", "run again")
    finished(copy, calm)
    return said


def workers(process: int) -> list[int]:
    """Worker processes that a process has started."""
    try:
        pids = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [int(pid) for pid in pids if WORKER in Path(f"/proc/{pid}/cmdline").read_bytes()]
    except OSError:
        return []


def truncated(pattern: str, removed: tuple[str, ...], says: str, calm: Workflow) -> str:
    """A file is cut to half its length; the cure is to remove it and run again."""
    copy = without(calm, "cut", removed)
    path = cut(copy, pattern)
    said = sentence(copy, copy.run(), path.name, says)
    path.unlink()
    finished(copy, calm)
    return said


def cut_similarity(calm: Workflow) -> str:
    """A similarity of a finished run is cut, and then is missing; the cure is to ask for the training."""
    copy = without(calm, "similarity", TRAINING[1:])
    path = cut(copy, SIMILARITY)
    said = sentence(copy, copy.run(), path.name, "it is cut", "-R train")
    path.unlink()
    sentence(copy, copy.run(), path.name, "there is no such file", "-R train")
    finished(copy, calm, "-R", "train")
    return said


def cut_weights(calm: Workflow) -> str:
    """The weights of a finished run are cut: the run is trained again, without a word."""
    copy = calm.copied("cut_again")
    cut(copy, WEIGHTS)
    finished(copy, calm, "-R", "train")
    return ""


def cut_checkpoint(calm: Workflow) -> str:
    """The saved state of a run that was killed is cut."""
    copy = without(calm, "state", TRAINING)
    process = copy.start()
    assert seen(process, lambda: [*(copy.folder / "results").rglob("resume/state.pt")]), copy.said()[-2000:]
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    cut(copy, "**/resume/state.pt")
    finished(copy, calm)
    logs = "".join(path.read_text() for path in (copy.folder / "logs" / "training").rglob("*.log"))
    found = re.search(r"^\S*state\.pt is not used, because .*$", logs, re.MULTILINE)
    if not found:
        raise Failure("the log does not say that the state is not used")
    return found[0]


FAULTS: dict[str, Callable[[Workflow], str]] = {
    "two workflows in one folder": two_at_once,
    "the disk is full when a table is written": partial(disk_full, PAPER, 40),
    "the disk is full when a run is written": partial(disk_full, TRAINING, 100),
    "a training job is killed": killed_job,
    "a worker process of an extraction is killed": killed_worker,
    "the saved state of a killed run is cut": cut_checkpoint,
    "weights of a finished run are cut": cut_weights,
    "features (.npy) are cut": partial(truncated, "features/scenes/*.npy", TRAINING, "it is cut"),
    "a phi matrix (.npy) is cut": partial(truncated, "semantics/scenes/test/*.npy", TRAINING[1:], "it is cut"),
    "a similarity (.npy) is cut": cut_similarity,
    "the corpus (.parquet) is cut": partial(truncated, "corpus/scenes.parquet", TRAINING, "not a readable"),
    "the table of numbers (.parquet) is cut": partial(truncated, "evaluation/few.parquet", PAPER, "not a readable"),
    "the numbers of a job (.json) are cut": partial(
        truncated, "evaluation/jobs/scenes/vsepp/*.json", PAPER, "not JSON"
    ),
}


def kept_rows(table: Path) -> dict[str, str]:
    """What an earlier campaign found, by fault."""
    lines = table.read_text(encoding="utf-8").splitlines()[2:] if table.exists() else []
    return dict(line.strip("| ").split(" | ", 1) for line in lines)


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=Path, default=PROJECT / "tests" / "workflow" / "few.yaml")
    parser.add_argument("--only", help="faults whose name holds this text; others keep their row")
    parser.add_argument("--calm", type=Path, help="a finished folder of this scale; default it is made")
    parser.add_argument("--out", type=Path, default=Path("results/reliability"))
    arguments = parser.parse_args()
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        calm = Workflow(Path(temporary, "calm"), arguments.scale.resolve())
        if arguments.calm:
            shutil.copytree(arguments.calm, calm.folder, symlinks=True)
        calm.finish()
        for name, fault in FAULTS.items():
            if arguments.only and arguments.only not in name:
                continue
            try:
                said = fault(calm)
                rows.append((name, f"`{said}`" if said else "nothing: it is made again"))
                print(f"{name}: {said}", flush=True)
            except Failure as error:
                failed += 1
                print(f"FAILED {name}: {error}", flush=True)
        table = arguments.out / "faults.md"
        rows = {**(kept_rows(table) if arguments.only else {}), **dict(rows)}
        lines = ["| fault | what the workflow says |", "| --- | --- |"]
        lines += [f"| {name} | {rows[name].replace(temporary, '')} |" for name in FAULTS if name in rows]
        arguments.out.mkdir(parents=True, exist_ok=True)
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
