"""Snakemake after a kill, and beside another workflow in the same folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fivesentences.workflow_lock import occupied

PROJECT = Path(__file__).parents[2]
CORPUS = "results/corpus/scenes.parquet"

pytestmark = pytest.mark.workflow


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "snakemake", "-s", str(PROJECT / "Snakefile"), "--directory", str(folder)]
    command += ["--workflow-profile", "none", "--cores", "1", "--rerun-incomplete", *arguments, CORPUS]
    command += ["--configfile", str(Path(__file__).with_name("tiny.yaml"))]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def test_a_workflow_that_was_killed_needs_no_unlocking(tmp_path: Path) -> None:
    with start(tmp_path) as first:
        until = time.monotonic() + 200
        while not list(tmp_path.glob(".snakemake/locks/*.lock")):
            assert first.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        os.killpg(first.pid, signal.SIGKILL)
    assert list(tmp_path.glob(".snakemake/locks/*.lock"))
    with start(tmp_path) as second:
        output = second.communicate()[0]
    assert second.returncode == 0, output[-3000:]
    assert "The last workflow in this folder was killed; its locks are removed." in output
    assert (tmp_path / CORPUS).exists()
    assert not list(tmp_path.glob(".snakemake/workflows/*.json"))


def test_a_second_workflow_is_refused_in_one_sentence_and_a_dry_run_is_not(tmp_path: Path) -> None:
    with occupied(tmp_path / ".snakemake"):
        with start(tmp_path, "--dry-run") as dry:
            output = dry.communicate()[0]
        assert dry.returncode == 0, output[-3000:]
        with start(tmp_path) as second:
            output = second.communicate()[0]
    assert second.returncode == 1
    (line,) = [line for line in output.splitlines() if "has been making results in this folder" in line]
    assert f"process {os.getpid()} " in line and "wait until it has ended" in line
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()
