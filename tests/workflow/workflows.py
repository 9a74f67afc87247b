"""Workflows that are started, watched, killed and compared: what the fault campaign is made of."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fivesentences.documents import read_json

Found = TypeVar("Found")
PROJECT = Path(__file__).parents[2]
STAGES = ("corpus", "features", "semantics", "training", "evaluation", "paper")
# Category retrieval has a rule file of its own; its scripts belong to these stages.
OF_CATEGORIES = {"train_subspaces": "training", "evaluate_subspaces": "evaluation", "contrast_subspaces": "evaluation"}
OF_CATEGORIES |= {"project_subspace": "evaluation", "divide_documents": "corpus", "keep_documents": "corpus"}
OF_FILES = {"site": "paper"}  # rule files that are part of a stage
COMPARED = {".csv", ".md", ".tex", ".html", ".json", ".npy", ".npz", ".safetensors", ".parquet", ".svg", ".png", ".jpg"}


class Failure(SystemExit):
    """A workflow that ended otherwise than it should."""


def seen(process: subprocess.Popen[bytes], find: Callable[[], Found]) -> Found | None:
    """The first true value of ``find()`` while a process runs; None if it ended before."""
    while process.poll() is None:
        if found := find():
            return found
        time.sleep(0.02)
    return None


def stage_of(script: str) -> str:
    """The stage of a script of the workflow, by the rule file that names it."""
    if script in OF_CATEGORIES:
        return OF_CATEGORIES[script]
    for rules in sorted((PROJECT / "workflow" / "rules").glob("*.smk")):
        if f"../scripts/{script}.py" in rules.read_text(encoding="utf-8"):
            return OF_FILES.get(rules.stem, rules.stem)
    raise LookupError(script)


@dataclass
class Workflow:
    """A folder in which the workflow makes one scale.

    Attributes:
        folder: Where results go.
        scale: The configuration.
        name: Of the log, beside the folder.
    """

    folder: Path
    scale: Path
    name: str = "snakemake"

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start Snakemake in a process group of its own, so that one kill can take its jobs with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "snakemake", *arguments, "-s", str(PROJECT / "workflow/Snakefile")]
        command += ["--directory", str(self.folder), "--workflow-profile", "none", "--cores", "2", "--keep-going"]
        command += ["--rerun-incomplete", "--configfile", str(self.scale)]
        # Beside the folder: a disk that is full or may not be written must not hide what was said.
        with self.log.open("wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def run(self, *arguments: str) -> int:
        """Run to the end; the exit status."""
        return self.start(*arguments).wait()

    @property
    def locked(self) -> bool:
        """Whether Snakemake has locked the folder."""
        return any(self.folder.glob(".snakemake/locks/*.lock"))

    def unlock(self) -> None:
        """Do what Snakemake asks for after a kill."""
        if self.locked and self.run("--unlock") != 0:
            raise Failure(f"the folder cannot be unlocked:\n{self.said()[-3000:]}")

    def finish(self, *arguments: str) -> float:
        """Run to the end, which must succeed; the seconds it took."""
        started = time.monotonic()
        self.unlock()
        if self.run(*arguments) != 0:
            raise Failure(f"the workflow failed:\n{self.said()[-3000:]}")
        return time.monotonic() - started

    @property
    def log(self) -> Path:
        """What the last start said."""
        return self.folder.with_name(f"{self.folder.name}.{self.name}.log")

    def said(self) -> str:
        """What the last start said."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def scripts(self) -> Iterator[tuple[int, str]]:
        """Process and name of every script that runs for this folder, also of a workflow that was killed."""
        here = re.compile(re.escape(f"{self.folder}/.snakemake/scripts/tmp") + r"\w+\.(\w+)\.py")
        for path in Path("/proc").glob("[0-9]*"):
            try:
                found = here.search((path / "cmdline").read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
            if found:
                yield int(path.name), found[1]

    def stages(self) -> list[str]:
        """The stages that run now."""
        return sorted({stage_of(name) for _, name in self.scripts()}, key=STAGES.index)

    def copied(self, name: str) -> Workflow:
        """A copy of the folder beside it, with the times of the files, by which Snakemake knows what is new."""
        copy = Workflow(self.folder.with_name(name), self.scale)
        shutil.rmtree(copy.folder, ignore_errors=True)
        shutil.copytree(self.folder, copy.folder, symlinks=True)
        return copy

    def results(self) -> dict[str, bytes]:
        """Everything that a reader or a later stage uses."""
        found = sorted((self.folder / "results").rglob("*"))
        return {
            str(path.relative_to(self.folder)): compared(path)
            for path in found
            if path.suffix in COMPARED and not path.name.startswith(".")
        }

    def check(self, other: Workflow) -> None:
        """Compare with another finished folder.

        Raises:
            Failure: If a result is in one of them alone or differs in a byte, or a temporary file is left.
        """
        ours, theirs = self.results(), other.results()
        if different := sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)):
            raise Failure("different: " + ", ".join(different))
        if left := [str(path) for path in (self.folder / "results").rglob(".*.partial*")]:
            raise Failure("left: " + ", ".join(left))


def compared(path: Path) -> bytes:
    """What two runs of a file share: all of it, but for what rules took, which stands in the manifest."""
    if path.name == "manifest.json":
        return json.dumps({**read_json(path), "seconds": None, "trained": None}).encode()
    return path.read_bytes()


def kill(process: subprocess.Popen[bytes], alone: bool) -> None:
    """``kill -9`` of Snakemake alone, whose jobs live on, or of everything that it started, as a power cut does."""
    if alone:
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
