"""Runs that train side by side have the bits of runs one after the other, and lose as little to a kill."""

from __future__ import annotations

import os
import pickle
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fivesentences.documents import check_file
from fivesentences.errors import InputErrors
from fivesentences.storage import RECORD
from fivesentences.training import Run, train_runs
from fivesentences.training.jobs import Task
from fivesentences.training.side_by_side import side_by_side
from kill import Program, killed

pytestmark = pytest.mark.slow

CODE = """
import pickle, sys
from pathlib import Path
from fivesentences.training import train_runs
train_runs(pickle.loads(Path(sys.argv[1]).read_bytes()), at_once=2, seconds_between_saves=float(sys.argv[2]))
"""


@pytest.fixture
def runs_in(inputs, spec_of, tmp_path):
    """Some runs of equal length, in a folder."""

    def made(folder: str, count: int = 3, **changes) -> list[Run]:
        return [Run(spec_of(seed=seed, **changes), tmp_path / folder / str(seed), *inputs) for seed in range(count)]

    return made


def test_they_have_the_bits_of_runs_one_after_the_other(runs_in, tmp_path, outputs_of, capsys, monkeypatch):
    train_runs(runs_in("apart"), record=tmp_path / "apart.json")
    monkeypatch.setattr(Task, "train", killed)  # this process trains none of them
    capsys.readouterr()
    train_runs(runs_in("together"), record=tmp_path / "together.json", at_once=2)
    said = capsys.readouterr().err.splitlines()
    assert {"1: run 1 of 2", "1: run 2 of 2", "2: run 1 of 1"} <= {line.rpartition(": ")[0] for line in said}
    assert (tmp_path / "together.json").read_bytes() == (tmp_path / "apart.json").read_bytes()
    for one, other in zip(runs_in("apart"), runs_in("together"), strict=True):
        assert outputs_of(one.folder) == outputs_of(other.folder)


def test_a_run_that_fails_is_named_once_trained_once_and_stops_no_other(runs_in, spec_of, tmp_path, monkeypatch):
    monkeypatch.setattr(Task, "train", killed)
    first, second, third = runs_in("job")
    with pytest.raises(InputErrors) as failed:
        wrong = replace(first, spec=spec_of(learning_rate=1e38))
        train_runs([wrong, second, third], record=tmp_path / "record.json", at_once=2)
    assert str(failed.value).count("\n") == 0 and "lower the rate" in str(failed.value)
    assert [(run.folder / RECORD).exists() for run in (first, second, third)] == [False, True, True]
    assert not (tmp_path / "record.json").exists()


def test_every_error_and_a_process_that_is_killed_are_named(tmp_path):
    works = [partial(check_file, tmp_path / "é"), partial(print, "no failure"), partial(os._exit, 7)]
    with pytest.raises(InputErrors) as failed:
        side_by_side(works)
    missing, ended = str(failed.value).splitlines()
    assert str(tmp_path / "é") in missing and ended.startswith("process 3 of 3 ended with status 7")


def test_each_has_the_threads_of_its_runs_for_products_of_numpy(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    side_by_side(
        [partial(os.system, f"echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS > '{tmp_path}/{one}'") for one in "ab"], 3
    )
    assert [Path(tmp_path, one).read_text() for one in "ab"] == ["3 3\n"] * 2
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_signals_save_every_state_and_the_next_start_goes_on(runs_in, tmp_path, outputs_of, capsys):
    settings = {"count": 2, "epochs": 100, "score_every": 50}
    runs, given = runs_in("run", **settings), tmp_path / "runs.pickle"
    given.write_bytes(pickle.dumps(runs))

    def states():
        files = [run.folder / "resume/state.pt" for run in runs]
        return [file.stat().st_mtime_ns for file in files if file.exists()]

    # To every process, as SLURM sends it, and to the job alone.
    for number, send in ((signal.SIGTERM, os.killpg), (signal.SIGUSR1, os.kill)):
        before = states()
        with Program(CODE, given, 0) as program:
            program.wait_for(lambda before=before: len(set(states()) - set(before)) == 2)
            send(program.pid, number)
            status, _, said = program.end()
        assert status == 1 and f"stopped by {number.name}: the states of its runs are saved" in said
        assert said.count("is saved in") == 2 and not any((run.folder / RECORD).exists() for run in runs)
    train_runs(runs, at_once=2)
    assert capsys.readouterr().err.count("Continuing from") == 2
    train_runs(runs_in("undisturbed", **settings))
    for one, other in zip(runs, runs_in("undisturbed", **settings), strict=True):
        assert outputs_of(one.folder) == outputs_of(other.folder)


def test_a_kill_of_the_job_ends_its_processes(runs_in, tmp_path):
    runs, given = runs_in("run", count=2, epochs=10_000), tmp_path / "runs.pickle"
    given.write_bytes(pickle.dumps(runs))
    with Program(CODE, given, 0) as program:
        program.wait_for(lambda: all((run.folder / "resume/state.pt").exists() for run in runs))
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        program.kill_alone()
        assert len(children) == 2
        while not all(program.gone(int(child)) for child in children):  # in milliseconds
            time.sleep(0.05)
