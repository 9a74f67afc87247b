"""Snakemake at work with the project's SLURM profile, and what SLURM says of its jobs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
PRESSES, SECONDS_BETWEEN_PRESSES = 5, 60
LONGEST = 2400  # seconds that a workflow may take on a busy machine


SMALL = HERE / "small.yaml"


def workflow(scale: Path) -> tuple[str, ...]:
    """Arguments that run a scale of the project; targets stand before them."""
    return ("-s", str(PROJECT / "workflow/Snakefile"), "--configfile", str(scale))


@dataclass(frozen=True)
class Ended:
    """How Snakemake ended, and all that it printed."""

    code: int
    text: str


class Snakemake:
    """Snakemake at work in a folder.

    Args:
        folder: Where it works.
        arguments: Of the command.
        cluster: What the profile is told; None: without the profile, on this machine.
    """

    def __init__(self, folder: Path, *arguments: str, cluster: Path | None = HERE / "cluster.yaml"):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._printed = folder, folder / "printed.log"
        environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"}
        where = ["--cores", "1"] if cluster is None else ["--profile", str(PROJECT / "profiles" / "slurm")]
        environment["NODE_DISK"] = tempfile.gettempdir()  # to which small.yaml has features copied
        if cluster is not None:
            environment["FIVESENTENCES_CLUSTER"] = str(cluster)
        command = [sys.executable, "-m", "snakemake", *arguments, "--directory", str(folder), *where]
        # A shell lets what it starts with `&` ignore ctrl-c, and so would Snakemake, if the tests run that way.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with self._printed.open("wb") as printed:
                self._process = subprocess.Popen(
                    [*command, "--workflow-profile", "none"],
                    **{"cwd": PROJECT, "env": environment, "stdout": printed, "stderr": printed},
                    start_new_session=True,
                )
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def text(self) -> str:
        """What it has printed so far, each line as it was before a terminal's width cut it."""
        return self._printed.read_text(encoding="utf-8", errors="replace")

    def submitted(self) -> list[str]:
        """SLURM's numbers of jobs, in the order of submission."""
        return re.findall(r"SLURM (?:jobid|job ID)\s+(\d+)", self.text)

    def wait_for(self, condition: Callable[[], Any], seconds: float = LONGEST) -> Any:
        """The first true value of ``condition()`` while Snakemake runs."""
        until = time.monotonic() + seconds
        while not (found := condition()):
            assert self._process.poll() is None, self.text[-4000:]
            assert time.monotonic() < until, self.text[-4000:]
            time.sleep(0.2)
        return found

    def lines_of(self, logs: Path) -> set[str]:
        """Whatever the logs of a folder said until Snakemake ended: each attempt of a job begins its log anew."""
        lines: set[str] = set()
        running, until = True, time.monotonic() + LONGEST
        while running and time.monotonic() < until:
            running = self._process.poll() is None
            for log in logs.rglob("*.log"):
                with suppress(FileNotFoundError):
                    lines.update(log.read_text().splitlines())
            time.sleep(0.2)
        return lines

    def interrupt(self) -> None:
        """Press ctrl-c, as a person does: again after a while, as the first may fall into a submission."""
        for _ in range(PRESSES):
            self._process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(SECONDS_BETWEEN_PRESSES)
                return

    def end(self) -> Ended:
        """Wait until it has ended."""
        try:
            return Ended(self._process.wait(LONGEST), self.text)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still at work after {LONGEST} s:\n{self.text[-4000:]}") from None

    def kill(self) -> None:
        """Kill it and whatever it started here."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def states(*jobs: str) -> dict[str, str]:
    """What squeue says of jobs, by their numbers."""
    command = ["squeue", "--noheader", "--states=all", "--format=%i|%T"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {number: state for number, _, state in (line.partition("|") for line in lines) if number in jobs}
