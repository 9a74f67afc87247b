"""Snakemake after ``kill -9``: it refuses the locked folder, and after ``--unlock`` goes on without what was left."""

from __future__ import annotations

import platform
import time
import zlib
from pathlib import Path

import pytest

from workflow.workflows import PROJECT, STAGES, Workflow, kill, stage_of

CORPUS = "results/corpus/scenes.parquet"


def test_every_script_of_the_workflow_belongs_to_a_stage_that_can_be_killed() -> None:
    assert {stage_of(script.stem) for script in (PROJECT / "workflow/scripts").glob("*.py")} == set(STAGES)


@pytest.mark.workflow
@pytest.mark.slow
def test_a_killed_workflow_goes_on_after_unlocking_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    work = Workflow(tmp_path / "work", Path(__file__).with_name("micro.yaml"))
    first, until = work.start(CORPUS), time.monotonic() + 200
    while not work.locked:
        assert first.poll() is None and time.monotonic() < until, work.said()
        time.sleep(0.01)
    kill(first, alone=False)
    unique = f"{'0' * 16}{zlib.crc32(platform.node().encode()):08x}.{first.pid}"
    left = work.folder / f"results/corpus/.scenes.{unique}.partial.parquet"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"half")
    for arguments, code in (((CORPUS,), 1), (("--unlock",), 0), ((CORPUS,), 0)):
        assert work.run(*arguments) == code, work.said()
        assert ("cannot be locked" in work.said()) == bool(code)
    assert (work.folder / CORPUS).exists() and not left.exists()
