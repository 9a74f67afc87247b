"""Worker processes: answers, errors, and their end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fivesentences.errors import InputError
from fivesentences.features.workers import Workers
from fivesentences.storage import read_json


@pytest.mark.parametrize("count", [0, 2])
def test_every_task_is_answered(count: int) -> None:
    with Workers(count) as pool:
        assert sorted(pool.map(abs, range(-20, 0))) == [(number, -number) for number in range(-20, 0)]
        assert dict(pool.map(str, [1])) == {1: "1"}  # a pool can be used again


def test_prints_of_a_task_do_not_disturb_the_answers() -> None:
    with Workers(1) as pool:
        assert list(pool.map(print, ["spoken", "twice"])) == [("spoken", None), ("twice", None)]


def test_an_input_error_arrives_as_it_was_raised() -> None:
    with Workers(1) as pool, pytest.raises(InputError, match="no such file"):
        list(pool.map(read_json, [Path("nowhere.npy")]))


def test_another_error_brings_the_workers_traceback() -> None:
    with Workers(1) as pool, pytest.raises(RuntimeError, match=r"in a worker process(.|\n)*ValueError"):
        list(pool.map(int, ["seven"]))


def test_a_worker_that_dies_is_an_error_not_a_hang() -> None:
    with Workers(2) as pool, pytest.raises(RuntimeError, match="ended with code 3"):
        list(pool.map(os._exit, [3]))


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import time\n"
        "from fivesentences.features.workers import Workers\n"
        "with Workers(2) as pool:\n"
        "    for _ in pool.map(time.sleep, [0.01] * 2 + [1.0] * 50):\n"
        "        print(*(process.pid for process in pool._processes), flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = [int(word) for word in process.stdout.readline().split()]
    process.kill()
    process.wait()
    assert len(pids) == 2
    for _ in range(200):
        if not any(_is_running(pid) for pid in pids):
            return
        time.sleep(0.1)
    raise AssertionError("a worker outlived its parent")


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
