"""Several runs one after the other in one process, each with the same bits as alone."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from fivesentences.errors import InputError, InputErrors
from fivesentences.machine import device_named
from fivesentences.storage import alone, write_json
from fivesentences.study.runs import RunSpec
from fivesentences.training.fingerprint import fingerprint
from fivesentences.training.finished import finished_outputs
from fivesentences.training.run import RESUME, train_run
from fivesentences.training.stopping import Stop, stop_on_signals


@dataclass(frozen=True)
class Run:
    """A run to train.

    Attributes:
        spec: Settings.
        folder: Where its outputs go.
        corpus: See ``train_run``.
        features: See ``train_run``.
        phi_files: See ``train_run``.
    """

    spec: RunSpec
    folder: Path
    corpus: Path
    features: Path
    phi_files: Mapping[str, Path] = field(default_factory=dict)


def train_runs(
    runs: Iterable[Run],
    *,
    device: str = "cpu",
    tensorboard: bool = False,
    record: Path | None = None,
) -> None:
    """Train some runs.

    A run that is finished is not trained again if its settings, the content of its inputs and the code are the same;
    torch's version and the device may differ. A kill loses no finished run, and of the one under way what came after
    its last saved state. A first SIGTERM or SIGUSR1 loses nothing: the state of the run under way is saved.

    Args:
        runs: In their order.
        device: As ``train_run``.
        tensorboard: As ``train_run``.
        record: A JSON file that is written when all runs are finished: ``{"runs": {run: {output: sha256}}}``. It
            depends on the runs and their outputs alone.

    Raises:
        InputError: If there is no such device.
        InputErrors: If runs failed, one sentence each; all the others have been trained by then.
        Stopped: If a signal asked to end.
    """
    todo = list(runs)
    failed: list[InputError] = []
    outputs: dict[str, dict[str, str]] = {}
    place = torch.device(device_named(device))
    with stop_on_signals() as stop:
        for number, run in enumerate(todo, start=1):
            stop.check(f"{number - 1} of {len(todo)} runs are finished")
            label = f"run {number} of {len(todo)}"
            try:
                outputs[run.spec.name] = _outputs_of(run, place, label, device, tensorboard, stop)
            except InputError as error:
                print(f"{label} failed: {error}", file=sys.stderr, flush=True)
                failed.append(error)
    if failed:
        raise InputErrors(failed)
    if record is not None:
        write_json(record, {"runs": dict(sorted(outputs.items()))})


def _outputs_of(
    run: Run, place: torch.device, label: str, device: str, tensorboard: bool, stop: Stop
) -> dict[str, str]:
    """SHA-256 of each output of a run, which is trained if it is not finished."""
    made_from = fingerprint(run.spec, run.corpus, run.features, place, run.phi_files)
    finished = finished_outputs(run.folder, made_from)
    if finished is None:
        # A job may outlive the workflow that started it and was killed; the next workflow starts it once more.
        waiting = f"{label}: another process is training {run.spec.name}; waiting until it ends."
        with alone(run.folder / ".lock", waiting) as waited:
            finished = finished_outputs(run.folder, made_from) if waited else None
            if finished is None:
                print(f"{label}: {run.spec.name}", file=sys.stderr, flush=True)
                return train_run(
                    *(run.spec, run.corpus, run.features, run.folder),
                    device=device,
                    label=label,
                    phi_files=run.phi_files,
                    tensorboard=tensorboard,
                    stop=stop,
                )
    print(f"{label} was finished before: {run.spec.name}", file=sys.stderr, flush=True)
    shutil.rmtree(run.folder / RESUME, ignore_errors=True)  # of a run killed at its very end
    return finished
