"""Several runs one after the other in one process, each with the bits that it has alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fivesentences.errors import InputError
from fivesentences.plan.runs import RunSpec
from fivesentences.storage import sha256_of, write_json
from fivesentences.training.fingerprint import fingerprint
from fivesentences.training.finished import FinishedFolder
from fivesentences.training.run import OUTPUTS, device_of, train_run


@dataclass(frozen=True)
class Run:
    """A run to train.

    Attributes:
        spec: Settings.
        folder: Where its outputs go.
        phi_files: See ``train_run``.
    """

    spec: RunSpec
    folder: Path
    phi_files: Mapping[str, Path] = field(default_factory=dict)


def train_runs(
    runs: Iterable[Run],
    corpus: Path,
    features: Path,
    *,
    device: str = "cpu",
    tensorboard: bool = False,
    record: Path | None = None,
) -> None:
    """Train runs of one corpus and its features.

    Each run's outputs are kept in its ``finished`` folder too. A run that was finished before (by a job that was
    killed later, or in which another run failed) is brought back from there and not trained again, if its settings,
    the content of its inputs and the code are the same; torch's version and the device may differ.

    Args:
        runs: In their order.
        corpus: As ``train_run``.
        features: As ``train_run``.
        device: As ``train_run``.
        tensorboard: As ``train_run``.
        record: Where to write, at the end, a checksum of each file of each run, as JSON.

    Raises:
        InputError: If runs failed, one sentence each; all the others have been trained by then.
    """
    todo, failed = list(runs), []
    place = device_of(device)
    for number, run in enumerate(todo, start=1):
        spec, folder, files = run.spec, run.folder, run.phi_files
        label = f"run {number} of {len(todo)}"
        finished = FinishedFolder(folder, OUTPUTS, fingerprint(spec, corpus, features, place, files))
        if finished.put_back():
            print(f"{label} was finished before: {spec.name}", file=sys.stderr, flush=True)
            continue
        print(f"{label}: {spec.name}", file=sys.stderr, flush=True)
        try:
            train_run(
                *(spec, corpus, features, folder),
                device=device,
                label=label,
                phi_files=files,
                tensorboard=tensorboard,
            )
        except InputError as error:
            print(f"{label} failed: {error}", file=sys.stderr, flush=True)
            failed.append(str(error))
        else:
            finished.keep()
    if failed:
        raise InputError("\n".join(failed))
    if record is not None:
        sums = {run.spec.name: {name: sha256_of(run.folder / name) for name in OUTPUTS} for run in todo}
        write_json(record, {"runs": sums})
