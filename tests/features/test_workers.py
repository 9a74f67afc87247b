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


@pytest.mark.parametrize("count", [0, 2])
def test_every_task_is_answered_in_order(count):
    tasks = range(-20, 0)
    assert list(map_in_processes(abs, tasks, count)) == [(number, -number) for number in tasks]


def test_a_worker_has_one_thread_and_no_gpu_and_the_parent_keeps_its_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    assert dict(map_in_processes(os.getenv, list(ENVIRONMENT), 1)) == ENVIRONMENT
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("count", "function", "task", "error", "sentence"),
    [
        (1, read_json, "nowhere.npy", InputError, "no such file"),
        (1, int, "seven", ValueError, "seven"),
        (2, os._exit, 3, InputError, "worker process ended .* run again"),
    ],
)
def test_an_error_arrives_and_a_dead_worker_is_no_hang(count, function, task, error, sentence):
    with pytest.raises(error, match=sentence):
        list(map_in_processes(function, [task], count))


def test_workers_end_when_their_parent_is_killed_and_do_not_run_its_script(tmp_path):
    script, ready = tmp_path / "script.py", tmp_path / "ready"
    script.write_text(SCRIPT)
    with Program(script, ready) as program:
        program.wait_for(ready.exists)
        program.kill_alone()
        assert "a worker" in program.end().err  # the workers share it, and it is closed by now
