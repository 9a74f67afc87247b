"""A job trains several runs in one process: finished ones are skipped, and a failed one does not stop the others."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fivesentences.errors import InputError, InputErrors, Stopped
from fivesentences.storage import alone, write_json

# SLURM sends SIGTERM before a time limit, when a job is cancelled or preempted; some sites choose SIGUSR1 instead.
SIGNALS = tuple(one for one in signal.Signals if one.name in ("SIGTERM", "SIGUSR1"))  # Windows has no SIGUSR1
Hashes = dict[str, str]  # of outputs, by file name


class Stop:
    """Whether this process was asked to end.

    Attributes:
        asked: The signal; None as long as there was none.
    """

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None

    def check(self, done: str) -> None:
        """End this process if it was asked to.

        Args:
            done: What is saved, as the second half of a sentence.

        Raises:
            Stopped: If a signal came.
        """
        if self.asked is not None:
            raise Stopped(f"stopped by {self.asked.name}: {done}; run the same again to go on from there.")


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Only take a note of a first SIGTERM or SIGUSR1 within a block; a second one acts as it did before the block.

    Python lets only its main thread handle signals: in another thread the block changes nothing.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        stop.asked = signal.Signals(number)
        signal.signal(number, before[stop.asked])

    before = {one: signal.getsignal(one) or signal.SIG_DFL for one in SIGNALS}
    for one in SIGNALS:
        signal.signal(one, note)
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@dataclass(frozen=True)
class Task:
    """One run of a job.

    Attributes:
        name: Name of the run.
        folder: Folder of its outputs.
        finished: Returns the SHA-256 of each output if the run is finished, otherwise None.
        train: Trains it, given the label of its progress bar and the signals, and returns the same.
    """

    name: str
    folder: Path
    finished: Callable[[], Hashes | None]
    train: Callable[[str, Stop], Hashes]


def train_tasks(tasks: Iterable[Task], record: Path | None = None) -> None:
    """Train the runs of a job that are not finished.

    Args:
        tasks: The runs in their order.
        record: A JSON file that is written when all runs are finished: ``{"runs": {run: {output: sha256}}}``. It
            depends on the runs and their outputs alone.

    Raises:
        InputErrors: If runs failed, one sentence each; all the others have been trained by then.
        Stopped: If a signal asked to end.
    """
    todo = list(tasks)
    failed: list[InputError] = []
    outputs: dict[str, Hashes] = {}
    with stop_on_signals() as stop:
        for number, task in enumerate(todo, start=1):
            stop.check(f"{number - 1} of {len(todo)} runs are finished")
            label = f"run {number} of {len(todo)}"
            try:
                outputs[task.name] = _outputs_of(task, label, stop)
            except InputError as error:
                print(f"{label} failed: {error}", file=sys.stderr, flush=True)
                failed.append(error)
    if failed:
        raise InputErrors(failed)
    if record is not None:
        write_json(record, {"runs": dict(sorted(outputs.items()))})


def _outputs_of(task: Task, label: str, stop: Stop) -> Hashes:
    found = task.finished()
    if found is None:
        # A job may outlive the workflow that started it and was killed; the next workflow starts it once more.
        waiting = f"{label}: another process is training {task.name}; waiting until it ends."
        with alone(task.folder / ".lock", waiting) as waited:
            found = task.finished() if waited else None
            if found is None:
                print(f"{label}: {task.name}", file=sys.stderr, flush=True)
                return task.train(label, stop)
    print(f"{label} was finished before: {task.name}", file=sys.stderr, flush=True)
    return found
