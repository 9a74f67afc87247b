"""One run, from files to files: weights, vocabulary, history, and the similarities of dev and test."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from fivesentences.config import check
from fivesentences.documents import read_yaml
from fivesentences.machine import device_named
from fivesentences.storage import remove_leftovers, replacing
from fivesentences.study.runs import FORMAT, RunFile, RunSpec
from fivesentences.training.checkpoint import ResumeFolder, write_weights
from fivesentences.training.data import RunData
from fivesentences.training.events import Events
from fivesentences.training.fingerprint import fingerprint
from fivesentences.training.finished import begin, finish
from fivesentences.training.loop import Training, reproducible
from fivesentences.training.scoring import similarity_of
from fivesentences.training.stopping import Stop, stop_on_signals

RESUME = "resume"


def read_run(path: Path | str) -> tuple[RunSpec, Path, Path]:
    """Settings, corpus and features of a ``run.yaml``; relative paths are relative to the working directory.

    Raises:
        InputError: If the file is missing or of an earlier format, or a key or value is wrong.
    """
    content = check(RunFile, read_yaml(path), str(path))
    return content.run, Path(content.corpus), Path(content.features)


def train_run(
    spec: RunSpec,
    corpus: Path,
    features: Path,
    folder: Path,
    *,
    device: str = "cpu",
    seconds_between_saves: float = 30.0,
    label: str = "train",
    phi_files: Mapping[str, Path] | None = None,
    tensorboard: bool = False,
    stop: Stop | None = None,
) -> dict[str, str]:
    """Train one model; killed at any moment and started again, it ends with the same bits.

    A first SIGTERM or SIGUSR1 saves the state after the current batch and ends the training.

    Writes into ``folder``: ``weights.safetensors`` (best dev score; see ``load_trained``), ``vocabulary.json``,
    ``run.yaml``, ``history.csv`` (one row per epoch), ``similarity_dev.npy`` and ``similarity_test.npy`` (float32
    ``[images, captions]`` of the best weights, in the order of the corpus), and last ``finished.json``, the record that
    these are complete. ``folder/resume`` holds the state of an unfinished run; it is used only by a run with the same
    settings, the same content of the input files and the same versions, and removed at the end. A finished run is
    trained again; ``train_runs`` skips it.

    Args:
        spec: Settings.
        corpus: A corpus as parquet, with the splits train, dev and test.
        features: A ``.npy`` with its table of images beside it.
        folder: Where the outputs go; created if necessary.
        device: ``"cpu"``, whose results depend on the inputs alone; ``"cuda"``; or ``"auto"``: CUDA if it is available.
        seconds_between_saves: The state is saved at the end of each epoch and this often within one.
        label: Text before the progress bar.
        phi_files: What the loss reads of the training captions, by name of phi: a matrix of the run's own or
            of all training captions, or prepared CIDEr of its own, which is computed if it is not given. See
            ``open_phis``.
        tensorboard: Whether to write the history to ``folder/tensorboard`` too.
        stop: Of a caller who looks out for the signals; None: this function does.

    Returns:
        SHA-256 of each output, by file name.

    Raises:
        InputError: If the inputs do not fit or contain NaN, or if training diverges.
        Stopped: If a signal asked to end; the state is saved.
    """
    corpus, features, folder = Path(corpus), Path(features), Path(folder)
    place = torch.device(device_named(device))
    with reproducible(spec.training.threads, place, spec.training.arithmetic):
        data = RunData.read(spec, corpus, features)
        training = Training(spec, data, place, phi_files)
        made_from = fingerprint(spec, corpus, features, place, phi_files)
        resume = ResumeFolder(folder / RESUME, made_from)
        state, sentence = resume.load()
        if sentence:
            print(sentence, file=sys.stderr, flush=True)
        if state is not None:
            training.restore(state)
        with (
            Events(folder / "tensorboard" if tensorboard else None) as events,
            stop_on_signals() if stop is None else nullcontext(stop) as looking,
        ):
            training.train(resume, seconds_between_saves, label, events.add_last, looking)
        begin(folder)
        _write_outputs(training, corpus, features, folder)
    outputs = finish(folder, made_from)
    resume.remove()  # last: until here a killed run can write its outputs again
    return outputs


def _write_outputs(training: Training, corpus: Path, features: Path, folder: Path) -> None:
    spec, data, best = training.spec, training.data, training.best
    assert best is not None  # every run has an epoch
    training.model.load_state_dict(best)
    for name, split in (("dev", data.dev), ("test", data.test)):
        with replacing(folder / f"similarity_{name}.npy") as temporary:
            np.save(temporary, similarity_of(training.model, split))
    data.vocabulary.write(folder / "vocabulary.json")
    with replacing(folder / "run.yaml") as temporary:
        content = RunFile(format=FORMAT, corpus=str(corpus), features=str(features), run=spec).model_dump(mode="json")
        temporary.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    history = pd.DataFrame(training.history).astype({"epoch": int})
    history["best"] = (history.index == history[training.scores.column].idxmax()).astype(int)
    with replacing(folder / "history.csv") as temporary:
        history.to_csv(temporary, index=False, lineterminator="\n")
    write_weights(
        folder / "weights.safetensors", best, data.preparation, spec, data.train.images.shape[1:], data.concepts
    )
    remove_leftovers(folder)  # of an earlier, killed attempt
