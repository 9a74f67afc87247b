"""Worker processes: answers, errors, and their end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.features.workers import Workers
from kill import Program

SCRIPT = """
import sys, time, warnings
from pathlib import Path
from fivesentences.features.workers import Workers
with Workers(2) as pool:
    list(pool.map(warnings.warn, ["a worker"] * 2))
    Path(sys.argv[1]).touch()
    list(pool.map(time.sleep, [1.0] * 100))
"""


@pytest.mark.parametrize("count", [0, 2])
def test_every_task_is_answered(count):
    with Workers(count) as pool:
        assert sorted(pool.map(abs, range(-20, 0))) == [(number, -number) for number in range(-20, 0)]
        # A pool can be used again, and what a task prints does not disturb the answers.
        assert sorted(pool.map(print, ["spoken", "twice"])) == [("spoken", None), ("twice", None)]


@pytest.mark.parametrize(
    ("count", "function", "task", "error", "sentence"),
    [
        (1, read_json, Path("nowhere.npy"), InputError, "no such file"),
        (1, int, "seven", RuntimeError, r"in a worker process(.|\n)*ValueError"),
        (2, os._exit, 3, InputError, "ended with code 3 .* run again"),
    ],
)
def test_an_error_arrives_with_its_sentence_or_traceback_and_a_dead_worker_is_no_hang(
    count, function, task, error, sentence
):
    with Workers(count) as pool, pytest.raises(error, match=sentence):
        list(pool.map(function, [task]))


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script, ready = tmp_path / "script.py", tmp_path / "ready"
    script.write_text(SCRIPT)
    with Program(script, ready) as program:
        program.wait_for(ready.exists)
        program.kill_alone()
        assert "a worker" in program.end().err  # the workers share it, and it is closed by now
