"""A run that is killed, or asked to end, at any moment and started again ends with the bits of one left alone."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import torch

from fivesentences.errors import Stopped
from fivesentences.training import Run, train_run, train_runs
from fivesentences.training import jobs as jobs_module
from fivesentences.training import run as run_module
from fivesentences.training.jobs import SIGNALS
from fivesentences.training.loop import Training
from kill import Program, killed, killed_after


@pytest.fixture
def undisturbed(inputs, spec_of, tmp_path, outputs_of):
    train_run(spec_of(), *inputs, tmp_path / "undisturbed")
    return outputs_of(tmp_path / "undisturbed")


@pytest.mark.slow
# 5 batches per epoch, 4 epochs; between two batches, or while a dev score is computed
@pytest.mark.parametrize(
    ("batches", "what", "calls"), [*((n, "_train_batch", n) for n in (0, 5, 7)), (15, "_end_epoch", 2)]
)
@pytest.mark.parametrize("between_saves", [0.0, 1e9], ids=["saved each batch", "saved each epoch"])
def test_killed_between_any_two_batches(
    inputs, spec_of, tmp_path, outputs_of, undisturbed, monkeypatch, batches, what, calls, between_saves
):
    with killed_after(calls, Training, what):
        train_run(spec_of(), *inputs, tmp_path / "run", seconds_between_saves=between_saves)
    trained, original = [], Training._train_batch
    with monkeypatch.context() as patch:
        patch.setattr(Training, "_train_batch", lambda self, rows: (trained.append(rows), original(self, rows)))
        train_run(spec_of(), *inputs, tmp_path / "run")
    assert outputs_of(tmp_path / "run") == undisturbed
    # Nothing that was saved is computed again.
    epochs = calls if what == "_end_epoch" else batches // 5
    assert len(trained) == 20 - (batches if between_saves == 0 else 5 * epochs)


@pytest.mark.parametrize(("name", "calls"), [("replacing", 1), ("replacing", 2), ("finish", 0)])
def test_killed_between_the_outputs(inputs, spec_of, tmp_path, outputs_of, undisturbed, name, calls):
    with killed_after(calls, jobs_module if name == "finish" else run_module, name):
        train_run(spec_of(), *inputs, tmp_path / "run")
    with mock.patch.object(Training, "_train_batch", killed):  # nothing is trained again
        train_run(spec_of(), *inputs, tmp_path / "run")
    assert outputs_of(tmp_path / "run") == undisturbed
    train_run(spec_of(), *inputs, tmp_path / "run")  # a finished run may be trained again
    assert outputs_of(tmp_path / "run") == undisturbed


def test_a_changed_setting_or_input_starts_over_and_says_so(inputs_in, spec_of, tmp_path, outputs_of, capsys):
    inputs = inputs_in(tmp_path / "inputs")
    with killed_after(7, Training, "_train_batch"):
        train_run(spec_of(), *inputs, tmp_path / "run")
    capsys.readouterr()
    np.save(inputs.features, np.load(inputs.features) * 2)
    changed = spec_of(learning_rate=0.02)
    train_run(changed, *inputs, tmp_path / "run")
    said = capsys.readouterr().err
    assert "the run's settings, the features file changed; training starts over" in said
    train_run(changed, *inputs, tmp_path / "alone")
    assert outputs_of(tmp_path / "run") == outputs_of(tmp_path / "alone")


def test_a_state_that_cannot_be_read_starts_over_and_runs_no_pickle(inputs, spec_of, tmp_path, outputs_of, undisturbed):
    class Malicious:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    for content in (b"", b"not a state", Malicious()):
        state = tmp_path / "run/resume/state.pt"
        state.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            state.write_bytes(content)
        else:
            torch.save({"fingerprint": content}, state)
        train_run(spec_of(), *inputs, tmp_path / "run")
        assert outputs_of(tmp_path / "run") == undisturbed
    assert not (tmp_path / "executed").exists()


@pytest.mark.slow
def test_killed_at_random_moments(inputs, spec_of, assert_kills_change_no_bit):
    assert_kills_change_no_bit(spec_of(epochs=40), inputs, times=5, seconds=0.2)


# --- signals ---------------------------------------------------------------------------------------------------


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


@pytest.mark.slow
def test_a_signal_among_the_outputs_of_a_run_keeps_it_and_starts_no_other(
    inputs, spec_of, tmp_path, outputs_of, undisturbed, monkeypatch
):
    original = jobs_module.finish

    def finish(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return original(*arguments)

    first = Run(spec_of(), tmp_path / "first", *inputs)
    second = replace(first, spec=spec_of(seed=1), folder=tmp_path / "second")
    with monkeypatch.context() as patch, pytest.raises(Stopped, match=r"1.*2"):
        patch.setattr(jobs_module, "finish", finish)
        train_runs([first, second], record=tmp_path / "record.json")
    assert outputs_of(tmp_path / "first") == undisturbed
    assert not (tmp_path / "second").exists() and not (tmp_path / "record.json").exists()
    train_runs([first, second], record=tmp_path / "record.json")
    assert (tmp_path / "record.json").exists()


def test_a_second_signal_ends_the_process_at_once():
    code = """
import os, signal, time
from fivesentences.training.jobs import stop_on_signals
with stop_on_signals() as stop:
    os.kill(os.getpid(), signal.SIGTERM)
    print(stop.asked.name, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""
    with Program(code) as program:
        assert program.end()[:2] == (-signal.SIGTERM, "SIGTERM\n")
