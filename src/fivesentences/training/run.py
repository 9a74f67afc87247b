"""Runs, from files to files: weights, vocabulary, history, and the similarities of dev and test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from fivesentences.config.reading import check
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError, install
from fivesentences.features.precomp import read_precomp
from fivesentences.machine import device_named
from fivesentences.storage import remove_leftovers, replacing
from fivesentences.training.checkpoint import VOCABULARY, WEIGHTS, ResumeFolder, write_weights
from fivesentences.training.code import code_of_run
from fivesentences.training.data import RunData
from fivesentences.training.fingerprint import fingerprint
from fivesentences.training.jobs import RESUME, Hashes, Stop, Task, train_tasks
from fivesentences.training.loop import Training, reproducible
from fivesentences.training.scoring import similarity_of
from fivesentences.training.side_by_side import side_by_side
from fivesentences.training.spec import FORMAT, RunFile, RunSpec

SETTINGS, HISTORY, SIMILARITY = "run.yaml", "history.csv", "similarity_test.npy"
OUTPUTS = (WEIGHTS, VOCABULARY, SETTINGS, HISTORY, SIMILARITY)
SECONDS_BETWEEN_SAVES = 30.0


@dataclass(frozen=True)
class Run:
    """A run to train: its settings, the folder of its outputs, and files as ``train_run`` reads them.

    ``read_from`` is a copy of the features, on a faster disk, from which they are read.
    """

    spec: RunSpec
    folder: Path
    corpus: Path
    features: Path
    phi_files: Mapping[str, Path] = field(default_factory=dict)
    read_from: Path | None = None


def train_runs(
    runs: Iterable[Run],
    *,
    device: str = "cpu",
    tensorboard: bool = False,
    record: Path | None = None,
    at_once: int = 1,
    seconds_between_saves: float = SECONDS_BETWEEN_SAVES,
) -> None:
    """Train some runs one after the other, or some at once, each with the same bits as alone.

    A run that is finished is not trained again if its settings, the content of its inputs and the code are the same;
    torch's version and the device may differ. A kill loses no finished run, and of the one under way what came after
    its last saved state. A first SIGTERM or SIGUSR1 loses nothing: the state of the run under way is saved, or of each
    of those.

    Args:
        runs: The runs in their order.
        device: See ``train_run``.
        tensorboard: See ``train_run``.
        record: See ``train_tasks``.
        at_once: How many processes share the runs; 1: this one trains them.
        seconds_between_saves: See ``train_run``.

    Raises:
        InputError: If there is no such device.
        InputErrors: If runs failed, one sentence each; all the others have been trained by then.
        Stopped: If a signal asked to end.
    """
    place, runs = torch.device(device_named(device)), list(runs)
    if at_once > 1 and len(runs) > 1:
        of_process = partial(
            train_runs, device=device, tensorboard=tensorboard, seconds_between_saves=seconds_between_saves
        )
        works = [partial(of_process, runs[first::at_once]) for first in range(min(at_once, len(runs)))]
        side_by_side(works, max(run.spec.training.threads for run in runs))
    # Behind the processes all runs are finished: this writes the record.
    train_tasks((_task(run, place, tensorboard, seconds_between_saves) for run in runs), record)


def read_run(path: Path | str) -> tuple[RunSpec, Path, Path]:
    """Read settings, corpus and features of a ``run.yaml``; relative paths are relative to the working directory.

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
    seconds_between_saves: float = SECONDS_BETWEEN_SAVES,
    label: str = "train",
    phi_files: Mapping[str, Path] | None = None,
    tensorboard: bool = False,
) -> Hashes:
    """Train one model; killed at any moment and started again, it ends with the same bits.

    A first SIGTERM or SIGUSR1 saves the state after the current batch and ends the training.

    Writes into ``folder``: ``weights.safetensors`` (best dev score; see ``load_trained``), ``vocabulary.json``,
    ``run.yaml``, ``history.csv`` (one row per epoch), ``similarity_test.npy`` (float32 ``[images, captions]``
    of the best weights, in the order of the corpus), and last ``finished.json``, the record that
    these are complete. ``folder/resume`` holds the state of an unfinished run; it is used only by a run with the same
    settings, the same content of the input files and the same versions, and removed at the end. A finished run is
    trained again; ``train_runs`` skips it.

    Args:
        spec: Settings.
        corpus: A corpus as parquet, with the splits train, dev and test.
        features: A ``.npy`` with its table of images beside it.
        folder: Folder of the outputs; created if necessary.
        device: ``"cpu"``, whose results depend on the inputs alone; ``"cuda"``; or ``"auto"``: CUDA if it is available.
        seconds_between_saves: The state is saved at the end of each epoch and this often within one.
        label: Text before the progress bar.
        phi_files: Files that the loss reads, by name of phi: a matrix of the run's own or of all training captions, or
            prepared CIDEr of its own, which is computed if it is not given. See ``open_phis``.
        tensorboard: Whether to write the history to ``folder/tensorboard`` too.

    Returns:
        SHA-256 of each output, by file name.

    Raises:
        InputError: If the inputs do not fit or contain NaN, or if training diverges.
        Stopped: If a signal asked to end; the state is saved.
    """
    run = Run(spec, Path(folder), Path(corpus), Path(features), phi_files or {})
    return _task(run, torch.device(device_named(device)), tensorboard, seconds_between_saves).train(label)


def _task(run: Run, place: torch.device, tensorboard: bool, seconds_between_saves: float) -> Task:
    spec, folder = run.spec, run.folder

    def made_from() -> dict[str, str]:
        # Prepared CIDEr (.npz) is left out: it changes no bit, and the file says which captions it was made from.
        files = {f"the matrix of {name}": path for name, path in run.phi_files.items() if path.suffix == ".npy"}
        files |= {"the corpus file": run.corpus, "the features file": run.features}
        files["the features' table of images"] = run.features.with_suffix(".images.parquet")
        if (glove := spec.model.concept_options.glove) is not None:
            files["the GloVe file"] = glove
        if (words := spec.training.vocabulary) is not None:
            files["the vocabulary file"] = words
        # A description names the files of a precomp folder, and their sums.
        splits = read_precomp(run.features).splits if run.features.suffix == ".json" else []
        subjects = ["phi"] if spec.loss.phis else []
        known = fingerprint(spec, files, code_of_run(spec), place, subjects=subjects)
        return known | {split.path: split.content for split in splits}

    def fit(label: str, stop: Stop, made_from: dict[str, str]) -> Callable[[], None]:
        with reproducible(spec.training.threads, place, spec.training.arithmetic, spec.training.precision):
            data = RunData.read(spec, run.corpus, run.read_from or run.features)
            print(data.words(), file=sys.stderr, flush=True)
            training = Training(spec, data, place, run.phi_files)
            resume = ResumeFolder(folder / RESUME, made_from)
            state, sentence = resume.load()
            if sentence:
                print(sentence, file=sys.stderr, flush=True)
            if state is not None:
                training.restore(state)
            with _events(folder / "tensorboard" if tensorboard else None) as add_last:
                training.train(resume, seconds_between_saves, label, add_last, stop)
            assert training.best is not None  # every run has an epoch
            training.model.load_state_dict(training.best)
            similarity = similarity_of(training.model, training.data.test, precision=spec.training.precision)
        return lambda: _write(run, training, similarity)

    return Task(spec, folder, OUTPUTS, made_from, fit)


def _write(run: Run, training: Training, similarity: np.ndarray) -> None:
    spec, data, folder = run.spec, training.data, run.folder
    with replacing(folder / SIMILARITY) as temporary:
        np.save(temporary, similarity)
    data.vocabulary.write(folder / VOCABULARY)
    unknown = data.dev.captions.unknown(data.vocabulary)
    names = {"corpus": str(run.corpus), "features": str(run.features)}
    content = RunFile(format=FORMAT, **names, unknown_dev_words=round(unknown, 4), run=spec)
    with replacing(folder / SETTINGS) as temporary:
        temporary.write_text(yaml.safe_dump(content.model_dump(mode="json"), sort_keys=False), encoding="utf-8")
    history = pd.DataFrame(training.history).astype({"epoch": int})
    history["best"] = (history.index == history[training.scores.column].idxmax()).astype(int)
    with replacing(folder / HISTORY) as temporary:
        history.to_csv(temporary, index=False, lineterminator="\n")
    weights = training.model.state_dict()
    write_weights(folder / WEIGHTS, weights, data.preparation, spec, data.train.images.shape[1:], data.concepts)
    remove_leftovers(folder)  # of an earlier, killed attempt


@contextmanager
def _events(folder: Path | None) -> Iterator[Callable[[list[dict[str, float]]], None]]:
    """Yield a function that writes the last row of a history as TensorBoard events; without a folder, nothing.

    A run that continues after a kill adds a file with the later epochs; TensorBoard shows both as one.

    Raises:
        InputError: If TensorBoard is not installed.
    """
    if folder is None:
        yield lambda history: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("TensorBoard events need the package tensorboard", cure=install("tensorboard")) from None
    writer = SummaryWriter(str(folder))  # type: ignore[no-untyped-call]

    def add_last(history: list[dict[str, float]]) -> None:
        for name, value in history[-1].items():
            if name != "epoch":
                writer.add_scalar(name, value, int(history[-1]["epoch"]))  # type: ignore[no-untyped-call]
        writer.flush()  # type: ignore[no-untyped-call]

    try:
        yield add_last
    finally:
        writer.close()  # type: ignore[no-untyped-call]
