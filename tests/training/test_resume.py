"""A run that is stopped at any moment and started again ends with the bits of one left alone."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest
import torch

from fivesentences.corpus import Corpus
from fivesentences.errors import InputError
from fivesentences.semantics import write_phi
from fivesentences.training import run as run_module
from fivesentences.training import train_run
from fivesentences.training.checkpoint import ResumeFolder
from fivesentences.training.loop import Training
from kill import Killed, killed, killed_after


@pytest.fixture
def undisturbed(inputs, spec_of, tmp_path, outputs_of):
    train_run(spec_of(), *inputs, tmp_path / "undisturbed")
    return outputs_of(tmp_path / "undisturbed")


# 5 batches per epoch, 4 epochs; between two batches, or while a dev score is computed
@pytest.mark.parametrize(
    ("batches", "what", "calls"), [*((n, "_train_batch", n) for n in (0, 1, 3, 5, 7, 19)), (15, "_end_epoch", 2)]
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


@pytest.mark.parametrize(("name", "calls"), [*(("replacing", files) for files in range(4)), ("finish", 0)])
def test_killed_between_the_outputs(inputs, spec_of, tmp_path, outputs_of, undisturbed, name, calls):
    with killed_after(calls, run_module, name):
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


@pytest.mark.parametrize("first", ["with the matrix", "without it"])
def test_a_matrix_that_is_given_or_no_longer_given_starts_over(inputs, spec_of, tmp_path, outputs_of, capsys, first):
    train = Corpus.read(inputs.corpus).split("train")
    matrix = tmp_path / "cider.npy"
    write_phi("cider", train.captions, train.image_of_caption, matrix)
    np.save(matrix, np.load(matrix)[:, ::-1])  # not what is computed without it
    ways = {"with the matrix": {"cider": matrix}, "without it": {}}
    with killed_after(7, Training, "_train_batch"):
        train_run(spec_of(), *inputs, tmp_path / "run", phi_files=ways.pop(first))
    (then,) = ways.values()
    train_run(spec_of(), *inputs, tmp_path / "run", phi_files=then)
    assert "the matrix of cider changed; training starts over" in capsys.readouterr().err
    train_run(spec_of(), *inputs, tmp_path / "alone", phi_files=then)
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


def test_a_diverged_run_is_trained_from_the_start_after_the_rate_is_lowered(
    inputs, spec_of, tmp_path, outputs_of, undisturbed
):
    with pytest.raises(InputError, match="lower the rate"):
        train_run(spec_of(learning_rate=1e38), *inputs, tmp_path / "run", seconds_between_saves=0)
    train_run(spec_of(), *inputs, tmp_path / "run")
    assert outputs_of(tmp_path / "run") == undisturbed


def test_a_state_is_replaced_as_a_whole(tmp_path):
    resume = ResumeFolder(tmp_path / "resume", {"a": "b"})
    resume.save({"epoch": 1, "step": 2})

    def half(content, path):
        path.write_bytes(b"half")
        raise Killed

    with mock.patch.object(torch, "save", half), pytest.raises(Killed):
        resume.save({"epoch": 1, "step": 3})
    state, said = resume.load()
    assert state == {"fingerprint": {"a": "b"}, "epoch": 1, "step": 2}
    assert "epoch 2, batch 2" in said


def test_killed_at_random_moments(inputs, spec_of, assert_kills_change_no_bit):
    assert_kills_change_no_bit(spec_of(epochs=40), inputs, times=5, seconds=0.2)
