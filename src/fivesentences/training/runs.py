"""Several runs one after the other in one process, each with the bits that it has alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from fivesentences.config import RunSpec
from fivesentences.errors import InputError
from fivesentences.training.fingerprint import fingerprint
from fivesentences.training.finished import FinishedFolder
from fivesentences.training.run import OUTPUTS, device_of, train_run


def train_runs(runs: Iterable[tuple[RunSpec, Path]], corpus: Path, features: Path, *, device: str = "cpu") -> None:
    """Train runs of one corpus and its features.

    Each run's outputs are kept in its ``finished`` folder too. A run that was finished before (by a job that was
    killed later, or in which another run failed) is brought back from there and not trained again, if its settings,
    the content of its inputs, the code and the versions are the same.

    Args:
        runs: Settings and folder of each run.
        corpus: As ``train_run``.
        features: As ``train_run``.
        device: As ``train_run``.

    Raises:
        InputError: If runs failed, one sentence each; all the others have been trained by then.
    """
    todo, failed = list(runs), []
    place = device_of(device)
    for number, (spec, folder) in enumerate(todo, start=1):
        label = f"run {number} of {len(todo)}"
        finished = FinishedFolder(folder, OUTPUTS, fingerprint(spec, corpus, features, place))
        if finished.put_back():
            print(f"{label} was finished before: {spec.name}", file=sys.stderr, flush=True)
            continue
        print(f"{label}: {spec.name}", file=sys.stderr, flush=True)
        try:
            train_run(spec, corpus, features, folder, device=device, label=label)
        except InputError as error:
            print(f"Error: {error}", file=sys.stderr, flush=True)
            failed.append(str(error))
        else:
            finished.keep()
    if failed:
        raise InputError("\n".join(failed))
