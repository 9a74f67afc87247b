"""Snakemake after ``kill -9``: it refuses the locked folder, and after ``--unlock`` goes on without what was left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
CORPUS = "results/corpus/scenes.parquet"

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "snakemake", "-s", str(PROJECT / "Snakefile"), "--directory", str(folder)]
    command += ["--workflow-profile", "none", "--cores", "1", "--rerun-incomplete", *arguments, CORPUS]
    command += ["--configfile", str(Path(__file__).with_name("micro.yaml"))]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def test_a_killed_workflow_goes_on_after_unlocking_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    with start(tmp_path) as first:
        until = time.monotonic() + 200
        while not list(tmp_path.glob(".snakemake/locks/*.lock")):
            assert first.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        os.killpg(first.pid, signal.SIGKILL)
    left = tmp_path / f"results/corpus/.scenes.{first.pid}.partial.parquet"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"half")
    for arguments, code, said in (((), 1, "cannot be locked"), (("--unlock",), 0, "nlock"), ((), 0, "")):
        with start(tmp_path, *arguments) as again:
            output = again.communicate()[0]
        assert again.returncode == code and said in output, output[-3000:]
    assert (tmp_path / CORPUS).exists() and not left.exists()
