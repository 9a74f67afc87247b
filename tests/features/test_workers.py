"""Worker processes: answers, errors, and their end."""

from __future__ import annotations

import os

import pytest

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.features.workers import ENVIRONMENT, map_in_processes
from kill import Program

SCRIPT = """
import sys, time, warnings
from pathlib import Path
from fivesentences.features.workers import map_in_processes
list(map_in_processes(warnings.warn, ["a worker"] * 2, 2))
Path(sys.argv[1]).touch()
list(map_in_processes(time.sleep, [1.0] * 100, 2))
"""


def test_tasks_are_answered_in_order_on_one_thread_each_and_the_parent_keeps_its_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    tasks = [*ENVIRONMENT, *("HOME",) * 9]
    answers = list(map_in_processes(os.getenv, tasks, 2))
    assert [task for task, _ in answers] == tasks
    assert {task: answer for task, answer in answers if task != "HOME"} == ENVIRONMENT
    assert dict(os.environ) == before
    assert list(map_in_processes(abs, [-2, -1], 0)) == [(-2, 2), (-1, 1)]


@pytest.mark.parametrize(
    ("function", "task", "error", "sentence"),
    [
        (read_json, "nowhere.npy", InputError, "no such file"),
        (int, "seven", ValueError, "seven"),
        (os._exit, 3, InputError, "worker process ended .* run again"),
    ],
)
def test_an_error_arrives_and_a_dead_worker_is_no_hang(function, task, error, sentence):
    with pytest.raises(error, match=sentence):
        list(map_in_processes(function, [task], 1))


def test_workers_end_when_their_parent_is_killed_and_do_not_run_its_script(tmp_path):
    script, ready = tmp_path / "script.py", tmp_path / "ready"
    script.write_text(SCRIPT)
    with Program(script, ready) as program:
        program.wait_for(ready.exists)
        program.kill_alone()
        assert "a worker" in program.end().err  # the workers share it, and it is closed by now
