"""Snakemake in a folder, and a copy of the project in which a small scale has been made: once for all tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fivesentences.storage import alone

PROJECT = Path(__file__).parents[2]
MICRO = Path("config/micro.yaml")  # in the copy
COPIED = ("workflow", "config", "src", "profiles", ".dvc/config", ".dvc/plots", ".dvcignore", "dvc.yaml")


def said(folder: Path, *command: object, code: int = 0, **variables: str) -> str:
    """What a command that ends with ``code`` writes in a folder; it knows no mirror."""
    environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"} | variables
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, env=environment)
    output = done.stdout + done.stderr
    assert done.returncode == code, f"{command}\n{output[-4000:]}"
    return output


def snakemake(folder: Path, scale: Path | str, *arguments: object, code: int = 0, **variables: str) -> str:
    """What this checkout's workflow says as it makes a scale in another folder."""
    project = ("-s", PROJECT / "workflow/Snakefile", "--workflow-profile", "none", "--configfile", scale)
    return said(folder, "snakemake", *arguments, *project, code=code, **variables)


def jobs(output: str) -> dict[str, int]:
    """Rule and number of jobs from the statistics that Snakemake prints, without targets."""
    found = re.findall(r"^ ?(\w[\w ]*?) +(\d+) *$", output, flags=re.MULTILINE)
    assert found or "Nothing to be done" in output, output
    return {name.replace(" ", "_"): int(count) for name, count in found if name not in ("all", "total")}


@pytest.fixture(scope="session")
def micro(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the workflow and DVC need, in which ``micro.yaml`` has been made; tests copy it to change it."""
    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # one worker makes the scale for all, in the folder above theirs
        common = common.parent
    with alone(common / "micro.lock", "another worker makes the scale"):
        if not (common / "micro").exists():
            make_micro(common / "unfinished")
            (common / "unfinished").rename(common / "micro")
    return shutil.copytree(common / "micro", tmp_path_factory.mktemp("own") / "micro", symlinks=True)


def make_micro(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name in COPIED:
        source, target = PROJECT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(source, target, ignore=ignored) if source.is_dir() else shutil.copy(source, target)
    here = Path(__file__).parent
    shutil.copy(here / "micro.yaml", folder / "config")
    shutil.copy(here / "studies" / "contrasts.yaml", folder / "config" / "studies")
    said(folder, "snakemake", "--cores", 2, "--configfile", MICRO)
