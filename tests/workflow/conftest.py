"""A copy of the project in which a small scale has been made: once for all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
COPIED = ("Snakefile", "workflow", "config", "src", "profiles", ".dvc/config", ".dvc/plots", ".dvcignore", "dvc.yaml")


def copy_project(folder: Path) -> None:
    """Copy what the workflow and DVC need, with ``tests/workflow/micro.yaml`` and its study in ``config``."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in COPIED:
        source, target = PROJECT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target, ignore=ignored) if source.is_dir() else shutil.copy(source, target)
    here = Path(__file__).parent
    shutil.copy(here / "micro.yaml", folder / "config")
    shutil.copy(here / "studies" / "contrasts.yaml", folder / "config" / "studies")


@pytest.fixture(scope="session")
def said() -> Callable[..., str]:
    """Run a command in a folder, which ends with ``code``, and return what it wrote; it knows no mirror."""
    environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"

    def run(folder: Path, *command: object, code: int = 0) -> str:
        arguments = list(map(str, command))
        if arguments[0] == "snakemake" and "--configfile" not in arguments:
            arguments += ["--configfile", "config/micro.yaml"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, env=environment)
        assert done.returncode == code, f"{command}\n{(done.stdout + done.stderr)[-4000:]}"
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def micro(tmp_path_factory, said) -> Path:
    """The folder in which the scale ``micro`` has been made; tests copy it before they change it."""
    folder = tmp_path_factory.mktemp("micro")
    copy_project(folder)
    said(folder, "snakemake", "--cores", 2)
    return folder
