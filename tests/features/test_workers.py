"""Worker processes: answers, errors, and their end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fivesentences.errors import InputError
from fivesentences.features.workers import Workers
from fivesentences.storage import read_json

SCRIPT = """
import sys, time
from pathlib import Path
from fivesentences.features.workers import Workers
with Workers(2) as pool:
    for _ in pool.map(time.sleep, [0.01] * 2 + [1.0] * 50):
        Path(sys.argv[1]).write_text(" ".join(str(process.pid) for process in pool._processes) + " end")
"""


@pytest.mark.parametrize("count", [0, 2])
def test_every_task_is_answered(count):
    with Workers(count) as pool:
        assert sorted(pool.map(abs, range(-20, 0))) == [(number, -number) for number in range(-20, 0)]
        assert dict(pool.map(str, [1])) == {1: "1"}  # a pool can be used again


def test_prints_of_a_task_do_not_disturb_the_answers():
    with Workers(1) as pool:
        assert list(pool.map(print, ["spoken", "twice"])) == [("spoken", None), ("twice", None)]


@pytest.mark.parametrize(
    ("count", "function", "task", "error", "sentence"),
    [
        (1, read_json, Path("nowhere.npy"), InputError, "no such file"),
        (1, int, "seven", RuntimeError, r"in a worker process(.|\n)*ValueError"),
        (2, os._exit, 3, RuntimeError, "ended with code 3"),
    ],
)
def test_an_error_arrives_with_its_sentence_or_traceback_and_a_dead_worker_is_no_hang(
    count, function, task, error, sentence
):
    with Workers(count) as pool, pytest.raises(error, match=sentence):
        list(pool.map(function, [task]))


def test_workers_end_when_their_parent_is_killed(tmp_path, printed_until_killed):
    file = tmp_path / "pids.txt"
    printed_until_killed(SCRIPT, file, when=lambda: file.exists() and file.read_text().endswith("end"))
    pids = [int(word) for word in file.read_text().split()[:-1]]
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
