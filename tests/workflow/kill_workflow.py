"""Kill the workflow at random moments, start it again, and compare its tables with an undisturbed run's.

Not part of `uv run pytest`, since it takes minutes:

    uv run python tests/workflow/kill_workflow.py --kills 5
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
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def start(folder: Path, scale: Path) -> subprocess.Popen[bytes]:
    """Snakemake in a process group of its own, so that a kill takes its jobs with it, as a power cut would."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "snakemake", "-s", str(PROJECT / "Snakefile"), "--directory", str(folder)]
    command += [
        "--cores",
        "2",
        "--workflow-profile",
        "none",
        "--rerun-incomplete",
        "--nolock",
        "--configfile",
        str(scale),
    ]
    log = (folder / "snakemake.log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def finish(folder: Path, scale: Path) -> float:
    """Run to the end and return the seconds it took."""
    started = time.monotonic()
    if start(folder, scale).wait() != 0:
        raise SystemExit((folder / "snakemake.log").read_text()[-3000:])
    return time.monotonic() - started


def results(folder: Path) -> dict[str, bytes]:
    """Everything a reader or a later stage uses: the paper's files but pictures of them, metrics and weights."""
    found = sorted((folder / "results").rglob("*"))
    kept = [path for path in found if path.suffix in {".csv", ".md", ".tex", ".html", ".json", ".npy", ".safetensors"}]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def main() -> None:
    """Compare an undisturbed run with one that was killed several times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=None, help="of the moments; default: new ones each time")
    parser.add_argument("--scale", type=Path, default=Path(__file__).with_name("tiny.yaml"))
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        calm, killed = Path(temporary, "calm"), Path(temporary, "killed")
        seconds = finish(calm, arguments.scale)
        print(f"undisturbed: {seconds:.0f} s, {len(results(calm))} files")
        kills = 0
        while kills < arguments.kills:
            process = start(killed, arguments.scale)
            # Short enough that all the kills hit a run that has still something to do.
            wait = moments.uniform(4, max(6.0, 1.2 * seconds / arguments.kills))
            time.sleep(wait)
            if process.poll() is not None:
                print(f"after {wait:.1f} s the workflow had ended: starting anew")
                shutil.rmtree(killed)
                continue
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            trained = len(list((killed / "results/training/scenes").rglob("similarity_test.npy")))
            evaluated = len(list((killed / "results/evaluation/jobs").rglob("*.json")))
            print(f"kill {kills}: after {wait:.1f} s, {trained} runs trained, {evaluated} jobs evaluated", flush=True)
        finish(killed, arguments.scale)
        ours, theirs = results(killed), results(calm)
        different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
        if different:
            raise SystemExit("different after the kills: " + ", ".join(different))
        print(f"identical: {len(ours)} files (tables, figures' data, metrics, similarities, weights)")


if __name__ == "__main__":
    main()
