"""A run that a scheduler asks to end saves its state, says so, and later ends with the bits of one left alone."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace

import pytest

from fivesentences.console import log_to
from fivesentences.errors import Stopped
from fivesentences.training import Run, train_run, train_runs
from fivesentences.training import run as run_module
from fivesentences.training.loop import Training
from fivesentences.training.stopping import SIGNALS, stop_on_signals
from kill import Program


@pytest.fixture
def undisturbed(inputs, spec_of, tmp_path, outputs_of):
    train_run(spec_of(), *inputs, tmp_path / "undisturbed")
    return outputs_of(tmp_path / "undisturbed")


@pytest.fixture
def signalled(monkeypatch):
    """Sends this process a signal in the middle of the given call of a method, counted from 1."""

    def arrange(number: signal.Signals, name: str, at: int) -> list[str]:
        original, calls = getattr(Training, name), []

        def method(self, *arguments):
            calls.append(name)
            if len(calls) == at:
                os.kill(os.getpid(), number)
            return original(self, *arguments)

        monkeypatch.setattr(Training, name, method)
        return calls

    return arrange


# 5 batches per epoch, 4 epochs; the last batch of an epoch is saved before dev is scored
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("name", "at", "where"),
    [
        ("_train_batch", 1, "epoch 1 of 4, batch 1 of 5"),
        ("_train_batch", 7, "epoch 2 of 4, batch 2 of 5"),
        ("_train_batch", 10, "epoch 2 of 4, batch 5 of 5"),
        ("_end_epoch", 2, "epoch 3 of 4, batch 0 of 5"),
    ],
)
def test_a_signal_saves_the_state_of_that_batch(
    inputs, spec_of, tmp_path, outputs_of, undisturbed, signalled, number, name, at, where
):
    handlers = [signal.getsignal(one) for one in SIGNALS]
    batches = signalled(signal.SIGCONT, "_train_batch", 0)  # counts, and sends nothing
    signalled(number, name, at)
    with pytest.raises(Stopped) as stopped:
        train_run(spec_of(), *inputs, tmp_path / "run", seconds_between_saves=1e9)
    assert [signal.getsignal(one) for one in SIGNALS] == handlers
    assert f"stopped by {number.name}" in str(stopped.value) and f"({where}) is saved in" in str(stopped.value)
    train_run(spec_of(), *inputs, tmp_path / "run")
    assert outputs_of(tmp_path / "run") == undisturbed
    assert len(batches) == 20  # nothing was trained twice


def test_a_signal_after_the_last_epoch_lets_the_run_finish(
    inputs, spec_of, tmp_path, outputs_of, undisturbed, signalled
):
    signalled(signal.SIGTERM, "_end_epoch", 4)
    train_run(spec_of(), *inputs, tmp_path / "run")
    assert outputs_of(tmp_path / "run") == undisturbed


def test_a_signal_among_the_outputs_of_a_run_keeps_it_and_starts_no_other(
    inputs, spec_of, tmp_path, outputs_of, undisturbed, monkeypatch
):
    original = run_module.finish

    def finish(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return original(*arguments)

    first = Run(spec_of(), tmp_path / "first", *inputs)
    second = replace(first, spec=spec_of(seed=1), folder=tmp_path / "second")
    with monkeypatch.context() as patch, pytest.raises(Stopped, match="1 of 2 runs are finished"):
        patch.setattr(run_module, "finish", finish)
        train_runs([first, second], record=tmp_path / "record.json")
    assert outputs_of(tmp_path / "first") == undisturbed
    assert not (tmp_path / "second").exists() and not (tmp_path / "record.json").exists()
    train_runs([first, second], record=tmp_path / "record.json")
    assert (tmp_path / "record.json").exists()


def test_the_sentence_is_in_the_log_and_is_what_python_ends_with(tmp_path):
    with pytest.raises(SystemExit) as end, log_to(tmp_path / "a.log"):
        raise Stopped("stopped by SIGTERM: the state is saved.")
    assert end.value.code == "stopped by SIGTERM: the state is saved."  # printed by Python, which then exits with 1
    assert (tmp_path / "a.log").read_text() == "stopped by SIGTERM: the state is saved.\n"


def test_a_second_signal_ends_the_process_at_once():
    code = """
import os, signal, time
from fivesentences.training.stopping import stop_on_signals
with stop_on_signals() as stop:
    os.kill(os.getpid(), signal.SIGTERM)
    print(stop.asked.name, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""
    with Program(code) as program:
        assert program.end()[:2] == (-signal.SIGTERM, "SIGTERM\n")


def test_another_thread_handles_no_signals():
    found = []

    def look():
        with stop_on_signals() as stop:
            found.append((stop.asked, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [(None, signal.getsignal(signal.SIGTERM))]
